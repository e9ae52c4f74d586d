//! Decides when a flood ends: connections are opened at a fixed rate, whatever becomes of earlier ones, until
//! the server's limit is reached or the generator has no more. Pure: it receives one summary per second.
//!
//! The flood is an open model. *Offered* are the connections that were due. *Established* are those that
//! received a first byte of response (the kernel accepts before the server does). *Served* are those that
//! received the last publication in time. A closed flood, which waits for an answer before it opens the next
//! connection, would slow down with the server and report its own rate as the server's.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A flood with every number filled in; the plan's crowd is its upper bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloodPlan {
    /// Connections per second.
    pub rate_per_s: f64,
    /// Length of the intervals in which new connections are counted.
    pub interval_ns: u64,
    /// A publication that is older than this when it is received ends the flood.
    pub collapse_ns: u64,
    /// Mean gap of publications, over all channels; absent: nothing is published.
    pub publish_ns: Option<u64>,
    /// The resource of this machine that limited the requested crowd: `open_files`, `ports`, ….
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<String>,
}

/// Shortest trend: a short pause of the server must not end the flood.
const WINDOW_MIN_S: usize = 15;
/// Fewest connections of a trend: at two per second they take ten seconds.
const WINDOW_CLIENTS: f64 = 20.0;
/// Longest trend, for the slowest floods.
const WINDOW_MAX_S: usize = 600;
/// With fewer failures or losses, the flood goes on.
const FEW: u64 = 10;

impl FloodPlan {
    /// Returns the length of a trend, s.
    pub fn window_s(&self) -> usize {
        let clients = (WINDOW_CLIENTS / self.rate_per_s).ceil();
        (clients as usize).clamp(WINDOW_MIN_S, WINDOW_MAX_S)
    }
}

/// One second of a flood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloodSecond {
    /// Connections due by its end.
    pub offered: u64,
    /// Connections that got a first byte of response by its end.
    pub established: u64,
    /// Connections open at its end.
    pub connected: u64,
    /// Attempts that failed in it.
    pub failed: u64,
    /// Of them, those that failed because the generator had no port or descriptor left.
    pub failed_ours: u64,
    /// Connections lost in it.
    pub lost: u64,
    /// Deliveries in it.
    pub received: u64,
    /// Median latency of these deliveries, µs; if nothing is published, of the answers to new connections.
    pub latency_us: Option<i64>,
    /// The server's process has ended.
    pub ended: bool,
}

/// Why a flood ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloodEnd {
    /// The server's process ended by itself.
    Died,
    /// The server closed at least half of the connections it held.
    Shed,
    /// The server refused at least half of the new connections.
    Refused,
    /// The server no longer answered new connections.
    Stalled,
    /// Publications arrived later than the bound.
    Collapsed,
    /// Clients stayed connected, and received nothing that was due.
    Silent,
    /// The generator had no port or descriptor left.
    Ours,
    /// Every connection of the plan was offered: the server's limit was not reached.
    Limit,
    /// Stopped from outside.
    Stopped,
}

impl FloodEnd {
    /// Returns the word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            FloodEnd::Died => "died",
            FloodEnd::Shed => "shed",
            FloodEnd::Refused => "refused",
            FloodEnd::Stalled => "stalled",
            FloodEnd::Collapsed => "collapsed",
            FloodEnd::Silent => "silent",
            FloodEnd::Ours => "ours",
            FloodEnd::Limit => "limit",
            FloodEnd::Stopped => "stopped",
        }
    }

    /// Returns a description for people.
    pub fn words(self) -> &'static str {
        match self {
            FloodEnd::Died => "the server died",
            FloodEnd::Shed => "the server let go of half of those it held",
            FloodEnd::Refused => "the server turned half of those who came away",
            FloodEnd::Stalled => "the server stopped answering new clients",
            FloodEnd::Collapsed => "what it published came too late",
            FloodEnd::Silent => "it held its clients and published nothing any more",
            FloodEnd::Ours => "this machine had no more connections to offer",
            FloodEnd::Limit => "everybody was offered, and the server's limit was not met",
            FloodEnd::Stopped => "stopped from outside",
        }
    }

    /// Whether the server's own limit was reached.
    pub fn is_the_servers(self) -> bool {
        !matches!(self, FloodEnd::Ours | FloodEnd::Limit | FloodEnd::Stopped)
    }
}

/// Watches a flood second by second.
#[derive(Clone, Debug)]
pub struct FloodWatch {
    plan: FloodPlan,
    /// Connections of the plan.
    limit: u64,
    /// The last window of seconds.
    recent: VecDeque<FloodSecond>,
    established_max: u64,
    /// Seconds in a row in which clients were connected and received nothing.
    silent_s: u64,
    /// Seconds since every connection was offered.
    whole_s: usize,
    seconds: u64,
}

impl FloodWatch {
    /// Watches a flood of at most `limit` connections.
    pub fn new(plan: FloodPlan, limit: u64) -> FloodWatch {
        FloodWatch {
            plan,
            limit,
            recent: VecDeque::new(),
            established_max: 0,
            silent_s: 0,
            whole_s: 0,
            seconds: 0,
        }
    }

    /// Takes the next second, and returns why the flood has ended, if it has.
    pub fn see(&mut self, now: FloodSecond) -> Option<FloodEnd> {
        self.seconds += 1;
        let window = self.plan.window_s();
        let somebody_waits = now.connected > 0 && now.received == 0;
        self.silent_s = if somebody_waits { self.silent_s + 1 } else { 0 };
        self.whole_s = if now.offered >= self.limit { self.whole_s + 1 } else { 0 };
        let full = self.recent.len() >= window;
        let before = self.recent.front().copied().filter(|_| full).unwrap_or_default();
        if full {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        let failed: u64 = self.recent.iter().map(|s| s.failed).sum();
        let lost: u64 = self.recent.iter().map(|s| s.lost).sum();
        let answered = now.established.saturating_sub(before.established);
        self.established_max = self.established_max.max(now.connected);
        let collapse_us = (self.plan.collapse_ns / 1_000) as i64;
        let ends = [
            (now.ended, FloodEnd::Died),
            (now.failed_ours > 0, FloodEnd::Ours),
            (lost >= FEW && 2 * lost >= self.established_max, FloodEnd::Shed),
            (failed >= FEW && failed >= answered, FloodEnd::Refused),
            (full && answered == 0 && now.offered > before.offered, FloodEnd::Stalled),
            (now.latency_us.is_some_and(|us| us > collapse_us), FloodEnd::Collapsed),
            (self.is_silent(), FloodEnd::Silent),
            (self.whole_s > window, FloodEnd::Limit),
        ];
        ends.into_iter().find(|(so, _)| *so).map(|(_, end)| end)
    }

    /// Whether nothing was received for two mean gaps of publications plus the bound on their age.
    fn is_silent(&self) -> bool {
        let Some(publish_ns) = self.plan.publish_ns else { return false };
        let longest_ns = self.plan.collapse_ns + 2 * publish_ns;
        // A publication that was due shortly after the window's end is still under way.
        self.silent_s > longest_ns.div_ceil(1_000_000_000)
    }
}

#[cfg(test)]
#[path = "flood_tests.rs"]
mod tests;
