//! Percentile curves from the histograms of a run: values over a grid that is even in −log10(1 − p), over
//! expected deliveries. Expected deliveries that are not recorded count as infinite.

use pushmark_model::histogram::Distribution;
use pushmark_model::run::Latency;

use pushmark_chart::estimate::Estimate;

/// The curve begins at p10.
pub(crate) const FIRST: f64 = 0.1;

/// Returns the place of a percentile on the axis.
pub(crate) fn place(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// Returns `count` shares from p10 to `last`, even on the axis.
pub(crate) fn grid(last: f64, count: usize) -> Vec<f64> {
    let (from, to) = (place(FIRST), place(last));
    let at = |i: usize| from + (to - from) * i as f64 / (count - 1) as f64;
    (0..count).map(|i| 1.0 - 10f64.powf(-at(i))).collect()
}

/// Decodes the distribution of a summary; `None` if its histogram is not valid.
pub(crate) fn decode(latency: &Latency) -> Option<Distribution> {
    if latency.histogram.is_empty() && latency.histogram_negative.is_empty() {
        return None;
    }
    Distribution::decode(&latency.histogram, &latency.histogram_negative, latency.over_1h)
}

/// Returns the values at `shares`, µs; `None` where missing deliveries begin.
pub(crate) fn values(distribution: &Distribution, expected: u64, shares: &[f64]) -> Vec<Option<f64>> {
    let total = expected.max(distribution.count());
    let rank = |share: f64| ((share * total as f64 - 1e-9).ceil() as u64).clamp(1, total.max(1));
    shares.iter().map(|s| distribution.value_at_rank(rank(*s)).map(|v| v as f64)).collect()
}

/// Returns the median of several starts at each share; the curve ends at the first start that ends.
pub(crate) fn median(starts: &[Vec<Option<f64>>]) -> Vec<Option<Estimate>> {
    let length = starts.iter().map(Vec::len).min().unwrap_or(0);
    let at = |i: usize| {
        let values: Option<Vec<f64>> = starts.iter().map(|s| s[i]).collect();
        Estimate::of(&values?, true)
    };
    (0..length).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_the_missing_begin() {
        let mut d = Distribution::default();
        d.record_many_us(1_000, 90);
        assert_eq!(values(&d, 100, &[0.5, 0.9, 0.91]), [Some(1_000.0), Some(1_000.0), None]);
    }

    #[test]
    fn the_grid_is_even_in_log_of_one_minus_p() {
        let shares = grid(0.999, 5);
        assert!((shares[0] - 0.1).abs() < 1e-12 && (shares[4] - 0.999).abs() < 1e-12);
        let places: Vec<f64> = shares.iter().map(|s| place(*s)).collect();
        assert!((places[1] - places[0] - (places[4] - places[3])).abs() < 1e-9);
    }
}
