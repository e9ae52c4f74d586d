//! What a report of a suite draws, as data: which runs, which metric against what, and the values
//! that a study printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// A metric (`y`) against an axis of the suite or another metric (`x`).
    #[default]
    Against,
    /// A column of `windows.csv` (`y`) over seconds since the arm's start: a row of panels for each
    /// server, a column for each value of `panel`.
    Time,
    /// Place in the queue of listeners against received − sent: the distribution of it, read as a
    /// queue.
    Place,
    /// New connections an interval over the seconds of a flood; `y` is `flood.established`.
    Rate,
    /// A metric (`y`) as a table of all cells.
    Matrix,
    /// For each latency one accepts, the largest crowd (axis `x`) that each transport serves within
    /// it; `y` is `delivery`, and `line` the axis of the ways in which a transport was run.
    Crossover,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name for links and downloads.
    pub id: String,
    /// Its number in the study, `fig. 12`; absent where the study drew none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number: Option<String>,
    /// The quantity.
    pub title: String,
    /// How it is drawn.
    #[serde(default)]
    pub kind: FigureKind,
    /// Axis → the values drawn; an axis not named: all of them.
    #[serde(rename = "where", skip_serializing_if = "BTreeMap::is_empty", default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// An axis, or a metric; empty for `time` and `matrix`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub x: String,
    /// A metric, or for `time` a column of `windows.csv`.
    pub y: String,
    /// The axis with a panel for each value; absent: one panel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub panel: Option<String>,
    /// The axis with a line for each value beside the transport; absent: a line a transport.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<String>,
    /// More metrics with the same x, each in a panel below: `joint = ["server.cpu_cores"]`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub joint: Vec<String>,
    /// Where `x` is what was delivered: the metric of what was offered, drawn as a thin line from
    /// there to the point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<String>,
    /// What the study printed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub published: Vec<Published>,
    /// How it was measured, beside what the report says by itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
}

/// A value that a study printed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Axis → value: the cell it belongs to.
    #[serde(rename = "where", default)]
    pub only: BTreeMap<String, String>,
    /// Where it stands on the x axis of `against`; absent: as the cell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub x: Option<f64>,
    /// The value, in the metric's own unit (µs, bytes, count, per second).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub y: Option<f64>,
    /// In words, where there is more or other than a number: `crashed`, `454,000 responses in about 700 s`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub words: Option<String>,
}
