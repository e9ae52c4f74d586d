//! `suite.json`: a suite with all its cases, stored beside its runs (schema `pushmark.suite/1`). A report of
//! the suite reads only this file and the runs: the cells, which were refused and why, the figures, and the
//! values that a study published.

mod axis;
mod check;
mod figure;
mod matrix;
mod read;
mod result;
mod scale;
mod source;
mod study;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use figure::{Figure, FigureKind, Published};
pub use matrix::Cell;
pub use read::SuiteFile;
pub use result::{RunOf, SuiteResult};
pub use scale::{CYCLES_MIN, Scale};
pub use source::{Cooldown, Order};
pub use study::Study;

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.suite/1";

/// A suite, expanded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The suite's name.
    pub name: String,
    /// What the suite shows.
    pub analysis: String,
    /// The study that the suite repeats; absent for a suite of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub study: Option<Study>,
    /// Seed of the order of cases and of all their draws.
    pub seed: u64,
    /// Number of fresh starts of each case.
    pub repeat: u32,
    /// Factor by which crowds and cycles are scaled (`--scale`); 1: as written.
    pub scale: f64,
    /// Further factor by which cycles are scaled (`--scale-time`).
    pub scale_time: f64,
    /// The parameters that vary, in the order of tables.
    pub axes: Vec<Axis>,
    /// Every cell, in the order of the axes (not the order of running).
    pub cases: Vec<Case>,
    /// The figures of a report.
    pub figures: Vec<Figure>,
    /// The suite's text as given.
    pub text: String,
}

impl Suite {
    /// Returns the part of the suite's text that decides what is measured: all but descriptions and figures,
    /// which may be edited while its cases run.
    pub fn measured(&self) -> toml::Table {
        let mut table: toml::Table = self.text.parse().unwrap_or_default();
        table.retain(|key, _| !["analysis", "study", "figures"].contains(&key));
        table
    }
}

/// A parameter that varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name: `server`, `style`, `emit`, `clients`.
    pub name: String,
    /// Its name for people: `emit interval`; the plain name if the suite gives none.
    pub label: String,
    /// Its values, as written in the suite, in its order.
    pub values: Vec<String>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its axis values joined by `-`, unique within the suite; part of its runs' names.
    pub id: String,
    /// Axis → value. A case does not need every axis.
    pub axes: BTreeMap<String, String>,
    /// Planned length of one start, ramp to drain, without start-up and cool-down, s.
    pub planned_s: f64,
    /// Planned clients, after scaling.
    pub clients: u64,
    /// Why the machine that ran this suite could not hold the case; absent if it could.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
}
