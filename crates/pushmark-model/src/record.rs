//! `Record`: what a shard measured in one interval. Records add up: the sum of all records is the run.
//!
//! Everything in a record is a difference since the previous record, so the total does not depend on the
//! number of shards or on the order of arrival. Its size does not depend on the number of messages.

mod broadcast;
mod counts;
mod heat;
mod lacking;
mod sums;
mod times;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use broadcast::{Broadcast, sketch_bin, sketch_value};
pub use counts::{Bayeux, Counts, Safety};
pub use heat::{HEAT_ROWS, heat_row};
pub use lacking::{Clients, Lacking, NotTaken, Sent, Unheard};
pub use times::Times;
pub use words::{Came, ENDS_MAX, Ends, Last, SHOWN_MAX, Words};

/// One interval of one shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The shard.
    pub shard: u32,
    /// Whole seconds from the arm's start to the start of the interval.
    pub second: u32,
    /// The shard sends no record after this one.
    pub last: bool,
    /// Connections subscribed at the interval's end.
    pub connected: u64,
    /// Most second connections of Bayeux clients open at once in this interval.
    pub second_open_max: u64,
    /// Longest time, ms, that a Bayeux server said it holds a connect.
    pub hold_advised_ms: u64,
    /// Most instrumented requests registered at an answer, by the server's count.
    pub registered_max: u64,
    /// Sums.
    pub counts: Counts,
    /// Distributions.
    pub times: Times,
    /// Connection attempts that failed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Connections lost after subscribing, by kind.
    pub lost_by: BTreeMap<String, u64>,
    /// Failed publications of all phases, by kind.
    pub publish_failed: BTreeMap<String, u64>,
    /// Of them, publications that were due in measure.
    pub publish_failed_measure: BTreeMap<String, u64>,
    /// Deliveries by (second of measure in which they were due, latency row).
    pub heat: BTreeMap<(u32, u8), u64>,
    /// Broadcasts whose observation ended in this interval.
    pub broadcasts: Vec<Broadcast>,
    /// Publications whose deadline has passed and that no client of this shard has received; measure.
    pub unheard: Vec<Unheard>,
    /// Channel and sequence of those that a client received after all.
    pub heard_late: Vec<(u32, u64)>,
    /// Publications of this shard that the target did not take, measure.
    pub not_taken: Vec<NotTaken>,
    /// Clients that lack deliveries; reported once, with the last record.
    pub clients: Clients,
    /// The first troubles, as text, at most [`TROUBLES_MAX`] per shard.
    pub troubles: Vec<String>,
    /// How subscriptions were known to be established: the weakest rule that applied.
    pub subscribed_by: SubscribedBy,
    /// The target's own words.
    pub words: Words,
}

/// Most troubles that a shard reports as text; all of them are counted.
pub const TROUBLES_MAX: usize = 4;

/// How a subscription was known to be established, strongest rule first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SubscribedBy {
    /// The target reported each channel's last sequence.
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
    /// Returns the word used in files.
    pub fn name(self) -> &'static str {
        match self {
            SubscribedBy::Acknowledged => "acknowledged",
            SubscribedBy::Ready => "ready",
            SubscribedBy::Head => "head",
            SubscribedBy::Settle => "settle",
        }
    }
}

impl Record {
    /// Adds a record of another shard or interval. Entries about single publications are appended, not
    /// joined.
    pub fn merge(&mut self, other: &Record) {
        self.counts.add(&other.counts);
        self.times.add(&other.times);
        for (mine, theirs) in [
            (&mut self.failed, &other.failed),
            (&mut self.lost_by, &other.lost_by),
            (&mut self.publish_failed, &other.publish_failed),
            (&mut self.publish_failed_measure, &other.publish_failed_measure),
        ] {
            for (kind, n) in theirs {
                *mine.entry(kind.clone()).or_default() += n;
            }
        }
        for (cell, n) in &other.heat {
            *self.heat.entry(*cell).or_default() += n;
        }
        self.broadcasts.extend_from_slice(&other.broadcasts);
        self.unheard.extend_from_slice(&other.unheard);
        self.heard_late.extend_from_slice(&other.heard_late);
        self.not_taken.extend_from_slice(&other.not_taken);
        self.clients.add(&other.clients);
        self.troubles.extend_from_slice(&other.troubles);
        self.subscribed_by = self.subscribed_by.max(other.subscribed_by);
        self.hold_advised_ms = self.hold_advised_ms.max(other.hold_advised_ms);
        self.registered_max = self.registered_max.max(other.registered_max);
        self.words.merge(&other.words);
    }

    /// Counts `n` failed publications. `measured`: all of them were due in measure; otherwise none was.
    pub fn publications_failed(&mut self, kind: &str, n: u64, measured: bool) {
        *self.publish_failed.entry(kind.to_owned()).or_default() += n;
        if measured {
            *self.publish_failed_measure.entry(kind.to_owned()).or_default() += n;
        }
    }

    /// Clears the record but keeps the memory of the distributions it used, which have a fixed size.
    pub fn clear(&mut self) {
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        *self = Record { times, ..Record::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
