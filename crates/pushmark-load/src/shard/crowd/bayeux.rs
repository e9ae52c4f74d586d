//! Clients of Bayeux: what their sessions want to send next, and what they counted.
//!
//! A session decides when to send. After each receipt and after each pause it is asked what it wants to
//! send, on its first line here and on its second in `side`.

use pushmark_model::record::SubscribedBy;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use pushmark_proto::client::Lane;

use super::writing::hold_ns;
use crate::conn::Phase;
use crate::job::Job;
use crate::never::NEVER;
use crate::shard::Shard;
use crate::token::{self, Owner};

impl Shard {
    /// After a receipt or a pause: the session may want to send.
    pub(super) fn session_goes_on(&mut self, index: u32) {
        if !self.transport().is_bayeux() {
            return;
        }
        self.session_tells(index);
        self.first_line_goes_on(index);
        if self.crowd[index].side.is_some() {
            self.second_line_goes_on(index);
        }
        self.crowd.drop_useless_side(index);
    }

    /// Whether its first line has an answer over HTTP, so that the next request can wait for its turn.
    pub(super) fn rests_in_session(&self, index: u32, lane: Lane) -> bool {
        self.transport() == Transport::Bayeux
            && lane == Lane::Connect
            && self.crowd[index].first.phase == Phase::Resting
    }

    /// Takes over the session's counts and the pause that the server advised.
    fn session_tells(&mut self, index: u32) {
        let conn = &mut self.crowd[index];
        let Some(session) = conn.client.bayeux_mut() else { return };
        let told = session.take_counts();
        let record = &mut self.accounting.record;
        record.hold_advised_ms = record.hold_advised_ms.max(session.timeout_ms().unwrap_or(0).into());
        let counts = &mut record.counts.bayeux;
        counts.handshakes += u64::from(told.handshakes);
        counts.connects += if self.time.in_measure { u64::from(told.connects) } else { 0 };
        counts.unknown_client += u64::from(told.unknown_client);
        counts.advised_retry += u64::from(told.advice_retry);
        counts.advised_handshake += u64::from(told.advice_handshake);
        counts.advised_none += u64::from(told.advice_none);
        counts.multiple_clients += u64::from(told.multiple_clients);
        counts.intervals_obeyed += u64::from(told.advice_interval);
        if let Some(pause_ms) = session.take_pause_ms() {
            let over_ns = self.time.now_ns + u64::from(pause_ms) * 1_000_000;
            // A delay before the next attempt may be running: the later of the two applies.
            conn.next_ns = if conn.next_ns == NEVER { over_ns } else { conn.next_ns.max(over_ns) };
            self.io.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
    }

    fn first_line_goes_on(&mut self, index: u32) {
        if self.session_has_ended(index) {
            let conn = &mut self.crowd[index];
            if conn.first.phase != Phase::Gone {
                conn.dismissed = true;
                self.lost(index, Lane::Connect, "dismissed", "the server advised not to come back");
            }
            return;
        }
        let conn = &mut self.crowd[index];
        let wants = conn.client.wants(Lane::Connect);
        match conn.first.phase {
            Phase::Open if wants => self.write_session(index),
            Phase::Resting => {
                let reusable = conn.client.lane_reusable(Lane::Connect) && self.plan.arm.keep_alive;
                if conn.first.link.is_some() && !reusable {
                    self.close(index, Lane::Connect);
                }
                let conn = &mut self.crowd[index];
                match conn.first.link {
                    Some(_) if wants => self.ask(index),
                    // If a delay is running, its end asks again.
                    None if wants && conn.next_ns == NEVER => {
                        conn.due_ns = self.time.now_ns;
                        self.connect(index, Lane::Connect);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Over a WebSocket: writes everything that the session wants to send.
    fn write_session(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        let subscribes = conn.client.will_subscribe(Lane::Connect);
        self.io.scratch.clear();
        let of = (conn.number, &channels[..], conn.steps.as_ref().map(|steps| &steps.captures));
        self.asking.requests.subscribe(
            arm,
            &self.asking.config,
            &mut conn.client,
            Lane::Connect,
            of,
            &mut self.io.scratch,
        );
        // The time-out includes the hold while the server may hold a connect. Otherwise it covers only
        // the replies.
        let held = conn.client.bayeux().is_some_and(|s| s.is_held() && !s.is_prompt());
        let hold_ns = if held { hold_ns(arm, &conn.client) } else { 0 };
        conn.first.give_up_ns = self.time.now_ns + hold_ns + arm.handshake_timeout_ns;
        if subscribes {
            self.accounting.record.counts.bayeux.commands += 1;
            self.accounting.subscription_asked(index);
        }
        self.write_scratch(index, Lane::Connect);
    }

    /// The subscription was accepted, or outlived its connection.
    pub(super) fn session_stands(&mut self, index: u32) {
        let Some(session) = self.crowd[index].client.bayeux_mut() else { return };
        self.accounting.record.counts.bayeux.acknowledged += u64::from(session.acknowledges());
        match session.take_acknowledged() {
            Some(lasts) => self.stands(index, SubscribedBy::Acknowledged, Some(&lasts)),
            None => self.stands(index, SubscribedBy::Ready, None),
        }
    }

    pub(super) fn session_has_ended(&self, index: u32) -> bool {
        self.crowd[index].client.bayeux().is_some_and(|session| session.has_ended())
    }

    /// An answer over HTTP is complete on one of the client's lines.
    pub(super) fn bayeux_answered(&mut self, index: u32, lane: Lane) {
        let conn = &mut self.crowd[index];
        let first_line = lane == Lane::Connect;
        let held = first_line && std::mem::take(&mut conn.held);
        let record = &mut self.accounting.record;
        let news = u64::from(conn.line(lane).news);
        if self.time.in_measure && news > 0 {
            record.counts.bayeux.replies += 1;
            record.counts.bayeux.replied_messages += news;
        }
        if held {
            record.counts.answers_all += u64::from(news > 0);
            record.counts.timeouts_all += u64::from(news == 0);
        }
        if self.time.in_measure && held {
            if news > 0 {
                record.counts.answers += 1;
                record.counts.answered_messages += news;
            } else {
                record.counts.bayeux.connects_empty += 1;
                let hold_ns = hold_ns(&self.plan.arm, &conn.client);
                self.hold_ended(index, hold_ns);
            }
        }
        let conn = &mut self.crowd[index];
        if held && conn.heard_ns > 0 {
            conn.heard_ns = self.time.now_ns;
        }
        let line = conn.line_mut(lane);
        line.give_up_ns = NEVER;
        line.phase = Phase::Resting;
        line.reused = true;
        line.scanner.reset();
        line.more_stamps = Vec::new();
        line.stamps = 0;
        line.news = 0;
        if let (false, Some(side)) = (first_line, &mut conn.side) {
            side.free_ns = self.time.now_ns;
            // A server need not answer each publication (Bayeux, publish response).
            side.unanswered = 0;
        }
    }

    /// A publication of this client was answered.
    pub(super) fn published(&mut self, index: u32, accepted: bool) {
        if let Some(side) = &mut self.crowd[index].side {
            side.unanswered = side.unanswered.saturating_sub(1);
        }
        if !accepted {
            self.publications_failed("refused", 1);
        }
    }

    pub(super) fn publications_failed(&mut self, kind: &str, n: u32) {
        if n > 0 && self.time.in_measure {
            let record = &mut self.accounting.record;
            record.counts.publish_failed += u64::from(n);
            record.publications_failed(kind, u64::from(n), true);
        }
    }

    /// Publishes through the session of a peer.
    pub(super) fn publishes_in_session(&mut self, index: u32, job: Job) {
        if !self.crowd[index].subscribed || self.is_full(index, Lane::Connect) {
            job.never_written(&mut self.accounting.record, true);
            return;
        }
        // A read of another client may be in progress, with its answers in `scratch`.
        let pending = std::mem::take(&mut self.io.scratch);
        if self.transport() == Transport::Bayeux {
            self.publishes_aside(index, job);
        } else if self.crowd[index].first.phase == Phase::Open {
            self.publish_now(index, job);
            self.write_session(index);
        } else {
            job.never_written(&mut self.accounting.record, true);
        }
        self.io.scratch = pending;
    }

    /// Passes a publication to the session, which writes it next. Returns whether the session took it.
    pub(super) fn publish_now(&mut self, index: u32, job: Job) -> bool {
        let payload = self.payload(job);
        let conn = &mut self.crowd[index];
        let channel = self.asking.requests.bayeux_channel(&self.plan.arm, conn.number, job.channel);
        let mut data = Vec::with_capacity(payload.len() + 2);
        // A payload is plain ASCII without anything that JSON escapes (`stamp`).
        data.push(b'"');
        data.extend_from_slice(&payload);
        data.push(b'"');
        let session = conn.client.bayeux_mut().expect("a Bayeux client");
        self.accounting.record.counts.bayeux.commands += 1;
        let taken = session.publish(&channel, &data);
        if let Err(why) = taken {
            self.publications_failed("not_sent", 1);
            self.trouble("not_sent", &format!("a publication was not taken: {why:?}"));
        }
        taken.is_ok()
    }

    /// The arm is over: disconnects the session if a connection is free for it.
    pub(super) fn session_ends(&mut self, index: u32) {
        let conn = &mut self.crowd[index];
        let free = match self.plan.arm.transport {
            Transport::BayeuxWebSocket => conn.first.phase == Phase::Open,
            _ => conn.side.as_ref().is_some_and(|side| side.line.phase == Phase::Resting),
        };
        let Some(session) = conn.client.bayeux_mut().filter(|_| free) else { return };
        session.disconnect();
        self.accounting.record.counts.bayeux.commands += 1;
        self.time.now_ns = Clock::now();
        if self.transport() == Transport::BayeuxWebSocket {
            self.write_session(index);
        } else {
            self.write_commands(index);
            self.crowd.drop_useless_side(index);
        }
    }
}
