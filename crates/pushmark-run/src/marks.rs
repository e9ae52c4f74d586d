//! The readings of an arm's costs, and the instants at which they are taken.

use std::time::Duration;

use pushmark_host::monitor::figures::CrowdPoint;
use pushmark_host::monitor::listener::{Drops, Listener};
use pushmark_host::monitor::{Monitor, Snapshot};
use pushmark_model::plan::Phases;

/// The longest time between two passes of the loop; it also wakes for each marked instant.
const TICK_NS: u64 = 200_000_000;

/// The snapshots between which figures are differences.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) start: Option<Snapshot>,
    /// The reading at the end of the ramp.
    pub(crate) ramped: Option<Snapshot>,
    /// Drops of the target's listener before and after the crowd connected.
    pub(crate) dropped: (Option<Drops>, Option<Drops>),
    pub(crate) measure: Option<Snapshot>,
    pub(crate) measured: Option<Snapshot>,
    pub(crate) end: Option<Snapshot>,
    pub(crate) crowd: Vec<CrowdPoint>,
}

/// When readings are taken.
#[derive(Debug)]
pub(crate) struct Marking {
    /// When the arm began, ns of this machine's monotonic clock.
    pub(crate) start_ns: u64,
    /// The phases in their current state.
    pub(crate) phases: Phases,
    /// The crowd connects until the end of measure.
    pub(crate) floods: bool,
    /// The listener of a target on this host.
    pub(crate) listener: Option<Listener>,
}

impl Marking {
    /// The time to wait: until the next marked instant, at most a tick.
    pub(crate) fn until_next(&self, now_ns: u64) -> Duration {
        let marks = [self.ramped_at_ns(), self.phases.measure_start_ns(), self.phases.measure_end_ns()];
        let marks = marks.map(|at| self.start_ns + at);
        let next_ns = marks.into_iter().filter(|&at| at > now_ns).min().unwrap_or(u64::MAX);
        Duration::from_nanos((next_ns - now_ns).min(TICK_NS))
    }

    /// Takes the snapshots at their instants.
    pub(crate) fn mark(&self, now_ns: u64, monitor: &Monitor, marks: &mut Marks) {
        if marks.ramped.is_none() && now_ns >= self.start_ns + self.ramped_at_ns() {
            self.crowd_came(monitor, marks);
        }
        if marks.measure.is_none() && now_ns >= self.start_ns + self.phases.measure_start_ns() {
            marks.measure = Some(monitor.mark_with_others());
        }
        if marks.measured.is_none() && now_ns >= self.start_ns + self.phases.measure_end_ns() {
            marks.measured = Some(monitor.mark_with_others());
        }
    }

    /// The time at which all of the crowd should be connected.
    fn ramped_at_ns(&self) -> u64 {
        if self.floods { self.phases.measure_end_ns() } else { self.phases.warmup_start_ns() }
    }

    /// Reads the cost of connecting, once: at the end of the ramp, or when the arm ends earlier.
    pub(crate) fn crowd_came(&self, monitor: &Monitor, marks: &mut Marks) {
        if marks.ramped.is_none() {
            marks.ramped = Some(monitor.mark());
            marks.dropped.1 = self.listener.as_ref().and_then(Listener::drops);
        }
    }
}
