//! Detects that this process was stopped by a signal, or that its whole machine was paused.
//!
//! A thread that wakes many times a second finds more time passed than it asked for. Time spent waiting for a
//! core is not a stall (the run queue accounts for it), nor is its own work.

/// Time between two beats.
pub(super) const BEAT_NS: u64 = 100_000_000;
/// Shortest gap that is reported: well beyond what timers and a busy kernel cause.
const STILL_MIN_NS: u64 = 250_000_000;
/// Of more stalls than this only the first are kept.
const KEPT_MAX: usize = 64;

/// A time in which this process did nothing, though it was not waiting for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began, ns of the monitor's clock.
    pub from_ns: u64,
    /// How long it was.
    pub length_ns: u64,
}

/// The beats so far.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    last: Option<(u64, u64)>,
}

impl Pulse {
    /// Records a beat now, after a wait of `wanted_ns`.
    pub(super) fn beat(&mut self, now_ns: u64, wanted_ns: u64) -> Option<Stall> {
        self.beat_of(now_ns, wanted_ns, busy_ns())
    }

    /// `busy_ns`: the time for which this thread has worked or waited for a core so far.
    fn beat_of(&mut self, now_ns: u64, wanted_ns: u64, busy_ns: u64) -> Option<Stall> {
        let (last_ns, last_busy_ns) = self.last.replace((now_ns, busy_ns))?;
        let accounted_ns = wanted_ns + busy_ns.saturating_sub(last_busy_ns);
        let still_ns = now_ns.saturating_sub(last_ns).saturating_sub(accounted_ns);
        (still_ns >= STILL_MIN_NS)
            .then_some(Stall { from_ns: now_ns.saturating_sub(still_ns), length_ns: still_ns })
    }
}

/// Keeps a stall among those seen.
pub(super) fn keep(stalls: &mut Vec<Stall>, stall: Stall) {
    if stalls.len() < KEPT_MAX {
        stalls.push(stall);
    }
}

/// Run time and run-queue wait of the calling thread.
fn busy_ns() -> u64 {
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    own.split_whitespace().take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stalls(beats: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
        let mut pulse = Pulse::default();
        let beats =
            beats.iter().filter_map(|&(at, wanted, busy)| pulse.beat_of(at * MS, wanted * MS, busy * MS));
        beats.map(|stall| (stall.from_ns / MS, stall.length_ns / MS)).collect()
    }

    #[test]
    fn time_that_nobody_accounts_for_is_a_stall() {
        assert_eq!(stalls(&[(0, 100, 0), (101, 100, 0), (2_201, 100, 0), (2_301, 100, 0)]), [(201, 2_000)]);
    }

    #[test]
    fn a_busy_core_and_long_work_are_none() {
        assert_eq!(stalls(&[(0, 100, 0), (900, 100, 790), (1_001, 100, 790)]), []);
        assert_eq!(stalls(&[(0, 100, 0), (340, 100, 0)]), [], "timers and the kernel");
    }

    #[test]
    fn this_thread_says_what_it_did() {
        // The kernel counts a thread that runs for the first time from its next tick on.
        let began = std::time::Instant::now();
        while busy_ns() == 0 {
            assert!(
                began.elapsed() < std::time::Duration::from_secs(5),
                "a thread that runs has run for no time"
            );
        }
    }
}
