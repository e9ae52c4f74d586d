//! Joins, over all shards, publications that no client received: a refused or unsent publication
//! was not lost on the way. The publishing shard and the subscribed shards are joined
//! by publication, so that a publication that a client received excuses nothing, and excuses nothing
//! else.

use std::collections::{BTreeMap, VecDeque};

use pushmark_model::plan::ArmPlan;
use pushmark_model::plan::Half;
use pushmark_model::record::{Record, Sent};

/// Publications that wait for another shard; beyond this number the oldest are dropped: they were
/// received or lost.
const WAITING_MAX: usize = 1 << 18;

/// Deliveries by half of the crowd: pushed and pulled; one half if all clients
/// do the same.
type Halves = [u64; 2];

/// The known state of a publication.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Subscriptions of shards in which no client received it.
    unheard: u32,
    owed: [u32; 2],
    /// The report of its publisher, which knows or suspects that it was not accepted.
    sent: Option<Sent>,
}

/// Sums over publications that no client received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    owed: Halves,
}

impl Sum {
    fn add(&mut self, owed: [u32; 2]) {
        self.owed = [self.owed[0] + u64::from(owed[0]), self.owed[1] + u64::from(owed[1])];
    }

    fn take_back(&mut self, owed: [u32; 2]) {
        self.owed = [self.owed[0] - u64::from(owed[0]), self.owed[1] - u64::from(owed[1])];
    }
}

/// The join of an arm.
#[derive(Debug)]
pub(super) struct Untaken {
    /// Subscriptions of each channel in the whole arm.
    planned: Vec<u32>,
    /// Shards before this one push, the others pull.
    pulls_from: u32,
    words: BTreeMap<(u32, u64), Word>,
    order: VecDeque<(u32, u64)>,
    never_written: Sum,
    refused: Sum,
    in_doubt: Sum,
    /// Publications in doubt that no client received: the target did not take them.
    doubted: u64,
    /// Publications that a publisher named, received or not: never written, and written in vain.
    named: [u64; 2],
    /// No client received it, and its publisher did not report it.
    unexplained: Sum,
    /// Publications of a channel that no client could receive: a client that lacks them lost nothing.
    not_lost: BTreeMap<u32, u64>,
}

/// Deliveries that never arrived and are not a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NotLost {
    pub(super) unpublished: u64,
    pub(super) refused: u64,
}

impl NotLost {
    /// Computes it from numbers of publications, received or not.
    pub(super) fn of_all(never_sent: u64, failed: u64, subscribers: f64) -> NotLost {
        let deliveries = |publications: u64| (publications as f64 * subscribers).round() as u64;
        NotLost { unpublished: deliveries(never_sent), refused: deliveries(failed) }
    }
}

impl Untaken {
    /// Creates the join of an arm with these planned subscriptions; `shards` is the number of shards a half.
    pub(super) fn new(plan: &ArmPlan, planned: Vec<u32>, shards: u32) -> Untaken {
        Untaken {
            planned,
            pulls_from: if plan.halves().len() > 1 { shards } else { u32::MAX },
            words: BTreeMap::new(),
            order: VecDeque::new(),
            never_written: Sum::default(),
            refused: Sum::default(),
            in_doubt: Sum::default(),
            doubted: 0,
            named: [0; 2],
            unexplained: Sum::default(),
            not_lost: BTreeMap::new(),
        }
    }

    /// Adds a record.
    pub(super) fn add(&mut self, record: &Record) {
        let half = usize::from(record.shard >= self.pulls_from);
        for not_taken in &record.not_taken {
            let key = (not_taken.channel, not_taken.sequence);
            match not_taken.sent {
                Sent::Never => self.named[0] += 1,
                Sent::InVain => self.named[1] += 1,
                Sent::InDoubt => {}
            }
            self.change(key, |word| word.sent = Some(not_taken.sent));
        }
        for unheard in &record.unheard {
            self.change((unheard.channel, unheard.sequence), |word| {
                word.unheard += unheard.planned;
                word.owed[half] += unheard.owed;
            });
        }
        for &(channel, sequence) in &record.heard_late {
            // That shard received it: the publication can no longer be unheard by all.
            self.change((channel, sequence), |word| word.unheard = 0);
        }
        while self.order.len() > WAITING_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.words.remove(&oldest);
            }
        }
    }

    fn change(&mut self, key: (u32, u64), change: impl FnOnce(&mut Word)) {
        let order = &mut self.order;
        let word = self.words.entry(key).or_insert_with(|| {
            order.push_back(key);
            Word::default()
        });
        let before = *word;
        change(word);
        let after = *word;
        let planned = self.planned.get(key.0 as usize).copied().unwrap_or(0);
        let unheard = |word: Word| word.unheard > 0 && word.unheard >= planned;
        if unheard(before) {
            self.sum(before.sent).take_back(before.owed);
            self.explain(key.0, before.sent, -1);
        }
        if unheard(after) {
            self.sum(after.sent).add(after.owed);
            self.explain(key.0, after.sent, 1);
        }
    }

    /// Removes the subscriptions of each channel that ended with their shard: only the reports of the other
    /// shards count, also for publications that still wait for a report.
    pub(super) fn lose(&mut self, subscriptions: &[u32]) {
        let words = std::mem::take(&mut self.words);
        let unheard = |planned: &[u32], channel: u32, word: &Word| {
            word.unheard > 0 && planned.get(channel as usize).is_some_and(|&planned| word.unheard >= planned)
        };
        let before = self.planned.clone();
        for (planned, lost) in self.planned.iter_mut().zip(subscriptions) {
            *planned = planned.saturating_sub(*lost);
        }
        for (&(channel, _), word) in &words {
            if unheard(&self.planned, channel, word) && !unheard(&before, channel, word) {
                self.sum(word.sent).add(word.owed);
                self.explain(channel, word.sent, 1);
            }
        }
        self.words = words;
    }

    fn sum(&mut self, sent: Option<Sent>) -> &mut Sum {
        match sent {
            Some(Sent::Never) => &mut self.never_written,
            Some(Sent::InVain) => &mut self.refused,
            Some(Sent::InDoubt) => &mut self.in_doubt,
            None => &mut self.unexplained,
        }
    }

    fn explain(&mut self, channel: u32, sent: Option<Sent>, n: i64) {
        if sent == Some(Sent::InDoubt) {
            self.doubted = self.doubted.saturating_add_signed(n);
        }
        if sent.is_some() {
            let not_lost = self.not_lost.entry(channel).or_default();
            *not_lost = not_lost.saturating_add_signed(n);
        }
    }

    /// Returns the deliveries that are missing because there was nothing to deliver, over the whole arm or a
    /// half. `never_sent` publications were never sent, and `failed` failed. Some of them were not named one
    /// by one by a shard (an emitter's, a session's): they are unknown members of the publications without a
    /// receiver, with `subscribers` each.
    pub(super) fn not_lost(
        &self,
        half: Option<Half>,
        never_sent: u64,
        failed: u64,
        subscribers: f64,
    ) -> NotLost {
        let of = |sum: &Sum| match half {
            None => sum.owed[0] + sum.owed[1],
            Some(Half::Push) => sum.owed[0],
            Some(Half::Pull) => sum.owed[1],
        };
        let mut left = of(&self.unexplained);
        let mut unnamed = |all: u64, named: u64| {
            let deliveries = all.saturating_sub(named) as f64 * subscribers;
            let some = (deliveries.round() as u64).min(left);
            left -= some;
            some
        };
        NotLost {
            unpublished: of(&self.never_written) + unnamed(never_sent, self.named[0]),
            refused: of(&self.refused) + of(&self.in_doubt) + unnamed(failed, self.named[1]),
        }
    }

    /// Publications whose connection the target ended just after the write, and that no client received.
    pub(super) fn cut_off(&self) -> u64 {
        self.doubted
    }

    /// Publications of a channel that were refused or never sent, and that no client received.
    pub(super) fn of_channel(&self, channel: u32) -> u64 {
        self.not_lost.get(&channel).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::record::{NotTaken, Unheard};

    /// Four clients on one channel, two in each of two shards.
    fn untaken() -> Untaken {
        Untaken::new(&super::super::testing::arm(), vec![4], 2)
    }

    fn unheard(sequence: u64) -> Record {
        let unheard = vec![Unheard { channel: 0, sequence, planned: 2, owed: 2 }];
        Record { unheard, ..Record::default() }
    }

    fn refused(sequence: u64) -> Record {
        let not_taken = vec![NotTaken { channel: 0, sequence, sent: Sent::InVain }];
        Record { not_taken, ..Record::default() }
    }

    #[test]
    fn what_was_refused_and_heard_by_nobody_is_excused_in_all_shards() {
        // The reports may arrive in any order.
        for order in [[0, 1, 2], [2, 0, 1], [0, 2, 1]] {
            let mut u = untaken();
            let words = [unheard(7), unheard(7), refused(7)];
            order.iter().for_each(|&at| u.add(&words[at]));
            assert_eq!(u.not_lost(None, 0, 1, 4.0), NotLost { unpublished: 0, refused: 4 });
            assert_eq!(u.of_channel(0), 1);
        }
    }

    #[test]
    fn who_ended_with_their_shard_are_waited_for_no_more() {
        let mut u = untaken();
        u.add(&unheard(7));
        assert_eq!(u.not_lost(None, 2, 0, 4.0), NotLost::default(), "the other shard may have heard it");
        u.lose(&[2]);
        assert_eq!(u.not_lost(None, 2, 0, 4.0), NotLost { unpublished: 2, refused: 0 });
        u.add(&unheard(8));
        assert_eq!(u.not_lost(None, 2, 0, 4.0), NotLost { unpublished: 4, refused: 0 });
    }

    #[test]
    fn what_was_refused_and_heard_by_one_excuses_nothing() {
        let mut u = untaken();
        // One shard received it; another publication was lost to all, and was not refused.
        [unheard(7), refused(7), unheard(8), unheard(8)].iter().for_each(|record| u.add(record));
        assert_eq!(u.not_lost(None, 0, 1, 4.0), NotLost::default());
    }

    #[test]
    fn what_was_in_doubt_has_failed_where_nobody_heard_it() {
        let mut u = untaken();
        let doubted = |sequence| {
            let not_taken = vec![NotTaken { channel: 0, sequence, sent: Sent::InDoubt }];
            Record { not_taken, ..Record::default() }
        };
        [doubted(7), unheard(7), unheard(7), doubted(8), unheard(8)].iter().for_each(|record| u.add(record));
        assert_eq!(u.not_lost(None, 0, 0, 4.0), NotLost { unpublished: 0, refused: 4 });
        assert_eq!((u.cut_off(), u.of_channel(0)), (1, 1), "the other was heard in one shard");
    }

    #[test]
    fn what_is_heard_after_its_deadline_was_heard() {
        let mut u = untaken();
        [unheard(7), refused(7), unheard(7)].iter().for_each(|record| u.add(record));
        u.add(&Record { heard_late: vec![(0, 7)], ..Record::default() });
        assert_eq!((u.not_lost(None, 0, 1, 4.0), u.of_channel(0)), (NotLost::default(), 0));
    }

    #[test]
    fn an_emitters_silence_is_as_much_as_it_says() {
        let mut u = untaken();
        (0..10).for_each(|n| [unheard(n), unheard(n)].iter().for_each(|record| u.add(record)));
        // It sent all but three of the ten that no client received: the other seven were lost.
        assert_eq!(u.not_lost(None, 3, 0, 4.0), NotLost { unpublished: 12, refused: 0 });
        assert_eq!(u.not_lost(None, 30, 0, 4.0), NotLost { unpublished: 40, refused: 0 });
    }
}
