//! Facts that a judgement needs and that an arm does not hold.

use std::collections::BTreeMap;

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::Came;
use pushmark_model::run::{Generator, VerdictState};

use super::bounds;
use super::percentile::P;
use crate::gather::Gathered;

/// Circumstances of an arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Error bound between two subtracted clocks, ns; absent if there is one clock.
    pub clock_bound_ns: Option<u64>,
    /// The clocks of several machines took part, and how far they are apart is not known.
    pub clocks_unknown: bool,
    /// How far the real starts of several machines may be apart, ns; absent if there is one.
    pub start_spread_ns: Option<u64>,
    /// Largest step of the wall clock, ns.
    pub clock_step_ns: Option<i64>,
    /// Connects that failed because no local port was free (EADDRNOTAVAIL).
    pub port_shortages: u64,
    /// Sockets that could not be opened because no file descriptor was free (EMFILE, ENFILE).
    pub descriptor_shortages: u64,
    /// Seconds of the measure phase after which a signal stopped the arm.
    pub interrupted_after_s: Option<f64>,
    /// The error, of pushmark or the target, that ended the arm early.
    pub broken_off: Option<String>,
    /// The server's process ended by itself.
    pub server_ended: bool,
    /// What clients received in all phases; absent if not known.
    pub heard: Option<ReceivedTotals>,
    /// The warm-up reached its limit without a steady state.
    pub no_steady_state: bool,
    /// Share of the window that the worst shard waited for a core; if absent, the mean is used.
    pub worst_shard_wait: Option<f64>,
    /// Connections with receive stamps are a sample that is read in another way than the others.
    pub stamps_read_apart: bool,
    /// How long arrivals are left to gather (`--batch`), µs; absent without `--batch`.
    pub batch_us: Option<u64>,
    /// Publications a second on each channel, from the scenario; absent if nothing is published.
    pub rate_per_channel: Option<f64>,
    /// Seconds between the end of the ramp and the first publication.
    pub settle_s: f64,
    /// Publisher connections allowed; absent if pushmark does not publish from outside.
    pub publisher_connections: Option<u32>,
    /// Share of the time the server wanted to run in which it waited for others; absent if not known.
    pub server_wait: Option<f64>,
    /// Times in which this process was paused and did not merely wait for a core.
    pub stood_still: Vec<StoodStill>,
    /// Percentiles that the generator's delays moved along the ranks.
    pub displaced: Vec<Displaced>,
    /// Generator processes that ended early.
    pub agents_lost: Vec<AgentLost>,
    /// Spools of agents that are not what was written, in words: whose, and where.
    pub spools_damaged: Vec<String>,
    /// Why the monitor beside the server told nothing.
    pub monitor_lost: Option<String>,
}

/// What clients received in all phases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceivedTotals {
    /// Deliveries.
    pub received: u64,
    /// The most informative message in which no stamp was found.
    pub came: Option<Came>,
    /// Connects to the target were refused.
    pub refused: bool,
    /// The last second, from the start of the arm, in which a delivery was received.
    pub last_second: Option<u32>,
}

impl ReceivedTotals {
    /// Computes it from the records of an arm.
    pub fn of(gathered: &Gathered) -> ReceivedTotals {
        let total = gathered.total();
        let refused = |map: &BTreeMap<String, u64>| map.keys().any(|kind| kind == "refused");
        ReceivedTotals {
            received: total.counts.received,
            came: total.words.came.clone(),
            refused: refused(&total.failed) || refused(&total.publish_failed),
            last_second: gathered.seconds().iter().rev().find(|(_, s)| s.received > 0).map(|(at, _)| *at),
        }
    }
}

/// A percentile whose place among the ranks depends on the generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Displaced {
    pub(super) p: P,
    /// As shown, µs.
    pub(super) shown_us: i64,
    /// At the rank that it would have without the deliveries that the generator delayed, µs.
    pub(super) without_us: i64,
    /// The share of those deliveries beyond what a rank may be off.
    pub(super) late: f64,
}

impl Displaced {
    /// The part of the figure that is not the server's.
    pub(super) fn share(&self) -> f64 {
        (self.shown_us - self.without_us) as f64 / self.shown_us.max(1) as f64
    }

    /// The state of the figure and the bound that it crosses.
    pub(super) fn crossed(&self) -> Option<(VerdictState, f64)> {
        bounds::READ_LAG.crossed(self.share())
    }
}

/// A generator process that ended early.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentLost {
    /// Its number, from 1, and the number of agents.
    pub agent: (usize, usize),
    /// How it ended: `signal 9`.
    pub how: String,
    /// When it ended, from the start of measure; negative before.
    pub at_s: f64,
}

impl AgentLost {
    /// From when it was noticed, after the start of the arm.
    pub(crate) fn new(agent: (usize, usize), how: String, elapsed_ns: u64, plan: &ArmPlan) -> AgentLost {
        let at_s = (elapsed_ns as f64 - plan.phases.measure_start_ns() as f64) / 1e9;
        AgentLost { agent, how, at_s }
    }
}

/// A time in which this process was paused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoodStill {
    /// When it began, from the start of measure; negative before.
    pub began_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// The share of measure that it took, 0–1.
    pub measured: f64,
}

impl Facts {
    /// Returns the run-queue wait of the worst shard as a share of the window.
    pub(super) fn shard_wait(&self, generator: &Generator) -> Option<f64> {
        self.worst_shard_wait.or_else(|| {
            let of_us = generator.window_us * u64::from(generator.shards.max(1));
            (of_us > 0).then(|| generator.run_queue_wait_us as f64 / of_us as f64)
        })
    }
}
