//! `suite.json`: a suite with every case spelled out, as it stands beside its runs (schema
//! `pushmark.suite/1`). A report of the suite reads this and the runs, and nothing else: which
//! cells there are, which were refused and why, what is drawn, and what a study printed.

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
pub use study::{AnswerBy, Question, Study, Variable};

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.suite/1";

/// A suite, expanded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub analysis: String,
    /// The study it repeats; absent for a suite of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub study: Option<Study>,
    /// Where the order of its cases and all their draws come from.
    pub seed: u64,
    /// Fresh starts of each case.
    pub repeat: u32,
    /// Crowds and cycles are shrunk to this share (`--scale`); 1: as written.
    pub scale: f64,
    /// Cycles are shrunk to this share besides (`--scale-time`).
    pub scale_time: f64,
    /// What is varied, in the order in which tables show it.
    pub axes: Vec<Axis>,
    /// Every cell, in the order of the axes (not that of running).
    pub cases: Vec<Case>,
    /// What a report draws.
    pub figures: Vec<Figure>,
    /// The suite's text as given.
    pub text: String,
}

impl Suite {
    /// What of its text decides what is measured: all but what is said about it and drawn of it,
    /// which may be mended while its cases come in.
    pub fn measured(&self) -> toml::Table {
        let mut table: toml::Table = self.text.parse().unwrap_or_default();
        table.retain(|key, _| !["analysis", "study", "figures"].contains(&key));
        table
    }
}

/// One thing that is varied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name: `server`, `style`, `emit`, `clients`.
    pub name: String,
    /// For people: `emit interval`; the name where the suite says nothing.
    pub label: String,
    /// Its values, as the suite writes them, in its order.
    pub values: Vec<String>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its axis values joined by `-`, unique within the suite; part of its runs' names.
    pub id: String,
    /// Axis → value. A case need not have every axis.
    pub axes: BTreeMap<String, String>,
    /// How long one start of it takes by plan, ramp to drain; without start-up and cool-down.
    pub planned_s: f64,
    /// Clients planned after scaling.
    pub clients: u64,
    /// Why the machine that ran this suite could not hold it; absent where it could.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
}
