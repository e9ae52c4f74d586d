//! When a flood ends: connections come at a fixed rate, whatever became of those before them,
//! until the server has had enough of them or we have no more. Pure: it is shown each second.
//!
//! The flood is open. *Offered* are the connections that were due, *established* those that got
//! a first byte of response (the kernel accepts before the server does), *served* those that
//! heard the last publication in time. A closed flood, which waits for an answer before it opens
//! the next, would slow down with the server and show its rate as the server's.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A flood with every number filled in; the crowd of the plan is its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloodPlan {
    /// Connections a second.
    pub rate_per_s: f64,
    /// New connections are counted over so long.
    pub interval_ns: u64,
    /// A publication that is older than this when it is heard ends the flood.
    pub collapse_ns: u64,
    /// Mean gap of publications, over all channels; absent: nothing is published.
    pub publish_ns: Option<u64>,
    /// What this machine could not hold of the crowd that was asked for: `open_files`, `ports`, ….
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_by: Option<String>,
}

/// A trend of fewer seconds is none: a server's pause is no end.
const WINDOW_MIN_S: usize = 15;
/// A trend of fewer connections is none either: at two a second they take ten seconds.
const WINDOW_CLIENTS: f64 = 20.0;
/// Longest trend, for the slowest floods.
const WINDOW_MAX_S: usize = 600;
/// Fewer failures, or losses, are single ones.
const FEW: u64 = 10;

impl FloodPlan {
    /// How long a trend is.
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
    /// Of them for want of a port or a descriptor of ours.
    pub failed_ours: u64,
    /// Connections lost in it.
    pub lost: u64,
    /// Deliveries in it.
    pub received: u64,
    /// Their median latency, µs; where nothing is published that of answers to those who came.
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
    /// It let go of at least half of those it held.
    Shed,
    /// At least half of those who came were turned away.
    Refused,
    /// Nobody who came was answered any more.
    Stalled,
    /// What was heard was older than the bound.
    Collapsed,
    /// Clients were held, and heard nothing that was due.
    Silent,
    /// We had no port or descriptor left.
    Ours,
    /// Every connection of the plan was offered: the server's limit was not met.
    Limit,
    /// Stopped from outside.
    Stopped,
}

impl FloodEnd {
    /// The word in files and tables.
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

    /// What happened, for people.
    pub fn words(self) -> &'static str {
        match self {
            FloodEnd::Died => "the server died",
            FloodEnd::Shed => "the server let go of half of those it held",
            FloodEnd::Refused => "the server turned half of those who came away",
            FloodEnd::Stalled => "the server answered nobody new any more",
            FloodEnd::Collapsed => "what it published came too late",
            FloodEnd::Silent => "it held its clients and published nothing any more",
            FloodEnd::Ours => "this machine had no more connections to offer",
            FloodEnd::Limit => "everybody was offered, and the server's limit was not met",
            FloodEnd::Stopped => "stopped from outside",
        }
    }

    /// Whether the server's own limit was met.
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
    /// The trend: its first second lies a window back.
    recent: VecDeque<FloodSecond>,
    established_max: u64,
    /// Seconds since something was heard, or since there is somebody to hear it.
    silent_s: u64,
    /// Seconds since everybody was offered.
    whole_s: usize,
    seconds: u64,
}

impl FloodWatch {
    /// Of a flood of at most `limit` connections.
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

    /// Shows it the next second; why the flood is over, if it is.
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

    /// Nothing was heard through two publications, and they are overdue.
    fn is_silent(&self) -> bool {
        let Some(publish_ns) = self.plan.publish_ns else { return false };
        let longest_ns = self.plan.collapse_ns + 2 * publish_ns;
        // A publication a little after the window's end is still on its way.
        self.silent_s > longest_ns.div_ceil(1_000_000_000)
    }
}

#[cfg(test)]
#[path = "flood_tests.rs"]
mod tests;
