//! Subscriptions of streams, event streams and WebSockets. Polls are in `polling.rs`.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use pushmark_proto::http1::RequestHead;
use pushmark_proto::websocket::handshake::Upgrade;
use pushmark_proto::websocket::{Decoder, Role};

use super::{Ending, Shard};
use crate::bayeux::SESSION;
use crate::channel::Subscriber;
use crate::connection::{Conversation, Frames, Subscription};
use crate::faults::fate::Welcome;
use crate::kept::Kept;
use crate::publication::MESSAGE_MAX;
use crate::reply;
use crate::request::{Intent, Refusal};
use crate::stats::Counter;

/// The longest list of channels that is acknowledged. A longer header would be too large for the head.
const ACKNOWLEDGED_MAX: usize = 256;

impl Shard {
    pub(super) fn subscription_asked(
        &mut self,
        token: u64,
        intent: Intent,
        transport: &'static str,
        keep_alive: bool,
        head: &RequestHead<'_>,
    ) {
        if !self.is_served(token, transport) {
            return;
        }
        match intent {
            Intent::Poll { channels, since } => {
                let known = head.headers.text("if-none-match");
                self.poll_asked(token, &channels, since, known, keep_alive);
            }
            Intent::LongPoll { channels, since, hold_ms } => {
                self.long_poll_asked(token, &channels, since, hold_ms, keep_alive);
            }
            Intent::Stream { channels } => self.stream_asked(token, &channels, head),
            Intent::Sse { channels, after } => self.sse_asked(token, &channels, after, head),
            Intent::BayeuxSocket => self.bayeux_socket_asked(token, head),
            Intent::WebSocket { channels } => self.websocket_asked(token, &channels, head),
            _ => unreachable!("the other intents have no transport"),
        }
    }

    /// Returns whether a connection that subscribes is served. If a fault strikes it, the fault is applied.
    pub(super) fn is_served(&mut self, token: u64, transport: &'static str) -> bool {
        match self.welcome(token, transport) {
            Welcome::Served => return true,
            Welcome::Refused => {
                self.ledger.count(Counter::Refused);
                self.doom(token, Ending::Reset);
            }
            Welcome::Ignored => {
                self.ledger.count(Counter::HalfOpen);
                if let Some(connection) = self.live(token) {
                    connection.talk = Conversation::Mute;
                }
            }
        }
        false
    }

    /// Numbers the connection at its first subscription, and lets the faults decide.
    fn welcome(&mut self, token: u64, transport: &'static str) -> Welcome {
        let Some(connection) = self.connections.get_mut(token) else { return Welcome::Served };
        if connection.ordinal != 0 {
            return Welcome::Served;
        }
        connection.ordinal = self.shared.ordinals.fetch_add(1, Relaxed) + 1;
        if let (Some(truth), Ok(peer)) = (&mut self.ledger.truth, connection.link.peer_addr()) {
            truth.connection(connection.ordinal, peer, transport);
        }
        self.shared.fates.of_connection()
    }

    fn stream_asked(&mut self, token: u64, names: &[String], head: &RequestHead<'_>) {
        let Some(ids) = self.lasting(token, names, head) else { return };
        let acknowledgement = self.acknowledgement(&ids);
        self.begin(token, &ids, Conversation::Stream, Counter::Stream);
        let mut out = Vec::new();
        reply::endless(&mut out, "text/plain", &acknowledgement);
        self.say(token, &out);
    }

    fn sse_asked(&mut self, token: u64, names: &[String], after: Option<u64>, head: &RequestHead<'_>) {
        let Some(ids) = self.lasting(token, names, head) else { return };
        ids.iter().for_each(|&id| self.channels.remember(id));
        let acknowledgement = self.acknowledgement(&ids);
        self.begin(token, &ids, Conversation::Sse, Counter::Sse);
        let mut out = Vec::new();
        reply::endless(&mut out, "text/event-stream", &acknowledgement);
        self.say(token, &out);
        // WHATWG HTML 9.2.4: a reconnecting client sends the last id it received.
        if let Some(cursor) = after {
            let missed = self.newer(&ids, cursor);
            self.send_history(token, missed);
        }
    }

    fn websocket_asked(&mut self, token: u64, names: &[String], head: &RequestHead<'_>) {
        let upgrade = match Upgrade::parse(head) {
            Ok(Some(upgrade)) => upgrade,
            Ok(None) => {
                let refusal = Refusal::new(426, "this is a WebSocket: ask for an upgrade");
                return self.refuse(token, &refusal, head.keep_alive);
            }
            Err(failure) => {
                return self.refuse(token, &Refusal::new(400, failure.to_string()), false);
            }
        };
        let Some(ids) = self.lasting(token, names, head) else { return };
        let acknowledgement = self.acknowledgement(&ids);
        let frames = Frames {
            decoder: Decoder::new(Role::Server, MESSAGE_MAX as u64),
            message: Kept::default(),
            trusted: self.shared.options.access.is_trusted(head),
            bayeux: None,
        };
        self.begin(token, &ids, Conversation::WebSocket(Box::new(frames)), Counter::WebSocket);
        let mut out = Vec::new();
        upgrade.write_response(&mut out, "", &acknowledgement);
        self.say(token, &out);
    }

    /// Returns the channels of a subscription that lasts as long as its connection.
    fn lasting(&mut self, token: u64, names: &[String], head: &RequestHead<'_>) -> Option<Vec<u32>> {
        if head.minor == 0 {
            self.refuse(token, &Refusal::new(400, "HTTP/1.1 is needed"), false);
            return None;
        }
        self.ids(token, names)
    }

    /// Returns the numbers of these channels. Refuses the request if there is no room for them.
    pub(super) fn ids(&mut self, token: u64, names: &[String]) -> Option<Vec<u32>> {
        if !self.channels.has_room_for(names.len()) {
            self.ledger.count(Counter::SubscriptionsRefused);
            self.refuse(token, &Refusal::new(503, "too many subscriptions"), false);
            return None;
        }
        let ids = names.iter().map(|name| self.channels.id(name, &self.shared.hub));
        let ids = ids.collect::<Result<Vec<u32>, _>>().ok();
        if ids.is_none() {
            self.refuse(token, &Refusal::new(503, "too many channels"), false);
        }
        ids
    }

    pub(super) fn begin(&mut self, token: u64, ids: &[u32], talk: Conversation, gauge: Counter) {
        self.ledger.count(Counter::Requests);
        self.ledger.count(gauge);
        self.list(token, ids);
        if let Some(connection) = self.live(token) {
            connection.talk = talk;
        }
    }

    /// Adds the connection to the lists of its channels.
    pub(super) fn list(&mut self, token: u64, ids: &[u32]) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let subscribe = |(nth, &channel): (usize, &u32)| {
            let subscriber = Subscriber { token, nth: nth as u32 };
            Subscription { channel, position: self.channels.subscribe(channel, subscriber) }
        };
        connection.subscriptions = ids.iter().enumerate().map(subscribe).collect();
        connection.listed = true;
        self.several_channels += usize::from(ids.len() > 1);
    }

    /// Removes the connection from the lists of its channels. It keeps the channel numbers.
    pub(super) fn unlist(&mut self, token: u64) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        if !std::mem::take(&mut connection.listed) {
            return;
        }
        let subscriptions = std::mem::take(&mut connection.subscriptions);
        self.several_channels -= usize::from(subscriptions.len() > 1);
        for subscription in &subscriptions {
            let Subscription { channel, position } = *subscription;
            if let Some(moved) = self.channels.unsubscribe(channel, position) {
                self.has_moved(moved, position);
            }
        }
        if let Some(connection) = self.connections.get_mut(token) {
            connection.subscriptions = subscriptions;
        }
    }

    /// Records that another subscriber moved to a free position.
    pub(super) fn has_moved(&mut self, moved: Subscriber, position: u32) {
        let nth = moved.nth as usize;
        if moved.token & SESSION != 0 {
            if let Some(session) = self.sessions.get_mut(moved.token & !SESSION) {
                session.subscriptions[nth].position = position;
            }
        } else if let Some(connection) = self.connections.get_mut(moved.token) {
            connection.subscriptions[nth].position = position;
        }
    }

    /// CONTRACT 3.2: acknowledges that everything published on these channels from now on is delivered.
    /// Returns a complete header line, or nothing for more than 256 channels.
    pub(super) fn acknowledgement(&mut self, ids: &[u32]) -> String {
        let list = self.acknowledged(ids);
        if list.is_empty() { list } else { format!("pushmark-subscribed: {list}\r\n") }
    }

    /// Returns each channel's highest sequence so far, or `-` before the first publication.
    pub(super) fn acknowledged(&mut self, ids: &[u32]) -> String {
        let mut list = String::new();
        if ids.len() > ACKNOWLEDGED_MAX {
            return list;
        }
        for (i, &id) in ids.iter().enumerate() {
            let channel = self.channels.at(id);
            let comma = if i == 0 { "" } else { "," };
            let name = &channel.name;
            // Writing to a string does not fail.
            let _ = match channel.last {
                Some(stamp) => write!(list, "{comma}{name}={}", stamp.sequence),
                None => write!(list, "{comma}{name}=-"),
            };
        }
        list
    }
}
