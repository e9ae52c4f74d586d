//! How precisely this machine wakes a thread: 200 waits of 1 ms, in the same way as the driver's loop.

use std::io;

use pushmark_net::{Clock, Poller, set_timer_slack_1ns};

use crate::monitor::ClockWatch;

/// Number of measured waits.
const WAITS: usize = 200;
/// Length of each, ns.
const WAIT_NS: u64 = 1_000_000;

/// The overshoot of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Median overshoot.
    pub overshoot_p50_us: u64,
    /// 99th percentile.
    pub overshoot_p99_us: u64,
    /// Largest step of the wall clock during the waits, ns; absent if there was no step.
    pub clock_step_ns: Option<i64>,
}

/// Measures in a separate thread, because timer slack is a property of the thread. Takes about 0.2 s.
pub fn measure() -> io::Result<Precision> {
    let measured = std::thread::Builder::new().name("precision".into()).spawn(waits)?.join();
    measured.unwrap_or_else(|_| Err(io::Error::other("the measuring thread panicked")))
}

fn waits() -> io::Result<Precision> {
    set_timer_slack_1ns()?;
    let mut poller = Poller::new()?;
    let mut clock = ClockWatch::default();
    let mut overshoots_ns = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        let start_ns = Clock::now();
        poller.wait(Some(WAIT_NS))?;
        let end_ns = Clock::now();
        // A signal ends a wait early. Such a wait does not count.
        if let Some(over_ns) = (end_ns - start_ns).checked_sub(WAIT_NS) {
            overshoots_ns.push(over_ns);
        }
        clock.offset_seen(end_ns, Clock::realtime_minus_monotonic_ns());
    }
    overshoots_ns.sort_unstable();
    let at = |share: usize| overshoots_ns.get(overshoots_ns.len() * share / 100).map_or(0, |ns| ns / 1_000);
    Ok(Precision { overshoot_p50_us: at(50), overshoot_p99_us: at(99), clock_step_ns: clock.largest_step_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_late_never_early() {
        let precision = measure().unwrap();
        assert!(precision.overshoot_p50_us <= precision.overshoot_p99_us);
        assert_eq!(precision.clock_step_ns, None);
    }
}
