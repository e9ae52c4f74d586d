//! Whether what was received is what was published, where the scenario asks for it: a message is
//! kept until it is whole, and its padding compared with what was drawn for it.

use pushmark_model::content::corrupt;

use crate::shard::Shard;

/// Longest message that is kept; of a longer one only its begin is looked at.
const KEPT_MAX: usize = 16 << 20;

impl Shard {
    /// A part of a message came.
    #[inline]
    pub(super) fn keep_content(&mut self, index: u32, bytes: &[u8]) {
        if self.plan.arm.publisher.as_ref().is_some_and(|p| p.check) {
            let kept = &mut self.crowd[index as usize].line.checked;
            kept.extend_from_slice(&bytes[..bytes.len().min(KEPT_MAX - kept.len())]);
        }
    }

    /// The message is whole.
    #[inline]
    pub(super) fn check_content(&mut self, index: u32) {
        let message = std::mem::take(&mut self.crowd[index as usize].line.checked);
        if message.is_empty() {
            return;
        }
        let arm = &self.plan.arm;
        let Some(publisher) = &arm.publisher else { return };
        let size =
            |stamp: &pushmark_model::stamp::Stamp| publisher.size.of(arm.seed, stamp.channel, stamp.sequence);
        self.accounting.record.counts.corrupt += corrupt(&message, arm.nonce, arm.seed, size);
    }
}
