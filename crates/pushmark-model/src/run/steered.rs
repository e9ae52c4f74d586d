//! What was decided while an arm ran: when its server had warmed up, and where its flood ended.

use serde::{Deserialize, Serialize};

pub use crate::flood::FloodEnd;

/// How warm-up ended, where its end was looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUp {
    /// How it ended.
    pub ended: WarmUpEnd,
    /// How long it was.
    pub length_us: u64,
    /// The longest it could have been.
    pub max_us: u64,
    /// What was left out as not yet steady, from its begin; absent without a steady state.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady_from_us: Option<u64>,
    /// Observations that the steady state rests on: seconds, or cycles of publications.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observations: Option<u64>,
}

/// What ended a warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmUpEnd {
    /// The server was steady.
    Steady,
    /// Its longest time had passed, and the server was not steady.
    Max,
    /// The arm ended in it.
    Stopped,
}

/// A flood: connections at a fixed rate until the server's limit was met, or ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flood {
    /// Connections opened a second.
    pub rate_per_s: f64,
    /// New connections are counted over so long.
    pub interval_us: u64,
    /// Most that would have been offered.
    pub limit: u64,
    /// What this machine could not hold of the crowd that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<String>,
    /// Why it ended.
    pub end: FloodEnd,
    /// When, from the arm's start.
    pub ended_us: u64,
    /// Connections that were due.
    pub offered: u64,
    /// Connections that got a first byte of response.
    pub established: u64,
    /// Most that were subscribed at once.
    pub connected_max: u64,
    /// Most that heard one publication in time; absent where nothing was published.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served_max: Option<u64>,
    /// Most subscribers that the server counted: its own word.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted_max: Option<u64>,
    /// From so many established on fewer came than were offered (below 90 %), until the end;
    /// absent where they kept coming.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub declined_from: Option<u64>,
    /// Which limits were hit, by the evidence, the likeliest first; empty where none shows.
    pub limits: Vec<FloodLimit>,
    /// The curve.
    pub intervals: Vec<FloodInterval>,
}

impl Flood {
    /// The curve until the last offer or arrival: what was waited for after it is no part of a flood.
    pub fn offering(&self) -> &[FloodInterval] {
        let last = self.intervals.iter().rposition(|i| i.offered + i.established > 0);
        &self.intervals[..last.map_or(0, |at| at + 1)]
    }
}

/// A limit that a flood hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloodLimit {
    /// `ports`, `open_files`, `backlog`, `memory`, `heap`, `direct_memory`, `native_threads`,
    /// `threads`, `server_error`, `cpu`, `latency`, `machine`, `asked`.
    pub kind: String,
    /// Whether it is ours: the generator's, not the server's.
    pub ours: bool,
    /// What was seen.
    pub seen: String,
}

/// One interval of a flood's curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloodInterval {
    /// From the arm's start.
    pub start_us: u64,
    /// Its length: the last may be shorter.
    pub length_us: u64,
    /// Connections due in it.
    pub offered: u64,
    /// Connections that got a first byte in it.
    pub established: u64,
    /// Attempts that failed in it.
    pub failed: u64,
    /// Connections lost in it.
    pub lost: u64,
    /// Connections subscribed at its end.
    pub connected: u64,
    /// How many heard the last publication due in it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served: Option<u64>,
    /// Subscribers that the server counted last: its own word.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<u64>,
    /// CPU of the server, in cores.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cores: Option<f64>,
    /// Its memory at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_rss_bytes: Option<u64>,
    /// Its threads at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_threads: Option<u64>,
}
