//! Whether browsers and synthetic clients agree: two instruments on one server may differ by no more than
//! their known errors allow.

use pushmark_model::run::{Agreement, AgreementParts, Arm, Browser};
use pushmark_model::transport::Transport;

/// An allowance for an effect that no part of the bound covers: the browser's processes wait for cores that
/// the generator uses too.
const SLACK_US: u64 = 5_000;

/// The comparison; `None` if one of the two has no median.
pub(super) fn of(arm: &Arm, browser: &Browser, poll_interval_us: u64) -> Option<Agreement> {
    let delivery = arm.delivery.as_ref()?;
    let clock = browser.clock.as_ref()?;
    let place = delivery.spread.as_ref().and_then(|s| Some((s.last.p50_us? - s.first.p50_us?).max(0) as u64));
    let p90 = |latency: &pushmark_model::run::Latency| latency.p90_us.unwrap_or(0).max(0) as u64;
    let parts = AgreementParts {
        clock_us: clock.bound_us,
        grain_us: clock.grain_us,
        path_us: p90(&browser.round_trip),
        loop_us: p90(&browser.loop_lag),
        place_us: place.unwrap_or(0),
        phase_us: if arm.transport == Transport::Poll { poll_interval_us } else { 0 },
        slack_us: SLACK_US,
    };
    let bound_us = parts.clock_us
        + parts.grain_us
        + parts.path_us
        + parts.loop_us
        + parts.place_us
        + parts.phase_us
        + parts.slack_us;
    let (browsers, crowd) = (&browser.latency, &delivery.latency);
    let p50_difference_us = browsers.p50_us? - crowd.p50_us?;
    let p90_difference_us = browsers.p90_us? - crowd.p90_us?;
    let ok = p50_difference_us.unsigned_abs() <= bound_us && p90_difference_us.unsigned_abs() <= bound_us;
    Some(Agreement { bound_us, parts, p50_difference_us, p90_difference_us, ok })
}
