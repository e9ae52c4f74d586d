//! `search.json`: a search, stored beside the runs of its probes (schema `pushmark.search/1`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Answer, Found, Limits, Why};
use crate::run::{ServerRef, VerdictState};
use crate::transport::Transport;

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.search/1";

/// The load that is raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The number of connections.
    #[default]
    Connections,
    /// Publications per second on each channel.
    Rate,
}

impl Over {
    /// Returns the unit of a load, for people.
    pub fn name(self) -> &'static str {
        match self {
            Over::Connections => "connections",
            Over::Rate => "publications/s on each channel",
        }
    }
}

/// A search and its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command that repeats the search.
    pub command: String,
    /// The version of pushmark that made the search.
    pub pushmark_version: String,
    /// The server's name or the target's URL.
    pub target: String,
    /// The reference server; absent for a target of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// How the crowd receives.
    pub transport: Transport,
    /// The load that is raised.
    pub over: Over,
    /// The unit of `limits`, in loads: 1, or a thousandth of a publication per second.
    pub step: f64,
    /// The bounds of the search, and its thoroughness.
    pub limits: Limits,
    /// The conditions, as written.
    pub keep: Vec<String>,
    /// Every probe, in the order they were made.
    pub probes: Vec<ProbeRow>,
    /// The answer.
    pub found: Found<f64>,
}

/// One probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeRow {
    /// The load.
    pub at: f64,
    /// Why it was probed.
    pub why: Why,
    /// Planned length of its measure phase, s.
    pub window_s: f64,
    /// Its outcome.
    pub answer: Answer,
    /// Its run, a folder beside this file; absent if nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<String>,
    /// The verdict of its figures.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<VerdictState>,
    /// The value of each condition's metric, by expression, in the metric's own unit. A metric without a
    /// value is absent.
    pub values: BTreeMap<String, f64>,
    /// Conditions that were not met, or why there was no outcome.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}
