//! The phases of an arm, one after the other.

use serde::{Deserialize, Serialize};

/// Lengths of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// The crowd connects.
    pub ramp_ns: u64,
    /// Nothing is published.
    pub settle_ns: u64,
    /// Publications are sent but not counted.
    pub warmup_ns: u64,
    /// Publications are counted.
    pub measure_ns: u64,
    /// Nothing new is due; late deliveries may arrive.
    pub drain_ns: u64,
}

impl Phases {
    /// Returns when publishing starts.
    pub fn warmup_start_ns(&self) -> u64 {
        self.ramp_ns + self.settle_ns
    }
    /// Returns when counting starts.
    pub fn measure_start_ns(&self) -> u64 {
        self.warmup_start_ns() + self.warmup_ns
    }
    /// Returns when publishing ends.
    pub fn measure_end_ns(&self) -> u64 {
        self.measure_start_ns() + self.measure_ns
    }
    /// Returns when the arm ends.
    pub fn end_ns(&self) -> u64 {
        self.measure_end_ns() + self.drain_ns
    }
    /// Changes the bounds of the measure phase, as ordered by a [`Steer`](crate::steer::Steer): warm-up ends
    /// when measure begins, and drain keeps its length.
    pub fn measure(&mut self, from_ns: u64, until_ns: u64) {
        self.warmup_ns = from_ns.saturating_sub(self.warmup_start_ns());
        self.measure_ns = until_ns.saturating_sub(from_ns);
    }
    /// Names, starts and ends, in order, ns from the arm's start.
    pub fn spans(&self) -> [(&'static str, u64, u64); 5] {
        let (settle, warmup) = (self.ramp_ns, self.warmup_start_ns());
        let (measure, drain) = (self.measure_start_ns(), self.measure_end_ns());
        [
            ("ramp", 0, settle),
            ("settle", settle, warmup),
            ("warmup", warmup, measure),
            ("measure", measure, drain),
            ("drain", drain, self.end_ns()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::arm;

    #[test]
    fn phases_follow_each_other() {
        let spans = arm().phases.spans();
        assert!(spans.windows(2).all(|w| w[0].2 == w[1].1));
        assert_eq!(spans[4].2, 15);
    }

    #[test]
    fn a_measure_phase_that_is_moved_keeps_its_neighbours() {
        let mut phases = arm().phases;
        phases.measure(4, 6);
        assert_eq!((phases.warmup_ns, phases.measure_start_ns(), phases.measure_end_ns()), (1, 4, 6));
        assert_eq!(phases.end_ns(), 11, "drain as long as before");
    }
}
