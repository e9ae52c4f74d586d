//! Decides which delivery and which connection a fault affects, with exact counters shared by all threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Faults, OneIn};

/// The fate of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is delivered unchanged.
    Whole,
    /// It is dropped.
    Dropped,
    /// It is delivered twice.
    Twice,
    /// It waits and is delivered after the next one.
    HeldBack,
    /// It is delivered without its end.
    CutShort,
    /// It is delivered with another first byte.
    Corrupted,
}

/// The fate of one connection that subscribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Welcome {
    /// It is served.
    Served,
    /// It is reset.
    Refused,
    /// It is never answered.
    Ignored,
}

/// The fate of one publication by request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    /// It is published and acknowledged.
    Taken,
    /// It is refused and not published.
    Refused,
    /// It is published but refused.
    Denied,
    /// It is published but never answered.
    HungUp,
}

/// The counters of all faults that affect one in N.
#[derive(Debug)]
pub(crate) struct Fates {
    drop: Strikes,
    dup: Strikes,
    swap: Strikes,
    truncate: Strikes,
    corrupt: Strikes,
    refuse: Strikes,
    half_open: Strikes,
    refuse_publish: Strikes,
    deny_publish: Strikes,
    hang_up: Strikes,
}

impl Fates {
    pub(crate) fn new(faults: &Faults) -> Fates {
        Fates {
            drop: Strikes::new(faults.drop),
            dup: Strikes::new(faults.dup),
            swap: Strikes::new(faults.swap),
            truncate: Strikes::new(faults.truncate),
            corrupt: Strikes::new(faults.corrupt),
            refuse: Strikes::new(faults.refuse),
            half_open: Strikes::new(faults.half_open),
            refuse_publish: Strikes::new(faults.refuse_publish),
            deny_publish: Strikes::new(faults.deny_publish),
            hang_up: Strikes::new(faults.hang_up),
        }
    }

    /// Decides the next delivery. `may_hold_back`: this subscriber is not already waiting for the other half
    /// of a swap on this channel.
    pub(crate) fn of_delivery(&self, may_hold_back: bool) -> Fate {
        let mut fate = Fate::Whole;
        for (strikes, blow, able) in [
            (&self.drop, Fate::Dropped, true),
            (&self.dup, Fate::Twice, true),
            (&self.swap, Fate::HeldBack, may_hold_back),
            (&self.truncate, Fate::CutShort, true),
            (&self.corrupt, Fate::Corrupted, true),
        ] {
            // Each fault counts every delivery, even if another fault affects it.
            if strikes.next(able && fate == Fate::Whole) {
                fate = blow;
            }
        }
        fate
    }

    /// Decides the next publication by request.
    pub(crate) fn of_publication(&self) -> Reception {
        let mut reception = Reception::Taken;
        for (strikes, blow) in [
            (&self.refuse_publish, Reception::Refused),
            (&self.deny_publish, Reception::Denied),
            (&self.hang_up, Reception::HungUp),
        ] {
            if strikes.next(reception == Reception::Taken) {
                reception = blow;
            }
        }
        reception
    }

    /// Decides the next connection that subscribes.
    pub(crate) fn of_connection(&self) -> Welcome {
        let refused = self.refuse.next(true);
        let ignored = self.half_open.next(!refused);
        match (refused, ignored) {
            (true, _) => Welcome::Refused,
            (_, true) => Welcome::Ignored,
            _ => Welcome::Served,
        }
    }
}

/// One fault's count of chances, and of strikes that are still owed because they coincided with another
/// fault. The next chance gets an owed strike, so that totals stay exact.
#[derive(Debug)]
struct Strikes {
    one_in: Option<OneIn>,
    chances: AtomicU64,
    owed: AtomicU64,
}

impl Strikes {
    fn new(one_in: Option<OneIn>) -> Strikes {
        Strikes { one_in, chances: AtomicU64::new(0), owed: AtomicU64::new(0) }
    }

    /// Counts a chance. Returns whether the fault strikes, which requires `able`.
    fn next(&self, able: bool) -> bool {
        let Some(OneIn(n)) = self.one_in else { return false };
        let chance = self.chances.fetch_add(1, Relaxed) + 1;
        if chance.is_multiple_of(n.get()) {
            self.owed.fetch_add(1, Relaxed);
        }
        able && self.owed.fetch_update(Relaxed, Relaxed, |owed| owed.checked_sub(1)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_in(n: u64) -> Option<OneIn> {
        format!("1/{n}").parse().ok()
    }

    fn count(fates: &Fates, deliveries: usize, fate: Fate) -> usize {
        (0..deliveries).filter(|_| fates.of_delivery(true) == fate).count()
    }

    #[test]
    fn a_fault_alone_strikes_every_nth() {
        let fates = Fates::new(&Faults { drop: one_in(3), ..Faults::default() });
        let struck: Vec<bool> = (0..7).map(|_| fates.of_delivery(true) == Fate::Dropped).collect();
        assert_eq!(struck, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn faults_that_coincide_keep_their_totals() {
        for fate in [Fate::Dropped, Fate::Twice, Fate::HeldBack, Fate::CutShort, Fate::Corrupted] {
            let all = one_in(10);
            let faults =
                Faults { drop: all, dup: all, swap: all, truncate: all, corrupt: all, ..Faults::default() };
            // 1,005 chances: the strikes of the thousandth are done by then.
            assert_eq!(count(&Fates::new(&faults), 1_005, fate), 100, "{fate:?}");
        }
    }

    #[test]
    fn a_swap_that_cannot_be_is_made_up_for() {
        let fates = Fates::new(&Faults { swap: one_in(2), ..Faults::default() });
        assert_eq!(fates.of_delivery(true), Fate::Whole);
        assert_eq!(fates.of_delivery(false), Fate::Whole);
        assert_eq!(fates.of_delivery(true), Fate::HeldBack);
    }

    #[test]
    fn publications_are_refused_denied_and_never_answered_in_their_share() {
        let one = one_in(5);
        let faults = Faults { refuse_publish: one, deny_publish: one, hang_up: one, ..Faults::default() };
        let fates = Fates::new(&faults);
        let receptions: Vec<Reception> = (0..102).map(|_| fates.of_publication()).collect();
        for blow in [Reception::Refused, Reception::Denied, Reception::HungUp] {
            assert_eq!(receptions.iter().filter(|r| **r == blow).count(), 20, "{blow:?}");
        }
    }

    #[test]
    fn refusals_and_silence_share_the_connections() {
        let faults = Faults { refuse: one_in(4), half_open: one_in(4), ..Faults::default() };
        let fates = Fates::new(&faults);
        let welcomes: Vec<Welcome> = (0..41).map(|_| fates.of_connection()).collect();
        assert_eq!(welcomes.iter().filter(|w| **w == Welcome::Refused).count(), 10);
        assert_eq!(welcomes.iter().filter(|w| **w == Welcome::Ignored).count(), 10);
    }
}
