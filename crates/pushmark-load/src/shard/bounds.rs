//! Where counting begins and ends: the bounds of the phases, and the orders that move them.

use std::io;

use pushmark_model::steer::Steer;
use pushmark_net::Nanos;

use super::{Orders, Shard};

/// Publications due at the very end may still be sent for this long.
const LAST_SENDS_NS: Nanos = 100_000_000;

/// The bounds at which ages are cut and counting starts or stops, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    MeasureStarts,
    MeasureEnds,
    LastSends,
}

impl Bound {
    const ALL: [Bound; 3] = [Bound::MeasureStarts, Bound::MeasureEnds, Bound::LastSends];
}

impl Shard {
    /// Obeys the orders. Returns whether the arm ends now.
    pub(super) fn obey(&mut self, orders: &mut impl Orders) -> io::Result<bool> {
        while let Some(order) = orders.next() {
            let (from_ns, until_ns) = match order {
                Steer::Measure { from_ns, until_ns } => (from_ns, until_ns),
                Steer::StopAt { at_ns } => {
                    self.stop_at(self.plan.start_ns + at_ns);
                    continue;
                }
                Steer::Stop => return Ok(true),
            };
            let start_ns = self.plan.start_ns;
            let (from_ns, until_ns) = (start_ns + from_ns, start_ns + until_ns);
            let before = self.measure_ns();
            let moved = [(before.0, from_ns), (before.1, until_ns)].into_iter().filter(|(a, b)| a != b);
            // Publications due in the meantime were counted for another phase.
            if moved.into_iter().any(|(before, to)| before <= self.time.now_ns || to <= self.time.now_ns) {
                return Err(io::Error::other("the bounds of measure were announced too late"));
            }
            self.plan.arm.phases.measure(from_ns - start_ns, until_ns - start_ns);
            self.accounting.measures((from_ns, until_ns));
            self.publishing.measures((from_ns, until_ns));
            self.publishing.end_at(until_ns);
        }
        Ok(false)
    }

    /// Ends the arm at this instant: nothing due later is counted. What was counted stays counted. A shard
    /// that receives the order too late stops at once.
    fn stop_at(&mut self, at_ns: Nanos) {
        self.time.stop_ns = Some(at_ns.max(self.time.now_ns));
        let measure_ns = self.measure_ns();
        self.accounting.measures(measure_ns);
        self.publishing.measures(measure_ns);
    }

    /// Absolute bounds of the measure phase.
    pub(super) fn measure_ns(&self) -> (Nanos, Nanos) {
        let (start_ns, phases) = (self.plan.start_ns, &self.plan.arm.phases);
        let stop_ns = self.time.stop_ns.unwrap_or(Nanos::MAX);
        let bounds = (start_ns + phases.measure_start_ns(), start_ns + phases.measure_end_ns());
        (bounds.0.min(stop_ns), bounds.1.min(stop_ns))
    }

    /// When the arm ends.
    pub(super) fn end_ns(&self) -> Nanos {
        (self.plan.start_ns + self.plan.arm.phases.end_ns()).min(self.time.stop_ns.unwrap_or(Nanos::MAX))
    }

    /// Returns the next bound, and when it is crossed.
    pub(super) fn next_bound(&self) -> Option<(Bound, Nanos)> {
        let bound = *Bound::ALL.get(self.time.crossed)?;
        let (start_ns, end_ns) = self.measure_ns();
        Some(match bound {
            Bound::MeasureStarts => (bound, start_ns),
            Bound::MeasureEnds => (bound, end_ns),
            Bound::LastSends => (bound, end_ns + LAST_SENDS_NS),
        })
    }

    /// Crosses a bound of the phases.
    pub(super) fn cross(&mut self, bound: Bound, at_ns: Nanos) {
        self.time.crossed += 1;
        match bound {
            Bound::MeasureStarts => {
                self.time.in_measure = true;
                self.accounting.cut_ages(at_ns, true);
            }
            Bound::MeasureEnds => {
                // Publications due before the bound are handled first.
                self.publish_due(at_ns);
                self.time.in_measure = false;
                self.accounting.cut_ages(at_ns, false);
            }
            Bound::LastSends => {
                self.publishing.stop(&mut self.accounting.record);
            }
        }
    }
}
