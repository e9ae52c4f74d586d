//! How long deliveries may have lain in the kernel before they were read: what each wait tells.

use pushmark_net::Nanos;

/// A wait that finds something at once takes less, unless the process was stopped before it.
const AT_ONCE_NS: Nanos = 10_000;
/// A wait that runs out is late by less, even where others have the core.
const OVERDUE_NS: Nanos = 1_000_000;
/// After a turn as long as this much may have come meanwhile: it is looked for without waiting,
/// so that it is not taken for something that came during the wait.
const LONG_TURN_NS: Nanos = 100_000;

/// The last time the kernel was looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Nothing that was there before this instant is still unread.
    pub(crate) at_ns: Nanos,
    broken_off: bool,
}

impl Look {
    pub(crate) fn new(at_ns: Nanos) -> Look {
        Look { at_ns, broken_off: false }
    }

    /// How long to wait now, if there is nothing else to do until `next_ns`.
    pub(crate) fn timeout_ns(&self, began_ns: Nanos, next_ns: Nanos) -> Nanos {
        let long_turn = began_ns.saturating_sub(self.at_ns) > LONG_TURN_NS;
        if self.broken_off || long_turn { 0 } else { next_ns.saturating_sub(began_ns) }
    }

    /// A wait from `began_ns` to `now_ns` brought so many ready sockets. Gives the instant since
    /// when what they hold may have lain there.
    ///
    /// If the wait slept, the first arrival ended it, so nothing had lain there before it
    /// returned. If it did not, arrivals date from any time since the look before. A wait that
    /// was broken off (a signal, or a stop of the process) brings nothing, whatever lies there.
    pub(crate) fn took(&mut self, began_ns: Nanos, now_ns: Nanos, timeout_ns: Nanos, ready: usize) -> Nanos {
        let took_ns = now_ns.saturating_sub(began_ns);
        let overdue = took_ns > timeout_ns + OVERDUE_NS;
        let slept = timeout_ns > 0 && took_ns > AT_ONCE_NS && !overdue;
        let unread_since_ns = if ready > 0 && slept { now_ns } else { self.at_ns };
        self.broken_off = ready == 0 && (overdue || took_ns < timeout_ns);
        if !self.broken_off {
            self.at_ns = now_ns;
        }
        unread_since_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn look(at_ns: Nanos) -> Look {
        Look::new(at_ns)
    }

    #[test]
    fn a_wait_that_slept_read_at_once() {
        assert_eq!(look(1_000).took(2_000, MS, 5 * MS, 3), MS);
    }

    #[test]
    fn a_wait_that_did_not_sleep_dates_from_the_one_before() {
        assert_eq!(look(1_000).took(2_000, 4_000, 5 * MS, 3), 1_000);
        // Even where the mere look took its time.
        assert_eq!(look(1_000).took(2_000, 40_000, 0, 3), 1_000);
    }

    #[test]
    fn after_a_long_turn_it_is_looked_for_without_waiting() {
        assert_eq!(look(1_000).timeout_ns(2_000, 9_000), 7_000);
        assert_eq!(look(1_000).timeout_ns(2 * MS, 9 * MS), 0);
    }

    #[test]
    fn a_stop_in_the_middle_of_a_wait_shows() {
        // It should have ended after 1 ms; it took 100.
        assert_eq!(look(1_000).took(2_000, 100 * MS, MS, 3), 1_000);
        // It brought nothing: what the look after it finds may date from before.
        let mut stopped = look(1_000);
        stopped.took(2_000, 100 * MS, MS, 0);
        assert_eq!(stopped.timeout_ns(100 * MS, 200 * MS), 0);
        assert_eq!(stopped.took(100 * MS, 100 * MS + 50_000, 0, 3), 1_000);
    }

    #[test]
    fn a_wait_that_a_signal_ended_early_saw_nothing() {
        let mut broken_off = look(1_000);
        broken_off.took(2_000, MS, 5 * MS, 0);
        assert_eq!((broken_off.at_ns, broken_off.timeout_ns(MS, 9 * MS)), (1_000, 0));
        // Nothing lay there: all is well again.
        broken_off.took(MS, MS + 2_000, 0, 0);
        assert_eq!(broken_off.timeout_ns(MS + 3_000, 9 * MS), 8 * MS - 3_000);
    }

    #[test]
    fn a_wait_that_ran_out_saw_that_there_was_nothing() {
        let mut ran_out = look(1_000);
        ran_out.took(2_000, MS + 60_000, MS, 0);
        assert_eq!(ran_out, look(MS + 60_000));
    }
}
