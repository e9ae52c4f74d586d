//! The steps by which a client subscribes over a WebSocket: it sends, awaits, and takes values from what comes.

use pushmark_model::plan::{Since, Wait};
use pushmark_model::record::SubscribedBy;

use crate::shard::Shard;
use crate::steps::{MESSAGE_MAX, Steps};

impl Shard {
    /// Begins the steps on a new connection.
    pub(super) fn begin_steps(&mut self, index: u32) {
        // What the requests before the subscription took stays.
        let steps = self.crowd[index].steps.get_or_insert_default();
        let captures = std::mem::take(&mut steps.captures);
        **steps = Steps { captures, ..Steps::default() };
        self.next_steps(index);
    }

    /// Returns whether the client waits for a message.
    #[inline]
    pub(super) fn awaits(&self, index: u32) -> bool {
        let conn = &self.crowd[index];
        !conn.subscribed && conn.steps.as_ref().is_some_and(|steps| steps.waits)
    }

    /// Keeps a part of the current message.
    pub(super) fn step_data(&mut self, index: u32, bytes: &[u8]) {
        let Some(steps) = &mut self.crowd[index].steps else { return };
        let room = MESSAGE_MAX - steps.message.len();
        steps.message.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Compares the message, which has ended, with the awaited one.
    pub(super) fn step_message(&mut self, index: u32) {
        let Shard { crowd, accounting, asking, plan, .. } = self;
        let conn = &mut crowd[index];
        let Some(steps) = &mut conn.steps else { return };
        let message = std::mem::take(&mut steps.message);
        let Some(wait) = plan.arm.subscribe.steps.get(steps.at).and_then(|step| step.wait.as_ref()) else {
            return;
        };
        let channels: Vec<u32> = accounting.channels_of(index).collect();
        let of = (conn.number, &channels[..], Some(&steps.captures));
        let since = &mut steps.since;
        let matched =
            asking.requests.with_values(&plan.arm, of, |values| since.matched(wait, &message, values));
        let Some(captures) = matched else { return };
        steps.captures.extend(captures);
        steps.since = Since::default();
        steps.at += 1;
        steps.waits = false;
        self.next_steps(index);
    }

    /// Sends what comes next, up to the next message to await.
    fn next_steps(&mut self, index: u32) {
        loop {
            let Some(at) = self.crowd[index].steps.as_ref().map(|steps| steps.at) else { return };
            let Some(step) = self.plan.arm.subscribe.steps.get(at) else { break };
            let within_ns = step.wait.as_ref().map(|wait| wait.within_ns);
            if step.send.is_some() {
                self.say(index, true, |subscribe| subscribe.steps[at].send.as_ref());
            }
            let conn = &mut self.crowd[index];
            let Some(steps) = &mut conn.steps else { return };
            match within_ns {
                Some(within_ns) => {
                    steps.waits = true;
                    conn.first.give_up_ns = self.time.now_ns + within_ns;
                    return;
                }
                None => steps.at += 1,
            }
        }
        // A `ready` text confirms the subscription later.
        match self.asking.config.ready.is_none() {
            true => self.stands(index, SubscribedBy::Ready, None),
            false => {
                let timeout_ns = self.plan.arm.handshake_timeout_ns;
                self.crowd[index].first.give_up_ns = self.time.now_ns + timeout_ns;
            }
        }
    }

    /// Returns what the client awaits, in words, with the number of the step from 1.
    pub(super) fn awaited(&self, index: u32) -> Option<String> {
        let steps = self.crowd[index].steps.as_ref().filter(|steps| steps.waits)?;
        let wait = self.plan.arm.subscribe.steps.get(steps.at)?.wait.as_ref().map(Wait::in_words)?;
        Some(format!("step {}: {wait}", steps.at + 1))
    }
}
