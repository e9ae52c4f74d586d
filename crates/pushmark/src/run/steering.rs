//! What an arm is told while it runs, by whoever watches it: the end of its warm-up, the end of
//! its flood. An arm has one of them, or neither.

use pushmark_model::plan::ArmPlan;
use pushmark_model::steer::Steer;

use super::flooding::Flooding;
use super::warming::Warming;
use crate::gather::Gathered;
use crate::monitor::Sample;

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// A bound is announced so long before: shards look for orders at least every 50 ms, and a core
/// that is busy with others gives them their turn within the second.
pub(super) const LEAD_NS: u64 = 1_000_000_000;

/// Who watches an arm.
#[derive(Debug)]
pub(super) struct Steering {
    pub(super) warming: Option<Warming>,
    pub(super) flooding: Option<Flooding>,
}

/// What is seen of an arm at this moment.
pub(super) struct Sight<'s> {
    /// Since its start.
    pub(super) elapsed_ns: u64,
    pub(super) arm: &'s ArmPlan,
    pub(super) gathered: &'s Gathered,
    pub(super) sample: Sample,
    /// The server's process has ended.
    pub(super) ended: bool,
    /// Its number, where we started it.
    pub(super) pid: Option<i32>,
}

impl Steering {
    /// What the shards are to be told now.
    pub(super) fn look(&mut self, sight: &Sight<'_>) -> Option<Steer> {
        let Sight { elapsed_ns, arm, gathered, sample, .. } = sight;
        let warm = self.warming.as_mut().and_then(|w| w.look(*elapsed_ns, arm, gathered, *sample));
        warm.or_else(|| self.flooding.as_mut().and_then(|flooding| flooding.look(sight)))
    }
}
