//! When things are due: pure arithmetic on elapsed time, no clock.

use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};

/// Distribution of a channel's publications in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Exactly every interval.
    Constant,
    /// Independent exponential gaps with the interval as their mean.
    Poisson,
}

/// The instants at which one channel's publications are due, in order.
///
/// Absolute: publication n of a constant schedule is due at `start + phase + n × interval`, whatever happens
/// to earlier ones. Work never delays it.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: u64,
    end_ns: u64,
    interval_ns: f64,
    count_max: u64,
    next_index: u64,
    next_ns: u64,
    // Poisson only: the stream of gaps and the exact time so far, so that rounding errors do not accumulate.
    gaps: Option<(Draw, f64)>,
}

impl Schedule {
    /// Creates the schedule of `channel` between `start_ns` (inclusive) and `end_ns` (exclusive).
    ///
    /// `phase_ns` delays the first publication; `count_max` limits their number.
    pub fn new(
        arrivals: Arrivals,
        interval_ns: f64,
        (start_ns, end_ns): (u64, u64),
        phase_ns: u64,
        count_max: Option<u64>,
        seed: u64,
        channel: u32,
    ) -> Schedule {
        let mut schedule = Schedule {
            start_ns: start_ns + phase_ns,
            end_ns,
            interval_ns,
            count_max: count_max.unwrap_or(u64::MAX),
            next_index: 0,
            next_ns: start_ns + phase_ns,
            gaps: None,
        };
        if arrivals == Arrivals::Poisson {
            let mut draw = Draw::new(seed, Purpose::Arrivals, u64::from(channel));
            let first = draw.exponential() * interval_ns;
            schedule.start_ns = start_ns;
            schedule.next_ns = start_ns + first as u64;
            schedule.gaps = Some((draw, first));
        }
        schedule
    }

    /// Changes the end: publications from `end_ns` on are no longer due.
    pub fn end_at(&mut self, end_ns: u64) {
        self.end_ns = end_ns;
    }

    /// Returns the next publication not yet taken: its number and due instant. `None` at the end.
    pub fn peek(&self) -> Option<(u64, u64)> {
        (self.next_index < self.count_max && self.next_ns < self.end_ns)
            .then_some((self.next_index, self.next_ns))
    }

    /// Takes the next publication if it is due by `now_ns`.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        let (index, due_ns) = self.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.next_index += 1;
        self.next_ns = match &mut self.gaps {
            None => self.start_ns + (self.next_index as f64 * self.interval_ns) as u64,
            Some((draw, elapsed)) => {
                *elapsed += draw.exponential() * self.interval_ns;
                self.start_ns + *elapsed as u64
            }
        };
        Some((index, due_ns))
    }
}

/// How fast a crowd connects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ramp {
    /// Linear pieces, in order: reach `to` connections over `over_ns`.
    pub steps: Vec<RampStep>,
}

/// One linear piece of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RampStep {
    /// Connections at its end.
    pub to: u64,
    /// Its length.
    pub over_ns: u64,
}

impl Ramp {
    /// Creates a ramp of `connections` at a constant rate.
    pub fn constant(connections: u64, per_second: f64) -> Ramp {
        Ramp {
            steps: vec![RampStep {
                to: connections,
                over_ns: (connections as f64 / per_second * 1e9) as u64,
            }],
        }
    }

    /// Returns the length of the whole ramp.
    pub fn length_ns(&self) -> u64 {
        self.steps.iter().map(|s| s.over_ns).sum()
    }

    /// Returns when connection `index` (from 0) is due, from the ramp's start.
    pub fn due_ns(&self, index: u64) -> u64 {
        let (mut from, mut start_ns) = (0u64, 0u64);
        for step in &self.steps {
            if index < step.to {
                let span = step.to - from;
                return start_ns
                    + (u128::from(step.over_ns) * u128::from(index - from) / u128::from(span.max(1))) as u64;
            }
            from = from.max(step.to);
            start_ns += step.over_ns;
        }
        start_ns
    }

    /// Returns the number of connections due by `elapsed_ns`.
    pub fn due_by(&self, elapsed_ns: u64, connections: u64) -> u64 {
        // due_ns is monotone: the count is a partition point.
        let (mut low, mut high) = (0, connections);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.due_ns(middle) <= elapsed_ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(phase_ns: u64, count: Option<u64>) -> Schedule {
        Schedule::new(Arrivals::Constant, 100.0, (1_000, 1_500), phase_ns, count, 1, 0)
    }

    fn all(mut schedule: Schedule) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| schedule.take_due(u64::MAX)).collect()
    }

    #[test]
    fn due_is_absolute_whenever_it_is_taken() {
        assert_eq!(all(constant(0, None)), [(0, 1_000), (1, 1_100), (2, 1_200), (3, 1_300), (4, 1_400)]);
        assert_eq!(all(constant(50, None)).last(), Some(&(4, 1_450)));
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut schedule = constant(0, None);
        assert_eq!(schedule.take_due(999), None);
        assert_eq!(schedule.take_due(1_000), Some((0, 1_000)));
        assert_eq!(schedule.take_due(1_099), None);
    }

    #[test]
    fn count_ends_it_early() {
        assert_eq!(all(constant(0, Some(2))).len(), 2);
    }

    #[test]
    fn an_end_that_comes_nearer_leaves_the_dues_before_it() {
        let mut schedule = constant(0, None);
        assert_eq!(schedule.take_due(1_050), Some((0, 1_000)));
        schedule.end_at(1_250);
        assert_eq!(all(schedule), [(1, 1_100), (2, 1_200)]);
    }

    #[test]
    fn poisson_has_the_asked_mean_and_repeats() {
        let make = || all(Schedule::new(Arrivals::Poisson, 1e6, (0, 10_000_000_000), 0, None, 9, 3));
        assert_eq!(make(), make());
        // 10,000 expected, standard deviation 100.
        assert!((9_500..10_500).contains(&make().len()));
    }

    #[test]
    fn long_schedules_do_not_drift() {
        // Rounding of a third of a nanosecond per step would add up to 333 ms after 10⁹ steps; the actual
        // difference is the rounding of one product.
        let mut schedule = Schedule::new(Arrivals::Constant, 1e9 / 3.0, (0, u64::MAX), 0, None, 1, 0);
        schedule.next_index = 999_999_999;
        schedule.take_due(u64::MAX);
        assert!(schedule.peek().unwrap().1.abs_diff(333_333_333_333_333_333) <= 64);
    }

    #[test]
    fn a_ramp_of_steps_is_piecewise_straight() {
        let ramp =
            Ramp { steps: vec![RampStep { to: 10, over_ns: 100 }, RampStep { to: 20, over_ns: 1_000 }] };
        assert_eq!((ramp.due_ns(0), ramp.due_ns(9), ramp.due_ns(10), ramp.due_ns(15)), (0, 90, 100, 600));
        assert_eq!((ramp.due_by(0, 20), ramp.due_by(100, 20), ramp.due_by(9_999, 20)), (1, 11, 20));
    }
}
