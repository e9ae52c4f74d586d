//! The smallest relevant difference: below it two sides are alike, even if they certainly differ.

use pushmark_model::compare::{Effect, Finding};
use pushmark_model::metrics::{Metric, family};
use pushmark_model::stats::ALPHA;

use super::Arms;

/// For times, sizes and rates: a difference of a hundredth does not matter.
pub(super) const SHARE: f64 = 0.01;

/// In the metric's unit; absent for counts and shares, of which every difference is relevant. The resolution
/// of a latency is the generator's own queueing at almost no load, as calibrated on this machine: the larger
/// bound holds.
pub(super) fn of(metric: &Metric, mean: f64, a: &Arms, b: &Arms) -> Option<f64> {
    if !metric.is_ratio_scaled() {
        return None;
    }
    let share = (mean * SHARE).abs();
    Some(floor(metric, a, b).map_or(share, |floor| floor.max(share)))
}

/// The read lag of an idle crowd, µs: its median for medians and means, else its 99th percentile.
fn floor(metric: &Metric, a: &Arms, b: &Arms) -> Option<f64> {
    if ![family::LATENCY, family::FROM_SENT, family::CONNECT, family::REQUESTS]
        .contains(&family::of(&metric.name))
    {
        return None;
    }
    let floors = a.starts.iter().chain(&b.starts).filter_map(|start| start.floor.as_ref());
    let of_one = floors.filter_map(|floor| match metric.name.rsplit('.').next() {
        Some("p50" | "mean" | "min") => floor.read_lag_p50_us,
        _ => floor.read_lag_p99_us,
    });
    of_one.max().map(|us| us as f64)
}

/// Whether a difference is too small to be relevant: the observed one, or all that the interval allows.
pub(super) fn is_alike(effect: &Effect) -> bool {
    let Some(worth) = effect.worth else { return false };
    let apart = |ends: (f64, f64)| match (effect.ratio, effect.difference) {
        // By the means that are shown.
        (Some(_), _) => ((ends.0 - 1.0).abs().max((ends.1 - 1.0).abs())) * effect.a.mean.abs(),
        _ => ends.0.abs().max(ends.1.abs()),
    };
    let Some(size) = effect.ratio.or(effect.difference) else { return false };
    let seen = effect.p_adjusted.is_some_and(|p| p < ALPHA) && apart((size.value, size.value)) < worth;
    seen || (effect.finding != Finding::NotTested && size.interval.is_some_and(|ends| apart(ends) < worth))
}
