//! Publishes: by POST, by peers, by emitters; at once, or delayed by a fault.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pushmark_net::{Clock, Nanos};

use super::Shard;
use crate::emitter::Tick;
use crate::hub::{Accepted, Full, is_channel_name};
use crate::publication::{MESSAGE_MAX, Message, stamp_of};
use crate::stats::Counter;

/// The most publications of emitters in one turn. The rest are published in the next.
pub(super) const EMITS_MAX: usize = 64;

/// Emitters that took longer than this in one turn publish half as many in the next, unless some client is
/// subscribed to several channels and must get publications due together in one write.
const EMITS_NS: Nanos = 20_000_000;

/// The most publications that wait for their delay. Beyond it publishing is refused and counted.
const DELAYED_MAX: usize = 1 << 16;

/// The most bytes of publications that wait for their delay. The publication that exceeds the bound is
/// accepted.
const DELAYED_BYTES_MAX: usize = 256 << 20;

/// How long before a delayed publication the thread polls instead of sleeping. A sleep usually ends 50 µs
/// late, and a known delay must be exact.
const SPIN_NS: Nanos = 200_000;

/// Publications that wait for their delay, the next one first.
#[derive(Default)]
pub(super) struct Delayed {
    queue: BinaryHeap<Reverse<Late>>,
    /// Bytes of their payloads.
    bytes: usize,
    /// Numbers publications without a stamp, and keeps the order of those due together.
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
    /// Returns when to begin to poll for the next one.
    pub(super) fn next_look_ns(&self) -> Option<Nanos> {
        self.queue.peek().map(|Reverse(late)| late.at_ns.saturating_sub(SPIN_NS))
    }
}

impl Shard {
    /// Publishes now, or after the delay of a fault.
    pub(super) fn publish(&mut self, channel: u32, message: impl Into<Message>) -> Result<Accepted, Full> {
        let (message, now_ns) = (message.into(), Clock::now());
        let Some(delay) = &self.shared.options.faults.delay else {
            return self.publish_now(channel, message, now_ns);
        };
        if self.delayed.queue.len() >= DELAYED_MAX || self.delayed.bytes >= DELAYED_BYTES_MAX {
            self.ledger.count(Counter::PublishRefused);
            return Err(Full);
        }
        let count = self.delayed.count;
        self.delayed.count += 1;
        let number = stamp_of(&message.payload).map_or(count, |stamp| stamp.sequence);
        let at_ns = now_ns + delay.of(number);
        self.delayed.bytes += message.payload.len();
        self.delayed.queue.push(Reverse(Late { at_ns, count, channel, message }));
        let subscribers = self.channels.at(channel).subscribers_everywhere();
        Ok(Accepted { subscribers, queued: self.delayed.queue.len() })
    }

    fn publish_now(&mut self, channel: u32, message: Message, now_ns: Nanos) -> Result<Accepted, Full> {
        let message = match self.shared.options.faults.encode {
            Some(encode) => message.encoded(encode),
            None => message,
        };
        let accepted = self.shared.hub.publish(self.index, channel, message, now_ns);
        match accepted {
            Ok(_) => self.more_waiting = true,
            Err(Full) => self.ledger.count(Counter::PublishRefused),
        }
        accepted
    }

    /// CONTRACT 6.6: a peer publishes with a text `publish CHANNEL`, a line end and the payload. Other
    /// messages are ignored.
    pub(super) fn peer_message(&mut self, message: &[u8]) {
        let Some(line_end) = message.iter().position(|&byte| byte == b'\n') else { return };
        let (line, payload) = (&message[..line_end], &message[line_end + 1..]);
        let channel = line.strip_prefix(b"publish ").and_then(|name| std::str::from_utf8(name).ok());
        let Some(channel) = channel.filter(|name| is_channel_name(name)) else { return };
        if !(1..=MESSAGE_MAX).contains(&payload.len()) {
            return;
        }
        match self.channels.id(channel, &self.shared.hub) {
            // A refusal is counted. A WebSocket cannot report it.
            Ok(id) => drop(self.publish(id, payload)),
            Err(Full) => self.ledger.count(Counter::PublishRefused),
        }
    }

    /// Publishes the due publications of emitters, in the first thread.
    pub(super) fn emit_due(&mut self) {
        let began_ns = Clock::now();
        if self.index != 0 || self.leave_at_ns.is_some() || began_ns < self.next_emit_ns {
            return;
        }
        let max = if self.several_channels > 0 { EMITS_MAX } else { self.emits_max };
        let mut ticks = Vec::new();
        let skip_late = self.shared.options.skip_late;
        let (skipped, next_due_us) = {
            let mut emitters = self.shared.emitters();
            let now_us = Clock::now() / 1000;
            let skipped = emitters.take_due(now_us, skip_late, max, &mut ticks);
            (skipped, emitters.next_due_us())
        };
        self.ledger.counters.add(Counter::EmitsSkipped, skipped);
        let together = self.share_clients(&ticks);
        for tick in ticks {
            // One value for all subscribers, read just before the first write.
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
        let slow = Clock::now() - began_ns > EMITS_NS;
        self.emits_max = if slow { (self.emits_max / 2).max(1) } else { (self.emits_max * 2).min(EMITS_MAX) };
        self.next_emit_ns = next_due_us.map_or(Nanos::MAX, |due_us| due_us * 1000);
    }

    /// Returns whether some client is subscribed to several of these ticks and must get them in one write.
    /// Otherwise each publication is stamped just before its own writes.
    fn share_clients(&mut self, ticks: &[Tick]) -> bool {
        let mut channels: Vec<u32> = ticks.iter().map(|tick| tick.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels.len() < ticks.len() || ticks.len() > 1 && self.several_channels > 0
    }

    /// Publishes delayed publications, each at its instant.
    pub(super) fn delayed_due(&mut self) {
        for _ in 0..EMITS_MAX {
            let Some(Reverse(next)) = self.delayed.queue.peek() else { return };
            if next.at_ns > Clock::now() + SPIN_NS {
                return;
            }
            let Some(Reverse(late)) = self.delayed.queue.pop() else { return };
            self.delayed.bytes -= late.message.payload.len();
            while Clock::now() < late.at_ns {
                std::hint::spin_loop();
            }
            // If there is no room, it is lost and counted.
            let _ = self.publish_now(late.channel, late.message, late.at_ns);
            self.deliver_waiting();
        }
    }
}
