//! Connections that end: by patience, by failure, by the target, by the end of the arm.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::Reconnect;
use pushmark_model::record::TROUBLES_MAX;
use pushmark_model::transport::Transport;
use pushmark_net::Link;
use pushmark_proto::client::Lane;

use crate::conn::Phase;
use crate::shard::Shard;
use crate::token::{self, Owner};

impl Shard {
    /// Patience has ended.
    pub(crate) fn client_timed_out(&mut self, index: u32) {
        let kind = match self.crowd[index as usize].line.phase {
            Phase::Connecting if self.is_handshaking(index) => "timeout_tls",
            Phase::Connecting => "timeout_connect",
            Phase::Asked if self.crowd[index as usize].line.answered => "timeout_answer",
            Phase::Asked => "timeout_handshake",
            _ => "timeout_idle",
        };
        self.lost(index, kind, "no answer in time");
    }

    /// Whether TCP stands and TLS keeps the line at hand waiting.
    pub(super) fn is_handshaking(&self, index: u32) -> bool {
        self.crowd[index as usize].line.link.as_ref().is_some_and(Link::is_handshaking)
    }

    /// The connection failed or was lost. What it means depends on what was going on.
    pub(super) fn lost(&mut self, index: u32, kind: &str, what: &str) {
        let conn = &mut self.crowd[index as usize];
        if conn.lane == Lane::Command {
            return self.side_lost(index, kind, what);
        }
        let (phase, reused, answered) = (conn.line.phase, conn.line.reused, conn.line.answered);
        let partial = !conn.line.carry.is_empty() || conn.line.stamps > 0;
        self.close(index);
        let conn = &mut self.crowd[index as usize];
        let polled = self.plan.arm.transport == Transport::Poll || self.plan.arm.transport.is_held();
        if polled && phase == Phase::Resting && !conn.dismissed {
            // An idle kept-alive connection may end: the next poll makes another.
            return self.session_goes_on(index);
        }
        let in_time = !kind.starts_with("timeout");
        if polled && in_time && phase == Phase::Asked && reused && answered && !partial {
            // The keep-alive ended as we asked (RFC 9112 9.3.1): once more, on a new connection.
            return self.connect(index);
        }
        if !self.no_longer_stands(index, kind) {
            *self.accounting.record.failed.entry(kind.to_owned()).or_default() += 1;
        }
        self.trouble(kind, what);
        self.come_back(index);
    }

    /// The subscription stands no more; gives whether it did.
    pub(super) fn no_longer_stands(&mut self, index: u32, kind: &str) -> bool {
        let conn = &mut self.crowd[index as usize];
        let stood = std::mem::take(&mut conn.subscribed);
        if stood {
            self.connected -= 1;
            let record = &mut self.accounting.record;
            record.counts.lost += 1;
            *record.lost_by.entry(kind.to_owned()).or_default() += 1;
        }
        self.accounting.subscription_lost(index);
        stood
    }

    /// The first of them are told in words.
    pub(super) fn trouble(&mut self, kind: &str, what: &str) {
        let troubles = &mut self.accounting.record.troubles;
        if troubles.len() < TROUBLES_MAX {
            troubles.push(format!("{kind}: {what}"));
        }
    }

    pub(super) fn come_back(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        let Reconnect::FullJitter { base_ns, max_ns } = self.plan.arm.reconnect else {
            return self.gone(index);
        };
        if conn.dismissed {
            return self.gone(index);
        }
        let bound_ns = base_ns.saturating_mul(1 << u32::from(conn.attempts).min(30)).min(max_ns);
        conn.attempts = conn.attempts.saturating_add(1);
        let mut draw = Draw::new(self.plan.arm.seed ^ self.now_ns, Purpose::Jitter, u64::from(conn.number));
        let pause_ns = match conn.retry_ms {
            0 => (draw.unit() * bound_ns as f64) as u64,
            // The server's own wish (WHATWG HTML 9.2.3) goes before the policy's first bound.
            ms => u64::from(ms) * 1_000_000 + (draw.unit() * base_ns as f64) as u64,
        };
        conn.line.phase = Phase::Resting;
        if self.plan.arm.transport != Transport::Poll || self.plan.arm.poll.after_answer {
            conn.next_ns = self.now_ns + pause_ns;
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
    }

    /// It does not come back.
    fn gone(&mut self, index: u32) {
        self.crowd[index as usize].line.phase = Phase::Gone;
        // Polls beside a push are there for just this: that it is gone.
        if self.safety.is_none() {
            self.close_side(index);
        }
    }

    /// Closes the connection as a client may at any time; the session goes on.
    pub(super) fn close(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        if let Some(link) = conn.forget_link() {
            self.poller.forget(link.fd());
            self.count_segments(&link);
        }
    }

    pub(super) fn count_segments(&mut self, link: &Link) {
        if let Some(info) = link.tcp_info() {
            let counts = &mut self.accounting.record.counts;
            counts.segments_in += info.segments_in;
            counts.segments_out += info.segments_out;
            counts.segments_of += 1;
        }
    }

    /// The arm is over.
    pub(crate) fn client_leaves(&mut self, index: u32) {
        self.session_ends(index);
        let conn = &mut self.crowd[index as usize];
        self.scratch.clear();
        if conn.line.phase == Phase::Open {
            conn.client.write_close(1000, &mut self.scratch);
            if let Some(link) = &mut conn.line.link {
                // Best effort: the socket closes next, whatever the peer makes of it.
                let _ = link.write(&self.scratch);
            }
        }
        self.close(index);
        self.gone(index);
        self.close_side(index);
    }
}
