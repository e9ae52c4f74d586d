//! The steps by which a client subscribes: it sends or requests, awaits, and takes values from what comes.

use pushmark_model::plan::{Since, Wait};
use pushmark_model::record::SubscribedBy;
use pushmark_model::template::Captures;
use pushmark_proto::client::Lane;

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
        steps.waits = false;
        if conn.errand.is_some() {
            // Its request is still to be answered.
            return;
        }
        steps.at += 1;
        self.next_steps(index);
    }

    /// The request of the current step has its answer.
    pub(super) fn step_answered(&mut self, index: u32, captures: Captures) {
        let Shard { crowd, plan, time, .. } = self;
        let conn = &mut crowd[index];
        let Some(steps) = &mut conn.steps else { return };
        steps.captures.extend(captures);
        if steps.waits {
            let wait = plan.arm.subscribe.steps.get(steps.at).and_then(|step| step.wait.as_ref());
            conn.first.give_up_ns = time.now_ns + wait.map_or(0, |wait| wait.within_ns);
            return;
        }
        steps.at += 1;
        self.io.scratch.clear();
        self.next_steps(index);
        if !self.io.scratch.is_empty() && self.crowd[index].first.link.is_some() {
            self.write_scratch(index, Lane::Connect);
        }
    }

    /// Sends what comes next, up to the next message to await.
    fn next_steps(&mut self, index: u32) {
        loop {
            let Some(at) = self.crowd[index].steps.as_ref().map(|steps| steps.at) else { return };
            let Some(step) = self.plan.arm.subscribe.steps.get(at) else { break };
            let within_ns = step.wait.as_ref().map(|wait| wait.within_ns);
            if step.request.is_some() {
                if let Some(steps) = &mut self.crowd[index].steps {
                    steps.waits = within_ns.is_some();
                }
                // Last: a request that fails at once ends the subscription.
                let request = self.plan.arm.request_of_step(at);
                return self.ask_beside(index, request);
            }
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
