//! Which delivery and which connection a fault strikes: exact counters, shared by all threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Faults, OneIn};

/// What becomes of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is made as it should be.
    Whole,
    /// It is not made.
    Dropped,
    /// It is made twice.
    Twice,
    /// It waits, to be made after the next one.
    HeldBack,
    /// It is made without its end.
    CutShort,
    /// It is made with another first byte.
    Corrupted,
}

/// What becomes of one connection that asks to subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Welcome {
    /// It is served.
    Served,
    /// It is reset.
    Refused,
    /// It is never answered.
    Ignored,
}

/// The counters of all faults that strike one in N.
#[derive(Debug)]
pub(crate) struct Fates {
    drop: Strikes,
    dup: Strikes,
    swap: Strikes,
    truncate: Strikes,
    corrupt: Strikes,
    refuse: Strikes,
    half_open: Strikes,
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
        }
    }

    /// Decides the next delivery. `may_hold_back`: this subscriber is not already waiting for
    /// the other half of a swap on this channel.
    pub(crate) fn of_delivery(&self, may_hold_back: bool) -> Fate {
        let mut fate = Fate::Whole;
        for (strikes, blow, able) in [
            (&self.drop, Fate::Dropped, true),
            (&self.dup, Fate::Twice, true),
            (&self.swap, Fate::HeldBack, may_hold_back),
            (&self.truncate, Fate::CutShort, true),
            (&self.corrupt, Fate::Corrupted, true),
        ] {
            // Each fault counts every delivery, whatever another made of it.
            if strikes.next(able && fate == Fate::Whole) {
                fate = blow;
            }
        }
        fate
    }

    /// Decides the next connection that asks to subscribe.
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

/// One fault's count of chances, and of blows that are still owed because they fell together
/// with another fault's: the next chance gets them, so that totals stay exact.
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

    /// Counts a chance; whether it is struck. It is not unless it is `able` to be.
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
            // 1,005 chances: the blows of the thousandth have landed by then.
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
    fn refusals_and_silence_share_the_connections() {
        let faults = Faults { refuse: one_in(4), half_open: one_in(4), ..Faults::default() };
        let fates = Fates::new(&faults);
        let welcomes: Vec<Welcome> = (0..41).map(|_| fates.of_connection()).collect();
        assert_eq!(welcomes.iter().filter(|w| **w == Welcome::Refused).count(), 10);
        assert_eq!(welcomes.iter().filter(|w| **w == Welcome::Ignored).count(), 10);
    }
}
