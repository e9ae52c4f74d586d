//! Sends replies and events together, in one array.

use pushmark_proto::bayeux::{Advice, Batch, Fields, channel};
use pushmark_proto::websocket::{Opcode, encode};

use super::{Carrier, Exchange, Shard};
use crate::bayeux::{Connect, Event};
use crate::connection::Conversation;
use crate::outbox::Piece;
use crate::reply::Reply;

/// Larger buffers are freed after use, bytes.
const KEPT_MAX: usize = 64 * 1024;

/// Buffers for arrays and answers, reused for the next.
#[derive(Debug, Default)]
pub(in crate::shard) struct Envelope {
    replies: Vec<u8>,
    body: Vec<u8>,
    out: Vec<u8>,
}

/// The receiver of an array.
#[derive(Clone, Copy, Debug)]
struct Destination {
    token: u64,
    socket: bool,
    keep_alive: bool,
    /// The session's number in the truth log.
    ordinal: u32,
}

impl Shard {
    /// Answers a body with its replies and the waiting events of its session.
    pub(super) fn answer_exchange(&mut self, carrier: &Carrier, exchange: Exchange) {
        let mut events = Vec::new();
        let mut ordinal = 0;
        if let Some(state) = exchange.session.and_then(|session| self.sessions.get_mut(session)) {
            ordinal = state.ordinal;
            // With acknowledgements, only a connect's reply can contain the number of the batch it closes.
            if exchange.with_connect || !state.has_acks() {
                events = state.take_waiting();
            }
        }
        let &Carrier { token, socket, keep_alive, .. } = carrier;
        let to = Destination { token, socket, keep_alive, ordinal };
        self.send_array(to, &events, &exchange.replies, &exchange.set_cookie);
        if let Some(session) = exchange.session.filter(|_| exchange.with_connect) {
            self.repay_session(session);
        }
    }

    /// Answers the held connect, with new events or without any.
    pub(in crate::shard) fn answer_connect(&mut self, session: u64, events: &[Event], keep_alive: bool) {
        let Some(connect) = self.release_connect(session) else { return };
        let mut replies = std::mem::take(&mut self.envelope.replies);
        replies.clear();
        self.write_connect_reply(&mut replies, session, &connect, false);
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.sent(events);
        let to = Destination {
            token: connect.token,
            socket: state.by_socket,
            keep_alive: keep_alive && connect.keep_alive,
            ordinal: state.ordinal,
        };
        self.send_array(to, events, &replies, "");
        self.envelope.replies = replies;
        self.let_expire(session, pushmark_net::Clock::now());
        self.repay_session(session);
    }

    /// Ends the held connect, if there is one: with an error, or in order.
    pub(super) fn end_connect(&mut self, session: u64, error: Option<&str>, advice: &Advice) {
        let Some(connect) = self.release_connect(session) else { return };
        let Some(state) = self.sessions.get(session) else { return };
        let socket = state.by_socket;
        let &Connect { token, keep_alive, .. } = &*connect;
        let mut replies = Vec::new();
        let mut fields = Fields::new(&mut replies, channel::CONNECT);
        if !connect.id.is_empty() {
            fields = fields.raw("id", connect.id.as_bytes());
        }
        fields = fields.flag("successful", error.is_none());
        if let Some(error) = error {
            fields = fields.text("error", error);
        }
        fields.advice(advice).end();
        self.send_array(Destination { token, socket, keep_alive, ordinal: 0 }, &[], &replies, "");
    }

    /// Removes the held connect from its session and its connection.
    pub(super) fn release_connect(&mut self, session: u64) -> Option<Box<Connect>> {
        let state = self.sessions.get_mut(session)?;
        let connect = state.connect.take()?;
        if !state.by_socket {
            self.shared.browsers().leave(state.browser);
        }
        let Some(connection) = self.live(connect.token) else { return Some(connect) };
        if matches!(connection.talk, Conversation::Connect(_)) {
            connection.talk = Conversation::Request;
            if !connection.inbound.is_empty() {
                self.revisit.push_back(connect.token);
            }
        }
        Some(connect)
    }

    fn send_array(&mut self, to: Destination, events: &[Event], replies: &[u8], headers: &str) {
        let Envelope { replies: kept, mut body, mut out } = std::mem::take(&mut self.envelope);
        body.clear();
        out.clear();
        let mut batch = Batch::new(&mut body);
        events.iter().for_each(|event| batch.raw(&event.bytes));
        if !replies.is_empty() {
            batch.raw(replies);
        }
        batch.end();
        let at_ns = self.ledger.write_begins();
        if to.socket {
            encode::frame(&mut out, Opcode::Text, &body, None);
            match self.rules.pace {
                None => self.say(to.token, &out),
                Some(_) => self.send(to.token, &[Piece { bytes: out[..].into(), delivery: None }]),
            }
        } else {
            let content_type = "application/json;charset=UTF-8";
            let reply =
                Reply { status: 200, content_type, extra: headers, body: &body, keep_alive: to.keep_alive };
            reply.write(&mut out);
            self.answer_slowly(to.token, &out, to.keep_alive);
        }
        for event in events.iter().filter(|event| !event.sent) {
            self.ledger.written(event.cursor, to.ordinal, at_ns);
        }
        body.shrink_to(KEPT_MAX);
        out.shrink_to(KEPT_MAX);
        self.envelope = Envelope { replies: kept, body, out };
    }
}
