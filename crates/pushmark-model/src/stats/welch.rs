//! Compares two sets of starts with Welch's t (Biometrika 34, 1947), which does not assume equal variances.
//! On the log scale the difference is a ratio.

use super::{ALPHA, Scale, mean, student, variance};

/// B against A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of B − mean of A, on the scale.
    pub difference: f64,
    /// The standard error of the difference.
    pub error: f64,
    /// Degrees of freedom (Satterthwaite).
    pub degrees: f64,
    /// The probability that chance alone gives a difference this large.
    pub p: f64,
}

impl Welch {
    /// Returns `None` if a side has fewer than two values, if the scale needs a logarithm that a value does
    /// not have, and if the values within each side are all equal: there is no error to judge by.
    pub fn of(a: &[f64], b: &[f64], scale: Scale) -> Option<Welch> {
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let (a, b) = (scale.of(a)?, scale.of(b)?);
        let parts = [&a, &b].map(|side| variance(side) / side.len() as f64);
        let [of_a, of_b] = parts;
        let whole = of_a + of_b;
        let difference = mean(&b) - mean(&a);
        // Rounding leaves a tiny variance in equal values.
        if !whole.is_finite() || whole.sqrt() <= 1e-12 * (mean(&a).abs() + mean(&b).abs()).max(1e-12) {
            return None;
        }
        let degrees =
            whole.powi(2) / (of_a.powi(2) / (a.len() as f64 - 1.0) + of_b.powi(2) / (b.len() as f64 - 1.0));
        let error = whole.sqrt();
        Some(Welch { difference, error, degrees, p: student::two_sided(difference / error, degrees) })
    }

    /// Returns the 95 % interval of the difference, on the scale.
    pub fn interval(&self) -> (f64, f64) {
        let half = student::quantile(1.0 - ALPHA / 2.0, self.degrees) * self.error;
        (self.difference - half, self.difference + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sleep of ten patients under two drugs ("Student", Biometrika 6, 1908), as two sets: the
    /// worked example of R's `t.test`: t = −1.8608, df = 17.776, p = 0.07939, interval −3.3654832
    /// to 0.2054832 (first − second).
    #[test]
    fn the_sleep_of_student() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let welch = Welch::of(&second, &first, Scale::Linear).unwrap();
        let close = |found: f64, expected: f64, by: f64| {
            assert!((found - expected).abs() < by, "{found} not {expected}")
        };
        close(welch.difference / welch.error, -1.8608, 1e-4);
        close(welch.degrees, 17.776, 1e-3);
        close(welch.p, 0.07939, 1e-5);
        close(welch.interval().0, -3.3654832, 1e-5);
        close(welch.interval().1, 0.2054832, 1e-5);
    }

    #[test]
    fn on_the_log_scale_a_factor_is_a_difference() {
        let a = [10.0, 11.0, 9.5, 10.4, 10.1];
        let b = a.map(|v| v * 3.0);
        let welch = Welch::of(&a, &b, Scale::Log).unwrap();
        assert!((welch.difference.exp() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn without_variation_there_is_nothing_to_judge_by() {
        assert_eq!(Welch::of(&[0.1; 5], &[0.3; 5], Scale::Log), None);
        assert_eq!(Welch::of(&[0.0; 5], &[0.0; 5], Scale::Linear), None);
        assert_eq!(Welch::of(&[0.0, 1.0], &[1.0, 2.0], Scale::Log), None, "no logarithm of 0");
        assert_eq!(Welch::of(&[1.0], &[1.0, 2.0], Scale::Linear), None);
    }
}
