//! Axes: from a quantity to a place, and the ticks between. Latency is always logarithmic,
//! in one unit family; cost and counts are linear and start at 0.

use super::numbers::{PAGE, byte_unit};

/// Maps a quantity to a place along one axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// Makes a linear scale from 0 to a round number not below `high`.
    pub fn from_zero(high: f64, from: f64, to: f64) -> Scale {
        let high = if high > 0.0 { round_up(high) } else { 1.0 };
        Scale { low: 0.0, high, from, to, log: false }
    }

    /// Makes a linear scale between two values as they are.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale { low, high, from, to, log: false }
    }

    /// Makes a logarithmic scale over all of `values` above 0, extended to the next 1-2-5 steps.
    pub fn log_over(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values {
            if value > 0.0 && value.is_finite() {
                low = low.min(value);
                high = high.max(value);
            }
        }
        if high == 0.0 {
            (low, high) = (1.0, 10.0);
        }
        let floor = step_down(low * 0.95);
        let top = step_up(high * 1.05);
        let top = if top / floor < 3.9 { floor * 10.0 } else { top };
        Scale { low: floor, high: top, from, to, log: true }
    }

    /// Makes a scale between two values as they are, logarithmic or not.
    pub fn between(low: f64, high: f64, log: bool, from: f64, to: f64) -> Scale {
        if log && low > 0.0 && high > low {
            return Scale { low, high, from, to, log };
        }
        Scale::linear(low, high, from, to)
    }

    /// Returns the place of a value along the axis.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// The lowest value.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The highest value.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Powers of two within a log axis of bytes, at most six.
    pub fn binary_ticks(&self) -> Vec<f64> {
        let all = (0..50).map(|i| 2f64.powi(i)).filter(|t| *t >= self.low * 0.999 && *t <= self.high * 1.001);
        thin_to(all.collect(), 6)
    }

    /// Returns three to six places worth a label.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log { self.log_ticks() } else { self.linear_ticks() }
    }

    fn log_ticks(&self) -> Vec<f64> {
        let steps: &[f64] = match (self.high / self.low).log10() {
            d if d <= 1.05 => &[1.0, 2.0, 3.0, 5.0],
            d if d <= 2.05 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let mut ticks = Vec::new();
        let mut decade = decade_down(self.low);
        while decade <= self.high * 1.001 {
            ticks.extend(
                steps
                    .iter()
                    .map(|s| s * decade)
                    .filter(|t| *t >= self.low * 0.999 && *t <= self.high * 1.001),
            );
            decade *= 10.0;
        }
        thin_to(ticks, 7)
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let span = self.high - self.low;
        let raw = span / 4.0;
        let magnitude = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * magnitude).into_iter().find(|s| *s >= raw * 0.999);
        let step = step.unwrap_or(raw);
        let first = (self.low / step).ceil() as i64;
        let last = ((self.high + step * 1e-6) / step).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

fn thin_to(ticks: Vec<f64>, most: usize) -> Vec<f64> {
    let every = ticks.len().div_ceil(most).max(1);
    ticks.into_iter().step_by(every).collect()
}

fn decade_down(value: f64) -> f64 {
    10f64.powf((value.log10() + 1e-9).floor())
}

fn step_down(value: f64) -> f64 {
    let decade = decade_down(value);
    [5.0, 2.0, 1.0].into_iter().map(|s| s * decade).find(|s| *s <= value * 1.000_001).unwrap_or(decade)
}

fn step_up(value: f64) -> f64 {
    let decade = decade_down(value);
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|s| s * decade)
        .find(|s| *s >= value * 0.999_999)
        .unwrap_or(decade * 10.0)
}

fn round_up(value: f64) -> f64 {
    let decade = decade_down(value);
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|s| s * decade).find(|s| *s >= value * 0.999_999).unwrap_or(decade * 10.0)
}

/// Formats a tick of a time axis: round values need no decimals.
pub fn time_tick(value_us: f64) -> String {
    let (scaled, unit) = match value_us {
        v if v < 1.0 => (v * 1e3, "ns"),
        v if v < 999.5 => (v, "µs"),
        v if v < 999_500.0 => (v / 1e3, "ms"),
        v => (v / 1e6, "s"),
    };
    format!("{}\u{a0}{unit}", plain_tick(scaled))
}

/// Formats a tick of an axis of bytes.
pub fn byte_tick(value: f64) -> String {
    let (by, name) = byte_unit(value);
    format!("{}\u{a0}{name}", plain_tick(value / by))
}

/// Formats a tick of a plain number.
pub fn plain_tick(value: f64) -> String {
    let decimals = (0..6).find(|d| {
        let scale = 10f64.powi(*d);
        ((value * scale).round() - value * scale).abs() < 1e-6 * scale.max(value.abs())
    });
    PAGE.fixed(value, decimals.unwrap_or(6) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_axes_tick_at_decades_or_1_2_5() {
        let wide = Scale::log_over([120.0, 90_000.0], 0.0, 100.0);
        assert_eq!(
            wide.ticks().into_iter().map(time_tick).collect::<Vec<_>>(),
            ["100\u{a0}µs", "1\u{a0}ms", "10\u{a0}ms", "100\u{a0}ms"]
        );
        let tight = Scale::log_over([3.0, 40.0], 0.0, 100.0);
        assert_eq!(
            tight.ticks().into_iter().map(plain_tick).collect::<Vec<_>>(),
            ["2", "5", "10", "20", "50"]
        );
    }

    #[test]
    fn linear_axes_start_at_zero_and_hold_the_greatest() {
        let scale = Scale::from_zero(68.4, 0.0, 100.0);
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert!(scale.at(68.4) < 100.0);
        assert_eq!(Scale::from_zero(0.0, 0.0, 1.0).high, 1.0);
    }

    #[test]
    fn every_log_axis_has_two_ticks() {
        for (low, high) in [(1.0, 1.0), (7.0, 7.1), (99.0, 101.0), (0.5, 3.0), (1.0, 3.6e9)] {
            let scale = Scale::log_over([low, high], 0.0, 1.0);
            let ticks = scale.ticks();
            assert!((2..=7).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            assert!(scale.low() <= low && scale.high >= high, "{low} to {high}: {scale:?}");
        }
    }
}
