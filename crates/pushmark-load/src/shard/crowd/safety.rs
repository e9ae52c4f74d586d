//! Push and pull: a client with a push connection also polls, over its second line, for what the push may
//! lose. The first arrival is the delivery. A state that a poll showed first is remembered until the push
//! brings it too. If the push never brings it, the push has lost it.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::{ArmPlan, ShardPlan};
use pushmark_model::stamp::Stamp;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use pushmark_proto::client::{Config, Event, Lane};

use crate::accounting::Receipt;
use crate::conn::{Phase, Side};
use crate::never::NEVER;
use crate::requests::{self, Requests};
use crate::shard::{Shard, Time};
use crate::token::{self, Owner};

/// Most states that a client remembers until the push brings them. Beyond this, the oldest counts as lost
/// by the push.
const FOUND_MAX: usize = 64;

/// What all safety polls of a shard share.
#[derive(Debug)]
pub(crate) struct Safety {
    arm: ArmPlan,
    pub(crate) config: Config,
    requests: Requests,
    interval_ns: u64,
}

impl Safety {
    /// Returns `None` unless the clients of the shard poll beside their push connections.
    pub(crate) fn of(plan: &ShardPlan) -> Option<Safety> {
        let hybrid = plan.arm.hybrid.as_ref()?;
        let interval_ns = hybrid.sides.safety_ns()?;
        let arm = ArmPlan { transport: Transport::Poll, subscribe: hybrid.poll.clone(), ..plan.arm.clone() };
        let requests = Requests::new(&ShardPlan { arm: arm.clone(), ..plan.clone() });
        Some(Safety { config: requests::config(&arm), arm, requests, interval_ns })
    }
}

impl Shard {
    /// Schedules the first safety poll of a client, at the client's own phase.
    pub(super) fn safety_begins(&mut self, index: u32) {
        let Some(safety) = &self.asking.safety else { return };
        let conn = &mut self.crowd[index];
        let number = u64::from(conn.number);
        conn.add_poller(&safety.config, Draw::new(self.plan.arm.seed, Purpose::Mask, number).next_u64());
        let phase = Draw::new(self.plan.arm.seed, Purpose::PollPhase, number).unit();
        let due_ns = conn.due_ns + (phase * safety.interval_ns as f64) as u64;
        self.io.wheel.insert(due_ns, token::pack(Owner::Safety, 0, index));
    }

    /// A safety poll is due.
    pub(super) fn safety_due(&mut self, index: u32) {
        let Some(safety) = &self.asking.safety else { return };
        if self.crowd[index].side.is_none() {
            return;
        }
        self.io.wheel.insert(self.time.now_ns + safety.interval_ns, token::pack(Owner::Safety, 0, index));
        let line = self.crowd[index].line(Lane::Command);
        match line.phase {
            Phase::Connecting | Phase::Asked => {
                self.accounting.record.counts.overruns += u64::from(self.time.in_measure);
            }
            _ if line.link.is_some() => self.safety_asks(index),
            _ => self.connect(index, Lane::Command),
        }
    }

    /// Polls over the second line, which is connected.
    pub(super) fn safety_asks(&mut self, index: u32) {
        let Some(safety) = &mut self.asking.safety else { return };
        let conn = &mut self.crowd[index];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        self.io.scratch.clear();
        let number = conn.number;
        let captures = conn.steps.as_ref().map(|steps| steps.captures.clone());
        let (client, seen) = conn.client_on(Lane::Command);
        let Safety { arm, config, requests, .. } = safety;
        let of = (number, &channels[..], captures.as_ref());
        requests.subscribe(arm, config, client, seen, of, &mut self.io.scratch);
        let line = conn.line_mut(Lane::Command);
        line.phase = Phase::Asked;
        line.give_up_ns = Clock::now() + arm.handshake_timeout_ns;
        self.accounting.record.counts.safety.polls += u64::from(self.time.in_measure);
        self.write_scratch(index, Lane::Command);
    }

    /// Handles an event of an answer on the second line.
    pub(super) fn safety_event(&mut self, index: u32, event: Event<'_>) {
        match event {
            Event::Data(bytes) => self.safety_data(index, bytes),
            Event::MessageEnd => {
                let line = self.crowd[index].line_mut(Lane::Command);
                line.scanner.reset();
                line.sight = None;
            }
            Event::Answered { .. } => {
                let conn = &mut self.crowd[index];
                let line = conn.line_mut(Lane::Command);
                line.phase = Phase::Resting;
                line.give_up_ns = NEVER;
                line.reused = true;
                let (client, _) = conn.client_on(Lane::Command);
                if !(client.reusable() && self.plan.arm.keep_alive) {
                    self.close(index, Lane::Command);
                }
            }
            _ => {}
        }
    }

    fn safety_data(&mut self, index: u32, bytes: &[u8]) {
        let encoded = if self.seen.payloads.are_plain() {
            None
        } else {
            self.encoded_stamps(index, Lane::Command, bytes)
        };
        let Shard { crowd, accounting, time, plan, .. } = self;
        let ahead_us = plan.clock_ahead_us;
        let Time { now_ns, unread_since_ns, in_measure, .. } = &*time;
        let counts = &mut accounting.record.counts;
        counts.payload_bytes += bytes.len() as u64;
        counts.measure_payload_bytes += if *in_measure { bytes.len() as u64 } else { 0 };
        let Some(side) = &mut crowd[index].side else { return };
        let Side { line, found: shown, .. } = &mut **side;
        let found = |stamp: Stamp| {
            let stamp = stamp.on_clock_ahead(ahead_us);
            let measured = accounting.in_measure(stamp.due_us * 1_000);
            match accounting.received(index, &stamp, *now_ns, *unread_since_ns) {
                Receipt::New => {
                    accounting.record.counts.safety.found += u64::from(measured);
                    shown.truncate(FOUND_MAX - 1);
                    shown.insert(0, (stamp.channel, stamp.sequence as u32));
                }
                Receipt::Again => accounting.again(&stamp, *now_ns),
                Receipt::Beyond | Receipt::Foreign => {}
            }
        };
        match encoded {
            None => line.scanner.scan(bytes, found),
            Some(encoded) => encoded.into_iter().for_each(found),
        }
    }

    /// The push brought a repetition. Returns whether a poll had delivered this publication before the
    /// push did.
    #[cold]
    pub(super) fn poll_was_first(&mut self, index: u32, stamp: &Stamp) -> bool {
        let Some(side) = &mut self.crowd[index].side else { return false };
        let id = (stamp.channel, stamp.sequence as u32);
        let Some(at) = side.found.iter().position(|found| *found == id) else { return false };
        side.found.remove(at);
        let measured = self.accounting.in_measure(stamp.due_us * 1_000);
        self.accounting.record.counts.safety.overtaken += u64::from(measured);
        true
    }

    /// The second line failed or was lost: the next poll opens another.
    pub(super) fn safety_lost(&mut self, index: u32, kind: &str, what: &str) {
        if self.crowd[index].line(Lane::Command).phase != Phase::Resting {
            self.accounting.record.counts.safety.failed += u64::from(self.time.in_measure);
            self.trouble(kind, &format!("a safety poll: {what}"));
        }
        self.crowd[index].line_mut(Lane::Command).phase = Phase::Waiting;
        self.close(index, Lane::Command);
    }
}
