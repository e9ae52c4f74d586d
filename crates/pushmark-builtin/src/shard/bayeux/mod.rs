//! Bayeux 1.0 (CONTRACT 6.7): reads, handles and answers a body or a text of messages.
//!
//! | file | what happens |
//! |---|---|
//! | `meta.rs` | handshake, connect, disconnect |
//! | `subscriptions.rs` | subscribe, unsubscribe, publish |
//! | `answer.rs` | replies and events in one array |
//! | `deliver.rs` | publications to sessions |
//! | `lifetime.rs` | sessions end: by timeout, by disconnect, with the server |
//! | `moving.rs` | connections move to the thread of their session |

mod answer;
mod deliver;
mod lifetime;
mod meta;
mod moving;
mod subscriptions;

use pushmark_proto::bayeux::{Advice, Error, Fields, Message, channel, messages};
use pushmark_proto::http1::RequestHead;
use pushmark_proto::websocket::handshake::Upgrade;
use pushmark_proto::websocket::{Decoder, Role, encode};

use super::Shard;
use crate::bayeux::ClientId;
use crate::connection::{BayeuxSocket, Conversation, Frames};
use crate::kept::Kept;
use crate::request::{BODY_MAX, Refusal};
use crate::stats::Counter;

pub(super) use answer::Envelope;

/// The carrier of a body of messages, which also carries its answer.
#[derive(Clone, Debug)]
pub(super) struct Carrier {
    pub(super) token: u64,
    /// A WebSocket if true, otherwise a request.
    pub(super) socket: bool,
    pub(super) keep_alive: bool,
    /// It may publish.
    pub(super) trusted: bool,
    /// The browser's cookie.
    pub(super) cookie: Option<String>,
}

impl Carrier {
    /// A WebSocket.
    pub(super) fn socket(token: u64, trusted: bool) -> Carrier {
        Carrier { token, socket: true, keep_alive: true, trusted, cookie: None }
    }
}

/// The result of the messages of one body so far.
#[derive(Debug, Default)]
struct Exchange {
    /// Replies, separated by commas.
    replies: Vec<u8>,
    /// The session whose events are added.
    session: Option<u64>,
    /// Whether a connect's reply is included.
    with_connect: bool,
    /// Whether a connect is held. Over HTTP the answer waits for it.
    held: bool,
    /// Whether a fault suppresses the answer.
    mute: bool,
    /// A complete header line.
    set_cookie: String,
}

impl Exchange {
    /// Begins a reply.
    fn reply(&mut self, request: &Message<'_>, successful: bool) -> Fields<'_> {
        if !self.replies.is_empty() {
            self.replies.push(b',');
        }
        Fields::new(&mut self.replies, &request.channel).reply_to(request, successful)
    }

    /// Refuses a message with an error.
    fn refuse(&mut self, request: &Message<'_>, code: u16, arguments: &str, text: &str) {
        let error = Error { code: Some(code), arguments, text };
        self.reply(request, false).text("error", &error.to_string()).end();
    }
}

impl Shard {
    /// Handles a request for a Bayeux WebSocket.
    pub(super) fn bayeux_socket_asked(&mut self, token: u64, head: &RequestHead<'_>) {
        let upgrade = match Upgrade::parse(head) {
            Ok(Some(upgrade)) => upgrade,
            Ok(None) => {
                let refusal = Refusal::new(426, "Bayeux is spoken by POST, or over a WebSocket");
                return self.refuse(token, &refusal, head.keep_alive);
            }
            Err(failure) => return self.refuse(token, &Refusal::new(400, failure.to_string()), false),
        };
        self.ledger.count(Counter::Requests);
        let decoder = Decoder::new(Role::Server, BODY_MAX as u64);
        let trusted = self.shared.options.access.is_trusted(head);
        let bayeux = Some(BayeuxSocket::default());
        let frames = Frames { decoder, message: Kept::default(), trusted, bayeux };
        if let Some(connection) = self.live(token) {
            connection.talk = Conversation::WebSocket(Box::new(frames));
        }
        let mut out = Vec::new();
        upgrade.write_response(&mut out, "", "");
        self.say(token, &out);
    }

    /// Handles the messages of one body or text.
    pub(super) fn bayeux_arrived(&mut self, carrier: &Carrier, body: Vec<u8>) {
        let messages = match read(&body) {
            Ok(messages) => messages,
            Err(why) => return self.not_bayeux(carrier, &why),
        };
        if let Some(thread) = self.home_of(&messages) {
            drop(messages);
            return self.begin_move(carrier, thread, body);
        }
        let alone = messages.len() == 1;
        let mut exchange = Exchange::default();
        for message in &messages {
            self.bayeux_message(message, alone, carrier, &mut exchange);
            if exchange.mute {
                return;
            }
        }
        if !exchange.held || !exchange.replies.is_empty() {
            self.answer_exchange(carrier, exchange);
        }
    }

    fn bayeux_message(
        &mut self,
        message: &Message<'_>,
        alone: bool,
        carrier: &Carrier,
        exchange: &mut Exchange,
    ) {
        if message.channel == channel::HANDSHAKE {
            return self.handshake(message, alone, carrier, exchange);
        }
        let session = self.session_of(message);
        let Some(session) = session else {
            // A publish needs no session (section "Publish": clientId is optional).
            if message.client_id.is_none() && !channel::is_meta(&message.channel) {
                return self.bayeux_publish(message, carrier, exchange);
            }
            self.ledger.count(Counter::BayeuxUnknown);
            let text = format!("402:{}:Unknown client", message.client_id.as_deref().unwrap_or(""));
            let reply = exchange.reply(message, false).text("error", &text);
            return reply.advice(&Advice::handshake()).end();
        };
        exchange.session = Some(session);
        match &*message.channel {
            channel::CONNECT => self.connect(session, message, alone, carrier, exchange),
            channel::SUBSCRIBE => self.bayeux_subscribe(session, message, exchange),
            channel::UNSUBSCRIBE => self.bayeux_unsubscribe(session, message, exchange),
            channel::DISCONNECT => self.disconnect(session, message, exchange),
            other if channel::is_meta(other) => exchange.refuse(message, 404, other, "No such channel"),
            _ => self.bayeux_publish(message, carrier, exchange),
        }
    }

    /// Returns the session of a message, if it belongs to this thread.
    fn session_of(&self, message: &Message<'_>) -> Option<u64> {
        let id = ClientId::parse(message.client_id.as_deref()?)?;
        let session = self.sessions.get(id.token)?;
        (usize::from(id.thread) == self.index && session.secret == id.secret).then_some(id.token)
    }

    /// Rejects a body that is not Bayeux, as its carrier allows. Nothing in it takes effect.
    fn not_bayeux(&mut self, carrier: &Carrier, why: &str) {
        let why = format!("no Bayeux messages: {why}");
        if !carrier.socket {
            return self.refuse(carrier.token, &Refusal::new(400, why), carrier.keep_alive);
        }
        self.ledger.count(Counter::BadRequests);
        let Some(connection) = self.live(carrier.token) else { return };
        connection.closing = true;
        let mut out = Vec::new();
        // RFC 6455 7.4.1: 1007, data that does not match the type of the message.
        encode::close(&mut out, 1007, &why, None);
        self.say(carrier.token, &out);
    }
}

/// Reads a body, completely or not at all.
fn read(body: &[u8]) -> Result<Vec<Message<'_>>, String> {
    let messages: Vec<Message<'_>> = messages(body).map_err(|malformed| malformed.to_string())?.collect();
    match messages.iter().position(|message| !message.channel.starts_with('/')) {
        Some(n) => Err(format!("message {} has no channel", n + 1)),
        None => Ok(messages),
    }
}
