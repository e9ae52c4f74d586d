//! Clients write: handshakes, requests, heartbeats, and what a peer publishes.

use pushmark_model::stamp::{Stamp, write_payload};
use pushmark_model::transport::Transport;
use pushmark_net::{Clock, Interest, Nanos};

use crate::conn::Phase;
use crate::publisher::Job;
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::trouble;

/// A subscription without an answer is taken to stand after this time.
const SETTLE_NS: Nanos = 1_000_000_000;

impl Shard {
    /// Writes the handshake, or the next request.
    pub(super) fn ask(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index as usize];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        self.scratch.clear();
        self.requests.subscribe(
            arm,
            &self.config,
            &mut conn.client,
            conn.number,
            &channels,
            &mut self.scratch,
        );
        let asked_ns = Clock::now();
        if arm.transport == Transport::LongPoll && conn.ever_subscribed && conn.heard_ns > 0 {
            let times = &mut self.accounting.record.times;
            if self.in_measure {
                times.deaf.record_ns(conn.heard_ns, asked_ns);
                if conn.newest_sent_us > 0 {
                    times.in_flight.record_ns(conn.newest_sent_us * 1_000, asked_ns);
                }
            }
        }
        if !arm.transport.is_push() {
            let counts = &mut self.accounting.record.counts;
            counts.requests += 1;
            counts.measure_requests += u64::from(self.in_measure);
        }
        conn.phase = Phase::Asked;
        conn.asked_ns = asked_ns;
        conn.newest_sent_us = 0;
        conn.stamps = 0;
        conn.news = 0;
        conn.give_up_ns = asked_ns + arm.handshake_timeout_ns;
        if arm.transport == Transport::LongPoll {
            conn.give_up_ns += arm.hold_ns;
        }
        if !conn.subscribed {
            if arm.publisher.is_some() {
                self.accounting.subscription_asked(index);
            }
            let conn = &self.crowd[index as usize];
            let may_assume = self.transport() != Transport::WebSocket && self.config.ready.is_none();
            if may_assume && self.transport() != Transport::Poll {
                self.wheel.insert(asked_ns + SETTLE_NS, token::pack(Owner::Settle, conn.generation, index));
            }
        }
        self.write_scratch(index);
    }

    /// Writes what `scratch` holds, or keeps what does not fit.
    pub(super) fn write_scratch(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        if !conn.out.is_empty() {
            conn.out.extend_from_slice(&self.scratch);
            return;
        }
        let Some(link) = conn.link.as_mut() else { return };
        match link.write(&self.scratch) {
            Ok(written) => {
                let counts = &mut self.accounting.record.counts;
                counts.bytes_out += written as u64;
                if self.in_measure {
                    counts.measure_bytes_out += written as u64;
                }
                if written < self.scratch.len() {
                    conn.out.extend_from_slice(&self.scratch[written..]);
                    self.watch(index, true);
                }
            }
            Err(error) => self.lost(index, trouble::kind(&error), &error.to_string()),
        }
    }

    pub(super) fn flush(&mut self, index: u32) {
        self.scratch.clear();
        let conn = &mut self.crowd[index as usize];
        self.scratch.append(&mut conn.out);
        conn.out = Vec::new();
        self.write_scratch(index);
        let conn = &self.crowd[index as usize];
        if conn.out.is_empty() && conn.link.is_some() {
            self.watch(index, false);
        }
    }

    pub(super) fn watch(&mut self, index: u32, writing: bool) {
        let conn = &mut self.crowd[index as usize];
        if conn.link.is_some() && conn.writing != writing {
            conn.writing = writing;
            self.watch_anew(index);
        }
    }

    /// Watches for what the client waits for; what is there already is told once more.
    pub(super) fn watch_anew(&mut self, index: u32) {
        let conn = &self.crowd[index as usize];
        let Some(link) = &conn.link else { return };
        let interest = if conn.writing { Interest::Both } else { Interest::Arrivals };
        // A failure shows at the next read or write.
        let _ = self.poller.modify(link.fd(), token::pack(Owner::Client, conn.generation, index), interest);
    }

    /// A peer's turn to publish.
    pub(crate) fn client_publishes(&mut self, index: u32, job: Job) {
        let arm = &self.plan.arm;
        let (Some(publisher), Some(template)) = (&arm.publisher, &arm.subscribe.peer) else { return };
        let conn = &mut self.crowd[index as usize];
        let counts = &mut self.accounting.record.counts;
        if !conn.subscribed || conn.link.is_none() {
            counts.unpublished += u64::from(job.measured);
            return;
        }
        let sent_ns = Clock::now();
        let mut payload = vec![0; publisher.size.of(arm.seed, job.channel, job.sequence)];
        let stamp = Stamp {
            nonce: arm.nonce,
            publisher: 0,
            channel: job.channel,
            sequence: job.sequence,
            due_us: job.due_ns / 1_000,
            sent_us: sent_ns / 1_000,
        };
        write_payload(&stamp, &mut payload);
        counts.published_all += 1;
        counts.sent_in_measure += u64::from(self.in_measure);
        if job.measured {
            counts.published += 1;
            self.accounting.record.times.publish_lag.record_ns(job.due_ns, sent_ns);
        }
        let mut text = Vec::new();
        self.requests.fill(arm, template, conn.number, &[job.channel], &payload, &mut text);
        // A read of another client may be in progress: its answers wait in `scratch`.
        let pending = std::mem::take(&mut self.scratch);
        conn.client.write_text(&text, &mut self.scratch);
        self.write_scratch(index);
        self.scratch = pending;
    }
}
