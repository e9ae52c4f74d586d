//! How long deliveries may have lain in the kernel before they were read: what each wait tells.

use pushmark_net::Nanos;

/// A wait that finds something at once takes less, unless the process was stopped before it.
const AT_ONCE_NS: Nanos = 10_000;
/// A wait that brings something is over by then, even where others have the core.
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

    /// A wait from `began_ns` to `now_ns` brought so many ready sockets, or was broken off by a
    /// signal or a stop of the process: then it brings nothing, whatever lies there. Gives the
    /// instant since when what the sockets hold may have lain there.
    ///
    /// If the wait slept, the first arrival ended it, so nothing had lain there before it
    /// returned. If it did not, arrivals date from any time since the look before.
    pub(crate) fn took(
        &mut self,
        (began_ns, now_ns): (Nanos, Nanos),
        timeout_ns: Nanos,
        ready: usize,
        broken_off: bool,
    ) -> Nanos {
        let took_ns = now_ns.saturating_sub(began_ns);
        let slept = timeout_ns > 0 && took_ns > AT_ONCE_NS && took_ns < timeout_ns + OVERDUE_NS;
        let unread_since_ns = if ready > 0 && slept { now_ns } else { self.at_ns };
        self.broken_off = broken_off;
        if !broken_off {
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
        assert_eq!(look(1_000).took((2_000, MS), 5 * MS, 3, false), MS);
    }

    #[test]
    fn a_wait_that_did_not_sleep_dates_from_the_one_before() {
        assert_eq!(look(1_000).took((2_000, 4_000), 5 * MS, 3, false), 1_000);
        // Even where the mere look took its time.
        assert_eq!(look(1_000).took((2_000, 40_000), 0, 3, false), 1_000);
        // A stop in the middle of it, and it should have ended after 1 ms.
        assert_eq!(look(1_000).took((2_000, 100 * MS), MS, 3, false), 1_000);
    }

    #[test]
    fn after_a_long_turn_it_is_looked_for_without_waiting() {
        assert_eq!(look(1_000).timeout_ns(2_000, 9_000), 7_000);
        assert_eq!(look(1_000).timeout_ns(2 * MS, 9 * MS), 0);
    }

    #[test]
    fn what_lay_there_while_a_wait_was_broken_off_shows() {
        let mut stopped = look(1_000);
        stopped.took((2_000, 100 * MS), MS, 0, true);
        assert_eq!((stopped.at_ns, stopped.timeout_ns(100 * MS, 200 * MS)), (1_000, 0));
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, 3, false), 1_000);
        assert_eq!(stopped, look(100 * MS + 50_000));
    }

    #[test]
    fn a_wait_that_ran_out_saw_that_there_was_nothing() {
        let mut ran_out = look(1_000);
        ran_out.took((2_000, 5 * MS), MS, 0, false);
        assert_eq!(ran_out, look(5 * MS));
    }
}
