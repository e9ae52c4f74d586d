//! The percentiles that are shown, and how much of each may be the generator's.

use pushmark_model::run::Latency;

use super::bounds;

/// Delay that a timer and a wake-up add to most deliveries on an idle machine, µs.
const WAKE_UP_US: i64 = 100;

/// Delay that they add to at most one delivery in ten, if the scheduler or an interrupt intervenes, µs.
const LATE_WAKE_UP_US: i64 = 300;

/// A percentile that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum P {
    P50,
    P90,
    P99,
    P999,
}

impl P {
    /// Its name in the text.
    pub(super) fn name(self) -> &'static str {
        ["p50", "p90", "p99", "p99.9"][self as usize]
    }

    /// Its name in metrics.
    pub(super) fn metric(self) -> &'static str {
        ["p50", "p90", "p99", "p999"][self as usize]
    }

    /// The share of the deliveries below it.
    pub(super) fn share(self) -> f64 {
        [0.5, 0.9, 0.99, 0.999][self as usize]
    }

    /// Its value, µs.
    pub(super) fn of(self, latency: &Latency) -> Option<i64> {
        [latency.p50_us, latency.p90_us, latency.p99_us, latency.p999_us][self as usize]
    }

    /// Usable stamps required for each stamp that could not be used.
    pub(super) fn one_in(self) -> u64 {
        if self == P::P999 { 999 } else { 99 }
    }

    /// Stamps required for this percentile: ten must lie beyond it.
    pub(super) fn stamps_min(self) -> u64 {
        10 * [2, 10, 100, 1_000][self as usize]
    }
}

/// Percentiles that are shown, and the lag up to which each raises no doubt, µs: deliveries have that
/// lag on any machine.
pub(super) const SHOWN: [(P, i64); 4] =
    [(P::P50, WAKE_UP_US), (P::P90, LATE_WAKE_UP_US), (P::P99, LATE_WAKE_UP_US), (P::P999, LATE_WAKE_UP_US)];

/// Returns how much of a valid percentile may be the generator's, µs: a share of the figure shown, and
/// for `p50`, `p90`, `p99` and `p999` at least a wake-up.
pub fn own_allowed_us(metric: &str, shown_us: f64) -> f64 {
    let floor_us = SHOWN.iter().find(|(p, _)| p.metric() == metric).map_or(0, |(_, us)| *us);
    (bounds::READ_LAG.suspect * shown_us).max(floor_us as f64)
}
