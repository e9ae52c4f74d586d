//! The fate of every intended delivery.
//!
//! Each (subscription, publication) gets a provisional fate at the publication's due instant: expected if the
//! subscription was established, excused if that was in doubt, unserved if it was not. A receipt settles the
//! delivery as delivered or late, and takes the provisional fate back. Deliveries that are left as expected
//! at the end and were not overtaken are missing: missing is intended minus all other fates, so the sum
//! always holds.
//!
//! The cost: one delivery needs a search among K channels, two comparisons if it is the next in order, three
//! histogram records of about 5 ns, one step of a median and one line of the ledger. A subscription needs 56
//! bytes for the whole run while it receives everything in order, however long the run is. A subscription
//! with gaps needs a box of some 100 bytes and 12 bytes for each gap (`unsettled`).

mod heat;
mod median;
mod subscription;
mod unsettled;

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::{Clients, Lacking, Record, heat_row, sketch_bin};
use pushmark_model::stamp::Stamp;
use pushmark_model::transport::Transport;
use pushmark_net::{Nanos, prefetch};

use crate::ledger::Ledger;

use heat::HeatRing;
use median::Median;
use subscription::{Books, Channel, OPEN, Settled, Subscription, Terms};

/// Gaps are remembered for at least this many sequences behind the newest.
const REMEMBERED_MIN: u32 = 1_024;
/// They are remembered for at least this many publication deadlines, too.
const REMEMBERED_DEADLINES: f64 = 2.0;

/// How a stamp was classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// Received for the first time on this subscription.
    New,
    /// Seen before.
    Again,
    /// Too far below the highest sequence to tell whether it is new.
    Beyond,
    /// Of another run, or of a channel without a subscription.
    Foreign,
}

/// The accounts of one shard.
#[derive(Debug)]
pub(crate) struct Accounting {
    /// Filled until the interval ends, then handed over and replaced.
    pub(crate) record: Box<Record>,
    ledger: Ledger,
    subscriptions: Vec<Subscription>,
    per_connection: usize,
    channels: Vec<Channel>,
    nonce: u32,
    deadline_ns: Nanos,
    /// Absolute bounds of the measure phase.
    measure_ns: (Nanos, Nanos),
    terms: Terms,
    polled: bool,
    /// When the publication received last was due, if it is measured.
    pub(crate) newest_due_ns: Option<Nanos>,
    heat: Box<HeatRing>,
}

impl Accounting {
    /// Accounts for the connections with these plan numbers, in this order.
    pub(crate) fn new(arm: &ArmPlan, start_ns: Nanos, connections: &[u64]) -> Accounting {
        let per_connection = match arm.subscriptions.room_size {
            Some(_) => 1,
            None => arm.subscriptions.per_connection.min(arm.subscriptions.channels) as usize,
        };
        let empty = Channel {
            due: 0,
            measure: (OPEN, 0),
            first_due_ns: 0,
            planned: 0,
            live: 0,
            doubt: 0,
            here: false,
        };
        let mut channels = vec![empty; arm.subscriptions.channels as usize];
        let mut subscriptions = Vec::with_capacity(connections.len() * per_connection);
        for &connection in connections {
            let of = arm.channels_of(connection);
            debug_assert_eq!(of.len(), per_connection);
            for channel in of {
                channels[channel as usize].planned += 1;
                subscriptions.push(Subscription::new(channel));
            }
        }
        let polled = arm.transport == Transport::Poll;
        let interval_ns = arm.publisher.as_ref().map_or(f64::INFINITY, |p| p.interval_ns.max(1.0));
        let remembered = (REMEMBERED_DEADLINES * arm.deadline_ns as f64 / interval_ns) as u32;
        let no_cursor = arm.subscribe.cursor == pushmark_model::plan::Cursor::None;
        Accounting {
            record: Box::default(),
            ledger: Ledger::new(arm.subscriptions.channels as usize, arm.deadline_ns, arm.seed, start_ns),
            subscriptions,
            per_connection,
            channels,
            nonce: arm.nonce,
            deadline_ns: arm.deadline_ns,
            measure_ns: (start_ns + arm.phases.measure_start_ns(), start_ns + arm.phases.measure_end_ns()),
            terms: Terms {
                superseding: (polled && !arm.subscribe.resumes) || arm.latest_value,
                deaf: arm.transport == Transport::LongPoll && no_cursor,
                remembered: remembered.clamp(REMEMBERED_MIN, OPEN / 2),
                spans: 0,
            },
            polled,
            newest_due_ns: None,
            heat: Box::default(),
        }
    }

    /// Deliveries of these channels are told apart: no clock of another machine is in their latency.
    pub(crate) fn published_here(&mut self, is_here: impl Fn(u32) -> bool) {
        for (channel, state) in (0..).zip(&mut self.channels) {
            state.here = is_here(channel);
        }
    }

    /// Changes the bounds of the measure phase. Both bounds are later than everything due so far, or
    /// unchanged.
    pub(crate) fn measures(&mut self, measure_ns: (Nanos, Nanos)) {
        self.measure_ns = measure_ns;
    }

    /// Whether an instant lies in the measure phase.
    pub(crate) fn in_measure(&self, instant_ns: Nanos) -> bool {
        (self.measure_ns.0..self.measure_ns.1).contains(&instant_ns)
    }

    /// The channels of a connection.
    pub(crate) fn channels_of(&self, connection: u32) -> impl Iterator<Item = u32> + '_ {
        self.of(connection).iter().map(|s| s.channel)
    }

    fn of(&self, connection: u32) -> &[Subscription] {
        let first = connection as usize * self.per_connection;
        &self.subscriptions[first..first + self.per_connection]
    }

    /// Prefetches the accounts of this connection, which are used next.
    pub(crate) fn expect(&self, connection: u32) {
        if let Some(first) = self.subscriptions.get(connection as usize * self.per_connection) {
            prefetch(first);
        }
    }

    /// Gives every subscription its provisional fate for a publication that is due.
    pub(crate) fn publication_due(&mut self, channel: u32, sequence: u64, due_ns: Nanos) {
        let measured = self.in_measure(due_ns);
        let state = &mut self.channels[channel as usize];
        let sequence = sequence as u32;
        state.due = sequence + 1;
        if !measured || state.planned == 0 {
            return;
        }
        if state.measure.0 == OPEN {
            state.first_due_ns = due_ns;
        }
        state.measure = (state.measure.0.min(sequence), sequence + 1);
        let counts = &mut self.record.counts;
        counts.intended += u64::from(state.planned);
        counts.unserved += i64::from(state.planned - state.live - state.doubt);
        counts.excused += i64::from(state.doubt);
        self.ledger.open(channel, sequence, due_ns, state.planned, state.live, &mut self.record);
    }

    /// Ends the observation of publications whose deadline has passed.
    pub(crate) fn close_due(&mut self, now_ns: Nanos) {
        self.ledger.close_due(now_ns, &mut self.record);
    }

    /// The connection asked; until it is known to be subscribed, its deliveries are in doubt.
    pub(crate) fn subscription_asked(&mut self, connection: u32) {
        self.each_subscription(connection, |subscription, channel, _| subscription.asked(channel));
    }

    /// The subscription is established. `last_of` is what the target acknowledged for a channel: the last
    /// sequence before the subscription (`Some(None)`: none yet), so nothing stays in doubt.
    pub(crate) fn subscription_stands(
        &mut self,
        connection: u32,
        last_of: impl Fn(u32) -> Option<Option<u64>>,
    ) {
        self.each_subscription(connection, |subscription, channel, books| {
            subscription.stands(last_of(subscription.channel), channel, books);
        });
    }

    /// The connection was lost: publications due from now on are unserved.
    pub(crate) fn subscription_lost(&mut self, connection: u32) {
        self.each_subscription(connection, |subscription, channel, books| subscription.lost(channel, books));
    }

    fn each_subscription(
        &mut self,
        connection: u32,
        mut change: impl FnMut(&mut Subscription, &mut Channel, &mut Books<'_>),
    ) {
        let first = connection as usize * self.per_connection;
        let mut books = Books { record: &mut self.record, ledger: &mut self.ledger, terms: &self.terms };
        for subscription in &mut self.subscriptions[first..first + self.per_connection] {
            let channel = &mut self.channels[subscription.channel as usize];
            change(subscription, channel, &mut books);
        }
    }

    /// A stamp was received. `unread_since_ns` bounds how long it may have waited in the kernel.
    #[inline]
    pub(crate) fn received(
        &mut self,
        connection: u32,
        stamp: &Stamp,
        received_ns: Nanos,
        unread_since_ns: Nanos,
    ) -> Receipt {
        let first = connection as usize * self.per_connection;
        let subscriptions = &mut self.subscriptions[first..first + self.per_connection];
        let ours = stamp.nonce == self.nonce;
        // A plan has fewer than 2^32 publications. A larger sequence would be taken for another one.
        let (Some(at), Ok(sequence)) = (
            subscriptions.iter().position(|s| ours && s.channel == stamp.channel),
            u32::try_from(stamp.sequence),
        ) else {
            return self.foreign(received_ns);
        };
        let subscription = &mut subscriptions[at];
        let channel = &self.channels[stamp.channel as usize];
        let record = &mut *self.record;
        let due_ns = stamp.due_us * 1_000;
        let measured = (self.measure_ns.0..self.measure_ns.1).contains(&due_ns);

        if self.polled && (self.measure_ns.0..self.measure_ns.1).contains(&received_ns) {
            record.times.age_at_receipt.record_ns(due_ns, received_ns);
        }
        let newest = if sequence == subscription.top && sequence >= subscription.clear_from {
            subscription.top = sequence + 1;
            true
        } else {
            match subscription.settle(sequence, measured, channel, record, &mut self.terms) {
                Settled::New(newest) => newest,
                Settled::Again => return Receipt::Again,
                Settled::Beyond => {
                    record.counts.beyond_window += u64::from(measured);
                    return Receipt::Beyond;
                }
                Settled::Invented => return self.foreign(received_ns),
            }
        };
        if newest {
            let stood_ns = || subscription.lacked_since_ns(channel);
            let lacked_ns = if subscription.held_due_ns == 0 { stood_ns() } else { None };
            age_changes(
                record,
                self.measure_ns,
                &mut subscription.held_due_ns,
                lacked_ns,
                due_ns,
                received_ns,
            );
        } else {
            record.counts.out_of_order += u64::from(measured);
        }

        record.counts.received += 1;
        record.times.window_latency.record_ns(due_ns, received_ns);
        if measured {
            self.newest_due_ns = Some(due_ns);
            let late = received_ns > due_ns + self.deadline_ns;
            if late {
                record.counts.late += 1;
            } else {
                record.counts.delivered += 1;
            }
            record.times.latency.record_ns(due_ns, received_ns);
            if channel.here {
                record.times.loopback_share.record_ns(due_ns, received_ns);
            }
            record.times.from_sent.record_ns(stamp.sent_us * 1_000, received_ns);
            record.times.read_lag.record_ns(unread_since_ns, received_ns);
            let latency_us = (received_ns as i64 - due_ns as i64).div_euclid(1_000);
            let bin = sketch_bin(latency_us);
            match subscription.heard {
                0 => subscription.median.begin(bin),
                _ => subscription.median.count(bin),
            }
            subscription.heard += 1;
            let second = ((due_ns - self.measure_ns.0) / 1_000_000_000) as u32;
            self.heat.count(second, heat_row(latency_us), record);
            let sent_after_us = stamp.sent_us as i64 - stamp.due_us as i64;
            let known = self.ledger.received(stamp.channel, sequence, sent_after_us, (latency_us, bin));
            if late && !known {
                self.ledger.heard_late(stamp.channel, sequence, record);
            }
        }
        Receipt::New
    }

    /// Counts a stamp of another run or without a subscription. Only its receipt shows which phase it belongs
    /// to.
    #[cold]
    fn foreign(&mut self, received_ns: Nanos) -> Receipt {
        self.record.counts.foreign += u64::from(self.in_measure(received_ns));
        Receipt::Foreign
    }

    /// A state that is held already was received again. It counts in the trip times of all receipts.
    pub(crate) fn again(&mut self, stamp: &Stamp, received_ns: Nanos) {
        let due_ns = stamp.due_us * 1_000;
        if self.in_measure(due_ns) {
            self.record.times.again.record_ns(due_ns, received_ns);
        }
    }

    /// Returns the number of publications up to the newest states that a connection has received.
    pub(crate) fn known(&self, connection: u32) -> u64 {
        self.of(connection).iter().map(|s| u64::from(s.top)).sum()
    }

    /// Whether something was due on every channel of a connection by now.
    pub(crate) fn is_published(&self, connection: u32) -> bool {
        self.of(connection).iter().all(|s| self.channels[s.channel as usize].due > 0)
    }

    /// Cuts the ages of the held states at a bound of measure. A subscription that holds no state at the
    /// end, although one was due, has aged since that was due.
    pub(crate) fn cut_ages(&mut self, at_ns: Nanos, begins: bool) {
        for subscription in &self.subscriptions {
            let age_us = |since_ns: Nanos| at_ns.saturating_sub(since_ns) / 1_000;
            match subscription.held_due_ns {
                0 if begins => {}
                0 => {
                    let channel = &self.channels[subscription.channel as usize];
                    if let Some(since_ns) = subscription.lacked_since_ns(channel) {
                        age_begins(&mut self.record, 0);
                        age_ends(&mut self.record, age_us(since_ns));
                    }
                }
                held_ns if begins => age_begins(&mut self.record, age_us(held_ns)),
                held_ns => age_ends(&mut self.record, age_us(held_ns)),
            }
        }
    }

    /// Hands the interval's record over and begins the next.
    pub(crate) fn take_record(&mut self, empty: Box<Record>) -> Box<Record> {
        self.heat.flush(&mut self.record);
        std::mem::replace(&mut self.record, empty)
    }

    /// The run was stopped by hand: publications whose deadline has not passed were in flight, and their
    /// missing deliveries are excused.
    pub(crate) fn excuse_in_flight(&mut self, now_ns: Nanos) {
        self.ledger.close_due(now_ns, &mut self.record);
        for subscription in &mut self.subscriptions {
            if let Some(first) = self.ledger.oldest(subscription.channel) {
                let channel = &self.channels[subscription.channel as usize];
                subscription.excuse_from(first, channel, &mut self.record, &self.terms);
            }
        }
        self.ledger.give_up(&mut self.record);
    }

    /// Ends all observations at the end of the run. `numbers` are the connections' places in the plan.
    pub(crate) fn finish(&mut self, numbers: impl Iterator<Item = u32>) {
        self.ledger.close_due(Nanos::MAX, &mut self.record);
        let mut clients = Clients::default();
        for (of, connection) in self.subscriptions.chunks_mut(self.per_connection.max(1)).zip(numbers) {
            let (mut owed, mut missing, mut heard) = (0, 0, 0);
            for subscription in of {
                let channel = &self.channels[subscription.channel as usize];
                let lacks = subscription.owed_and_missing(channel);
                (owed, missing, heard) = (owed + lacks.0, missing + lacks.1, heard + subscription.heard);
                if subscription.heard >= Median::ENOUGH {
                    clients.p50_max_us = clients.p50_max_us.max(Some(subscription.median.value_us()));
                }
            }
            clients.count(Lacking { connection, owed, missing, heard });
        }
        self.record.clients = clients;
    }
}

/// Replaces the state held: its age ends and the age of the new one begins, within measure.
#[inline]
fn age_changes(
    record: &mut Record,
    measure_ns: (Nanos, Nanos),
    held_due_ns: &mut Nanos,
    lacked_since_ns: Option<Nanos>,
    due_ns: Nanos,
    received_ns: Nanos,
) {
    let held = std::mem::replace(held_due_ns, due_ns.max(1));
    if !(measure_ns.0..measure_ns.1).contains(&received_ns) {
        return;
    }
    if held != 0 {
        age_ends(record, received_ns.saturating_sub(held) / 1_000);
    } else if let Some(since_ns) = lacked_since_ns {
        age_begins(record, 0);
        age_ends(record, received_ns.saturating_sub(since_ns) / 1_000);
    }
    age_begins(record, received_ns.saturating_sub(due_ns) / 1_000);
}

fn age_begins(record: &mut Record, age_us: u64) {
    record.times.age_start.record_us(age_us);
    record.counts.age_area_us2 -= i128::from(age_us) * i128::from(age_us);
    record.counts.age_time_us -= i128::from(age_us);
}

fn age_ends(record: &mut Record, age_us: u64) {
    record.times.age_end.record_us(age_us);
    record.counts.age_area_us2 += i128::from(age_us) * i128::from(age_us);
    record.counts.age_time_us += i128::from(age_us);
}

#[cfg(test)]
mod bench;
#[cfg(test)]
#[path = "accounting_memory_tests.rs"]
mod memory_tests;
#[cfg(test)]
#[path = "accounting_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "accounting_model_tests.rs"]
mod model_tests;
