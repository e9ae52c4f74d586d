//! Shards that ended with their process in the middle of an arm: their counts are kept, deliveries
//! still owed to their clients are excused, and publications still due from them count as never sent.

use std::collections::BTreeMap;

use pushmark_model::plan::{ArmPlan, Mode};
use pushmark_model::record::Record;

const SECOND_NS: u64 = 1_000_000_000;

/// The state of each shard, and the lost shards.
#[derive(Debug, Default)]
pub(super) struct LostShards {
    known: BTreeMap<u32, Known>,
    /// The last second of each that is lost.
    ended: Vec<u32>,
    /// Deliveries that their clients were owed.
    owed: u64,
    /// Publications of measure that they were to make.
    unpublished: u64,
}

/// The state of a shard.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    second: u32,
    intended: u64,
    /// Signed, because some fates can be revoked.
    told: i64,
    last: bool,
}

impl LostShards {
    /// Notes a record.
    pub(super) fn seen(&mut self, record: &Record) {
        let counts = &record.counts;
        let known = self.known.entry(record.shard).or_default();
        known.second = known.second.max(record.second);
        known.intended += counts.intended;
        known.told += (counts.delivered + counts.late) as i64;
        known.told += counts.unserved + counts.excused + counts.superseded;
        known.last |= record.last;
    }

    /// Marks these shards, out of `of`, as lost.
    pub(super) fn lose(&mut self, shards: &[u32], plan: &ArmPlan, of: u32) {
        for shard in shards {
            let known = self.known.get(shard).copied();
            // A shard that had sent its last record lost nothing.
            if known.is_some_and(|known| known.last) {
                continue;
            }
            self.ended.push(known.map_or(0, |known| known.second));
            let Known { intended, told, .. } = known.unwrap_or_default();
            self.owed += intended.saturating_sub(told.max(0) as u64);
            let until_ns = known.map_or(0, |known| (u64::from(known.second) + 1) * SECOND_NS);
            self.unpublished += not_published(plan, *shard, of, until_ns);
        }
    }

    /// Whether a shard has sent its last record.
    pub(super) fn has_ended(&self, shard: u32) -> bool {
        self.known.get(&shard).is_some_and(|known| known.last)
    }

    /// The number of shards that report a second.
    pub(super) fn expected(&self, shards: u32, second: u32) -> u32 {
        let gone = self.ended.iter().filter(|last| **last < second).count() as u32;
        shards.saturating_sub(gone).max(1)
    }

    /// Deliveries owed to clients that were lost with their shard.
    pub(super) fn owed(&self) -> u64 {
        self.owed
    }

    /// Publications that were lost with the shard that was to make them.
    pub(super) fn unpublished(&self) -> u64 {
        self.unpublished
    }
}

/// Publications of measure that a lost shard was to make from an instant of the arm on. It is not known here
/// which of its clients was to publish as a peer: it may have been any.
fn not_published(plan: &ArmPlan, shard: u32, shards: u32, from_ns: u64) -> u64 {
    let Some(publisher) = &plan.publisher else { return 0 };
    let its = |channel: u32| match publisher.mode {
        Mode::External => channel % shards.max(1) == shard,
        Mode::Peer => true,
        Mode::Emitter => false,
    };
    let from_ns = from_ns.max(plan.phases.measure_start_ns());
    let of = |channel| {
        let mut schedule = plan.schedule(channel);
        let due = std::iter::from_fn(move || schedule.take_due(u64::MAX));
        due.filter(|(_, due_ns)| *due_ns >= from_ns).count() as u64
    };
    (0..plan.subscriptions.channels).filter(|channel| its(*channel)).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(shard: u32, second: u32, intended: u64, delivered: u64) -> Record {
        let mut record = Record { shard, second, ..Record::default() };
        (record.counts.intended, record.counts.delivered) = (intended, delivered);
        record
    }

    #[test]
    fn what_a_lost_shard_was_owed_is_known_and_seconds_go_on_without_it() {
        let mut lost = LostShards::default();
        for second in 0..3 {
            lost.seen(&record(0, second, 100, 100));
            lost.seen(&record(1, second, 50, if second == 2 { 45 } else { 50 }));
        }
        assert_eq!((lost.expected(2, 2), lost.owed()), (2, 0));
        let plan = crate::gather::testing::arm();
        lost.lose(&[1], &plan, 2);
        assert_eq!((lost.expected(2, 2), lost.expected(2, 3), lost.owed()), (2, 1, 5));
        assert_eq!(lost.unpublished(), 0, "channel 0 is another's");
        // A shard that had sent its last record, and a shard that never sent any.
        lost.seen(&Record { last: true, ..record(0, 3, 10, 0) });
        lost.lose(&[0, 7], &plan, 2);
        assert_eq!((lost.owed(), lost.unpublished()), (5, 0));
        // Ten a second on channel 0, of ten seconds of measure that begin after two: all but one second.
        let mut lost = LostShards::default();
        lost.seen(&record(0, 2, 0, 0));
        lost.lose(&[0], &plan, 2);
        assert_eq!(lost.unpublished(), 90);
    }
}
