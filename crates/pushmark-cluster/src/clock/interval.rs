//! The offset between two clocks from the exchanges of a window: every straight line that no exchange
//! contradicts is possible, and nothing else is.

/// A probe and its answer, ns of the two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When it left, on our clock.
    pub sent: u64,
    /// When it arrived, on theirs.
    pub heard: u64,
    /// When the answer left, on theirs.
    pub answered: u64,
    /// When the answer arrived, on ours.
    pub received: u64,
}

/// The offset of their clock from ours: it lies between these, both included. ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// At least.
    pub low_ns: f64,
    /// At most.
    pub high_ns: f64,
}

impl Interval {
    /// Returns the middle, the best guess.
    pub fn middle_ns(&self) -> f64 {
        f64::midpoint(self.low_ns, self.high_ns)
    }

    /// Returns how far it is from end to end.
    pub fn width_ns(&self) -> f64 {
        self.high_ns - self.low_ns
    }
}

/// A bound of the offset at an instant: seconds and ns from those of the first exchange.
#[derive(Clone, Copy, Debug)]
struct Point {
    at_s: f64,
    offset_ns: f64,
}

/// How far a line may miss a bound: what is lost in rounding.
const ROUNDING_NS: f64 = 0.5;

/// Returns the offset at the instant `at` of our clock. `None`: too few exchanges, or no straight line keeps all
/// their bounds, so one of the clocks was set or stood still.
///
/// The offset is taken to change evenly within the window, as that of two crystals does over half a minute.
pub fn interval(exchanges: &[Exchange], at: u64) -> Option<Interval> {
    let first = exchanges.first()?;
    let origin_ns = i128::from(first.heard) - i128::from(first.sent);
    let since_s = |ns: u64| (i128::from(ns) - i128::from(first.sent)) as f64 / 1e9;
    let point = |ours: u64, theirs: u64| Point {
        at_s: since_s(ours),
        offset_ns: (i128::from(theirs) - i128::from(ours) - origin_ns) as f64,
    };
    let above = lower_hull(exchanges.iter().map(|e| point(e.sent, e.heard)).collect());
    let below = lower_hull(exchanges.iter().map(|e| flipped(point(e.received, e.answered))).collect());
    let below: Vec<Point> = below.into_iter().map(flipped).collect();
    let at_s = since_s(at);
    let corners: Vec<Point> = above.iter().chain(&below).copied().collect();
    let mut found: Option<(f64, f64)> = None;
    for (n, p) in corners.iter().enumerate() {
        for q in &corners[n + 1..] {
            if p.at_s == q.at_s {
                continue;
            }
            let slope = (q.offset_ns - p.offset_ns) / (q.at_s - p.at_s);
            let line = |t: f64| p.offset_ns + slope * (t - p.at_s);
            let keeps = above.iter().all(|b| line(b.at_s) <= b.offset_ns + ROUNDING_NS)
                && below.iter().all(|b| line(b.at_s) >= b.offset_ns - ROUNDING_NS);
            if keeps {
                let there = line(at_s);
                found = Some(found.map_or((there, there), |(low, high)| (low.min(there), high.max(there))));
            }
        }
    }
    let (low, high) = found?;
    let origin_ns = origin_ns as f64;
    Some(Interval { low_ns: origin_ns + low, high_ns: origin_ns + high })
}

fn flipped(point: Point) -> Point {
    Point { offset_ns: -point.offset_ns, ..point }
}

/// The corners of the largest convex function below all points (Andrew's monotone chain): no other point can
/// touch a line that stays below all of them.
fn lower_hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.at_s.total_cmp(&b.at_s).then(a.offset_ns.total_cmp(&b.offset_ns)));
    points.dedup_by(|later, earlier| later.at_s == earlier.at_s);
    let mut hull: Vec<Point> = Vec::new();
    for point in points {
        while let [.., a, b] = hull[..]
            && (b.at_s - a.at_s) * (point.offset_ns - a.offset_ns)
                <= (point.at_s - a.at_s) * (b.offset_ns - a.offset_ns)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: f64 = 1e6;

    /// Their clock at an instant of ours.
    struct Clocks {
        offset_ns: f64,
        drift: f64,
    }

    impl Clocks {
        fn theirs(&self, ours: f64) -> u64 {
            (ours + self.offset_ns + self.drift * ours) as u64
        }

        fn exchange(&self, sent: f64, there_ns: f64, back_ns: f64) -> Exchange {
            let turned = sent + there_ns;
            Exchange {
                sent: sent as u64,
                heard: self.theirs(turned),
                answered: self.theirs(turned + 20_000.0),
                received: (turned + 20_000.0 + back_ns) as u64,
            }
        }
    }

    #[test]
    fn one_exchange_is_too_few_and_two_bound_the_offset_between_them() {
        let clocks = Clocks { offset_ns: 3_600e9, drift: 0.0 };
        let one = clocks.exchange(1e9, MS, 9.0 * MS);
        assert_eq!(interval(&[], 0), None);
        let two = [one, clocks.exchange(2e9, MS, 9.0 * MS)];
        let found = interval(&two, 1_500_000_000).unwrap();
        assert!((found.high_ns - (3_600e9 + MS)).abs() < 2.0, "{found:?}");
        assert!(found.low_ns <= 3_600e9 && found.low_ns > 3_600e9 - 10.0 * MS, "{found:?}");
    }

    #[test]
    fn a_clock_that_was_set_contradicts_itself() {
        let before = Clocks { offset_ns: 0.0, drift: 0.0 };
        let after = Clocks { offset_ns: 5.0 * MS, drift: 0.0 };
        let mut all: Vec<Exchange> = (1..50).map(|n| before.exchange(f64::from(n) * 1e8, MS, MS)).collect();
        assert!(interval(&all, 1_000_000_000).is_some());
        all.extend((50..100).map(|n| after.exchange(f64::from(n) * 1e8, MS, MS)));
        assert_eq!(interval(&all, 5_000_000_000), None);
    }

    proptest! {
        /// Whatever the delays, the offset and the drift are: the truth is inside, and the interval is no wider
        /// than the smallest delays of both ways.
        #[test]
        fn the_truth_is_inside(
            offset_ms in -3_600_000.0..3_600_000.0f64,
            drift_ppm in -100.0..100.0f64,
            delays in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 100..300),
            floor in (0.001..20.0f64, 0.001..20.0f64),
            noise_ms in 0.0..5.0f64,
        ) {
            let clocks = Clocks { offset_ns: offset_ms * MS, drift: drift_ppm / 1e6 };
            let start = 4e12;
            let all: Vec<Exchange> = delays
                .iter()
                .enumerate()
                .map(|(n, (there, back))| {
                    // Most delays are near the smallest, a few are far above it.
                    let (there, back) = (floor.0 + noise_ms * there.powi(8), floor.1 + noise_ms * back.powi(8));
                    clocks.exchange(start + n as f64 * 1e8, there * MS, back * MS)
                })
                .collect();
            let half_s = (all.len() as f64 / 2.0 * 1e8) as u64;
            for at in [start as u64, start as u64 + half_s, start as u64 + 2 * half_s] {
                let found = interval(&all, at).expect("one line keeps all bounds");
                let truth = clocks.theirs(at as f64) as f64 - at as f64;
                prop_assert!(found.low_ns - 2_000.0 <= truth && truth <= found.high_ns + 2_000.0, "{found:?}, {truth}");
            }
            let middle = interval(&all, start as u64 + half_s).unwrap();
            let most = (floor.0 + floor.1) * MS + noise_ms * MS * 0.1 + 0.1 * MS;
            prop_assert!(middle.width_ns() <= most, "{} of at most {most}", middle.width_ns());
        }
    }
}
