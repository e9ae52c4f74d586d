//! `Record`: what a shard measured in one interval. Records add up: the sum of all is the run.
//!
//! Everything in a record is a difference (how many more since the last one), so neither the
//! number of shards nor the order of arrival shows in the total. Its size does not depend on
//! how many messages it accounts for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Distribution;

/// One interval of one shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The shard.
    pub shard: u32,
    /// Whole seconds from the arm's start to the interval's begin.
    pub second: u32,
    /// The shard sends no more after this one.
    pub last: bool,
    /// Connections subscribed at the interval's end.
    pub connected: u64,
    /// Most second connections of Bayeux clients open at once in this interval.
    pub second_open_max: u64,
    /// Longest time, ms, that a Bayeux server said it holds a connect.
    pub hold_advised_ms: u64,
    /// Sums.
    pub counts: Counts,
    /// Distributions.
    pub times: Times,
    /// Connection attempts that failed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Connections lost after subscribing, by kind.
    pub lost_by: BTreeMap<String, u64>,
    /// Failed publications, by kind.
    pub publish_failed: BTreeMap<String, u64>,
    /// Deliveries by (second of measure of their due instant, latency row).
    pub heat: BTreeMap<(u32, u8), u64>,
    /// Broadcasts whose observation ended in this interval.
    pub broadcasts: Vec<Broadcast>,
    /// First troubles in words, at most [`TROUBLES_MAX`] a shard.
    pub troubles: Vec<String>,
    /// How subscriptions were known to stand: the weakest rule that applied.
    pub subscribed_by: SubscribedBy,
}

/// Most troubles a shard tells in words; all are counted.
pub const TROUBLES_MAX: usize = 4;

/// Rows of the heat map: three a decade of µs from 1 µs to an hour, and one below.
pub const HEAT_ROWS: usize = 30;

/// The heat row of a latency. Row 0: below 1 µs; row r: [10^((r−1)/3), 10^(r/3)) µs.
pub fn heat_row(latency_us: i64) -> u8 {
    // Upper bounds of rows 0.., computed once; a search in 30 numbers is cheaper than a logarithm.
    const BOUNDS: [i64; HEAT_ROWS - 1] = [
        1,
        3,
        5,
        10,
        22,
        47,
        100,
        216,
        465,
        1_000,
        2_155,
        4_642,
        10_000,
        21_545,
        46_416,
        100_000,
        215_444,
        464_159,
        1_000_000,
        2_154_435,
        4_641_589,
        10_000_000,
        21_544_347,
        46_415_889,
        100_000_000,
        215_443_470,
        464_158_884,
        1_000_000_000,
        2_154_434_691,
    ];
    BOUNDS.partition_point(|&bound| bound <= latency_us) as u8
}

/// How a subscription was known to stand, strongest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SubscribedBy {
    /// The target named each channel's last sequence.
    #[default]
    Acknowledged,
    /// A ready text, or an upgrade.
    Ready,
    /// The response head.
    Head,
    /// Assumed after the settle time.
    Settle,
}

impl SubscribedBy {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            SubscribedBy::Acknowledged => "acknowledged",
            SubscribedBy::Ready => "ready",
            SubscribedBy::Head => "head",
            SubscribedBy::Settle => "settle",
        }
    }
}

macro_rules! sums {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }
        impl $name {
            /// Adds another's fields to these.
            pub fn add(&mut self, other: &$name) {
                $(Sum::add(&mut self.$field, &other.$field);)*
            }

            /// Sets all fields to nothing; distributions that were used keep their memory.
            pub fn clear(&mut self) {
                $(Sum::clear(&mut self.$field);)*
            }
        }
    };
}

trait Sum: Default {
    fn add(&mut self, other: &Self);

    fn clear(&mut self) {
        *self = Self::default();
    }
}
macro_rules! sum_numbers { ($($t:ty),*) => { $(impl Sum for $t { #[inline] fn add(&mut self, other: &$t) { *self += *other } })* } }
sum_numbers!(u64, i64, i128);
impl Sum for Bayeux {
    fn add(&mut self, other: &Bayeux) {
        Bayeux::add(self, other);
    }
}
impl Sum for Safety {
    fn add(&mut self, other: &Safety) {
        Safety::add(self, other);
    }
}
impl Sum for Distribution {
    fn add(&mut self, other: &Distribution) {
        self.merge(other);
    }

    fn clear(&mut self) {
        Distribution::clear(self);
    }
}

sums! {
    /// Numbers of things. Fates that can be taken back (a delivery after all) are signed.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Counts {
        /// Connections subscribed for the first time.
        opened: u64,
        /// Connections lost unasked after subscribing.
        lost: u64,
        /// Subscribed again after a loss.
        reconnected: u64,
        /// TCP connections begun.
        connects: u64,
        /// TLS handshakes in full, of clients and publishers.
        tls_full: u64,
        /// TLS handshakes that took up a session.
        tls_resumed: u64,
        /// Publications × planned subscribers, measure.
        intended: u64,
        /// Within the deadline, measure.
        delivered: u64,
        /// After it, measure.
        late: u64,
        /// Subscriber absent when due, not received since; measure.
        unserved: i64,
        /// Subscriber in doubt when due, not received since; measure.
        excused: i64,
        /// Overtaken by a newer one, not received since; measure.
        superseded: i64,
        /// Seen again.
        duplicate: u64,
        /// Below the highest seen.
        out_of_order: u64,
        /// Too far below to tell.
        beyond_window: u64,
        /// Another run's.
        foreign: u64,
        /// Messages without a stamp.
        unstamped: u64,
        /// Live subscribers of publications that nobody in this shard received, measure.
        silent: u64,
        /// Publications too many at once to watch one by one.
        unwatched: u64,
        /// Deliveries of all phases.
        received: u64,
        /// Messages of all phases (stamped or not).
        messages: u64,
        /// Their payload bytes.
        payload_bytes: u64,
        /// Messages received during measure.
        measure_messages: u64,
        /// Their payload bytes.
        measure_payload_bytes: u64,
        /// Bytes read from subscriber connections.
        bytes_in: u64,
        /// Bytes written to them.
        bytes_out: u64,
        /// Of them during measure.
        measure_bytes_in: u64,
        /// Of them during measure.
        measure_bytes_out: u64,
        /// Segments received (TCP_INFO at close).
        segments_in: u64,
        /// Segments sent.
        segments_out: u64,
        /// Connections whose segments were counted.
        segments_of: u64,
        /// Requests of pollers and long pollers, all phases.
        requests: u64,
        /// Of them during measure.
        measure_requests: u64,
        /// Poll answers without news, measure.
        redundant: u64,
        /// Of them 304.
        not_modified: u64,
        /// Polls due while the last was unanswered.
        overruns: u64,
        /// Long-poll answers with news, measure.
        answers: u64,
        /// Without.
        timeouts: u64,
        /// Long-poll answers with news, all phases.
        answers_all: u64,
        /// Without, all phases.
        timeouts_all: u64,
        /// Messages in long-poll answers with news, measure.
        answered_messages: u64,
        /// Missing between two consecutive long-poll answers, measure; taken back where an overtaken
        /// one comes after all.
        missed_deaf: i64,
        /// TCP connections after a long poller's first.
        new_connections: u64,
        /// Publications due in this shard, measure.
        publications_due: u64,
        /// Publications due in this shard, all phases.
        publications_due_all: u64,
        /// Written, measure.
        published: u64,
        /// Written, all phases.
        published_all: u64,
        /// Refused or unanswered, measure.
        publish_failed: u64,
        /// Written within the measure phase, whenever they were due.
        sent_in_measure: u64,
        /// Due, never written, measure.
        unpublished: u64,
        /// Of them those for which the target could not be connected to, or had lost the peer whose turn
        /// it was.
        unreachable: u64,
        /// Found no idle publisher connection and the pool full.
        pool_exhausted: u64,
        /// Kernel stamps that were not their read's last message.
        stamps_unused: u64,
        /// Kernel wake-ups of the loop.
        wakeups: u64,
        /// Turns of the loop that hit its bound and left work for the next.
        turns_bounded: u64,
        /// Σ of (end² − start²) ÷ 2 of ages held, µs²: the integral of age over time.
        age_area_us2: i128,
        /// Σ of time in which something was held, µs.
        age_time_us: i128,
        /// Messages whose content is not what was published, all phases.
        corrupt: u64,
        /// Of Bayeux clients.
        bayeux: Bayeux,
        /// Of polls beside a push connection.
        safety: Safety,
    }
}

impl Counts {
    /// Publications of measure that are never written: because there is no way to the target, or of
    /// our own.
    pub fn never_written(&mut self, publications: u64, no_target: bool) {
        self.unpublished += publications;
        self.unreachable += if no_target { publications } else { 0 };
    }
}

sums! {
    /// Polls of clients that hold a push connection besides, measure.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Safety {
        /// Polls sent.
        polls: u64,
        /// States that a poll showed first.
        found: u64,
        /// Of them those that the push brought later.
        overtaken: u64,
        /// Polls without an answer.
        failed: u64,
    }
}

sums! {
    /// What happened in Bayeux sessions, all phases where nothing else is said.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Bayeux {
        /// Handshakes asked for; a client's later ones among them.
        handshakes: u64,
        /// Subscriptions that came to stand in a session with the acknowledge extension.
        acknowledged: u64,
        /// Connects asked for, measure.
        connects: u64,
        /// Connects over HTTP that were answered without a message, measure.
        connects_empty: u64,
        /// Messages that were refused because the server did not know the client (402).
        unknown_client: u64,
        /// Advice to go on (`reconnect: retry`).
        advised_retry: u64,
        /// Advice to begin anew (`reconnect: handshake`).
        advised_handshake: u64,
        /// Advice to stay away (`reconnect: none`).
        advised_none: u64,
        /// Advice that another session shares the client's cookies (`multiple-clients`).
        multiple_clients: u64,
        /// Pauses that were made because advice asked for them (`interval`).
        intervals_obeyed: u64,
        /// Messages sent beside handshakes and connects: subscriptions, publications, farewells.
        commands: u64,
        /// Second connections made.
        second_connections: u64,
        /// Answers of HTTP that held news, measure.
        replies: u64,
        /// Messages in them.
        replied_messages: u64,
    }
}

sums! {
    /// Distributions of times.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Times {
        /// received − due, measure.
        latency: Distribution,
        /// received − sent, measure.
        from_sent: Distribution,
        /// Bound of the time a delivery lay unread, measure.
        read_lag: Distribution,
        /// The same by kernel stamps, on the sample.
        read_lag_stamped: Distribution,
        /// Due to the kernel's receive instant, on the sample, measure.
        latency_stamped: Distribution,
        /// Ages at which holding a state began (measure), for the time-weighted age.
        age_start: Distribution,
        /// Ages at which it ended.
        age_end: Distribution,
        /// Due instant of a connection to its TCP handshake's end.
        connect_tcp: Distribution,
        /// … to its TLS handshake's end.
        connect_tls: Distribution,
        /// … to its first response byte.
        connect: Distribution,
        /// … to its subscription.
        connect_subscribed: Distribution,
        /// … to its first message.
        connect_first_message: Distribution,
        /// Length of a turn of the loop, measure.
        turn: Distribution,
        /// sent − due of publications, measure.
        publish_lag: Distribution,
        /// answered − sent, measure.
        publish_accept: Distribution,
        /// Age of the state at each poll answer, measure.
        age_at_receipt: Distribution,
        /// received − due of what had been received before, measure; not of polls.
        again: Distribution,
        /// Time-out answer − due time-out.
        hold_overshoot: Distribution,
        /// Answer received to next request written.
        deaf: Distribution,
        /// Message sent to next request written.
        in_flight: Distribution,
        /// Time between messages of a connection (observe).
        gap: Distribution,
        /// Latency by the target's own timestamps.
        target_latency: Distribution,
        /// Latency of deliveries received in this interval, all phases: for the window's line.
        window_latency: Distribution,
    }
}

/// One broadcast as one shard saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// Channel.
    pub channel: u32,
    /// Sequence on it.
    pub sequence: u64,
    /// Whole seconds from the arm's start to its due instant.
    pub due_second: u32,
    /// sent − due, µs, by its stamp; 0 where nobody heard it.
    pub sent_after_us: i64,
    /// Subscriptions planned in this shard.
    pub planned: u32,
    /// Deliveries seen.
    pub received: u32,
    /// Smallest received − due, µs.
    pub first_us: i64,
    /// Largest.
    pub last_us: i64,
    /// Counts by [`sketch_bin`], sparse, ascending.
    pub sketch: Vec<(u16, u32)>,
    /// Only a sample of broadcasts was watched when this one was due.
    pub sampled: bool,
}

/// The bin of a latency in a broadcast's sketch: 32 a doubling, so within 3.2 %.
pub fn sketch_bin(latency_us: i64) -> u16 {
    let value = latency_us.max(0) as u64;
    if value < 32 {
        return value as u16;
    }
    let exponent = 63 - value.leading_zeros();
    let mantissa = (value >> (exponent - 5)) & 31;
    ((exponent - 4) * 32) as u16 + mantissa as u16
}

/// The middle of a bin, µs.
pub fn sketch_value(bin: u16) -> i64 {
    if bin < 32 {
        return i64::from(bin);
    }
    let exponent = u32::from(bin) / 32 + 4;
    let width = 1u64 << (exponent - 5);
    ((32 + u64::from(bin) % 32) * width + width / 2) as i64
}

impl Record {
    /// Adds a record of another shard or interval. Broadcasts are appended, not joined.
    pub fn merge(&mut self, other: &Record) {
        self.counts.add(&other.counts);
        self.times.add(&other.times);
        for (mine, theirs) in [
            (&mut self.failed, &other.failed),
            (&mut self.lost_by, &other.lost_by),
            (&mut self.publish_failed, &other.publish_failed),
        ] {
            for (kind, n) in theirs {
                *mine.entry(kind.clone()).or_default() += n;
            }
        }
        for (cell, n) in &other.heat {
            *self.heat.entry(*cell).or_default() += n;
        }
        self.broadcasts.extend_from_slice(&other.broadcasts);
        self.troubles.extend_from_slice(&other.troubles);
        self.subscribed_by = self.subscribed_by.max(other.subscribed_by);
        self.hold_advised_ms = self.hold_advised_ms.max(other.hold_advised_ms);
    }

    /// Forgets everything, and keeps the memory of the distributions it used: they are all of its size.
    pub fn clear(&mut self) {
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        *self = Record { times, ..Record::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heat_rows_are_three_a_decade() {
        let rows: Vec<_> = [-5, 0, 1, 2, 3, 9, 10, 99, 100, 1_000, 3_599_999_999].map(heat_row).into();
        assert_eq!(rows, [0, 0, 1, 1, 2, 3, 4, 6, 7, 10, 29]);
    }

    #[test]
    fn merging_adds_every_count() {
        let mut a = Record {
            counts: Counts { delivered: 3, unserved: -1, ..Counts::default() },
            ..Record::default()
        };
        a.failed.insert("refused".into(), 2);
        let mut sum = a.clone();
        sum.merge(&a);
        assert_eq!((sum.counts.delivered, sum.counts.unserved, sum.failed["refused"]), (6, -2, 4));
    }

    #[test]
    fn what_was_cleared_is_filled_like_a_new_one() {
        let fill = |record: &mut Record| {
            record.times.latency.record_us(7);
            record.counts.delivered += 1;
        };
        let (mut used, mut new) = (Record { second: 3, last: true, ..Record::default() }, Record::default());
        fill(&mut used);
        used.times.turn.record_us(9);
        used.failed.insert("refused".into(), 2);
        used.troubles.push("a".into());
        used.clear();
        fill(&mut used);
        fill(&mut new);
        let told = |record: &Record| postcard::to_stdvec(record).unwrap();
        assert_eq!(told(&used), told(&new));
    }

    proptest! {
        #[test]
        fn a_sketch_is_within_three_percent(value in 0i64..4_000_000_000) {
            let back = sketch_value(sketch_bin(value));
            prop_assert!((back - value).abs() as f64 <= value as f64 * 0.032 + 0.5, "{value} {back}");
        }
    }
}
