//! Percentiles that the table does not list: `delivery.p95`, `connect.tcp.p97.5`. They are read from the
//! distribution in a run's file.

use super::half;
use crate::histogram::{Distribution, rank_of};
use crate::latency::Latency;
use crate::run::Arm;

/// Returns a percentile of a family, µs; `None` if it was not measured, if it falls among the missing, or if
/// too few publications support it.
pub(super) fn value(arm: &Arm, base: &str, latency: &Latency, quantile: f64) -> Option<f64> {
    let delivery = match base {
        "delivery" | "delivery.from_sent" => arm.delivery.as_ref(),
        "hybrid.push.delivery" => half(arm, |hybrid| hybrid.push.as_ref()),
        "hybrid.pull.delivery" => half(arm, |hybrid| hybrid.pull.as_ref()),
        _ => None,
    };
    // Missing deliveries count as infinitely late. Other families have none.
    let expected = delivery.map_or(latency.count, |delivery| delivery.expected.max(latency.count));
    let publications = match delivery {
        Some(_) => arm.published.as_ref().map_or(0, |published| published.due),
        None if base.starts_with("delivery.spread") => latency.count,
        None => u64::MAX,
    };
    // As the table's: p99 needs a hundred publications, p90 and below need none.
    if quantile > 0.9 && publications < (1.0 / (1.0 - quantile)).round() as u64 {
        return None;
    }
    let distribution =
        Distribution::decode(&latency.histogram, &latency.histogram_negative, latency.over_1h)?;
    if distribution.count() != latency.count || expected == 0 {
        return None;
    }
    distribution.value_at_rank(rank_of(quantile, expected)).map(|us| us as f64)
}

#[cfg(test)]
mod tests {
    use super::super::{Metric, Unit};
    use super::*;
    use crate::metrics::tests::arm;
    use crate::run::Published;

    #[test]
    fn any_percentile_can_be_named() {
        let mut arm = arm();
        let mut latencies = Distribution::default();
        (1..=1_000).for_each(|n| latencies.record_us(n));
        let delivery = arm.delivery.as_mut().unwrap();
        (delivery.expected, delivery.latency) = (1_000, latencies.summary(1_000, 100, 1));
        arm.published = Some(Published { due: 100, ..Published::default() });
        let value = |arm: &Arm, name: &str| Metric::find(name).unwrap().value(arm);
        for (name, expected) in
            [("p95", 950.0), ("p75", 750.0), ("p97.5", 975.0), ("p1", 10.0), ("p90", 900.0)]
        {
            let found = value(&arm, &format!("delivery.{name}")).unwrap();
            assert!((found - expected).abs() <= 1.0, "{name}: {found}");
        }
        assert_eq!(value(&arm, "delivery.p99"), Some(990.0));
        assert_eq!(value(&arm, "delivery.p99.5"), None, "too few publications");
        let metric = Metric::find("delivery.p97.5").unwrap();
        assert_eq!((metric.name.as_str(), metric.unit), ("delivery.p975", Unit::Micros));
        // A tenth is missing: what falls among them is unknown.
        arm.delivery.as_mut().unwrap().expected = 1_111;
        assert_eq!(value(&arm, "delivery.p95"), None);
        assert!(value(&arm, "delivery.p80").is_some_and(|us| (us - 889.0).abs() <= 2.0));
        for name in ["delivery.p", "delivery.p100", "delivery.p0", "delivery.px", "nothing.p95", "server.p95"]
        {
            assert!(Metric::find(name).is_none(), "{name}");
        }
    }
}
