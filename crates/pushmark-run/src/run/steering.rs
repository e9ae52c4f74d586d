//! Orders to a running arm: the end of its warm-up or the end of its flood. An arm gets at most one
//! of them.

use pushmark_model::plan::ArmPlan;
use pushmark_model::steer::Steer;

use super::flooding::Flooding;
use super::warming::Warming;
use crate::gather::Gathered;
use pushmark_host::monitor::Sample;

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// How far ahead a bound is announced: shards poll for orders at least every 50 ms, and on a busy core
/// they are scheduled within the second.
pub(super) const LEAD_NS: u64 = 1_000_000_000;

/// The watchers of an arm.
#[derive(Debug)]
pub(super) struct Steering {
    pub(super) warming: Option<Warming>,
    pub(super) flooding: Option<Flooding>,
}

/// The current state of an arm.
pub(super) struct ArmState<'s> {
    /// Since its start.
    pub(super) elapsed_ns: u64,
    pub(super) arm: &'s ArmPlan,
    pub(super) gathered: &'s Gathered,
    pub(super) sample: Sample,
    /// The server's process has ended.
    pub(super) ended: bool,
    /// Its process id, if pushmark started it.
    pub(super) pid: Option<i32>,
}

impl Steering {
    /// Returns the order that the shards must get now.
    pub(super) fn look(&mut self, sight: &ArmState<'_>) -> Option<Steer> {
        let ArmState { elapsed_ns, arm, gathered, sample, .. } = sight;
        let warm = self.warming.as_mut().and_then(|w| w.look(*elapsed_ns, arm, gathered, *sample));
        warm.or_else(|| self.flooding.as_mut().and_then(|flooding| flooding.look(sight)))
    }
}
