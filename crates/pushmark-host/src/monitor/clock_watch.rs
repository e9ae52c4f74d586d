//! Watches REALTIME − MONOTONIC for steps: wall-clock stamps before and after a step cannot be compared.

/// A change beyond this is a step ...
const STEP_NS: u64 = 1_000_000;
/// ... in addition to slewing: the kernel adjusts the rate of the clock by at most 500 ppm.
const SLEW_NS_PER_S: u64 = 500_000;

/// Offsets seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockWatch {
    last: Option<(u64, i64)>,
    /// The largest step seen, by magnitude; absent if there was none.
    pub largest_step_ns: Option<i64>,
    /// Steps seen.
    pub steps: u64,
}

impl ClockWatch {
    /// Takes a reading of the offset at a monotonic instant.
    pub fn offset_seen(&mut self, t_ns: u64, offset_ns: i64) {
        if let Some((last_t_ns, last_ns)) = self.last {
            let passed_ns = t_ns.saturating_sub(last_t_ns);
            let slewed_ns = (u128::from(passed_ns) * u128::from(SLEW_NS_PER_S) / 1_000_000_000) as u64;
            let change_ns = offset_ns - last_ns;
            if change_ns.unsigned_abs() > STEP_NS + slewed_ns {
                self.steps += 1;
                if self.largest_step_ns.is_none_or(|l| l.unsigned_abs() < change_ns.unsigned_abs()) {
                    self.largest_step_ns = Some(change_ns);
                }
            }
        }
        self.last = Some((t_ns, offset_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(readings: &[(u64, i64)]) -> (u64, Option<i64>) {
        let mut watch = ClockWatch::default();
        readings.iter().for_each(|&(t_ns, offset_ns)| watch.offset_seen(t_ns, offset_ns));
        (watch.steps, watch.largest_step_ns)
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn slewing_is_not_a_step() {
        assert_eq!(watched(&[(0, 5), (S, 5 + 500_000), (2 * S, 5 + 1_000_000)]), (0, None));
        assert_eq!(watched(&[(0, 0), (S, 1_500_000)]), (0, None));
    }

    #[test]
    fn a_step_either_way_is_seen_once() {
        assert_eq!(watched(&[(0, 0), (S, 1_500_001), (2 * S, 1_500_001)]), (1, Some(1_500_001)));
        assert_eq!(watched(&[(0, 0), (S, -3_000_000_000), (2 * S, 0)]), (2, Some(-3_000_000_000)));
    }
}
