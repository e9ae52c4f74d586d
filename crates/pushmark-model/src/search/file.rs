//! `search.json`: a search as it is kept beside the runs of its probes (schema `pushmark.search/1`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Answer, Found, Limits, Why};
use crate::run::{ServerRef, VerdictState};
use crate::transport::Transport;

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.search/1";

/// What is raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The crowd.
    #[default]
    Connections,
    /// Publications a second on each channel.
    Rate,
}

impl Over {
    /// The unit of a load, for people.
    pub fn name(self) -> &'static str {
        match self {
            Over::Connections => "connections",
            Over::Rate => "publications/s on each channel",
        }
    }
}

/// A search and what it found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command that repeats it.
    pub command: String,
    /// The version of pushmark that made it.
    pub pushmark_version: String,
    /// The server's name or the target's URL.
    pub target: String,
    /// The reference server; absent for a target of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// How the crowd hears.
    pub transport: Transport,
    /// What is raised.
    pub over: Over,
    /// The unit of `limits`, in loads: 1, or a thousandth of a publication a second.
    pub step: f64,
    /// Bounds and thoroughness.
    pub limits: Limits,
    /// What must be kept, as written.
    pub keep: Vec<String>,
    /// Every probe, in the order of their making.
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
    /// How long its measure phase was planned, s.
    pub window_s: f64,
    /// How it went.
    pub answer: Answer,
    /// Its run, a folder beside this file; absent where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<String>,
    /// The verdict of its figures.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<VerdictState>,
    /// The value of each thing that must be kept, by its expression, in the metric's own unit; what
    /// is absent has none.
    pub values: BTreeMap<String, f64>,
    /// What was not kept, or why there was no answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}
