//! Student's t, for degrees of freedom from 3 on: below it no interval is given.

use distrs::StudentsT;

/// Returns the value that a t with these degrees of freedom stays below with this probability.
pub(super) fn quantile(probability: f64, degrees: f64) -> f64 {
    StudentsT::ppf(probability, degrees)
}

/// Returns the probability that |t| is at least this large by chance alone.
pub(super) fn two_sided(t: f64, degrees: f64) -> f64 {
    (2.0 * StudentsT::cdf(-t.abs(), degrees)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the published table of critical values (Fisher and Yates, table III).
    #[test]
    fn quantiles_are_those_of_the_published_table() {
        let table = [
            (3.0, 0.975, 3.182),
            (4.0, 0.975, 2.776),
            (5.0, 0.95, 2.015),
            (8.0, 0.975, 2.306),
            (9.0, 0.975, 2.262),
            (12.0, 0.995, 3.055),
            (20.0, 0.9, 1.325),
            (30.0, 0.975, 2.042),
            (60.0, 0.975, 2.000),
            (120.0, 0.995, 2.617),
        ];
        for (degrees, probability, expected) in table {
            let found = quantile(probability, degrees);
            assert!((found - expected).abs() < 0.0006, "{degrees} {probability}: {found} not {expected}");
        }
    }

    #[test]
    fn probability_and_quantile_undo_each_other() {
        for degrees in [3.0, 4.0, 4.7, 8.0, 13.9, 100.0] {
            for p in [0.2, 0.05, 0.01, 0.001] {
                let back = two_sided(quantile(1.0 - p / 2.0, degrees), degrees);
                assert!((back - p).abs() < 1e-5, "{degrees} {p}: {back}");
            }
        }
        assert_eq!(two_sided(0.0, 5.0), 1.0);
    }
}
