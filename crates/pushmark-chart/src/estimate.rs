//! One number from n fresh server starts: the median and its uncertainty. n = 1 has no bar, 2 to 4 a
//! range, 5 and more a 95 % t interval (on the log scale for latencies and costs).

use pushmark_model::stats::{Scale, Summary};

pub use pushmark_model::stats::Spread;

/// The median of `n` starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median.
    pub value: f64,
    /// Its range or interval.
    pub spread: Spread,
    /// Number of starts.
    pub n: usize,
}

impl Estimate {
    /// Computes it from one value a start; `None` without values. `log` is for values that vary by ratio.
    pub fn of(values: &[f64], log: bool) -> Option<Estimate> {
        let summary = Summary::of(values, if log { Scale::Log } else { Scale::Linear })?;
        Some(Estimate { value: summary.median, spread: summary.spread, n: summary.n })
    }

    /// Returns the low and high end of the bar, if one is drawn.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::None => None,
            Spread::Range(low, high) | Spread::Interval(low, high) => Some((low, high)),
        }
    }

    /// Returns what a scale must hold: the value, and the ends of its bar.
    pub fn ends(&self) -> Vec<f64> {
        self.bounds().map_or(vec![self.value], |(low, high)| vec![low, self.value, high])
    }

    /// Returns the same number in another unit.
    pub fn scaled(&self, factor: f64) -> Estimate {
        let spread = match self.spread {
            Spread::None => Spread::None,
            Spread::Range(a, b) => Spread::Range(a * factor, b * factor),
            Spread::Interval(a, b) => Spread::Interval(a * factor, b * factor),
        };
        Estimate { value: self.value * factor, spread, n: self.n }
    }
}

/// Returns the middle of sorted values; for an even count, the mean of the two middle values.
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n % 2 == 1 { sorted[n / 2] } else { (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_start_has_no_bar() {
        assert_eq!(Estimate::of(&[3.0], true).unwrap().bounds(), None);
    }

    #[test]
    fn fewer_than_five_is_a_range() {
        let e = Estimate::of(&[3.0, 1.0, 2.0], true).unwrap();
        assert_eq!((e.value, e.spread), (2.0, Spread::Range(1.0, 3.0)));
    }

    #[test]
    fn five_is_a_t_interval_on_the_log_scale() {
        // Logs 0, 1, 2, 3, 4: mean 2, s = sqrt 2.5, half = 2.776 × sqrt(2.5 / 5).
        let values: Vec<f64> = (0..5).map(|i| f64::from(i).exp()).collect();
        let Spread::Interval(low, high) = Estimate::of(&values, true).unwrap().spread else {
            panic!("an interval")
        };
        assert!((low.ln() - (2.0 - 1.96293)).abs() < 1e-3, "{}", low.ln());
        assert!((high.ln() - (2.0 + 1.96293)).abs() < 1e-3, "{}", high.ln());
    }

    #[test]
    fn a_start_without_the_number_leaves_none_to_show() {
        assert_eq!(Estimate::of(&[1.0, f64::INFINITY], true), None);
        assert_eq!(Estimate::of(&[], true), None);
    }
}
