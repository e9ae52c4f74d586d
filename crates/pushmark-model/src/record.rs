//! `Record`: what a shard measured in one interval. Records add up: the sum of all is the run.
//!
//! Everything in a record is a difference (how many more since the last one), so neither the
//! number of shards nor the order of arrival shows in the total. Its size does not depend on
//! how many messages it accounts for.

mod broadcast;
mod counts;
mod heat;
mod sums;
mod times;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use broadcast::{Broadcast, sketch_bin, sketch_value};
pub use counts::{Bayeux, Counts, Safety};
pub use heat::{HEAT_ROWS, heat_row};
pub use times::Times;

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
