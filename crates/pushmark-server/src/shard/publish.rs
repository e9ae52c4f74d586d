//! Publications come about: by POST, by peers, by emitters; at once, or late by fault.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pushmark_net::{Clock, Nanos};

use super::Shard;
use crate::emitter::Tick;
use crate::hub::{Accepted, Full, is_channel_name};
use crate::publication::{MESSAGE_MAX, Message, stamp_of};
use crate::stats::Counter;

/// Most publications of emitters in one turn; the rest go out in the next.
const EMITS_MAX: usize = 64;

/// Most publications that wait for their delay. Beyond it publishing is refused and counted.
const DELAYED_MAX: usize = 1 << 16;

/// The last stretch before a delayed publication is waited for awake: a sleep ends when the
/// kernel finds the time, 50 µs late as a rule, and a known answer may not be.
const SPIN_NS: Nanos = 200_000;

/// Publications that wait for their delay, the next one first.
#[derive(Default)]
pub(super) struct Delayed {
    queue: BinaryHeap<Reverse<Late>>,
    /// Numbers those that have no stamp, and keeps the order of those due together.
    count: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    at_ns: Nanos,
    count: u64,
    channel: u32,
    message: Message,
}

impl Delayed {
    /// When to begin to wait awake for the next one.
    pub(super) fn next_look_ns(&self) -> Option<Nanos> {
        self.queue.peek().map(|Reverse(late)| late.at_ns.saturating_sub(SPIN_NS))
    }
}

impl Shard {
    /// Publishes now, or after the delay that a fault demands.
    pub(super) fn publish(&mut self, channel: u32, message: impl Into<Message>) -> Result<Accepted, Full> {
        let (message, now_ns) = (message.into(), Clock::now());
        let Some(delay) = &self.shared.options.faults.delay else {
            return self.publish_now(channel, message, now_ns);
        };
        if self.delayed.queue.len() >= DELAYED_MAX {
            self.ledger.count(Counter::PublishRefused);
            return Err(Full);
        }
        let count = self.delayed.count;
        self.delayed.count += 1;
        let number = stamp_of(&message.payload).map_or(count, |stamp| stamp.sequence);
        let at_ns = now_ns + delay.of(number);
        self.delayed.queue.push(Reverse(Late { at_ns, count, channel, message }));
        let subscribers = self.channels.at(channel).subscribers_everywhere();
        Ok(Accepted { subscribers, queued: self.delayed.queue.len() })
    }

    fn publish_now(&mut self, channel: u32, message: Message, now_ns: Nanos) -> Result<Accepted, Full> {
        let accepted = self.shared.hub.publish(self.index, channel, message, now_ns);
        match accepted {
            Ok(_) => self.more_waiting = true,
            Err(Full) => self.ledger.count(Counter::PublishRefused),
        }
        accepted
    }

    /// CONTRACT 6.6: a peer publishes with a text `publish CHANNEL`, a line end and the payload.
    /// What is no such message is passed over: it is the peer's own affair.
    pub(super) fn peer_message(&mut self, message: &[u8]) {
        let Some(line_end) = message.iter().position(|&byte| byte == b'\n') else { return };
        let (line, payload) = (&message[..line_end], &message[line_end + 1..]);
        let channel = line.strip_prefix(b"publish ").and_then(|name| std::str::from_utf8(name).ok());
        let Some(channel) = channel.filter(|name| is_channel_name(name)) else { return };
        if !(1..=MESSAGE_MAX).contains(&payload.len()) {
            return;
        }
        match self.channels.id(channel, &self.shared.hub) {
            // A refusal is counted; a WebSocket has nowhere to say it.
            Ok(id) => drop(self.publish(id, payload)),
            Err(Full) => self.ledger.count(Counter::PublishRefused),
        }
    }

    /// Publishes what emitters have due, in the first thread.
    pub(super) fn emit_due(&mut self) {
        if self.index != 0 || self.leave_at_ns.is_some() || Clock::now() < self.next_emit_ns {
            return;
        }
        let mut ticks = Vec::new();
        let skip_late = self.shared.options.skip_late;
        let (skipped, next_due_us) = {
            let mut emitters = self.shared.emitters();
            let now_us = Clock::now() / 1000;
            let skipped = emitters.take_due(now_us, skip_late, EMITS_MAX, &mut ticks);
            (skipped, emitters.next_due_us())
        };
        self.ledger.counters.add(Counter::EmitsSkipped, skipped);
        let together = self.share_clients(&ticks);
        for tick in ticks {
            // One value for all subscribers, taken just before the first of their writes.
            let sent_us = Clock::now() / 1000;
            match self.publish(tick.channel, tick.payload(sent_us)) {
                Ok(_) => self.ledger.count(Counter::Emits),
                Err(Full) => self.ledger.count(Counter::EmitsSkipped),
            }
            if !together {
                self.deliver_waiting();
            }
        }
        self.deliver_waiting();
        self.next_emit_ns = next_due_us.map_or(Nanos::MAX, |due_us| due_us * 1000);
    }

    /// Whether some client hears several of these ticks, and is to get them in one write. If
    /// none does, each publication is better stamped just before its own writes.
    fn share_clients(&mut self, ticks: &[Tick]) -> bool {
        let mut channels: Vec<u32> = ticks.iter().map(|tick| tick.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels.len() < ticks.len() || ticks.len() > 1 && self.several_channels > 0
    }

    /// Publishes what has waited for its delay, each at its instant.
    pub(super) fn delayed_due(&mut self) {
        for _ in 0..EMITS_MAX {
            let Some(Reverse(next)) = self.delayed.queue.peek() else { return };
            if next.at_ns > Clock::now() + SPIN_NS {
                return;
            }
            let Some(Reverse(late)) = self.delayed.queue.pop() else { return };
            while Clock::now() < late.at_ns {
                std::hint::spin_loop();
            }
            // Where there is no room it is lost, and counted.
            let _ = self.publish_now(late.channel, late.message, late.at_ns);
            self.deliver_waiting();
        }
    }
}
