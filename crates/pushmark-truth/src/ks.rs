//! The Kolmogorov–Smirnov test of a recorded distribution against a known one.

use pushmark_model::histogram::Distribution;

/// The fit of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// Values.
    pub(super) n: u64,
    /// Largest distance between the two distribution functions.
    pub(super) distance: f64,
    /// Chance of at least this distance if the sample is of that distribution.
    pub(super) p: f64,
}

/// Compares values ≥ 0, µs, with the distribution function `cdf`.
///
/// Values are kept to three digits, so the distance is taken at the upper ends of the buckets,
/// where both functions are known.
pub(super) fn fit(sample: &Distribution, cdf: impl Fn(f64) -> f64) -> Fit {
    let histogram = sample.positive();
    let n = histogram.len();
    let (mut seen, mut distance) = (0, 0.0f64);
    for step in histogram.iter_recorded() {
        seen += step.count_since_last_iteration();
        // A value of v µs lies in [v, v + 1).
        let upper = histogram.highest_equivalent(step.value_iterated_to()) as f64 + 1.0;
        distance = distance.max((cdf(upper) - seen as f64 / n as f64).abs());
    }
    Fit { n, distance, p: if n == 0 { 0.0 } else { tail(n as f64, distance) } }
}

/// Chance of a distance of at least this (Stephens' approximation of Kolmogorov's series).
fn tail(n: f64, distance: f64) -> f64 {
    let root = n.sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    if lambda < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::draw::{Draw, Purpose};

    fn sample(n: u64, value_us: impl Fn(&mut Draw) -> f64) -> Distribution {
        let mut draw = Draw::new(7, Purpose::Jitter, n);
        let mut d = Distribution::default();
        (0..n).for_each(|_| d.record_us(value_us(&mut draw) as u64));
        d
    }

    #[test]
    fn a_uniform_sample_fits_and_a_bent_one_does_not() {
        let uniform = |x: f64| (x / 1e6).clamp(0.0, 1.0);
        let good = fit(&sample(1_000, |d| d.unit() * 1e6), uniform);
        assert!(good.p > 0.05, "{good:?}");
        let bent = fit(&sample(1_000, |d| d.unit().powf(1.3) * 1e6), uniform);
        assert!(bent.p < 0.01, "{bent:?}");
    }

    #[test]
    fn known_quantiles_of_the_statistic() {
        // Critical distances for large n: 1.358 ÷ √n at 5 %, 1.628 ÷ √n at 1 %.
        assert!((tail(1e6, 1.358e-3) - 0.05).abs() < 0.001);
        assert!((tail(1e6, 1.628e-3) - 0.01).abs() < 0.001);
    }
}
