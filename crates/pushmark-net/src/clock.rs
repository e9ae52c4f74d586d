//! The system's clocks. No other file of the workspace's hot path reads the time.
//!
//! Instants are nanoseconds of `CLOCK_MONOTONIC`. They have no arbitrary origin, because they are compared
//! with stamps of other processes on the same host.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds: an instant of `CLOCK_MONOTONIC` or a duration, as the name indicates.
pub type Nanos = u64;

/// The host's clocks. It has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// Returns the present time of `CLOCK_MONOTONIC`.
    pub fn now() -> Nanos {
        nanos(ClockId::Monotonic)
    }

    /// Returns the present time of `CLOCK_REALTIME`: nanoseconds since 1970. Never subtract it from
    /// [`Clock::now`].
    pub fn realtime() -> Nanos {
        nanos(ClockId::Realtime)
    }

    /// Returns REALTIME − MONOTONIC in nanoseconds. A step of this offset marks a run.
    ///
    /// The wall clock is read between two readings of the monotonic clock. The closest of three pairs is
    /// used, so that a deschedule between the readings does not look like a step.
    pub fn realtime_minus_monotonic_ns() -> i64 {
        (0..3)
            .map(|_| {
                let before = Clock::now();
                let realtime = Clock::realtime();
                let after = Clock::now();
                let midpoint = before + (after - before) / 2;
                (after - before, realtime as i64 - midpoint as i64)
            })
            .min()
            .map(|(_, offset_ns)| offset_ns)
            .expect("three readings")
    }
}

/// Sleeps until an instant of [`Clock::now`] or until a signal arrives. It can end late by the thread's timer
/// slack ([`crate::set_timer_slack_1ns`]).
pub fn sleep_until(at_ns: Nanos) {
    let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as i64 };
    // The caller handles an early end.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

fn nanos(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_its_instant() {
        let at_ns = Clock::now() + 2_000_000;
        sleep_until(at_ns);
        assert!(Clock::now() >= at_ns);
        sleep_until(at_ns); // it is past
    }

    #[test]
    fn time_does_not_run_backwards() {
        let first = Clock::now();
        assert!(Clock::now() >= first);
    }

    #[test]
    fn the_offset_joins_both_clocks() {
        let there = Clock::now() as i64 + Clock::realtime_minus_monotonic_ns();
        let off_ns = Clock::realtime() as i64 - there;
        assert!(off_ns.abs() < 1_000_000_000, "{off_ns} ns apart");
    }
}
