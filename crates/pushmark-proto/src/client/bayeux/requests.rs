//! The request messages of a session. Each is recorded in the session as it is written.

use super::session::{Connect, Leaving, Session, Stage, Subscription};
use crate::bayeux::{Advice, Batch, ConnectionType, Fields, Value, channel, quote};
use crate::client::Config;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    Handshake,
    Subscribe,
    Connect,
    /// Publications, then the disconnect.
    Commands,
}

impl Session {
    /// Returns the next request for handshake, subscription or connect. A paused connect is included.
    pub(super) fn next_ask(&self) -> Option<RequestPurpose> {
        match self.stage {
            _ if self.leaving != Leaving::No => None,
            Stage::Unconnected => Some(RequestPurpose::Handshake),
            Stage::Connected if self.subscription == Subscription::Wanted => Some(RequestPurpose::Subscribe),
            Stage::Connecting | Stage::Connected if self.connect != Connect::Held => {
                Some(RequestPurpose::Connect)
            }
            _ => None,
        }
    }

    /// Returns the request that may be sent now.
    pub(super) fn ask_now(&self) -> Option<RequestPurpose> {
        self.next_ask().filter(|ask| *ask == RequestPurpose::Subscribe || self.connect != Connect::Paused)
    }

    /// Returns the next request to write, given an array of channels to subscribe to. A client without
    /// channels, which only publishes, counts as subscribed at once.
    pub(super) fn settle_ask(
        &mut self,
        ask: Option<RequestPurpose>,
        subscriptions: &[u8],
    ) -> Option<RequestPurpose> {
        let any = || Value::parse(subscriptions).is_ok_and(|channels| channels.items().next().is_some());
        if ask == Some(RequestPurpose::Subscribe) && !any() {
            self.subscription = Subscription::Stands;
            self.resumed = true;
            return self.next_ask();
        }
        ask
    }

    /// Returns whether publications or the disconnect wait.
    pub(super) fn has_commands(&self) -> bool {
        !self.pending.is_empty() || self.leaving == Leaving::Wanted
    }

    /// Appends an array of messages. `subscriptions` is an array of channels for [`RequestPurpose::Subscribe`].
    pub(super) fn write(
        &mut self,
        ask: RequestPurpose,
        config: &Config,
        connection_type: ConnectionType,
        subscriptions: &[u8],
        out: &mut Vec<u8>,
    ) {
        let mut batch = Batch::new(out);
        match ask {
            RequestPurpose::Handshake => self.write_handshake(config, connection_type, &mut batch),
            RequestPurpose::Subscribe => self.write_subscribe(config, subscriptions, &mut batch),
            RequestPurpose::Connect => self.write_connect(config, connection_type, &mut batch),
            RequestPurpose::Commands => self.write_commands(&mut batch),
        }
        batch.end();
    }

    fn write_handshake(&mut self, config: &Config, connection_type: ConnectionType, batch: &mut Batch<'_>) {
        let id = self.take_id();
        self.since_id = id;
        self.stage = Stage::Handshaking;
        self.connect = Connect::Due;
        self.counts.handshakes += 1;
        let mut fields = batch.message(channel::HANDSHAKE).id(id).versions([connection_type.name()]);
        let wanted = &config.bayeux;
        if wanted.acknowledge || wanted.time_sync {
            fields = fields.with("ext", |out| {
                let mut ext = Fields::object(out);
                if wanted.acknowledge {
                    ext = ext.flag("ack", true);
                }
                if wanted.time_sync {
                    ext = ext.with("timesync", |out| self.time_request().write(out));
                }
                ext.end();
            });
        }
        fields.end();
    }

    fn write_subscribe(&mut self, config: &Config, subscriptions: &[u8], batch: &mut Batch<'_>) {
        let Ok(channels) = Value::parse(subscriptions) else { return };
        let count = channels.items().count();
        let mut write = |channels: &str, session: &mut Session| {
            let id = session.take_id();
            session.subscribing += 1;
            batch
                .message(channel::SUBSCRIBE)
                .id(id)
                .text("clientId", &session.client_id)
                .raw("subscription", channels.as_bytes())
                .end();
        };
        self.subscription = Subscription::Asked;
        self.subscribing = 0;
        if count > 1 && !config.bayeux.subscribe_each {
            write(channels.text(), self);
        } else {
            // A single channel is a string, because servers older than the specification accept nothing else.
            channels.items().for_each(|channel| write(channel.text(), self));
        }
    }

    fn write_connect(&mut self, config: &Config, connection_type: ConnectionType, batch: &mut Batch<'_>) {
        let id = self.take_id();
        self.connect = Connect::Held;
        self.counts.connects += 1;
        let mut fields = batch
            .message(channel::CONNECT)
            .id(id)
            .text("clientId", &self.client_id)
            .text("connectionType", connection_type.name());
        if self.prompt {
            fields = fields.advice(&Advice { timeout_ms: Some(0), ..Advice::default() });
        }
        if self.acknowledges || config.bayeux.time_sync {
            fields = fields.with("ext", |out| {
                let mut ext = Fields::object(out);
                if self.acknowledges {
                    ext = ext.number("ack", self.batch);
                }
                if config.bayeux.time_sync {
                    ext = ext.with("timesync", |out| self.time_request().write(out));
                }
                ext.end();
            });
        }
        fields.end();
    }

    fn write_commands(&mut self, batch: &mut Batch<'_>) {
        if !self.pending.is_empty() {
            batch.raw(&std::mem::take(&mut self.pending));
            self.pending_count = 0;
        }
        if self.leaving == Leaving::Wanted {
            self.leaving = Leaving::Asked;
            let id = self.take_id();
            batch.message(channel::DISCONNECT).id(id).text("clientId", &self.client_id).end();
        }
    }
}

/// Appends an array of channel names for [`crate::client::Request::body`].
pub fn write_channels<'c>(names: impl IntoIterator<Item = &'c str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, name) in names.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        quote(out, name);
    }
    out.push(b']');
}
