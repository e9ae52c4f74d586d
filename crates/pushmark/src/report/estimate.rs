//! One number from n fresh server starts: the median, and how sure it is. n = 1 has no bar,
//! 2 to 4 a range, 5 and more a 95 % t interval (on the log scale for latencies and costs).

/// How far a number can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    /// One start.
    None,
    /// Least and greatest of 2 to 4 starts.
    Range(f64, f64),
    /// 95 % t interval of 5 or more.
    Interval(f64, f64),
}

/// The median of `n` starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) spread: Spread,
    pub(crate) n: usize,
}

impl Estimate {
    /// From one value a start; `None` without any. `log` where ratios are what varies.
    pub(crate) fn of(values: &[f64], log: bool) -> Option<Estimate> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        if sorted.is_empty() || sorted.len() < values.len() {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let value = median_of_sorted(&sorted);
        let spread = match n {
            1 => Spread::None,
            2..=4 => Spread::Range(sorted[0], sorted[n - 1]),
            _ if log && sorted[0] > 0.0 => {
                let logs: Vec<f64> = sorted.iter().map(|v| v.ln()).collect();
                let (low, high) = t_interval(&logs);
                Spread::Interval(low.exp(), high.exp())
            }
            _ => {
                let (low, high) = t_interval(&sorted);
                Spread::Interval(low, high)
            }
        };
        Some(Estimate { value, spread, n })
    }

    /// Low and high end of the bar, if one is drawn.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::None => None,
            Spread::Range(low, high) | Spread::Interval(low, high) => Some((low, high)),
        }
    }

    /// The same number in another unit.
    pub(crate) fn scaled(&self, factor: f64) -> Estimate {
        let spread = match self.spread {
            Spread::None => Spread::None,
            Spread::Range(a, b) => Spread::Range(a * factor, b * factor),
            Spread::Interval(a, b) => Spread::Interval(a * factor, b * factor),
        };
        Estimate { value: self.value * factor, spread, n: self.n }
    }
}

/// The middle of sorted values; the mean of the two middle ones when there is none.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n % 2 == 1 { sorted[n / 2] } else { (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0 }
}

fn t_interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_975(values.len() - 1) * (variance / n).sqrt();
    (mean - half, mean + half)
}

/// The 0.975 quantile of Student's t.
fn t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match degrees {
        1..=30 => TABLE[degrees - 1],
        // The rows end; what is beyond is wider than the normal's 1.960 and within 0.04 of it.
        _ => 1.960 + 2.46 / degrees as f64,
    }
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
