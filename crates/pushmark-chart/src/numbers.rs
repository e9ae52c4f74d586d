//! How numbers are written: three significant digits, one unit a column, counts exact and
//! grouped, a true minus. The page and the terminal differ only in the glyphs.

use super::estimate::{Estimate, Spread, median_of_sorted};

/// The glyphs of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Notation {
    thousands: &'static str,
    minus: &'static str,
    /// Between a number and its unit.
    space: &'static str,
    micro: &'static str,
}

/// In HTML and SVG.
pub const PAGE: Notation =
    Notation { thousands: "\u{202f}", minus: "\u{2212}", space: "\u{a0}", micro: "µs" };
/// On a terminal (one without UTF-8 replaces glyphs afterwards).
pub const TERMINAL: Notation = Notation { thousands: ",", minus: "\u{2212}", space: " ", micro: "µs" };

/// A unit of time, chosen once an axis or table column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// Chooses the unit by the median of the column's values.
    pub fn of_median(values_us: &[f64]) -> TimeUnit {
        let mut sorted: Vec<f64> = values_us.iter().map(|v| v.abs()).filter(|v| v.is_finite()).collect();
        if sorted.is_empty() {
            return TimeUnit::Ms;
        }
        sorted.sort_by(f64::total_cmp);
        TimeUnit::of(median_of_sorted(&sorted))
    }

    /// Chooses the unit of one number alone.
    pub fn of(value_us: f64) -> TimeUnit {
        match value_us.abs() {
            v if v < 999.5 => TimeUnit::Us,
            v if v < 999_500.0 => TimeUnit::Ms,
            _ => TimeUnit::S,
        }
    }

    /// Its length in µs.
    pub fn us(self) -> f64 {
        match self {
            TimeUnit::Us => 1.0,
            TimeUnit::Ms => 1e3,
            TimeUnit::S => 1e6,
        }
    }

    /// Its name, for a page or a terminal.
    pub fn name(self, n: &Notation) -> &'static str {
        match self {
            TimeUnit::Us => n.micro,
            TimeUnit::Ms => "ms",
            TimeUnit::S => "s",
        }
    }

    /// Returns the most decimals of a unit: none below 1 µs.
    fn most_decimals(self) -> usize {
        match self {
            TimeUnit::Us => 0,
            TimeUnit::Ms | TimeUnit::S => 2,
        }
    }
}

impl Notation {
    /// Formats a count: always exact, in groups of three.
    pub fn count(&self, value: u64) -> String {
        self.group(&value.to_string())
    }

    fn group(&self, digits: &str) -> String {
        let mut out = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                out.push_str(self.thousands);
            }
            out.push(digit);
        }
        out
    }

    /// Formats with fixed decimals, grouped, with a true minus.
    pub fn fixed(&self, value: f64, decimals: usize) -> String {
        let plain = format!("{:.decimals$}", value.abs());
        let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
        let negative = value < 0.0 && plain.chars().any(|c| c.is_ascii_digit() && c != '0');
        format!("{}{}{rest}", if negative { self.minus } else { "" }, self.group(whole))
    }

    /// Formats three significant digits.
    pub fn three(&self, value: f64) -> String {
        self.fixed(value, decimals_of_three(value, 6))
    }

    /// Formats a time in a column's unit, without the unit.
    pub fn time_in(&self, value_us: f64, unit: TimeUnit) -> String {
        let most = unit.most_decimals();
        let scaled = value_us / unit.us();
        let grain = 0.1f64.powi(most as i32);
        if value_us.abs() < 1.0 || scaled.abs() < grain / 2.0 {
            // Integer µs round toward zero, so 0 may be less than 1 µs.
            return format!("<{}{}", self.space, self.fixed(grain, most));
        }
        self.fixed(scaled, decimals_of_three(scaled, most))
    }

    /// Formats a time alone, with its unit.
    pub fn time(&self, value_us: f64) -> String {
        if value_us.abs() > 120e6 {
            let seconds = (value_us / 1e6).round() as i64;
            return format!("{1}{0}min{0}{2}{0}s", self.space, seconds / 60, seconds.abs() % 60);
        }
        let unit = TimeUnit::of(value_us);
        format!("{}{}{}", self.time_in(value_us, unit), self.space, unit.name(self))
    }

    /// Formats a duration of the scenario without false decimals.
    pub fn duration(&self, value_us: f64) -> String {
        let text = self.time(value_us);
        match text.split_once('.') {
            Some((whole, rest)) => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let digits = rest[..end].trim_end_matches('0');
                let dot = if digits.is_empty() { "" } else { "." };
                format!("{whole}{dot}{digits}{}", &rest[end..])
            }
            None => text,
        }
    }

    /// Bytes in powers of 1 024.
    pub fn bytes(&self, value: f64) -> String {
        let (scale, unit) = byte_unit(value);
        let scaled = value / scale;
        let decimals = if scale == 1.0 && value.fract() == 0.0 { 0 } else { decimals_of_three(scaled, 2) };
        format!("{}{}{unit}", self.fixed(scaled, decimals), self.space)
    }

    /// Formats a share of 1 as `12.3 %`.
    pub fn percent(&self, share: f64) -> String {
        let value = share * 100.0;
        format!("{}{}%", self.fixed(value, decimals_of_three(value, 2)), self.space)
    }

    /// Returns `11 ×`.
    pub fn ratio(&self, value: f64) -> String {
        let decimals = if value >= 9.95 { 0 } else { 1 };
        format!("{}{}×", self.fixed(value, decimals), self.space)
    }

    /// Returns `3.42 [3.28, 3.57]` or `3.42 (3.28 to 3.57)`: value and bounds have the same number of
    /// decimals.
    pub fn estimate(&self, e: &Estimate) -> String {
        let decimals = estimate_decimals(e, 6);
        let value = self.fixed(e.value, decimals);
        self.bounds(e, decimals).map_or(value.clone(), |b| format!("{value} {b}"))
    }

    /// Returns the bounds alone, in their brackets.
    pub fn bounds(&self, e: &Estimate, decimals: usize) -> Option<String> {
        let f = |v| self.fixed(v, decimals);
        match e.spread {
            Spread::None => None,
            Spread::Range(low, high) => Some(format!("({} to {})", f(low), f(high))),
            Spread::Interval(low, high) => Some(format!("[{}, {}]", f(low), f(high))),
        }
    }
}

/// Returns divisor and name of the unit for a number of bytes.
pub fn byte_unit(value: f64) -> (f64, &'static str) {
    match value.abs() {
        v if v < 1024.0 => (1.0, "B"),
        v if v < 1024.0 * 1024.0 => (1024.0, "KiB"),
        v if v < 1024.0 * 1024.0 * 1024.0 => (1024.0 * 1024.0, "MiB"),
        _ => (1024.0 * 1024.0 * 1024.0, "GiB"),
    }
}

/// Decimals that leave three significant digits.
pub fn decimals_of_three(value: f64, most: usize) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    // 9.996 has three digits as 10.0, not 10.00.
    let rounded =
        format!("{:.*}", (2 - magnitude).max(0) as usize, value.abs()).parse::<f64>().unwrap_or(value);
    let magnitude = rounded.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    ((2 - magnitude).max(0) as usize).min(most)
}

/// Returns the decimals of an estimate. A digit that the interval makes meaningless is dropped.
pub fn estimate_decimals(e: &Estimate, most: usize) -> usize {
    let decimals = decimals_of_three(e.value, most);
    match e.bounds() {
        // If the interval is at least a hundred units of the last digit, that digit is not significant.
        Some((low, high)) if decimals > 0 && (high - low) > 100.0 * 0.1f64.powi(decimals as i32) => {
            decimals - 1
        }
        _ => decimals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_and_grouped() {
        let checks =
            [(0, "0"), (999, "999"), (1_000, "1\u{202f}000"), (6_000_000, "6\u{202f}000\u{202f}000")];
        for (value, expected) in checks {
            assert_eq!(PAGE.count(value), expected);
        }
        assert_eq!(TERMINAL.count(1_234_567), "1,234,567");
    }

    #[test]
    fn three_significant_digits() {
        let checks = [
            (12.34, "12.3"),
            (1.04, "1.04"),
            (0.0345, "0.0345"),
            (9.996, "10.0"),
            (999.6, "1,000"),
            (-2.5, "−2.50"),
        ];
        for (value, expected) in checks {
            assert_eq!(TERMINAL.three(value), expected);
        }
    }

    #[test]
    fn time_switches_unit_and_never_shows_a_zero_it_did_not_measure() {
        let checks = [
            (0.0, "< 1 µs"),
            (310.0, "310 µs"),
            (999.9, "1.00 ms"),
            (12_300.0, "12.3 ms"),
            (2_000_000.0, "2.00 s"),
            (200e6, "3 min 20 s"),
            (-40.0, "−40 µs"),
        ];
        for (value, expected) in checks {
            assert_eq!(TERMINAL.time(value), expected);
        }
        assert_eq!(TERMINAL.time_in(310.0, TimeUnit::Ms), "0.31");
        assert_eq!(TERMINAL.time_in(3.0, TimeUnit::Ms), "< 0.01");
        assert_eq!(TERMINAL.duration(60e6), "60 s");
        assert_eq!(TERMINAL.duration(2.5e6), "2.5 s");
    }

    #[test]
    fn the_unit_of_a_column_is_its_medians() {
        assert_eq!(TimeUnit::of_median(&[300.0, 1_200.0, 25_000.0]), TimeUnit::Ms);
        assert_eq!(TimeUnit::of_median(&[300.0, 400.0, 25_000.0]), TimeUnit::Us);
    }

    #[test]
    fn value_and_bounds_share_their_decimals() {
        let interval = |value, low, high| Estimate { value, spread: Spread::Interval(low, high), n: 5 };
        assert_eq!(PAGE.estimate(&interval(3.42, 3.281, 3.57)), "3.42 [3.28, 3.57]");
        assert_eq!(PAGE.estimate(&interval(3.42, 2.1, 4.7)), "3.4 [2.1, 4.7]");
        let range = Estimate { value: 12.3, spread: Spread::Range(11.8, 13.0), n: 3 };
        assert_eq!(PAGE.estimate(&range), "12.3 (11.8 to 13.0)");
    }

    #[test]
    fn bytes_are_powers_of_1024() {
        assert_eq!(TERMINAL.bytes(128.0), "128 B");
        assert_eq!(TERMINAL.bytes(2_355.2), "2.30 KiB");
        assert_eq!(TERMINAL.ratio(11.2), "11 ×");
        assert_eq!(TERMINAL.percent(0.1234), "12.3 %");
    }
}
