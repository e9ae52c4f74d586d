//! Age of information: the time-weighted age of the newest message that a client has.
//!
//! Each state held contributes the interval of ages from when holding it began to when it
//! ended. The number of such intervals that cover an age, times its width, is the time spent
//! at that age: two histograms of ends give the whole distribution.

use hdrhistogram::Histogram;
use pushmark_model::histogram::Distribution;
use pushmark_model::record::Counts;
use pushmark_model::run::AgeOfInformation;

/// Returns `None` if nothing was held.
pub(super) fn age_of_information(
    starts: &Distribution,
    ends: &Distribution,
    counts: &Counts,
) -> Option<AgeOfInformation> {
    if counts.age_time_us <= 0 {
        return None;
    }
    let mut bounds: Vec<(u64, i64)> = Vec::new();
    collect(starts.positive(), 1, &mut bounds);
    collect(ends.positive(), -1, &mut bounds);
    bounds.sort_unstable();
    // Each piece: from, to, and how many intervals cover it. Rounding to buckets can make a cover slightly
    // negative; it then counts as 0.
    let mut pieces: Vec<(u64, u64, f64)> = Vec::new();
    let mut cover = 0i64;
    for pair in bounds.windows(2) {
        cover += pair[0].1;
        let width = pair[1].0 - pair[0].0;
        if width > 0 && cover > 0 {
            pieces.push((pair[0].0, pair[1].0, cover as f64 * width as f64));
        }
    }
    let total: f64 = pieces.iter().map(|p| p.2).sum();
    let quantile = |q: f64| {
        let mut left = q * total;
        for &(from, to, weight) in &pieces {
            if left <= weight {
                return from as i64 + ((to - from) as f64 * (left / weight)) as i64;
            }
            left -= weight;
        }
        pieces.last().map_or(0, |p| p.1 as i64)
    };
    Some(AgeOfInformation {
        mean_us: counts.age_area_us2 as f64 / 2.0 / counts.age_time_us as f64,
        p50_us: quantile(0.5),
        p99_us: quantile(0.99),
        observed_s: counts.age_time_us as f64 / 1e6,
    })
}

fn collect(histogram: &Histogram<u64>, sign: i64, bounds: &mut Vec<(u64, i64)>) {
    for step in histogram.iter_recorded() {
        bounds.push((step.value_iterated_to(), sign * step.count_since_last_iteration() as i64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds states for these intervals of age, µs.
    fn of(intervals: &[(u64, u64)]) -> AgeOfInformation {
        let (mut starts, mut ends, mut counts) =
            (Distribution::default(), Distribution::default(), Counts::default());
        for &(from, to) in intervals {
            starts.record_us(from);
            ends.record_us(to);
            counts.age_time_us += i128::from(to - from);
            counts.age_area_us2 += i128::from(to * to - from * from);
        }
        age_of_information(&starts, &ends, &counts).unwrap()
    }

    #[test]
    fn a_steady_beat_is_uniform() {
        // Held from age 0 to 100 ms each time: the mean is half, p99 nearly the whole.
        let age = of(&[(0, 100_000); 50]);
        assert_eq!(age.mean_us, 50_000.0);
        assert!((age.p50_us - 50_000).abs() < 100 && (age.p99_us - 99_000).abs() < 200, "{age:?}");
    }

    #[test]
    fn time_weighs_not_messages() {
        // One state held for 900 ms outweighs nine held for 10 ms each.
        let mut intervals = vec![(0, 10_000); 9];
        intervals.push((0, 900_000));
        let age = of(&intervals);
        assert!(age.p50_us > 350_000, "{age:?}");
        assert_eq!(age.observed_s, 0.99);
    }

    #[test]
    fn nothing_held_is_absent() {
        assert!(
            age_of_information(&Distribution::default(), &Distribution::default(), &Counts::default())
                .is_none()
        );
    }
}
