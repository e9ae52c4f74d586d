//! Whether the backlog (sent − received) grows through the window.
//!
//! Lost messages also widen that gap, but they do not age: an arm is unstable only if the latency of the
//! delivered messages keeps growing too.

use super::Second;

/// The backlog over a series of seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// The backlog grew, and latency with it.
    pub unstable: bool,
    /// Growth of the backlog, deliveries a second.
    pub backlog_per_s: f64,
}

/// Share of the offered deliveries that may pile up each second.
const SLOPE_MAX: f64 = 0.01;
/// The last quarter's median latency over the first quarter's.
const AGEING_MIN: f64 = 1.5;
/// The minimum growth in latency, µs.
const AGEING_MIN_US: f64 = 5_000.0;
/// Fewer whole seconds are not enough for a judgement.
const SECONDS_MIN: usize = 4;
/// Fewer publications are not enough either: the last one may still be in flight when the window closes.
const PUBLICATIONS_MIN: u64 = 8;

/// Judges the seconds of the measure phase. Each publication has `subscribers` subscribers.
pub(super) fn judge(seconds: &[&Second], subscribers: f64) -> Option<Stability> {
    let publications: u64 = seconds.iter().map(|s| s.due).sum();
    if seconds.len() < SECONDS_MIN || publications < PUBLICATIONS_MIN {
        return None;
    }
    let mut backlog = 0.0;
    let series: Vec<f64> = seconds
        .iter()
        .map(|s| {
            backlog += s.due as f64 * subscribers - s.received as f64;
            backlog
        })
        .collect();
    let offered = publications as f64 * subscribers / seconds.len() as f64;
    let backlog_per_s = slope(&series);
    let quarter = (seconds.len() / 4).max(1);
    let early = median_of(&seconds[..quarter]);
    let late = median_of(&seconds[seconds.len() - quarter..]);
    let ageing = match (early, late) {
        (Some(early), Some(late)) => late > early * AGEING_MIN && late > early + AGEING_MIN_US,
        // Nothing arrives at the end: loss or death, which are reported elsewhere.
        _ => false,
    };
    Some(Stability { unstable: ageing && backlog_per_s > offered * SLOPE_MAX, backlog_per_s })
}

fn median_of(seconds: &[&Second]) -> Option<f64> {
    let mut medians: Vec<f64> = seconds.iter().filter_map(|s| s.latency_us).map(|l| l.0 as f64).collect();
    medians.sort_by(f64::total_cmp);
    medians.get(medians.len() / 2).copied()
}

/// Least-squares slope of evenly spaced values.
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean_x = (n - 1.0) / 2.0;
    let mean_y = values.iter().sum::<f64>() / n;
    let (mut above, mut below) = (0.0, 0.0);
    for (i, y) in values.iter().enumerate() {
        above += (i as f64 - mean_x) * (y - mean_y);
        below += (i as f64 - mean_x).powi(2);
    }
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(received: &[u64], p50_us: &[i64]) -> Vec<Second> {
        let of = |(&received, &p50)| Second {
            due: 10,
            received,
            latency_us: Some((p50, p50, p50)),
            ..Second::default()
        };
        received.iter().zip(p50_us).map(of).collect()
    }

    fn judged(received: &[u64], p50_us: &[i64]) -> bool {
        judge(&series(received, p50_us).iter().collect::<Vec<_>>(), 100.0).unwrap().unstable
    }

    #[test]
    fn keeping_up_is_stable() {
        assert!(!judged(&[1_000; 8], &[500; 8]));
    }

    #[test]
    fn a_growing_backlog_with_growing_latency_is_unstable() {
        let later: Vec<i64> = (0..8).map(|s| 1_000 + s * 400_000).collect();
        assert!(judged(&[600; 8], &later));
    }

    #[test]
    fn two_publications_are_no_trend() {
        let of = |due, received, p50| Second {
            due,
            received,
            latency_us: Some((p50, p50, p50)),
            ..Second::default()
        };
        // The second lateness, with the larger effect, is at the end of the window.
        let seconds = [of(0, 0, 0), of(1, 100, 1_000), of(0, 0, 1_000), of(1, 20, 900_000)];
        assert_eq!(judge(&seconds.iter().collect::<Vec<_>>(), 100.0), None);
    }

    #[test]
    fn loss_alone_is_not_a_backlog() {
        assert!(!judged(&[857; 8], &[500; 8]));
    }

    #[test]
    fn a_single_late_second_is_not_a_trend() {
        assert!(!judged(
            &[1_000, 1_000, 0, 2_000, 1_000, 1_000, 1_000, 1_000],
            &[500, 500, 500, 700_000, 500, 500, 500, 500]
        ));
    }
}
