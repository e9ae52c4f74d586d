//! Checks, if the scenario asks for it, that the received bytes are the published ones. The padding is
//! compared with the padding that was drawn for the publication. Long messages are checked in parts, so
//! that only a bounded part of a message is kept.

use pushmark_model::content::{corrupt, corrupt_so_far};
use pushmark_proto::client::Lane;

use crate::shard::Shard;

/// Bytes of a message that are kept before they are checked, in addition to two of the longest
/// publications.
const KEPT_MAX: usize = 16 << 10;

impl Shard {
    /// Keeps a part of a message.
    #[inline]
    pub(super) fn keep_content(&mut self, index: u32, lane: Lane, bytes: &[u8]) {
        let Some(size_max) = self.plan.arm.publisher.as_ref().filter(|p| p.check).map(|p| p.size.max())
        else {
            return;
        };
        for bytes in bytes.chunks(KEPT_MAX) {
            let kept = &mut self.crowd[index].line_mut(lane).kept;
            kept.extend_from_slice(bytes);
            if kept.len() > KEPT_MAX + 2 * size_max {
                self.look_into_content(index, lane, false);
            }
        }
    }

    /// Checks the rest of a complete message.
    #[inline]
    pub(super) fn check_content(&mut self, index: u32, lane: Lane) {
        if !self.crowd[index].line(lane).kept.is_empty() {
            self.look_into_content(index, lane, true);
        }
    }

    fn look_into_content(&mut self, index: u32, lane: Lane, whole: bool) {
        let mut kept = std::mem::take(&mut self.crowd[index].line_mut(lane).kept);
        let arm = &self.plan.arm;
        let Some(publisher) = &arm.publisher else { return };
        let size =
            |stamp: &pushmark_model::stamp::Stamp| publisher.size.of(arm.seed, stamp.channel, stamp.sequence);
        // A publication belongs to the phase in which it is due: warm-up is not counted.
        let judged = |stamp: &pushmark_model::stamp::Stamp| {
            let due_us = stamp.on_clock_ahead(self.plan.clock_ahead_us).due_us;
            stamp.nonce == arm.nonce && self.accounting.in_measure(due_us * 1_000)
        };
        let corrupt = match whole {
            true => corrupt(&kept, arm.seed, judged, size),
            false => corrupt_so_far(&mut kept, publisher.size.max(), arm.seed, judged, size),
        };
        self.accounting.record.counts.corrupt += corrupt;
        if !whole {
            self.crowd[index].line_mut(lane).kept = kept;
        }
    }
}
