//! An axis of a suite as positions on an axis of a drawing. Numbers, durations, rates and sizes have the
//! position of their value, anything else the order of the suite. The scale is logarithmic if this spreads
//! the values more evenly.

use pushmark_model::suite::Axis;
use pushmark_model::units::{Bytes, Nanos, PerSecond};

use pushmark_chart::numbers::PAGE;

/// The values of an axis, placed.
pub(crate) struct Places {
    /// Value as written, place, label.
    pub(crate) all: Vec<(String, f64, String)>,
    pub(crate) log: bool,
    /// Positions show an order without distances.
    pub(crate) names: bool,
}

impl Places {
    /// Places the `values` of an axis that are drawn, in the order of the axis.
    pub(crate) fn of(axis: &Axis, drawn: impl Fn(&str) -> bool) -> Places {
        let values: Vec<&String> = axis.values.iter().filter(|v| drawn(v)).collect();
        let numbers: Option<Vec<f64>> = values.iter().map(|v| number(v)).collect();
        let distinct = |n: &Vec<f64>| n.windows(2).all(|w| w[0] != w[1]);
        match numbers.filter(distinct) {
            Some(numbers) => {
                let thousands = numbers.iter().any(|n| *n >= 10_000.0);
                let label = |(v, n): (&&String, &f64)| ((*v).clone(), *n, label(v, *n, thousands));
                Places {
                    all: values.iter().zip(&numbers).map(label).collect(),
                    log: log(&numbers),
                    names: false,
                }
            }
            None => {
                let one = |(i, v): (usize, &&String)| ((*v).clone(), i as f64, (*v).clone());
                Places { all: values.iter().enumerate().map(one).collect(), log: false, names: true }
            }
        }
    }

    pub(crate) fn place(&self, value: &str) -> Option<f64> {
        self.all.iter().find(|p| p.0 == value).map(|p| p.1)
    }

    /// Returns place and label for an axis of a chart.
    pub(crate) fn labels(&self) -> Vec<(f64, String)> {
        self.all.iter().map(|p| (p.1, p.2.clone())).collect()
    }
}

/// Returns the number of an axis value: plain, seconds, per second, or bytes.
pub(crate) fn number(text: &str) -> Option<f64> {
    let plain = text.parse::<f64>().ok().filter(|n| n.is_finite());
    let time = || text.parse::<Nanos>().ok().map(|n| n.0 as f64 / 1e9);
    let rate = || text.parse::<PerSecond>().ok().map(|r| r.0);
    let size = || text.parse::<Bytes>().ok().map(|b| b.0 as f64);
    plain.or_else(time).or_else(rate).or_else(size)
}

/// Formats a value of an axis for people: numbers are grouped.
pub(crate) fn grouped(value: &str) -> String {
    value.parse::<u64>().map_or_else(|_| value.to_string(), |n| PAGE.count(n))
}

/// Formats a value without context: `5 000 clients`, `emit interval 10s`; a name needs no axis.
pub(crate) fn titled(value: &str, label: &str) -> String {
    match number(value) {
        Some(_) if value.parse::<f64>().is_ok() => format!("{} {label}", grouped(value)),
        Some(_) => format!("{label} {value}"),
        None => value.to_string(),
    }
}

/// Returns `20k` if the axis has large round numbers, else grouped; with a unit as written.
fn label(value: &str, number: f64, thousands: bool) -> String {
    match value.parse::<u64>() {
        Ok(n) if thousands && n % 100 == 0 && n >= 1_000 => {
            format!("{}k", pushmark_chart::scale::plain_tick(number / 1_000.0))
        }
        Ok(n) => PAGE.count(n),
        Err(_) => value.to_string(),
    }
}

/// Whether the logarithm spreads the values more evenly: on that scale the greatest gap is a smaller
/// multiple of the least.
fn log(numbers: &[f64]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < 3 || sorted[0] <= 0.0 {
        return false;
    }
    let uneven = |of: fn(f64) -> f64| {
        let gaps = sorted.windows(2).map(|w| of(w[1]) - of(w[0]));
        let (least, most) = gaps.fold((f64::INFINITY, 0.0f64), |(l, m), g| (l.min(g), m.max(g)));
        most / least
    };
    uneven(f64::ln) < uneven(|v| v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[&str]) -> Axis {
        Axis { name: "a".into(), label: "a".into(), values: values.iter().map(|v| (*v).into()).collect() }
    }

    #[test]
    fn an_axis_is_logarithmic_where_its_values_then_stand_more_evenly() {
        for (values, expected) in [
            (["1000", "5000", "10000", "15000", "20000"].as_slice(), false),
            (&["1000", "2000", "5000", "10000"], true),
            (&["1s", "5s", "10s", "30s"], true),
            (&["100", "200", "350", "500", "1000"], true),
            (&["0", "1ms", "5ms", "10ms", "50ms"], false),
            (&["1", "2"], false),
        ] {
            assert_eq!(Places::of(&axis(values), |_| true).log, expected, "{values:?}");
        }
    }

    #[test]
    fn names_keep_their_order_and_numbers_their_distance() {
        let names = Places::of(&axis(&["node", "tomcat-6"]), |_| true);
        assert!(names.names && names.place("tomcat-6") == Some(1.0));
        let times = Places::of(&axis(&["500ms", "2s"]), |_| true);
        assert_eq!((times.place("500ms"), times.place("2s")), (Some(0.5), Some(2.0)));
        let crowds = Places::of(&axis(&["1000", "2500", "20000"]), |_| true);
        assert_eq!(crowds.labels().into_iter().map(|l| l.1).collect::<Vec<_>>(), ["1k", "2.5k", "20k"]);
    }
}
