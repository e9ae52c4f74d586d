//! A metric as a report writes it: one unit a column, ticks, words for its axis, and its value in an arm
//! (the median over starts, never a percentile pooled over runs).

use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::{PAGE, TimeUnit, byte_unit};
use pushmark_chart::scale::{byte_tick, plain_tick, time_tick};
use pushmark_model::metrics::{Metric, Unit};
use pushmark_model::run::Delivery;

use super::super::case::{ArmView, P, Percentile};

/// A metric to be drawn.
#[derive(Clone)]
pub struct Quantity {
    metric: Metric,
}

/// The value of a metric in an arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    Value(Estimate),
    /// The percentile falls among the missing deliveries: a lower bound.
    AtLeast(f64),
    /// The reason, after the dash.
    Absent(String),
}

impl Reading {
    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        match self {
            Reading::Value(estimate) => Some(estimate),
            _ => None,
        }
    }
}

/// One unit for a whole table: divisor and name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Divisor {
    pub(crate) by: f64,
    pub(crate) name: &'static str,
}

impl Quantity {
    /// Finds the metric of a name.
    ///
    /// # Errors
    /// Says that there is no such metric.
    pub fn find(name: &str) -> Result<Quantity, String> {
        let metric = Metric::find(name).ok_or_else(|| format!("there is no metric `{name}`"))?;
        Ok(Quantity { metric })
    }

    pub(crate) fn name(&self) -> &str {
        &self.metric.name
    }

    pub(crate) fn about(&self) -> &str {
        &self.metric.about
    }

    /// Latencies and ages: always on a log axis. CPU time is a cost and is not.
    pub fn is_latency(&self) -> bool {
        self.metric.unit == Unit::Micros
            && !self.metric.name.contains("cpu")
            && !self.metric.name.contains("_us")
    }

    /// Returns the base of round numbers: bytes in powers of 1 024.
    pub(crate) fn round_in(&self, most: f64) -> f64 {
        if self.metric.unit == Unit::Bytes { byte_unit(most).0 } else { 1.0 }
    }

    /// Counts and rates may span too wide a range for a linear axis.
    pub(crate) fn is_rate(&self) -> bool {
        matches!(self.metric.unit, Unit::Count | Unit::PerSecond)
    }

    /// Returns the name for an axis, long and short.
    pub fn words(&self) -> (String, String) {
        let clause = |text: &str| {
            let end = text.find([',', ';', '(']).unwrap_or(text.len());
            text[..end].trim().to_string()
        };
        let unit = if self.metric.unit == Unit::PerSecond { ", per s" } else { "" };
        let stat = self.metric.name.rsplit('.').next().unwrap_or_default();
        let whole = match self.metric.about.rsplit_once(": ") {
            Some((family, _)) => format!("{stat} of {}", clause(family)),
            None => clause(&self.metric.about),
        };
        (format!("{whole}{unit}"), format!("{}{unit}", self.metric.name))
    }

    /// Returns the value in an arm as a number: the median of its starts; `None` if it has none.
    pub fn value(&self, arm: &ArmView<'_>) -> Option<f64> {
        Some(self.read(arm).estimate()?.value)
    }

    /// Returns the value in an arm.
    pub(crate) fn read(&self, arm: &ArmView<'_>) -> Reading {
        if let Some((of, p)) = percentile(&self.metric.name) {
            return match arm.percentile(of, p) {
                Percentile::Value(estimate) => Reading::Value(estimate),
                Percentile::AtLeast { us, .. } => Reading::AtLeast(us),
                Percentile::Absent(reason) => Reading::Absent(reason),
            };
        }
        let log = self.metric.unit == Unit::Micros;
        let read = arm.estimate(|a| self.metric.value(a), log);
        read.map_or_else(|| Reading::Absent("not measured".into()), Reading::Value)
    }

    /// Returns the unit of a table, by the median of its values.
    pub(crate) fn divisor(&self, values: &[f64]) -> Divisor {
        let mut sorted: Vec<f64> = values.iter().map(|v| v.abs()).collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        match self.metric.unit {
            Unit::Micros => {
                let unit = TimeUnit::of_median(values);
                Divisor { by: unit.us(), name: unit.name(&PAGE) }
            }
            Unit::Bytes => {
                let (by, name) = byte_unit(middle);
                Divisor { by, name }
            }
            Unit::Ratio => Divisor { by: 1.0, name: "" },
            Unit::Count | Unit::PerSecond => {
                let per_s = self.metric.unit == Unit::PerSecond;
                match middle {
                    m if m >= 1e6 => Divisor { by: 1e6, name: if per_s { "million/s" } else { "million" } },
                    m if m >= 1e4 => Divisor { by: 1e3, name: if per_s { "thousand/s" } else { "thousand" } },
                    _ => Divisor { by: 1.0, name: if per_s { "/s" } else { "" } },
                }
            }
        }
    }

    /// Formats one number alone: three digits and its unit.
    pub fn show(&self, value: f64) -> String {
        match self.metric.unit {
            Unit::Micros => PAGE.time(value),
            Unit::Bytes => PAGE.bytes(value),
            Unit::Ratio => PAGE.three(value),
            Unit::Count if value.fract() == 0.0 && value >= 0.0 => PAGE.count(value as u64),
            Unit::Count => PAGE.three(value),
            Unit::PerSecond => format!("{}/s", PAGE.three(value)),
        }
    }

    /// Formats a number with its uncertainty: `12.3 ms [11.9, 12.8], n = 5`.
    pub(crate) fn show_estimate(&self, e: &Estimate) -> String {
        let unit = self.divisor(&[e.value]);
        let scaled = e.scaled(1.0 / unit.by);
        let name = match unit.name {
            "" => String::new(),
            name if name.starts_with('/') => name.to_string(),
            name => format!("\u{a0}{name}"),
        };
        let number = PAGE.estimate(&scaled);
        // The unit is after the value and before its bounds.
        let text = match number.split_once(' ') {
            Some((value, bounds)) => format!("{value}{name} {bounds}"),
            None => format!("{number}{name}"),
        };
        format!("{text}, n = {}", e.n)
    }

    pub(crate) fn tick(&self, value: f64) -> String {
        match self.metric.unit {
            Unit::Micros => time_tick(value),
            Unit::Bytes => byte_tick(value),
            _ => plain_tick(value),
        }
    }

    /// Returns the name of a CSV column: the metric, then its unit.
    pub(crate) fn column(&self) -> String {
        let unit = match self.metric.unit {
            Unit::Micros => "_us",
            Unit::Bytes => "_bytes",
            Unit::PerSecond => "_per_s",
            Unit::Count | Unit::Ratio => "",
        };
        let plain = self.metric.name.replace('.', "_");
        if plain.ends_with(unit) || plain.contains("bytes") { plain } else { format!("{plain}{unit}") }
    }
}

/// Formats two significant digits, for a matrix.
pub(crate) fn two(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let grain = 10f64.powi(magnitude - 1);
    let rounded = (value / grain).round() * grain;
    let magnitude = rounded.abs().log10().floor() as i32;
    PAGE.fixed(rounded, (1 - magnitude).clamp(0, 6) as usize)
}

type Of = fn(&Delivery) -> Option<&pushmark_model::run::Latency>;

/// Returns the percentile of a metric that includes missing deliveries; `None` for other metrics.
fn percentile(name: &str) -> Option<(Of, P)> {
    let (family, stat) = name.rsplit_once('.')?;
    let p = match stat {
        "p50" => P::P50,
        "p90" => P::P90,
        "p99" => P::P99,
        "p999" => P::P999,
        _ => return None,
    };
    match family {
        "delivery" => Some((|d| Some(&d.latency), p)),
        "delivery.from_sent" => Some((|d| Some(&d.from_sent), p)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_two_digits() {
        let checks = [
            (0.0, "0"),
            (0.94, "0.94"),
            (3.04, "3.0"),
            (9.97, "10"),
            (28.7, "29"),
            (131.0, "130"),
            (0.0123, "0.012"),
        ];
        for (value, expected) in checks {
            assert_eq!(two(value), expected);
        }
    }

    #[test]
    fn a_number_alone_has_its_unit_before_its_bounds() {
        use pushmark_chart::estimate::Spread;
        let e = Estimate { value: 12_300.0, spread: Spread::Interval(11_900.0, 12_800.0), n: 5 };
        let quantity = Quantity::find("delivery.p50").unwrap();
        assert_eq!(quantity.show_estimate(&e), "12.3\u{a0}ms [11.9, 12.8], n = 5");
        assert!(quantity.is_latency() && !Quantity::find("server.cpu_us").unwrap().is_latency());
    }
}
