//! What became of every intended delivery.
//!
//! Each (subscription, publication) gets a provisional fate at the publication's due instant:
//! expected if the subscription stood, excused if that was in doubt, unserved if it did not.
//! A receipt settles it as delivered or late, and takes the provisional fate back. What is
//! left expected at the end and was not overtaken is missing: intended minus all the rest, so
//! the sum always holds.
//!
//! The sum: one delivery costs a search among K channels, two tests of bits, three histogram
//! records of about 5 ns and one line of the ledger; a subscription costs 56 bytes for the
//! whole run, however long.

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::{Record, heat_row};
use pushmark_model::stamp::Stamp;
use pushmark_model::transport::Transport;
use pushmark_net::{Nanos, prefetch};

use crate::ledger::Ledger;

/// Sequences that can be told apart below the highest seen.
pub(crate) const WINDOW: u32 = 64;

/// No sequence yet, or an end not yet known.
const OPEN: u32 = u32::MAX;

/// Whether a subscription stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It does not.
    Down,
    /// Asked for, not yet known to stand.
    Doubt,
    /// It does.
    Live,
}

/// One client's wish to hear one channel.
#[derive(Clone, Debug)]
struct Subscription {
    channel: u32,
    /// One above the highest sequence seen.
    top: u32,
    /// Bit n: sequence top − 1 − n was seen.
    seen: u64,
    /// The latest absence: sequences due in [from, to) were counted unserved.
    down: (u32, u32),
    /// The latest doubt: sequences due in it were counted excused.
    doubt: (u32, u32),
    /// Sequences above `top` of absences and doubts before those two: already counted.
    absent_before: u32,
    standing: Standing,
    /// Due instant of the newest state held; 0: none.
    held_due_ns: Nanos,
}

impl Subscription {
    /// An absence or doubt makes room for a newer one: what of it lies ahead is kept as a number.
    fn forget(&mut self, absence: (u32, u32), channel: &Channel) {
        self.absent_before += overlap((absence.0.max(self.top), absence.1), channel.measure) as u32;
    }
}

/// What the shard knows of a channel.
#[derive(Clone, Debug)]
struct Channel {
    /// Publications due so far: the next sequence.
    due: u32,
    /// Sequences of the measure phase: [from, to).
    measure: (u32, u32),
    planned: u32,
    live: u32,
    doubt: u32,
}

/// How a stamp was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// First time on this subscription.
    New,
    /// Seen before.
    Again,
    /// Too far below the highest to tell which.
    Beyond,
    /// Not ours, or not subscribed.
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
    superseding: bool,
    polled: bool,
    deaf: bool,
    /// When what was received last was due, if it is measured.
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
        let empty = Channel { due: 0, measure: (OPEN, 0), planned: 0, live: 0, doubt: 0 };
        let mut channels = vec![empty; arm.subscriptions.channels as usize];
        let mut subscriptions = Vec::with_capacity(connections.len() * per_connection);
        for &connection in connections {
            let of = arm.channels_of(connection);
            debug_assert_eq!(of.len(), per_connection);
            for channel in of {
                channels[channel as usize].planned += 1;
                subscriptions.push(Subscription {
                    channel,
                    top: 0,
                    seen: 0,
                    down: (0, OPEN),
                    doubt: (0, 0),
                    absent_before: 0,
                    standing: Standing::Down,
                    held_due_ns: 0,
                });
            }
        }
        let polled = arm.transport == Transport::Poll;
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
            superseding: (polled && !arm.subscribe.resumes) || arm.latest_value,
            polled,
            deaf: arm.transport == Transport::LongPoll && no_cursor,
            newest_due_ns: None,
            heat: Box::default(),
        }
    }

    /// The measure phase has other bounds; both lie ahead of what was due so far, or are unchanged.
    pub(crate) fn measures(&mut self, measure_ns: (Nanos, Nanos)) {
        self.measure_ns = measure_ns;
    }

    /// Whether an instant is counted.
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

    /// What this connection hears is accounted for next.
    pub(crate) fn expect(&self, connection: u32) {
        if let Some(first) = self.subscriptions.get(connection as usize * self.per_connection) {
            prefetch(first);
        }
    }

    /// A publication is due: every subscription gets its provisional fate.
    pub(crate) fn publication_due(&mut self, channel: u32, sequence: u64, due_ns: Nanos) {
        let measured = self.in_measure(due_ns);
        let state = &mut self.channels[channel as usize];
        state.due = sequence as u32 + 1;
        if !measured || state.planned == 0 {
            return;
        }
        state.measure = (state.measure.0.min(sequence as u32), sequence as u32 + 1);
        let counts = &mut self.record.counts;
        counts.intended += u64::from(state.planned);
        counts.unserved += i64::from(state.planned - state.live - state.doubt);
        counts.excused += i64::from(state.doubt);
        self.ledger.open(channel, sequence as u32, due_ns, state.planned, state.live, &mut self.record);
    }

    /// Ends the observation of publications whose deadline has passed.
    pub(crate) fn close_due(&mut self, now_ns: Nanos) {
        self.ledger.close_due(now_ns, &mut self.record);
    }

    /// The connection asked; until it is known to be subscribed, its deliveries are in doubt.
    pub(crate) fn subscription_asked(&mut self, connection: u32) {
        self.each_subscription(connection, |subscription, channel, _| {
            if subscription.standing == Standing::Down {
                subscription.standing = Standing::Doubt;
                subscription.down.1 = channel.due;
                subscription.forget(subscription.doubt, channel);
                subscription.doubt = (channel.due, OPEN);
                channel.doubt += 1;
            }
        });
    }

    /// The subscription stands. `last_of` is what the target acknowledged of a channel: the
    /// last sequence before the subscription (`Some(None)`: none yet), so nothing stays in doubt.
    pub(crate) fn subscription_stands(
        &mut self,
        connection: u32,
        last_of: impl Fn(u32) -> Option<Option<u64>>,
    ) {
        self.each_subscription(connection, |subscription, channel, record| {
            let doubted = match subscription.standing {
                Standing::Live => return,
                Standing::Doubt => {
                    channel.doubt -= 1;
                    subscription.doubt.1 = channel.due;
                    subscription.doubt
                }
                Standing::Down => {
                    subscription.down.1 = channel.due;
                    (0, 0)
                }
            };
            subscription.standing = Standing::Live;
            channel.live += 1;
            if let Some(last) = last_of(subscription.channel) {
                // Absent before `first`, owed from it on: no doubt is left.
                let first = last.map_or(0, |l| l as u32 + 1);
                let absent = subscription.down;
                record.counts.excused -= overlap(doubted, channel.measure);
                record.counts.unserved += overlap((doubted.0, doubted.1.min(first)), channel.measure);
                record.counts.unserved -= overlap((absent.0.max(first), absent.1), channel.measure);
                subscription.down = (absent.0, absent.1.max(doubted.1).min(first).max(absent.0));
                subscription.doubt = (0, 0);
            }
        });
    }

    /// The connection was lost: what is due from now on is unserved.
    pub(crate) fn subscription_lost(&mut self, connection: u32) {
        self.each_subscription(connection, |subscription, channel, _| {
            match subscription.standing {
                Standing::Down => return,
                Standing::Doubt => {
                    channel.doubt -= 1;
                    subscription.doubt.1 = channel.due;
                }
                Standing::Live => channel.live -= 1,
            }
            subscription.standing = Standing::Down;
            subscription.forget(subscription.down, channel);
            subscription.down = (channel.due, OPEN);
        });
    }

    fn each_subscription(
        &mut self,
        connection: u32,
        mut change: impl FnMut(&mut Subscription, &mut Channel, &mut Record),
    ) {
        let first = connection as usize * self.per_connection;
        for subscription in &mut self.subscriptions[first..first + self.per_connection] {
            let channel = &mut self.channels[subscription.channel as usize];
            change(subscription, channel, &mut self.record);
        }
    }

    /// A stamp arrived. `unread_since_ns` bounds how long it may have lain in the kernel.
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
        let Some(at) = subscriptions.iter().position(|s| ours && s.channel == stamp.channel) else {
            self.record.counts.foreign += 1;
            return Receipt::Foreign;
        };
        let subscription = &mut subscriptions[at];
        let channel = &self.channels[stamp.channel as usize];
        let record = &mut *self.record;
        let due_ns = stamp.due_us * 1_000;
        let measured = (self.measure_ns.0..self.measure_ns.1).contains(&due_ns);
        let sequence = stamp.sequence as u32;

        if self.polled && (self.measure_ns.0..self.measure_ns.1).contains(&received_ns) {
            record.times.age_at_receipt.record_ns(due_ns, received_ns);
        }
        if sequence >= subscription.top {
            // The newest so far; what it jumps over is overtaken, or missing.
            let jumped = (subscription.top, sequence);
            let ahead = sequence - subscription.top + 1;
            subscription.seen = if ahead >= WINDOW { 1 } else { subscription.seen << ahead | 1 };
            subscription.top = sequence + 1;
            if jumped.1 > jumped.0 {
                let served = overlap(jumped, channel.measure)
                    - overlap(intersect(jumped, subscription.down), channel.measure)
                    - overlap(intersect(jumped, subscription.doubt), channel.measure)
                    - i64::from(std::mem::take(&mut subscription.absent_before));
                if self.superseding {
                    record.counts.superseded += served;
                } else if self.deaf {
                    record.counts.missed_deaf += served;
                }
            }
            age_changes(record, self.measure_ns, &mut subscription.held_due_ns, due_ns, received_ns);
        } else {
            let behind = subscription.top - 1 - sequence;
            if behind >= WINDOW {
                record.counts.beyond_window += 1;
                return Receipt::Beyond;
            }
            if subscription.seen >> behind & 1 == 1 {
                return Receipt::Again;
            }
            subscription.seen |= 1 << behind;
            record.counts.out_of_order += 1;
            let absent = contains(subscription.down, sequence) || contains(subscription.doubt, sequence);
            if measured && !absent {
                record.counts.superseded -= i64::from(self.superseding);
                record.counts.missed_deaf -= i64::from(self.deaf && !self.superseding);
            }
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
            // It came although it was not expected: take the provisional fate back.
            if contains(subscription.down, sequence) && sequence < channel.due {
                record.counts.unserved -= 1;
            } else if contains(subscription.doubt, sequence) && sequence < channel.due {
                record.counts.excused -= 1;
            }
            record.times.latency.record_ns(due_ns, received_ns);
            record.times.from_sent.record_ns(stamp.sent_us * 1_000, received_ns);
            record.times.read_lag.record_ns(unread_since_ns, received_ns);
            let latency_us = if received_ns >= due_ns { ((received_ns - due_ns) / 1_000) as i64 } else { -1 };
            let second = ((due_ns - self.measure_ns.0) / 1_000_000_000) as u32;
            self.heat.count(second, heat_row(latency_us), record);
            self.ledger.received(stamp.channel, sequence, due_ns, stamp.sent_us * 1_000, received_ns);
        }
        Receipt::New
    }

    /// A state that is held already was received again: part of the trip times of all receipts.
    pub(crate) fn again(&mut self, stamp: &Stamp, received_ns: Nanos) {
        let due_ns = stamp.due_us * 1_000;
        if self.in_measure(due_ns) {
            self.record.times.again.record_ns(due_ns, received_ns);
        }
    }

    /// Publications that a connection knows of by the newest states it was shown.
    pub(crate) fn known(&self, connection: u32) -> u64 {
        self.of(connection).iter().map(|s| u64::from(s.top)).sum()
    }

    /// Measure begins or ends: ages held across the bound are cut there.
    pub(crate) fn cut_ages(&mut self, at_ns: Nanos, begins: bool) {
        for subscription in self.subscriptions.iter().filter(|s| s.held_due_ns != 0) {
            let age_us = at_ns.saturating_sub(subscription.held_due_ns) / 1_000;
            if begins {
                age_begins(&mut self.record, age_us);
            } else {
                age_ends(&mut self.record, age_us);
            }
        }
    }

    /// Hands the interval's record over and begins the next.
    pub(crate) fn take_record(&mut self, empty: Box<Record>) -> Box<Record> {
        self.heat.flush(&mut self.record);
        std::mem::replace(&mut self.record, empty)
    }

    /// Ends all observations: the run is over.
    pub(crate) fn finish(&mut self) {
        self.ledger.close_due(Nanos::MAX, &mut self.record);
    }
}

/// The state held is replaced: its age ends, the new one's begins, within measure.
#[inline]
fn age_changes(
    record: &mut Record,
    measure_ns: (Nanos, Nanos),
    held_due_ns: &mut Nanos,
    due_ns: Nanos,
    received_ns: Nanos,
) {
    let held = std::mem::replace(held_due_ns, due_ns.max(1));
    if !(measure_ns.0..measure_ns.1).contains(&received_ns) {
        return;
    }
    if held != 0 {
        age_ends(record, received_ns.saturating_sub(held) / 1_000);
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

fn contains((from, to): (u32, u32), sequence: u32) -> bool {
    (from..to).contains(&sequence)
}

fn intersect(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    (a.0.max(b.0), a.1.min(b.1))
}

fn overlap(a: (u32, u32), b: (u32, u32)) -> i64 {
    let (from, to) = intersect(a, b);
    i64::from(to.saturating_sub(from))
}

/// Heat cells of the last seconds, before they go into a record.
#[derive(Debug)]
struct HeatRing {
    cells: [[u64; pushmark_model::record::HEAT_ROWS]; HeatRing::SECONDS],
    seconds: [u32; HeatRing::SECONDS],
}

impl Default for HeatRing {
    fn default() -> Self {
        HeatRing {
            cells: [[0; pushmark_model::record::HEAT_ROWS]; HeatRing::SECONDS],
            seconds: [0; HeatRing::SECONDS],
        }
    }
}

impl HeatRing {
    const SECONDS: usize = 16;

    #[inline]
    fn count(&mut self, second: u32, row: u8, record: &mut Record) {
        let slot = second as usize % HeatRing::SECONDS;
        if self.seconds[slot] != second {
            self.flush_slot(slot, record);
            self.seconds[slot] = second;
        }
        self.cells[slot][usize::from(row)] += 1;
    }

    fn flush(&mut self, record: &mut Record) {
        for slot in 0..HeatRing::SECONDS {
            self.flush_slot(slot, record);
        }
    }

    fn flush_slot(&mut self, slot: usize, record: &mut Record) {
        for (row, cell) in self.cells[slot].iter_mut().enumerate().filter(|(_, cell)| **cell > 0) {
            *record.heat.entry((self.seconds[slot], row as u8)).or_default() += std::mem::take(cell);
        }
    }
}

#[cfg(test)]
#[path = "accounting_tests.rs"]
mod tests;
