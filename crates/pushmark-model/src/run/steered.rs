//! Decisions made while an arm ran: when its server had warmed up, and where its flood ended.

use serde::{Deserialize, Serialize};

pub use crate::flood::FloodEnd;

/// How warm-up ended, if its end was detected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUp {
    /// How it ended.
    pub ended: WarmUpEnd,
    /// Its length.
    pub length_us: u64,
    /// Its longest possible length.
    pub max_us: u64,
    /// The part of warm-up before the steady state; absent without a steady state.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady_from_us: Option<u64>,
    /// Observations in the steady state: seconds, or cycles of publications.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observations: Option<u64>,
}

/// What ended a warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmUpEnd {
    /// The server reached a steady state.
    Steady,
    /// The longest warm-up had passed without a steady state.
    Max,
    /// The arm ended during warm-up.
    Stopped,
}

/// A flood: connections at a fixed rate until the limit of the server or of the generator was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flood {
    /// Connections opened per second.
    pub rate_per_s: f64,
    /// Length of the intervals in which new connections are counted.
    pub interval_us: u64,
    /// Most connections that the flood would have offered.
    pub limit: u64,
    /// The resource of this machine that limited the requested crowd.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<String>,
    /// Why it ended.
    pub end: FloodEnd,
    /// When it ended, from the arm's start.
    pub ended_us: u64,
    /// Connections that were due.
    pub offered: u64,
    /// Connections that received a first byte of response.
    pub established: u64,
    /// Most connections subscribed at once.
    pub connected_max: u64,
    /// Most clients that received one publication in time; absent if nothing was published.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served_max: Option<u64>,
    /// Most subscribers by the server's own count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted_max: Option<u64>,
    /// The number of established connections above which fewer than 90 % of the offered connections were
    /// established, until the end; absent if there is no such number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub declined_from: Option<u64>,
    /// The limits that were reached, by the evidence, likeliest first; empty if there is no evidence.
    pub limits: Vec<FloodLimit>,
    /// The curve, interval by interval.
    pub intervals: Vec<FloodInterval>,
}

impl Flood {
    /// Returns the curve up to the last interval with an offered or established connection: the wait after it
    /// is not part of the flood.
    pub fn offering(&self) -> &[FloodInterval] {
        let last = self.intervals.iter().rposition(|i| i.offered + i.established > 0);
        &self.intervals[..last.map_or(0, |at| at + 1)]
    }
}

/// A limit that a flood reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloodLimit {
    /// `ports`, `open_files`, `backlog`, `memory`, `heap`, `direct_memory`, `native_threads`,
    /// `threads`, `server_error`, `cpu`, `latency`, `machine`, `asked`.
    pub kind: String,
    /// Whether it is the generator's limit, not the server's.
    pub ours: bool,
    /// The evidence.
    pub seen: String,
}

/// One interval of a flood's curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloodInterval {
    /// From the arm's start.
    pub start_us: u64,
    /// Its length: the last interval may be shorter.
    pub length_us: u64,
    /// Connections due in it.
    pub offered: u64,
    /// Connections that received a first byte in it.
    pub established: u64,
    /// Attempts that failed in it.
    pub failed: u64,
    /// Connections lost in it.
    pub lost: u64,
    /// Connections subscribed at its end.
    pub connected: u64,
    /// Clients that received the last publication due in it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served: Option<u64>,
    /// Subscribers by the server's own count, last value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counted: Option<u64>,
    /// CPU of the server, in cores.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cores: Option<f64>,
    /// Memory of the server at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_rss_bytes: Option<u64>,
    /// Threads of the server at the end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_threads: Option<u64>,
}
