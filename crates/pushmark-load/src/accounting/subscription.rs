//! One client on one channel: which publications it has received, and which it has not.

use pushmark_model::record::Record;
use pushmark_net::Nanos;

use crate::ledger::Ledger;

use super::median::Median;
use super::unsettled::{Fate, SHARD_SPANS_MAX, SPANS_FEW, SPANS_MAX, Unsettled, overlap};

/// No sequence yet, or an unknown end.
pub(super) const OPEN: u32 = u32::MAX;
/// A stamp further ahead of the schedule than this is not from pushmark's publishers.
const AHEAD_MAX: u32 = 65_536;

/// Whether a subscription is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not established.
    Down,
    /// Asked for, not yet confirmed.
    Doubt,
    /// Established.
    Live,
}

/// What the shard knows of a channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// Publications due so far: the next sequence.
    pub(super) due: u32,
    /// Sequences of the measure phase: [from, to).
    pub(super) measure: (u32, u32),
    /// When the first sequence of the measure phase was due.
    pub(super) first_due_ns: Nanos,
    pub(super) planned: u32,
    pub(super) live: u32,
    pub(super) doubt: u32,
    /// Published by this machine, while others publish other channels.
    pub(super) here: bool,
}

/// What all subscriptions of a shard share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// A state that a newer one has overtaken is no longer owed.
    pub(super) superseding: bool,
    /// A long poll without a cursor: a publication between two polls is never delivered.
    pub(super) deaf: bool,
    /// Gaps are remembered for this many sequences behind the newest.
    pub(super) remembered: u32,
    /// Spans of all subscriptions.
    pub(super) spans: usize,
}

/// Where changes of a subscription are recorded.
pub(super) struct Books<'b> {
    pub(super) record: &'b mut Record,
    pub(super) ledger: &'b mut Ledger,
    pub(super) terms: &'b Terms,
}

/// How a stamp was classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Received for the first time; true if nothing newer had been received.
    New(bool),
    /// Received before.
    Again,
    /// Older than the sequences that are remembered.
    Beyond,
    /// Not due for a long time yet: pushmark's publishers have not sent it.
    Invented,
}

#[derive(Clone, Debug)]
pub(super) struct Subscription {
    pub(super) channel: u32,
    /// One above the highest sequence received.
    pub(super) top: u32,
    /// From here on, the next sequence in order is in no span. [`OPEN`] while the subscription is not
    /// established.
    pub(super) clear_from: u32,
    /// While it is not established: sequences from here on have no span yet.
    since: u32,
    /// Where the latest doubt began.
    doubt_from: u32,
    /// Measured deliveries that were received.
    pub(super) heard: u32,
    /// Measured deliveries that were not received and are not owed: unserved, excused, overtaken.
    not_owed: u32,
    pub(super) median: Median,
    pub(super) standing: Standing,
    /// Due instant of the newest state held; 0 before the first state.
    pub(super) held_due_ns: Nanos,
    unsettled: Option<Box<Unsettled>>,
}

impl Subscription {
    pub(super) fn new(channel: u32) -> Subscription {
        Subscription {
            channel,
            top: 0,
            clear_from: OPEN,
            since: 0,
            doubt_from: 0,
            heard: 0,
            not_owed: 0,
            median: Median::default(),
            standing: Standing::Down,
            held_due_ns: 0,
            unsettled: None,
        }
    }

    /// The connection asked for the subscription.
    pub(super) fn asked(&mut self, channel: &mut Channel) {
        if self.standing != Standing::Down {
            return;
        }
        self.absent_until(channel.due, channel);
        self.standing = Standing::Doubt;
        self.doubt_from = self.since;
        channel.doubt += 1;
    }

    /// The subscription is established. `last` is the last sequence before it as acknowledged by the target,
    /// if the target acknowledges. Later sequences are owed, whenever they were due. Earlier ones were not
    /// served by the attempt that succeeded.
    pub(super) fn stands(&mut self, last: Option<Option<u64>>, channel: &mut Channel, books: &mut Books<'_>) {
        if self.standing == Standing::Live {
            return;
        }
        self.absent_until(channel.due, channel);
        let doubted = self.standing == Standing::Doubt;
        channel.doubt -= u32::from(doubted);
        channel.live += 1;
        self.standing = Standing::Live;
        if let Some(last) = last {
            let first = last.map_or(0, |last| u32::try_from(last).unwrap_or(OPEN - 1) + 1);
            let doubt_from = if doubted { self.doubt_from } else { OPEN };
            self.change(channel, books, [first, doubt_from], |at, fate| match fate {
                _ if at >= first => Fate::Owed,
                Fate::Excused if at >= doubt_from => Fate::Unserved,
                fate => fate,
            });
        }
        self.clear_from = self.end();
    }

    /// The connection was lost, or the attempt failed. An attempt that never succeeded was no subscription:
    /// the sequences that were in doubt because of it count as unserved, so that down, doubt, down is one
    /// absence.
    pub(super) fn lost(&mut self, channel: &mut Channel, books: &mut Books<'_>) {
        match self.standing {
            Standing::Down => return,
            Standing::Live => {
                channel.live -= 1;
                self.since = channel.due.max(self.top);
            }
            Standing::Doubt => {
                self.absent_until(channel.due, channel);
                channel.doubt -= 1;
                let doubt_from = self.doubt_from;
                self.change(channel, books, [doubt_from; 2], |at, fate| match fate {
                    Fate::Excused if at >= doubt_from => Fate::Unserved,
                    fate => fate,
                });
            }
        }
        self.standing = Standing::Down;
        self.clear_from = OPEN;
    }

    /// Extends the span of a continuing absence or doubt to `to`.
    fn absent_until(&mut self, to: u32, channel: &Channel) {
        let fate = match self.standing {
            Standing::Live => return,
            Standing::Down => Fate::Unserved,
            Standing::Doubt => Fate::Excused,
        };
        if self.since < to {
            self.unsettled.get_or_insert_default().push(self.since, to, fate);
            self.not_owed += overlap((self.since, to), channel.measure);
            self.since = to;
        }
    }

    fn change(
        &mut self,
        channel: &Channel,
        Books { record, terms, ledger }: &mut Books<'_>,
        bounds: [u32; 2],
        fate: impl Fn(u32, Fate) -> Fate,
    ) {
        let Some(unsettled) = &mut self.unsettled else { return };
        let number = self.channel;
        let now_owed = |from, to| ledger.owe(number, from, to);
        let moved = unsettled.change(self.top, bounds, channel.measure, fate, now_owed);
        record.counts.unserved += moved.unserved;
        record.counts.excused += moved.excused;
        self.lacks(moved.unserved + moved.excused);
        self.overtaken(moved.overtaken, record, terms);
    }

    /// Adds deliveries that were not received and are not owed.
    fn lacks(&mut self, more: i64) {
        self.not_owed = self.not_owed.wrapping_add(more as u32);
    }

    /// Adds owed deliveries that a newer one has overtaken.
    fn overtaken(&mut self, more: i64, record: &mut Record, terms: &Terms) {
        if terms.superseding {
            record.counts.superseded += more;
            self.lacks(more);
        } else if terms.deaf {
            record.counts.missed_deaf += more;
        }
    }

    fn end(&self) -> u32 {
        self.unsettled.as_ref().map_or(0, |unsettled| unsettled.end())
    }

    /// Handles a stamp that is not the next in order. `measured` says whether it was due in measure.
    #[cold]
    pub(super) fn settle(
        &mut self,
        sequence: u32,
        measured: bool,
        channel: &Channel,
        record: &mut Record,
        terms: &mut Terms,
    ) -> Settled {
        if sequence.saturating_sub(channel.due) > AHEAD_MAX {
            return Settled::Invented;
        }
        // A publication sent ahead of the schedule is taken back before it is counted.
        self.absent_until(channel.due.max(sequence + 1), channel);
        let newest = sequence >= self.top;
        if !newest && self.unsettled.is_none() {
            return Settled::Again;
        }
        let unsettled = self.unsettled.get_or_insert_default();
        let jumped = if newest { unsettled.jump(self.top, sequence, channel.measure) } else { 0 };
        let fate = match unsettled.take(sequence) {
            Some(fate) => fate,
            None if newest => Fate::Owed,
            None if sequence < unsettled.horizon() => return Settled::Beyond,
            None => return Settled::Again,
        };
        if newest {
            self.top = sequence + 1;
            unsettled.forget_below(self.top.saturating_sub(terms.remembered));
        }
        let most = if terms.spans > SHARD_SPANS_MAX { SPANS_FEW } else { SPANS_MAX };
        record.counts.forgotten += unsettled.keep(most);
        unsettled.sum(&mut terms.spans);
        if self.standing == Standing::Live {
            self.clear_from = unsettled.end();
        }
        self.overtaken(i64::from(jumped), record, terms);
        if measured {
            match fate {
                Fate::Owed => self.overtaken(-i64::from(!newest), record, terms),
                Fate::Unserved => record.counts.unserved -= 1,
                Fate::Excused => record.counts.excused -= 1,
            }
            self.lacks(-i64::from(fate != Fate::Owed));
        }
        Settled::New(newest)
    }

    /// Since when the subscription could have held a state of the measure phase although it holds none: the
    /// channel's first publication of that phase, if the subscription was established when it was due.
    #[cold]
    pub(super) fn lacked_since_ns(&self, channel: &Channel) -> Option<Nanos> {
        (channel.measure.0 != OPEN && self.stood_at(channel.measure.0)).then_some(channel.first_due_ns)
    }

    fn stood_at(&self, sequence: u32) -> bool {
        let (absent, horizon) = self.unsettled.as_ref().map_or((0, 0), |unsettled| {
            let at = (sequence, sequence.saturating_add(1));
            (unsettled.count(at, None) - unsettled.count(at, Some(Fate::Owed)), unsettled.horizon())
        });
        absent == 0 && sequence >= horizon && (self.standing == Standing::Live || sequence < self.since)
    }

    /// The run was stopped while publications from `in_flight` on were still in flight: those that are owed
    /// become excused.
    pub(super) fn excuse_from(
        &mut self,
        in_flight: u32,
        channel: &Channel,
        record: &mut Record,
        terms: &Terms,
    ) {
        self.absent_until(channel.due, channel);
        let range = |from: u32, to: u32| (from.max(channel.measure.0), to.min(channel.measure.1));
        let above = range(in_flight.max(self.top), channel.due);
        let mut owed = overlap(above, above);
        if let Some(unsettled) = &self.unsettled {
            owed -= unsettled.count(above, None);
            // An overtaken publication has its fate already.
            if !terms.superseding {
                owed += unsettled.count(range(in_flight, self.top), Some(Fate::Owed));
            }
        }
        record.counts.excused += i64::from(owed);
        self.lacks(owed.into());
    }

    /// Returns, at the end of the run, the owed deliveries and how many of them never arrived.
    pub(super) fn owed_and_missing(&mut self, channel: &Channel) -> (u32, u32) {
        self.absent_until(channel.due, channel);
        let intended = overlap(channel.measure, channel.measure);
        let owed = intended.saturating_sub(self.not_owed);
        (owed, owed.saturating_sub(self.heard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_subscription_is_56_bytes() {
        assert_eq!(std::mem::size_of::<Subscription>(), 56);
    }
}
