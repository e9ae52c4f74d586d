//! What is asked of a tool, and what came of it.

use pushmark_model::transport::Transport;
use serde::{Deserialize, Serialize};

/// Connections that ours is asked to begin a second.
pub(super) const OURS_PER_S: f64 = 10_000.0;
/// What is asked of every tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) transport: Transport,
    pub(super) clients: u64,
    /// Between two publications; every client receives each.
    pub(super) interval_us: u64,
    pub(super) seconds: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// CPU time in the window: of a tool's whole tree, of our receiving thread and those that take its records.
    pub(super) cpu_ns: u64,
    /// Publications due in the window times clients.
    pub(super) offered: u64,
    /// Of them, what the server wrote.
    pub(super) sent: u64,
    /// Of them, what it handled: by its own count, else what was written and is not unread.
    pub(super) handled: u64,
    /// What it handled in the window, or so soon after that it was on its way: what its CPU time was for.
    /// A receiver that lags handles later what it then has in hand, and would look cheap.
    pub(super) in_time: u64,
    /// Whether that is its own count.
    pub(super) counts: bool,
    /// Messages in its sockets shortly after the window, at most.
    pub(super) unread: u64,
    /// Share of its core in the second after the last message: what it was behind with. Absent for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) busy_after: Option<f64>,
    /// Resident memory at the window's end.
    pub(super) rss_bytes: u64,
    /// Clients that the server held at the window's end.
    pub(super) held: u64,
    /// From the first client to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) connects_per_s: Option<f64>,
    /// CPU time until the last client was there, its start among it. Absent for ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) connect_cpu_ns: Option<u64>,
    /// Median and 99th percentile of received − due, by its own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reported_ms: Option<(f64, f64)>,
    /// The same of the server's writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) written_ms: Option<(f64, f64)>,
}

impl Seen {
    /// Of what it handled in time; infinite if it handled nothing.
    pub(super) fn cpu_s_per_million(&self) -> f64 {
        self.cpu_ns as f64 / self.in_time as f64 / 1e3
    }

    /// All that was offered came to it in time, and it was not behind at the end.
    pub(super) fn kept_up(&self) -> bool {
        let whole = self.sent >= self.offered && self.in_time as f64 >= 0.995 * self.offered as f64;
        whole && !self.has_backlog() && self.busy_after.is_none_or(|share| share < 0.5)
    }

    /// More lies unread than is on its way at any instant, a thousandth, or was published at this one.
    pub(super) fn has_backlog(&self) -> bool {
        self.unread > self.held.max(self.offered / 1_000)
    }
}

impl Cell {
    /// Deliveries a second.
    pub(super) fn rate(&self) -> f64 {
        self.clients as f64 * 1e6 / self.interval_us as f64
    }

    /// One event in the window, or no event.
    pub(super) fn is_idle(&self) -> bool {
        self.interval_us >= self.seconds * 1_000_000
    }
}
