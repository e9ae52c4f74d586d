//! The fields of one message in a reply.

use crate::Failure;
use crate::bayeux::{Advice, ConnectionType, Error, Value, channel, ext};

/// The members that a client reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Name {
    #[default]
    Other,
    Channel,
    Id,
    ClientId,
    Successful,
    Error,
    Advice,
    Data,
    Ext,
    ConnectionTypes,
}

impl Name {
    /// Returns the name for a key as written, without its opening quote.
    pub(super) fn read(raw: &[u8]) -> Name {
        match raw.strip_suffix(b"\"").unwrap_or(raw) {
            b"channel" => Name::Channel,
            b"id" => Name::Id,
            b"clientId" => Name::ClientId,
            b"successful" => Name::Successful,
            b"error" => Name::Error,
            b"advice" => Name::Advice,
            b"data" => Name::Data,
            b"ext" => Name::Ext,
            b"supportedConnectionTypes" => Name::ConnectionTypes,
            _ => Name::Other,
        }
    }
}

/// The subject of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum About {
    Handshake,
    Connect,
    Subscribe,
    Disconnect,
    /// Another message of the protocol. It requires no action of a client.
    Meta,
    /// An event, or the reply to a publication.
    #[default]
    Channel,
}

/// What to read in replies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyFields {
    /// The connection type whose advice applies.
    pub(crate) connection_type: ConnectionType,
    /// The longest payload of a message in bytes.
    pub(crate) data_max: u64,
    /// Whether a client id is expected. Otherwise a repeated id is ignored.
    pub(crate) client_id: bool,
}

/// The fields of one message.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    pub(super) about: About,
    /// Absent unless it is a number, as the ids of this client are.
    pub(super) id: Option<u32>,
    pub(super) successful: Option<bool>,
    pub(super) code: Option<u16>,
    pub(super) advice: Option<Advice>,
    pub(super) ack: Option<ext::Ack>,
    pub(super) time: Option<ext::TimeSyncReply>,
    /// Bytes of payload so far.
    pub(super) data_len: u64,
    /// Whether this connection type is offered. Absent if the message does not list the types.
    pub(super) offered: Option<bool>,
    pub(super) client_id: Option<Box<str>>,
    pub(super) subscribed: Option<Box<str>>,
}

/// The longest client id, in bytes. Every request contains it.
const CLIENT_ID_MAX: usize = 1024;

impl Incoming {
    /// Stores a member's value. A value of the wrong type counts as absent.
    pub(super) fn take(&mut self, name: Name, value: Value<'_>, look: &ReplyFields) -> Result<(), Failure> {
        match name {
            Name::Channel => {
                self.about = match &*value.as_str().unwrap_or_default() {
                    channel::HANDSHAKE => About::Handshake,
                    channel::CONNECT => About::Connect,
                    channel::SUBSCRIBE => About::Subscribe,
                    channel::DISCONNECT => About::Disconnect,
                    name if channel::is_meta(name) => About::Meta,
                    _ => About::Channel,
                };
            }
            // Our ids are strings of digits. Some servers return them as numbers.
            Name::Id => self.id = value.text().trim_matches('"').parse().ok(),
            Name::ClientId if look.client_id => {
                let id = value.as_str().unwrap_or_default();
                if id.len() > CLIENT_ID_MAX {
                    return Err(Failure::Bayeux("a client id longer than 1 KiB"));
                }
                self.client_id = Some(id.into());
            }
            Name::Successful => self.successful = value.as_bool(),
            Name::Error => self.code = value.as_str().and_then(|text| Error::read(&text).code),
            Name::Advice => self.advice = Some(Advice::read(value, look.connection_type)),
            Name::Ext => {
                self.ack = ext::ack(value);
                self.time = ext::TimeSyncReply::read(value);
                self.subscribed = ext::subscribed(value).map(|text| text.into());
            }
            Name::ConnectionTypes => {
                let mut names = value.items().filter_map(Value::as_str);
                self.offered = Some(names.any(|name| name == look.connection_type.name()));
            }
            Name::ClientId | Name::Data | Name::Other => {}
        }
        Ok(())
    }
}
