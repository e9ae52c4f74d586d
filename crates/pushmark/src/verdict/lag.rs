//! Shares that compare our own delays with the latency shown. Pure.

use pushmark_model::run::{Arm, Delivery, Latency};

use super::Facts;

/// Below this a lag is the grain of the files (1 µs), not a delay: no doubt is raised on it.
const GRAIN_US: i64 = 2;

/// Read lag as a share of the latency it stands beside.
pub(super) fn read(arm: &Arm) -> Option<f64> {
    let delivery = arm.delivery.as_ref()?;
    share(of_reading(delivery), &delivery.latency)
}

/// Kernel stamps say what was, the bound from wake-ups only what may have been. But a stamp is
/// that of the last message in a queue: where more than one in a hundred lay behind another,
/// the 99th percentile is among those, and only the bound knows of them.
pub(super) fn of_reading(delivery: &Delivery) -> &Latency {
    let all_but_few = |lag: &&Latency| lag.count > 99 * delivery.stamps_unused;
    delivery.read_lag_stamped.as_ref().filter(all_but_few).unwrap_or(&delivery.read_lag)
}

/// Publisher lag as a share of the latency it is part of.
pub(super) fn publisher(arm: &Arm) -> Option<f64> {
    share(&arm.published.as_ref()?.lag, &arm.delivery.as_ref()?.latency)
}

/// How far publications fell short of the plan; those that found no target to be sent to did not.
pub(super) fn rate_short(arm: &Arm) -> Option<f64> {
    let published = arm.published.as_ref()?;
    let outage = if published.due > 0 { published.unreachable as f64 / published.due as f64 } else { 0.0 };
    (published.asked_per_s > 0.0).then(|| 1.0 - outage - published.achieved_per_s / published.asked_per_s)
}

/// Excused deliveries of those intended.
pub(super) fn excused(arm: &Arm) -> Option<f64> {
    let delivery = arm.delivery.as_ref()?;
    (delivery.intended > 0).then(|| delivery.excused as f64 / delivery.intended as f64)
}

/// The clocks' uncertainty as a share of the median.
pub(super) fn clock(arm: &Arm, facts: &Facts) -> Option<f64> {
    let bound_us = facts.clock_bound_ns? as f64 / 1_000.0;
    let p50_us = arm.delivery.as_ref()?.latency.p50_us?;
    Some(bound_us / p50_us.max(1) as f64)
}

/// A lag against a latency at the highest percentile both support: p99, or p90 where there
/// are too few publications for it.
fn share(lag: &Latency, latency: &Latency) -> Option<f64> {
    let (_, lag_us, latency_us) = pair(lag, latency)?;
    (lag_us > GRAIN_US).then(|| lag_us as f64 / latency_us.max(1) as f64)
}

/// `(percentile's name, lag, latency)`, µs. Where the percentile lies among the missing the
/// latency is at least what is said: the lag is compared with that.
pub(super) fn pair(lag: &Latency, latency: &Latency) -> Option<(&'static str, i64, i64)> {
    let at = |name, lag: Option<i64>, latency: Option<i64>, at_least: Option<i64>| {
        Some((name, lag?, latency.or(at_least)?))
    };
    at("p99", lag.p99_us, latency.p99_us, latency.p99_at_least_us)
        .or_else(|| at("p90", lag.p90_us, latency.p90_us, latency.p90_at_least_us))
}
