//! Connections that end: by time-out, by failure, by the target, at the end of the arm.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::Reconnect;
use pushmark_model::record::TROUBLES_MAX;
use pushmark_model::transport::Transport;
use pushmark_net::Link;
use pushmark_proto::client::Lane;

use crate::conn::{Assumed, Conn, Phase};
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::trouble;

impl Shard {
    /// The client has timed out.
    pub(crate) fn client_timed_out(&mut self, index: u32) {
        let (kind, awaited) = self.awaited_by(index);
        let came = self.came_to(index);
        self.lost(index, Lane::Connect, kind, &format!("{awaited} in time{came}"));
    }

    /// The arm is over, and no client ever subscribed. Tells what the first of those that still wait awaits.
    pub(crate) fn note_waiting(&mut self) {
        let waits = |conn: &Conn| conn.first.phase != Phase::Waiting && !conn.subscribed;
        let Some(index) = self.crowd.clients.iter().position(waits) else { return };
        let index = index as u32;
        let ((_, awaited), came) = (self.awaited_by(index), self.came_to(index));
        self.trouble("waiting", &format!("{awaited} by the end of the arm{came}"));
    }

    /// Returns the kind of time-out that a client runs into, and what did not come.
    fn awaited_by(&self, index: u32) -> (&'static str, String) {
        if let Some(request) = self.errand_in_words(index) {
            let kind = if self.asks_beside(index) { "timeout_step" } else { "timeout_before" };
            return (kind, format!("{request}: no answer"));
        }
        let conn = &self.crowd[index];
        let (kind, awaited) = match conn.first.phase {
            Phase::Connecting if self.is_handshaking(index, Lane::Connect) => {
                ("timeout_tls", "TLS was not agreed on")
            }
            Phase::Connecting => ("timeout_connect", "no connection"),
            Phase::Asked if conn.first.answered => ("timeout_answer", "an answer began, and was not whole"),
            Phase::Asked => ("timeout_handshake", "no answer"),
            Phase::Open if self.awaits(index) => {
                return ("timeout_step", format!("{} did not come", self.awaited(index).unwrap_or_default()));
            }
            Phase::Open if !conn.subscribed && self.asking.config.ready.is_some() => {
                let ready = trouble::shown(self.asking.config.ready.as_deref().unwrap_or_default());
                return ("timeout_ready", format!("\"{ready}\" (ready) did not come"));
            }
            Phase::Open if !conn.subscribed => ("timeout_idle", "nothing said that it is subscribed"),
            _ => ("timeout_idle", "nothing came"),
        };
        (kind, awaited.to_owned())
    }

    /// Returns `; received …`, of what came to a client before its subscription was established.
    fn came_to(&self, index: u32) -> String {
        let conn = &self.crowd[index];
        let came = match conn.first.phase {
            _ if conn.errand.is_some() => None,
            Phase::Open if self.awaits(index) => {
                let since = conn.steps.as_ref().map_or(&[][..], |steps| steps.since.bytes());
                Some(if since.is_empty() { "no message".to_owned() } else { trouble::shown(since) })
            }
            Phase::Open if !conn.subscribed && self.asking.config.ready.is_some() => {
                Some(self.came_so_far(index).unwrap_or_else(|| self.seen.came_to_another()))
            }
            _ => self.came_so_far(index),
        };
        came.map_or(String::new(), |came| format!("; received {came}"))
    }

    /// Returns what a client received before its subscription was established, if that is known.
    fn came_so_far(&self, index: u32) -> Option<String> {
        let mut came = self.seen.came_to(index).to_vec();
        came.extend_from_slice(&self.crowd[index].first.carry);
        (!came.is_empty()).then(|| trouble::shown(&came))
    }

    /// Whether TCP is connected and the line waits for TLS.
    pub(super) fn is_handshaking(&self, index: u32, lane: Lane) -> bool {
        self.crowd[index].line(lane).link.as_ref().is_some_and(Link::is_handshaking)
    }

    /// The connection failed or was lost. What that means depends on the client's phase.
    pub(super) fn lost(&mut self, index: u32, lane: Lane, kind: &str, what: &str) {
        self.ended(index, lane, kind, &trouble::how(kind), what, None);
    }

    /// As [`Shard::lost`], with the transport's own words for the end. `came` holds the last bytes read
    /// if they are not a message.
    pub(super) fn ended(
        &mut self,
        index: u32,
        lane: Lane,
        kind: &str,
        how: &str,
        what: &str,
        came: Option<&[u8]>,
    ) {
        if lane == Lane::Command {
            return self.side_lost(index, kind, what);
        }
        let conn = &self.crowd[index];
        let (phase, reused, answered) = (conn.first.phase, conn.first.reused, conn.first.answered);
        let partial = !conn.first.carry.is_empty() || conn.first.stamps > 0;
        let responds = conn.errand.is_some();
        self.seen.forget_before_subscribed(index);
        self.close(index, Lane::Connect);
        let conn = &mut self.crowd[index];
        let polled = self.plan.arm.transport == Transport::Poll || self.plan.arm.transport.is_held();
        if polled && phase == Phase::Resting && !conn.dismissed {
            // An idle kept-alive connection may end: the next poll opens another. So may the request that the poll
            // waits for.
            if responds {
                self.trouble(kind, what);
                self.responded(index);
            }
            return self.session_goes_on(index);
        }
        let in_time = !kind.starts_with("timeout");
        if polled && in_time && phase == Phase::Asked && reused && answered && !partial {
            // The target ended the kept-alive connection while the request was sent (RFC 9112 9.3.1). It
            // is sent once more, on a new connection.
            return self.connect(index, Lane::Connect);
        }
        if !self.no_longer_stands(index, kind, how) {
            let record = &mut self.accounting.record;
            *record.failed.entry(kind.to_owned()).or_default() += 1;
            record.words.failed.add(how, 1);
        }
        let spoken = &self.seen.spoken;
        self.accounting.record.words.ended_after(how, || match came.unwrap_or(spoken.last(index)) {
            [] => String::new(),
            bytes => trouble::shown(bytes),
        });
        self.trouble(kind, what);
        self.come_back(index);
    }

    /// Returns how the target ended a connection in order: a WebSocket's code and reason, or the end of a
    /// stream.
    pub(super) fn ended_in_order(&self, code: Option<u16>, reason: &str) -> String {
        if !self.transport().is_websocket() {
            return trouble::how("closed");
        }
        let reason = trouble::shown(reason.as_bytes());
        match code {
            Some(code) if reason == trouble::NOTHING => code.to_string(),
            Some(code) => format!("{code} {reason}"),
            None => "closed without a code".to_owned(),
        }
    }

    /// The answer ended in order, and the scenario says that answers do. The client asks again as it would after
    /// a loss.
    pub(super) fn ended_as_planned(&mut self, index: u32) {
        self.seen.forget_before_subscribed(index);
        self.close(index, Lane::Connect);
        if self.stands_no_more(index) {
            self.accounting.record.counts.ended += 1;
        }
        self.come_back(index);
    }

    /// Counts the subscription as lost. Returns whether it was established; an assumed subscription never was.
    pub(super) fn no_longer_stands(&mut self, index: u32, kind: &str, how: &str) -> bool {
        let stood = self.stands_no_more(index);
        if stood {
            let record = &mut self.accounting.record;
            record.counts.lost += 1;
            *record.lost_by.entry(kind.to_owned()).or_default() += 1;
            record.words.lost.add(how, 1);
        }
        stood
    }

    /// Ends the subscription. Returns whether it was established; an assumed subscription never was.
    fn stands_no_more(&mut self, index: u32) -> bool {
        let conn = &mut self.crowd[index];
        let stood = std::mem::take(&mut conn.subscribed);
        let assumed = conn.assumed.take();
        self.crowd.connected -= u64::from(stood);
        let conn = &mut self.crowd[index];
        let record = &mut self.accounting.record;
        match assumed {
            Some(Assumed::Opened) => {
                conn.ever_subscribed = false;
                record.counts.opened -= 1;
            }
            Some(Assumed::Reconnected) => record.counts.reconnected -= 1,
            None => {}
        }
        self.accounting.subscription_lost(index);
        stood && assumed.is_none()
    }

    /// Keeps the first troubles of a record as text.
    pub(super) fn trouble(&mut self, kind: &str, what: &str) {
        let troubles = &mut self.accounting.record.troubles;
        if troubles.len() < TROUBLES_MAX {
            troubles.push(format!("{kind}: {what}"));
        }
    }

    pub(super) fn come_back(&mut self, index: u32) {
        let conn = &mut self.crowd[index];
        conn.prepared = false;
        let Reconnect::FullJitter { base_ns, max_ns } = self.plan.arm.reconnect else {
            return self.gone(index);
        };
        if conn.dismissed {
            return self.gone(index);
        }
        let bound_ns = base_ns.saturating_mul(1 << u32::from(conn.attempts).min(30)).min(max_ns);
        conn.attempts = conn.attempts.saturating_add(1);
        let mut draw =
            Draw::new(self.plan.arm.seed ^ self.time.now_ns, Purpose::Jitter, u64::from(conn.number));
        let pause_ns = match conn.retry_ms {
            0 => (draw.unit() * bound_ns as f64) as u64,
            // The delay that the server advises (WHATWG HTML 9.2.3), plus a random part of the policy's
            // first bound.
            ms => u64::from(ms) * 1_000_000 + (draw.unit() * base_ns as f64) as u64,
        };
        conn.first.phase = Phase::Resting;
        if self.plan.arm.transport != Transport::Poll || self.plan.arm.poll.after_answer {
            conn.next_ns = self.time.now_ns + pause_ns;
            self.io.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
    }

    /// The client does not reconnect.
    fn gone(&mut self, index: u32) {
        self.crowd[index].first.phase = Phase::Gone;
        // Safety polls go on: they are there for the case that the push connection is gone.
        if self.asking.safety.is_none() {
            self.close_side(index);
        }
    }

    /// Closes the connection, as a client may at any time. The session goes on.
    pub(super) fn close(&mut self, index: u32, lane: Lane) {
        if lane == Lane::Connect {
            self.end_errand(index);
        }
        let conn = &mut self.crowd[index];
        if let Some(link) = conn.forget_link(lane) {
            self.io.poller.forget(link.fd());
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

    /// The arm is over: the client leaves.
    pub(crate) fn client_leaves(&mut self, index: u32) {
        self.session_ends(index);
        let conn = &mut self.crowd[index];
        self.accounting.record.counts.assumed_silent += u64::from(conn.assumed.is_some());
        self.io.scratch.clear();
        if conn.first.phase == Phase::Open {
            conn.client.write_close(1000, &mut self.io.scratch);
            if let Some(link) = &mut conn.first.link {
                // Best effort: the socket closes next in any case.
                let _ = link.write(&self.io.scratch);
            }
        }
        self.close(index, Lane::Connect);
        self.gone(index);
        self.close_side(index);
    }
}
