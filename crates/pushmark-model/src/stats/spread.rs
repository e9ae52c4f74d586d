//! One number from n starts and its precision: none with one start, a range with two to four, a 95 % t
//! interval with five or more.

use serde::{Deserialize, Serialize};

use super::{ALPHA, mean, student, variance};

/// Fewest starts for an interval. With fewer, the t interval is so wide and its assumptions so untested that
/// the values themselves are more informative.
pub const INTERVAL_FROM: usize = 5;

/// The scale on which values vary: differences, or ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Differences: shares and counts.
    Linear,
    /// Ratios: latencies and costs, which are skewed and never negative.
    Log,
}

impl Scale {
    /// Converts values to this scale; the logarithm needs all of them above 0.
    pub(super) fn of(self, values: &[f64]) -> Option<Vec<f64>> {
        match self {
            Scale::Linear => Some(values.to_vec()),
            Scale::Log => values.iter().map(|v| (*v > 0.0).then(|| v.ln())).collect(),
        }
    }

    /// Converts a value of this scale back to the original unit.
    fn back(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.exp(),
        }
    }
}

/// The precision of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// One start: unknown.
    None,
    /// Smallest and largest value of 2 to 4 starts.
    Range(f64, f64),
    /// 95 % t interval of 5 or more starts.
    Interval(f64, f64),
}

/// Statistics of one value per start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of fresh starts.
    pub n: usize,
    /// The mean; on the log scale the geometric mean.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// Standard deviation on the scale, unbiased; on the log scale roughly a share of the mean. Absent with
    /// one start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deviation: Option<f64>,
    /// The scale that was used: linear if the log scale was requested and a value has no logarithm.
    pub scale: Scale,
    /// Range or interval.
    pub spread: Spread,
}

impl Summary {
    /// Summarises one value per start. `None` without values, or if a value is not finite.
    pub fn of(values: &[f64], scale: Scale) -> Option<Summary> {
        let mut sorted = values.to_vec();
        if sorted.is_empty() || sorted.iter().any(|v| !v.is_finite()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let (scale, scaled) = match scale.of(&sorted) {
            Some(scaled) => (scale, scaled),
            None => (Scale::Linear, sorted.clone()),
        };
        let n = sorted.len();
        let deviation = (n > 1).then(|| variance(&scaled).sqrt());
        let spread = match deviation {
            None => Spread::None,
            Some(_) if n < INTERVAL_FROM => Spread::Range(sorted[0], sorted[n - 1]),
            Some(deviation) => {
                let half =
                    student::quantile(1.0 - ALPHA / 2.0, n as f64 - 1.0) * deviation / (n as f64).sqrt();
                let middle = mean(&scaled);
                Spread::Interval(scale.back(middle - half), scale.back(middle + half))
            }
        };
        let median = if n % 2 == 1 { sorted[n / 2] } else { (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0 };
        Some(Summary { n, mean: scale.back(mean(&scaled)), median, deviation, scale, spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(values: &[f64], scale: Scale) -> (f64, f64) {
        match Summary::of(values, scale).unwrap().spread {
            Spread::Interval(low, high) => (low, high),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_start_has_no_bar_and_four_a_range() {
        assert_eq!(Summary::of(&[3.0], Scale::Log).unwrap().spread, Spread::None);
        let four = Summary::of(&[3.0, 1.0, 2.0, 8.0], Scale::Log).unwrap();
        assert_eq!((four.median, four.spread), (2.5, Spread::Range(1.0, 8.0)));
    }

    /// The worked example of a t interval in the NIST/SEMATECH e-Handbook, 1.3.5.2 (heat flow
    /// meter): 195 values, mean 9.261460, deviation 0.022789, interval 9.258242 to 9.264679.
    #[test]
    fn the_interval_of_the_handbook() {
        // One value at the mean, the others one deviation away: they have exactly this mean and deviation.
        let (mean, deviation) = (9.261460, 0.022789);
        let values: Vec<f64> = (0..195)
            .map(|i| match i {
                0 => mean,
                i if i % 2 == 0 => mean + deviation,
                _ => mean - deviation,
            })
            .collect();
        let (low, high) = interval(&values, Scale::Linear);
        assert!((low - 9.258242).abs() < 2e-6 && (high - 9.264679).abs() < 2e-6, "{low} {high}");
    }

    #[test]
    fn five_are_a_t_interval_on_the_log_scale() {
        // Logs 0, 1, 2, 3, 4: mean 2, deviation √2.5, half 2.77645 × √(2.5 / 5).
        let values: Vec<f64> = (0..5).map(|i| f64::from(i).exp()).collect();
        let (low, high) = interval(&values, Scale::Log);
        assert!((low.ln() - (2.0 - 1.96324)).abs() < 1e-5, "{}", low.ln());
        assert!((high.ln() - (2.0 + 1.96324)).abs() < 1e-5, "{}", high.ln());
    }

    #[test]
    fn what_has_no_logarithm_is_summed_up_as_it_is() {
        let summary = Summary::of(&[0.0, 1.0, 2.0, 3.0, 4.0], Scale::Log).unwrap();
        assert_eq!((summary.scale, summary.mean), (Scale::Linear, 2.0));
        assert_eq!(Summary::of(&[1.0, f64::INFINITY], Scale::Log), None);
        assert_eq!(Summary::of(&[], Scale::Linear), None);
    }
}
