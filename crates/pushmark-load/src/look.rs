//! How long deliveries may have lain in the kernel before they were read: what each wait tells.

use pushmark_net::Nanos;

/// A wait that finds something at once takes less, unless the process was stopped before it.
const AT_ONCE_NS: Nanos = 10_000;
/// A wait that brings something is over by then, even where others have the core.
const OVERDUE_NS: Nanos = 1_000_000;
/// After a turn as long as this much may have come meanwhile: it is looked for without waiting,
/// so that it is not taken for something that came during the wait.
const LONG_TURN_NS: Nanos = 100_000;

/// What a look into the kernel brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// Nothing is there.
    Nothing,
    /// All that is there.
    All,
    /// As much as a look can bring: more may lie there.
    Full,
    /// Nothing, whatever is there: a signal, or a stop of the process, ended it.
    BrokenOff,
}

/// The last time the kernel was looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// When.
    pub(crate) at_ns: Nanos,
    /// Nothing that was there before this instant is still unread.
    read_until_ns: Nanos,
    /// It says too little: another follows without waiting.
    doubtful: bool,
}

impl Look {
    pub(crate) fn new(at_ns: Nanos) -> Look {
        Look { at_ns, read_until_ns: at_ns, doubtful: false }
    }

    /// How long to wait now, if there is nothing else to do until `next_ns`.
    pub(crate) fn timeout_ns(&self, began_ns: Nanos, next_ns: Nanos) -> Nanos {
        let long_turn = began_ns.saturating_sub(self.at_ns) > LONG_TURN_NS;
        if self.doubtful || long_turn { 0 } else { next_ns.saturating_sub(began_ns) }
    }

    /// A wait from `began_ns` to `now_ns` brought something. Gives the instant since when what the
    /// sockets hold may have lain there.
    ///
    /// If the wait slept, the first arrival ended it, so nothing had lain there before it
    /// returned. If it did not, arrivals date from any time since the look before.
    pub(crate) fn took(
        &mut self,
        (began_ns, now_ns): (Nanos, Nanos),
        timeout_ns: Nanos,
        brought: Brought,
    ) -> Nanos {
        let took_ns = now_ns.saturating_sub(began_ns);
        let overdue = took_ns >= timeout_ns + OVERDUE_NS;
        let slept = timeout_ns > 0 && took_ns > AT_ONCE_NS && !overdue;
        let brings = matches!(brought, Brought::All | Brought::Full);
        let unread_since_ns = if brings && slept { now_ns } else { self.read_until_ns };
        self.doubtful = overdue || brought == Brought::BrokenOff;
        self.at_ns = if brought == Brought::BrokenOff { self.at_ns } else { now_ns };
        self.read_until_ns = match brought {
            Brought::BrokenOff => self.read_until_ns,
            // What a full look left has lain there as long as what it brought.
            Brought::Full => unread_since_ns,
            // A stop, or somebody else on the core, on the way back from the kernel: what it saw is as
            // old as that. A look that found nothing had waited until its time was over.
            Brought::All if overdue => began_ns,
            Brought::Nothing if overdue => began_ns + timeout_ns,
            Brought::All | Brought::Nothing => now_ns,
        };
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
        assert_eq!(look(1_000).took((2_000, MS), 5 * MS, Brought::All), MS);
    }

    #[test]
    fn a_wait_that_did_not_sleep_dates_from_the_one_before() {
        assert_eq!(look(1_000).took((2_000, 4_000), 5 * MS, Brought::All), 1_000);
        // Even where the mere look took its time.
        assert_eq!(look(1_000).took((2_000, 40_000), 0, Brought::All), 1_000);
        // A stop in the middle of it, and it should have ended after 1 ms.
        assert_eq!(look(1_000).took((2_000, 100 * MS), MS, Brought::All), 1_000);
    }

    #[test]
    fn after_a_long_turn_it_is_looked_for_without_waiting() {
        assert_eq!(look(1_000).timeout_ns(2_000, 9_000), 7_000);
        assert_eq!(look(1_000).timeout_ns(2 * MS, 9 * MS), 0);
    }

    #[test]
    fn what_lay_there_while_a_wait_was_broken_off_shows() {
        let mut stopped = look(1_000);
        stopped.took((2_000, 100 * MS), MS, Brought::BrokenOff);
        assert_eq!((stopped.at_ns, stopped.timeout_ns(100 * MS, 200 * MS)), (1_000, 0));
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, Brought::All), 1_000);
        assert_eq!(stopped, look(100 * MS + 50_000));
    }

    #[test]
    fn a_stop_on_the_way_back_from_the_kernel_shows() {
        // It had something before it was stopped. What came meanwhile came after it began to look.
        let mut stopped = look(1_000);
        stopped.took((2_000, 100 * MS), MS, Brought::All);
        assert_eq!(stopped.timeout_ns(100 * MS, 200 * MS), 0);
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, Brought::All), 2_000);
        assert_eq!(stopped, look(100 * MS + 50_000));
        // It had waited for nothing until its time was over.
        let mut stopped = look(1_000);
        stopped.took((2_000, 100 * MS), MS, Brought::Nothing);
        assert_eq!(stopped.timeout_ns(100 * MS, 200 * MS), 0);
        assert_eq!(stopped.took((100 * MS, 100 * MS + 50_000), 0, Brought::All), MS + 2_000);
    }

    #[test]
    fn what_a_full_look_left_is_as_old_as_what_it_brought() {
        let mut full = look(1_000);
        assert_eq!(full.took((2_000, 4_000), 0, Brought::Full), 1_000);
        assert_eq!(full.took((MS, MS + 1_000), 0, Brought::Full), 1_000);
        assert_eq!(full.took((2 * MS, 2 * MS + 1_000), 0, Brought::All), 1_000);
        assert_eq!(full.took((3 * MS, 3 * MS + 1_000), 0, Brought::All), 2 * MS + 1_000);
        // It began with one that slept: nothing had lain there before that.
        assert_eq!(full.took((4 * MS, 5 * MS), 5 * MS, Brought::Full), 5 * MS);
        assert_eq!(full.took((6 * MS, 6 * MS + 1_000), 0, Brought::All), 5 * MS);
    }

    #[test]
    fn a_wait_that_ran_out_saw_that_there_was_nothing() {
        let mut ran_out = look(1_000);
        ran_out.took((2_000, MS + 5_000), MS, Brought::Nothing);
        assert_eq!(ran_out, look(MS + 5_000));
    }
}
