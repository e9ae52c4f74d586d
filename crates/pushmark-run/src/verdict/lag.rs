//! Computes the generator's delays as shares of the latency shown. Pure.

use pushmark_model::run::{Arm, Delivery, Latency, VerdictState};

use super::bounds::{self, Bound};
use super::facts::Facts;
use super::percentile::{P, SHOWN};

/// A percentile at which a lag is too large a share of the latency shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    pub(super) p: P,
    pub(super) lag_us: i64,
    pub(super) latency_us: i64,
    pub(super) share: f64,
}

/// Returns the percentiles whose lag crosses a bound, grouped by state, worst share first. `floored`: what a wake-up
/// takes on any machine raises no doubt.
pub(super) fn crossings(
    bound: &Bound,
    lag: impl Fn(P) -> Option<i64>,
    latency: &Latency,
    floored: bool,
) -> Vec<(VerdictState, f64, Vec<Crossing>)> {
    // A delivery that never arrived has no lag, so lag is compared with the latency of arrived deliveries.
    let arrived = latency.delivered_only.as_deref().unwrap_or(latency);
    let mut out: Vec<(VerdictState, f64, Vec<Crossing>)> = Vec::new();
    for (p, floor_us) in SHOWN {
        let (Some(lag_us), Some(latency_us)) = (lag(p), p.of(arrived)) else { continue };
        let share = lag_us as f64 / latency_us.max(1) as f64;
        let Some((state, limit)) = bound.crossed(share).filter(|_| !floored || lag_us > floor_us) else {
            continue;
        };
        let crossing = Crossing { p, lag_us, latency_us, share };
        match out.iter_mut().find(|(known, ..)| *known == state) {
            Some((.., crossings)) => crossings.push(crossing),
            None => out.push((state, limit, vec![crossing])),
        }
    }
    for (.., crossings) in &mut out {
        crossings.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.latency_us.cmp(&a.latency_us)));
    }
    out
}

/// Returns the percentiles at which read lag crosses its bound.
pub(super) fn read(arm: &Arm, facts: &Facts) -> Vec<(VerdictState, f64, Vec<Crossing>)> {
    let Some(delivery) = &arm.delivery else { return Vec::new() };
    let lag_us = |p: P| of_reading(delivery, facts, p).lag_us(p);
    crossings(&bounds::READ_LAG, lag_us, &delivery.latency, true)
}

/// A read lag, and how it was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadLag<'a> {
    /// Measured by kernel receive stamps.
    Stamped(&'a Latency),
    /// An upper bound, from wake-ups.
    Bound(&'a Latency),
}

impl ReadLag<'_> {
    fn lag_us(self, p: P) -> Option<i64> {
        let (ReadLag::Stamped(lag) | ReadLag::Bound(lag)) = self;
        p.of(lag)
    }
}

/// Returns the read lag to use at a percentile. Kernel stamps measure the lag; the figure from wake-ups is
/// only an upper bound. But a stamp belongs to the last message in a queue. If as many messages lay
/// behind another as lie beyond the percentile, stamps miss the percentile, and the upper bound is used.
/// If connections with stamps are read in another way than the others, the larger of the two is used.
pub(super) fn of_reading<'a>(delivery: &'a Delivery, facts: &Facts, p: P) -> ReadLag<'a> {
    let bound = ReadLag::Bound(&delivery.read_lag);
    match by_stamps(delivery, p).map(ReadLag::Stamped) {
        Some(stamped) if !facts.stamps_read_apart || stamped.lag_us(p) >= bound.lag_us(p) => stamped,
        _ => bound,
    }
}

/// Returns the lag by kernel stamps, if there are enough stamps for the percentile. The stamps of nearly all
/// deliveries are enough, however few: they are no sample.
pub(super) fn by_stamps(delivery: &Delivery, p: P) -> Option<&Latency> {
    let all = delivery.delivered + delivery.late;
    let enough = |lag: &&Latency| {
        let speaks_for_all =
            lag.count >= p.stamps_min() || lag.count > 0 && lag.count >= all - all / p.one_in();
        speaks_for_all && lag.count > p.one_in() * delivery.stamps_unused
    };
    delivery.read_lag_stamped.as_ref().filter(enough)
}

/// Returns the percentiles at which publisher lag crosses its bound.
pub(super) fn publisher(arm: &Arm) -> Vec<(VerdictState, f64, Vec<Crossing>)> {
    match (&arm.published, &arm.delivery) {
        (Some(published), Some(delivery)) => {
            // What the target itself delayed is its answer to the load.
            let lag = published.own_lag.as_ref().unwrap_or(&published.lag);
            crossings(&bounds::PUBLISHER_LAG, |p| p.of(lag), &delivery.latency, true)
        }
        _ => Vec::new(),
    }
}

/// Returns the shortfall of the planned rate. Publications that had no connection to the target, or that waited
/// for its answers, do not count.
pub(super) fn rate_short(arm: &Arm) -> Option<f64> {
    let published = arm.published.as_ref()?;
    let theirs = (published.unreachable + published.backpressured) as f64;
    let theirs = if published.due > 0 { theirs / published.due as f64 } else { 0.0 };
    (published.asked_per_s > 0.0).then(|| 1.0 - theirs - published.achieved_per_s / published.asked_per_s)
}

/// Returns the share of intended deliveries that may or may not have been owed. Publications that the
/// target refused are known: they are an outcome and raise no doubt.
pub(super) fn excused(arm: &Arm) -> Option<f64> {
    let delivery = arm.delivery.as_ref()?;
    (delivery.intended > 0).then(|| unknown(arm, delivery) as f64 / delivery.intended as f64)
}

/// Returns excused deliveries without those of publications that failed.
pub(super) fn unknown(arm: &Arm, delivery: &Delivery) -> u64 {
    let failed = arm.published.as_ref().filter(|p| p.due > 0).map_or(0.0, |p| p.failed as f64 / p.due as f64);
    delivery.excused.saturating_sub((failed * delivery.intended as f64).round() as u64)
}

/// Returns the percentiles of which the uncertainty between the clocks is too large a share.
pub(super) fn clocks(arm: &Arm, facts: &Facts) -> Vec<(VerdictState, f64, Vec<Crossing>)> {
    let (Some(bound_ns), Some(delivery)) = (facts.clock_bound_ns, &arm.delivery) else { return Vec::new() };
    let bound_us = bound_ns.div_ceil(1_000) as i64;
    crossings(&bounds::CLOCK_BOUND, |_| Some(bound_us), &delivery.latency, false)
}
