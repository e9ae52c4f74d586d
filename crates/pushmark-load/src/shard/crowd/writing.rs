//! Clients write: handshakes, requests, heartbeats and a peer's publications.

use pushmark_model::content::draw_padding;
use pushmark_model::plan::{ArmPlan, Mode};
use pushmark_model::stamp::{STAMP_LEN, Stamp, write_payload};
use pushmark_model::transport::Transport;
use pushmark_net::{Clock, Interest, Nanos};
use pushmark_proto::client::{Client, Lane};

use crate::conn::Phase;
use crate::job::Job;
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::trouble;

/// A subscription without an answer is assumed to be established after this time.
const SETTLE_NS: Nanos = 1_000_000_000;

/// Most bytes that wait for one target to read them, in addition to its client's publications. Beyond
/// this the connection is not read either: a target that sends without reading is stopped by its own full
/// socket.
const OUT_MAX: usize = 64 << 10;

/// Returns how long a connect is held: as the server advises, else as planned.
pub(super) fn hold_ns(arm: &ArmPlan, client: &Client) -> Nanos {
    let advised_ms = client.bayeux().and_then(|session| session.timeout_ms());
    advised_ms.map_or(arm.hold_ns, |ms| u64::from(ms) * 1_000_000)
}

impl Shard {
    /// Writes the handshake or the next request on the client's first line.
    pub(super) fn ask(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        let will_subscribe = !arm.transport.is_bayeux() || conn.client.will_subscribe(Lane::Connect);
        self.io.scratch.clear();
        self.asking.requests.subscribe(
            arm,
            &self.asking.config,
            &mut conn.client,
            Lane::Connect,
            (conn.number, &channels[..], conn.steps.as_ref().map(|steps| &steps.captures)),
            &mut self.io.scratch,
        );
        let asked_ns = Clock::now();
        conn.held = conn.client.bayeux().is_some_and(|s| s.is_held() && !s.is_prompt());
        let listens = arm.transport == Transport::LongPoll || conn.held;
        if listens && conn.ever_subscribed && conn.heard_ns > 0 {
            let times = &mut self.accounting.record.times;
            if self.time.in_measure {
                times.deaf.record_ns(conn.heard_ns, asked_ns);
                if conn.first.newest_sent_us > 0 {
                    times.in_flight.record_ns(conn.first.newest_sent_us * 1_000, asked_ns);
                }
            }
        }
        if !arm.transport.is_push() {
            let counts = &mut self.accounting.record.counts;
            counts.requests += 1;
            counts.measure_requests += u64::from(self.time.in_measure);
        }
        conn.first.phase = Phase::Asked;
        conn.asked_ns = asked_ns;
        conn.first.newest_sent_us = 0;
        conn.first.stamps = 0;
        conn.first.news = 0;
        conn.first.give_up_ns = asked_ns + arm.handshake_timeout_ns;
        if arm.transport == Transport::LongPoll {
            conn.first.give_up_ns += arm.hold_ns;
        } else if conn.held {
            conn.first.give_up_ns += hold_ns(arm, &conn.client);
        }
        if arm.transport.is_bayeux() && will_subscribe {
            self.accounting.record.counts.bayeux.commands += 1;
        }
        if !conn.subscribed && will_subscribe {
            if arm.publisher.is_some() {
                self.accounting.subscription_asked(index);
            }
            let conn = &self.crowd[index];
            let may_assume = !self.transport().is_websocket() && self.asking.config.ready.is_none();
            if may_assume && self.transport() != Transport::Poll && !self.transport().is_bayeux() {
                self.io
                    .wheel
                    .insert(asked_ns + SETTLE_NS, token::pack(Owner::Settle, conn.first.generation, index));
            }
        }
        self.write_scratch(index, Lane::Connect);
    }

    /// Whether the bytes that wait to be written have reached the limit. Heartbeats and publications are
    /// then not added.
    pub(super) fn is_full(&self, index: u32, lane: Lane) -> bool {
        let waits = self.crowd[index].line(lane).out.len();
        waits > OUT_MAX && waits > OUT_MAX + 2 * self.publication_max()
    }

    /// The longest publication of a client. One may wait behind another without stopping the reads.
    /// Otherwise a target that writes before it reads would wait for the client, and the client for the
    /// target.
    fn publication_max(&self) -> usize {
        let publisher = self.plan.arm.publisher.as_ref().filter(|p| p.mode == Mode::Peer);
        publisher.map_or(0, |p| p.size.max())
    }

    /// Writes the bytes in `scratch`, and keeps what does not fit.
    pub(super) fn write_scratch(&mut self, index: u32, lane: Lane) {
        let line = self.crowd[index].line_mut(lane);
        if !line.out.is_empty() {
            line.out.extend_from_slice(&self.io.scratch);
            if self.is_full(index, lane) {
                self.hold_back(index, lane);
            }
            return;
        }
        let Some(link) = line.link.as_mut() else { return };
        match link.write(&self.io.scratch) {
            Ok(written) => {
                let counts = &mut self.accounting.record.counts;
                counts.bytes_out += written as u64;
                if self.time.in_measure {
                    counts.measure_bytes_out += written as u64;
                }
                if written < self.io.scratch.len() {
                    line.out.extend_from_slice(&self.io.scratch[written..]);
                    self.watch(index, lane, true);
                }
            }
            Err(error) => self.lost(index, lane, trouble::kind(&error), &error.to_string()),
        }
    }

    pub(super) fn flush(&mut self, index: u32, lane: Lane) {
        self.io.scratch.clear();
        let line = self.crowd[index].line_mut(lane);
        self.io.scratch.append(&mut line.out);
        line.out = Vec::new();
        self.write_scratch(index, lane);
        let line = self.crowd[index].line_mut(lane);
        if line.out.is_empty() && line.link.is_some() {
            line.held = false;
            self.watch(index, lane, false);
        }
    }

    /// Stops reading a connection until its target has read what was sent to it.
    #[cold]
    fn hold_back(&mut self, index: u32, lane: Lane) {
        let line = self.crowd[index].line_mut(lane);
        if std::mem::replace(&mut line.held, true) {
            return;
        }
        self.accounting.record.counts.held_back += 1;
        self.trouble("held_back", "the target does not read what it is sent, so it is not read either");
        self.watch_anew(index, lane);
    }

    fn watch(&mut self, index: u32, lane: Lane, writing: bool) {
        let line = self.crowd[index].line_mut(lane);
        if line.link.is_some() && line.writing != writing {
            line.writing = writing;
            self.watch_anew(index, lane);
        }
    }

    /// Registers a line's interest with the poller. What is ready already is reported again.
    pub(super) fn watch_anew(&mut self, index: u32, lane: Lane) {
        let conn = &self.crowd[index];
        let line = conn.line(lane);
        let Some(link) = &line.link else { return };
        let interest = match (line.held, line.writing) {
            (true, _) => Interest::Write,
            (false, true) => Interest::Both,
            (false, false) => conn.arrivals(lane),
        };
        // A failure shows at the next read or write.
        if line.held {
            let _ = self.io.poller.hold(link.fd());
        }
        let _ = self.io.poller.modify(link.fd(), conn.token(index, lane), interest);
    }

    /// Returns the payload of a peer's publication, stamped now, and counts it.
    pub(super) fn payload(&mut self, job: Job) -> Vec<u8> {
        let arm = &self.plan.arm;
        let size = arm.publisher.as_ref().map_or(0, |p| p.size.of(arm.seed, job.channel, job.sequence));
        let sent_ns = Clock::now();
        let counts = &mut self.accounting.record.counts;
        let mut payload = vec![0; size];
        let stamp = Stamp {
            nonce: arm.nonce,
            publisher: 0,
            channel: job.channel,
            sequence: job.sequence,
            due_us: job.due_ns / 1_000,
            sent_us: sent_ns / 1_000,
        };
        write_payload(&stamp.on_clock_ahead(-self.plan.clock_ahead_us), &mut payload);
        if arm.publisher.as_ref().is_some_and(|p| p.check) {
            draw_padding(arm.seed, &stamp, &mut payload[..size - STAMP_LEN]);
        }
        counts.published_all += 1;
        counts.sent_in_measure += u64::from(self.time.in_measure);
        if job.measured {
            counts.published += 1;
            self.accounting.record.times.publish_lag.record_ns(job.due_ns, sent_ns);
        }
        payload
    }
}
