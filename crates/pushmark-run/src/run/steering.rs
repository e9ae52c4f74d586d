//! Orders to a running arm: the end of its warm-up or the end of its flood. An arm gets at most one
//! of them.

use pushmark_model::steer::Steer;

use super::arm_state::ArmState;
use super::flooding::Flooding;
use super::warming::Warming;

/// The watchers of an arm.
#[derive(Debug)]
pub(super) struct Steering {
    pub(super) warming: Option<Warming>,
    pub(super) flooding: Option<Flooding>,
}

impl Steering {
    /// Returns the order that the shards must get now.
    pub(super) fn look(&mut self, sight: &ArmState<'_>) -> Option<Steer> {
        let ArmState { elapsed_ns, arm, gathered, sample, .. } = sight;
        let warm = self.warming.as_mut().and_then(|w| w.look(*elapsed_ns, arm, gathered, *sample));
        warm.or_else(|| self.flooding.as_mut().and_then(|flooding| flooding.look(sight)))
    }
}
