//! How long deliveries may have been in the kernel before they were read, derived from each wait.

use pushmark_net::Nanos;

/// A wait that finds something at once takes less than this, unless the process was stopped before it.
const AT_ONCE_NS: Nanos = 10_000;
/// A wait ends at most this long after its time-out, even if other processes use the core. If it takes
/// longer, the process was stopped.
const OVERDUE_NS: Nanos = 1_000_000;
/// During a turn as long as this, data may have arrived. The next poll then does not wait, so that such
/// data is not mistaken for data that arrived during the wait.
const LONG_TURN_NS: Nanos = 100_000;

/// What a poll returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollResult {
    /// Nothing is ready.
    Nothing,
    /// Everything that is ready.
    All,
    /// As much as one poll can return: more may be ready.
    Full,
    /// Nothing, whatever is ready: a signal or a stop of the process ended the poll.
    BrokenOff,
}

/// The last poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastPoll {
    /// When it returned.
    pub(crate) at_ns: Nanos,
    /// Everything that arrived before this instant has been read.
    read_until_ns: Nanos,
    /// Its result is unreliable, so the next poll does not wait.
    doubtful: bool,
}

impl LastPoll {
    pub(crate) fn new(at_ns: Nanos) -> LastPoll {
        LastPoll { at_ns, read_until_ns: at_ns, doubtful: false }
    }

    /// Returns how long to wait now, if there is nothing else to do until `next_ns`.
    pub(crate) fn timeout_ns(&self, began_ns: Nanos, next_ns: Nanos) -> Nanos {
        let long_turn = began_ns.saturating_sub(self.at_ns) > LONG_TURN_NS;
        if self.doubtful || long_turn { 0 } else { next_ns.saturating_sub(began_ns) }
    }

    /// Evaluates a wait from `began_ns` to `now_ns`. Returns the instant since when the data in the
    /// sockets may have been there.
    ///
    /// If the wait slept, the first arrival ended it, so nothing was there before it returned. If it did
    /// not sleep, arrivals date from any time since the previous poll.
    pub(crate) fn took(
        &mut self,
        (began_ns, now_ns): (Nanos, Nanos),
        timeout_ns: Nanos,
        found: PollResult,
    ) -> Nanos {
        let took_ns = now_ns.saturating_sub(began_ns);
        let overdue = took_ns >= timeout_ns + OVERDUE_NS;
        let slept = timeout_ns > 0 && took_ns > AT_ONCE_NS && !overdue;
        let brings = matches!(found, PollResult::All | PollResult::Full);
        let unread_since_ns = if brings && slept { now_ns } else { self.read_until_ns };
        self.doubtful = overdue || found == PollResult::BrokenOff;
        self.at_ns = if found == PollResult::BrokenOff { self.at_ns } else { now_ns };
        self.read_until_ns = match found {
            PollResult::BrokenOff => self.read_until_ns,
            // What a full poll left behind may be as old as what it returned.
            PollResult::Full => unread_since_ns,
            // The process was stopped, or lost the core, on the way back from the kernel: what it saw is
            // as old as the beginning of the wait. A poll that found nothing had waited until its
            // time-out.
            PollResult::All if overdue => began_ns,
            PollResult::Nothing if overdue => began_ns + timeout_ns,
            PollResult::All | PollResult::Nothing => now_ns,
        };
        unread_since_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn last_poll(at_ns: Nanos) -> LastPoll {
        LastPoll::new(at_ns)
    }

    #[test]
    fn a_wait_that_slept_read_at_once() {
        assert_eq!(last_poll(1_000).took((2_000, MS), 5 * MS, PollResult::All), MS);
    }

    #[test]
    fn a_wait_that_did_not_sleep_dates_from_the_one_before() {
        assert_eq!(last_poll(1_000).took((2_000, 4_000), 5 * MS, PollResult::All), 1_000);
        // Even if the poll itself takes long.
        assert_eq!(last_poll(1_000).took((2_000, 40_000), 0, PollResult::All), 1_000);
        // A stop in the middle of the wait, which should have ended after 1 ms.
        assert_eq!(last_poll(1_000).took((2_000, 100 * MS), MS, PollResult::All), 1_000);
    }

    #[test]
    fn after_a_long_turn_it_is_looked_for_without_waiting() {
        assert_eq!(last_poll(1_000).timeout_ns(2_000, 9_000), 7_000);
        assert_eq!(last_poll(1_000).timeout_ns(2 * MS, 9 * MS), 0);
    }

    #[test]
    fn what_lay_there_while_a_wait_was_broken_off_shows() {
        let mut stopped = last_poll(1_000);
        stopped.took((2_000, 100 * MS), MS, PollResult::BrokenOff);
        assert_eq!((stopped.at_ns, stopped.timeout_ns(100 * MS, 200 * MS)), (1_000, 0));
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, PollResult::All), 1_000);
        assert_eq!(stopped, last_poll(100 * MS + 50_000));
    }

    #[test]
    fn a_stop_on_the_way_back_from_the_kernel_shows() {
        // The wait found data before the process was stopped. Later data arrived after the wait began.
        let mut stopped = last_poll(1_000);
        stopped.took((2_000, 100 * MS), MS, PollResult::All);
        assert_eq!(stopped.timeout_ns(100 * MS, 200 * MS), 0);
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, PollResult::All), 2_000);
        assert_eq!(stopped, last_poll(100 * MS + 50_000));
        // The wait found nothing until its time-out.
        let mut stopped = last_poll(1_000);
        stopped.took((2_000, 100 * MS), MS, PollResult::Nothing);
        assert_eq!(stopped.timeout_ns(100 * MS, 200 * MS), 0);
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, PollResult::All), MS + 2_000);
    }

    #[test]
    fn what_a_full_look_left_is_as_old_as_what_it_brought() {
        let mut full = last_poll(1_000);
        assert_eq!(full.took((2_000, 4_000), 0, PollResult::Full), 1_000);
        assert_eq!(full.took((MS, MS + 1_000), 0, PollResult::Full), 1_000);
        assert_eq!(full.took((2 * MS, 2 * MS + 1_000), 0, PollResult::All), 1_000);
        assert_eq!(full.took((3 * MS, 3 * MS + 1_000), 0, PollResult::All), 2 * MS + 1_000);
        // The first poll of the sequence slept: nothing was there before it returned.
        assert_eq!(full.took((4 * MS, 5 * MS), 5 * MS, PollResult::Full), 5 * MS);
        assert_eq!(full.took((6 * MS, 6 * MS + 1_000), 0, PollResult::All), 5 * MS);
    }

    #[test]
    fn a_wait_that_ran_out_saw_that_there_was_nothing() {
        let mut ran_out = last_poll(1_000);
        ran_out.took((2_000, MS + 5_000), MS, PollResult::Nothing);
        assert_eq!(ran_out, last_poll(MS + 5_000));
    }
}
