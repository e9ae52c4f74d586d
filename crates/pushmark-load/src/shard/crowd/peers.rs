//! Peers: the members of a channel publish on it, in turn.

use pushmark_model::plan::{Mode, ShardPlan};
use pushmark_proto::client::Lane;

use crate::job::Job;
use crate::shard::Shard;

/// The publishers of each channel, in turn. Empty unless the mode is peer.
pub(crate) fn members(plan: &ShardPlan, mine: &[u64]) -> Vec<Vec<Option<u32>>> {
    let arm = &plan.arm;
    if arm.publisher.as_ref().is_none_or(|p| p.mode != Mode::Peer) {
        return Vec::new();
    }
    let mut members = vec![Vec::new(); arm.subscriptions.channels as usize];
    for number in 0..arm.connections {
        let index = mine.binary_search(&number).ok().map(|i| i as u32);
        for channel in arm.channels_of(number) {
            members[channel as usize].push(index);
        }
    }
    members
}

impl Shard {
    /// A peer's turn to publish.
    pub(crate) fn client_publishes(&mut self, index: u32, job: Job) {
        if self.transport().is_bayeux() {
            return self.publishes_in_session(index, job);
        }
        let full = self.is_full(index, Lane::Connect);
        let conn = &mut self.crowd[index];
        if !conn.subscribed || conn.first.link.is_none() || full {
            job.never_written(&mut self.accounting.record, true);
            return;
        }
        let payload = self.payload(job);
        let arm = &self.plan.arm;
        let Some(template) = &arm.subscribe.peer else { return };
        let conn = &mut self.crowd[index];
        let mut text = Vec::new();
        let captures = conn.steps.as_ref().map(|steps| &steps.captures);
        let of = (conn.number, &[job.channel][..], captures);
        self.asking.requests.fill(arm, template, of, &payload, &mut text);
        // A read of another client may be in progress, with its answers in `scratch`.
        let pending = std::mem::take(&mut self.io.scratch);
        conn.client.write_message(template.is_text(), &text, &mut self.io.scratch);
        self.write_scratch(index, Lane::Connect);
        self.io.scratch = pending;
    }
}
