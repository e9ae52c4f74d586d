//! The figures of a suite's report, as data: which runs, which metric against what, and the values that a
//! study published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// A metric (`y`) against an axis of the suite or another metric (`x`).
    #[default]
    Against,
    /// A column of `windows.csv` (`y`) over seconds since the arm's start: a row of panels for each server,
    /// and a column of panels for each value of `panel`.
    Time,
    /// Place in the queue of receivers against received − sent: the distribution of received − sent, read as
    /// a queue.
    Place,
    /// New connections per interval over the seconds of a flood; `y` is `flood.established`.
    Rate,
    /// A metric (`y`) as a table of all cells.
    Matrix,
    /// For each latency limit, the largest crowd (axis `x`) that each transport serves within it; `y` is
    /// `delivery`, and `line` is the axis of variants of a transport.
    Crossover,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name in links and downloads.
    pub id: String,
    /// Its number in the study, `fig. 12`; absent if the study has no such figure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub number: Option<String>,
    /// The quantity.
    pub title: String,
    /// How it is drawn.
    #[serde(default)]
    pub kind: FigureKind,
    /// Axis → the values drawn; if an axis is not named, all its values.
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
    /// The axis with a line for each value, in addition to the transport; absent: one line per transport.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<String>,
    /// More metrics with the same x, each in a panel below: `joint = ["server.cpu_cores"]`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub joint: Vec<String>,
    /// If `x` is a delivered rate: the metric of the offered rate, drawn as a thin line from there to the
    /// point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered: Option<String>,
    /// Values that the study published.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub published: Vec<Published>,
    /// How it was measured, in addition to what the report states.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
}

/// A value that a study published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Axis → value: the cell it belongs to.
    #[serde(rename = "where", default)]
    pub only: BTreeMap<String, String>,
    /// Its place on the x axis of `against`; absent: that of the cell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub x: Option<f64>,
    /// The value, in the metric's own unit (µs, bytes, count, per second).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub y: Option<f64>,
    /// The value as text, if a number is not enough: `crashed`, `454,000 responses in about 700 s`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub words: Option<String>,
}
