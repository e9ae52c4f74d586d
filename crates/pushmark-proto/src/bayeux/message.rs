//! The fields of a message, and a body of messages (section "Bayeux Message").

use std::borrow::Cow;

use super::json::Items;
use super::{Advice, ConnectionType, Error, Malformed, Value};

/// The most messages in one body.
pub const MESSAGES_MAX: usize = 4096;

/// The fields of a message. A field of the wrong type counts as absent: the response to both is the same,
/// `400` or `402`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// Empty if absent, which is not allowed in a request.
    pub channel: Cow<'a, str>,
    /// As written, so that the reply can repeat it.
    pub id: Option<Value<'a>>,
    /// Assigned by the server at the handshake.
    pub client_id: Option<Cow<'a, str>>,
    /// Distinguishes a reply from an event.
    pub successful: Option<bool>,
    /// A text for [`Message::error`].
    pub error: Option<Cow<'a, str>>,
    /// Read by [`Message::advice`].
    pub advice: Option<Value<'a>>,
    /// A string or an array of them: [`Message::subscriptions`].
    pub subscription: Option<Value<'a>>,
    /// The published data, as written.
    pub data: Option<Value<'a>>,
    /// Extensions by name.
    pub ext: Option<Value<'a>>,
    /// The protocol version, such as `1.0`.
    pub version: Option<Cow<'a, str>>,
    /// The lowest acceptable version.
    pub minimum_version: Option<Cow<'a, str>>,
    /// Names, in order of preference: [`Message::supports`].
    pub supported_connection_types: Option<Value<'a>>,
    /// Sent with each connect.
    pub connection_type: Option<Cow<'a, str>>,
}

impl<'a> Message<'a> {
    /// Reads an object. Returns `None` for anything else.
    pub fn read(value: Value<'a>) -> Option<Message<'a>> {
        if !value.is_object() {
            return None;
        }
        let mut message = Message::default();
        for (key, value) in value.members() {
            match &*key {
                "channel" => message.channel = value.as_str().unwrap_or_default(),
                "id" => message.id = Some(value),
                "clientId" => message.client_id = value.as_str(),
                "successful" => message.successful = value.as_bool(),
                "error" => message.error = value.as_str(),
                "advice" => message.advice = Some(value),
                "subscription" => message.subscription = Some(value),
                "data" => message.data = Some(value),
                "ext" => message.ext = Some(value),
                "version" => message.version = value.as_str(),
                "minimumVersion" => message.minimum_version = value.as_str(),
                "supportedConnectionTypes" => message.supported_connection_types = Some(value),
                "connectionType" => message.connection_type = value.as_str(),
                _ => {}
            }
        }
        Some(message)
    }

    /// Iterates over the channels to subscribe to.
    pub fn subscriptions(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.subscription.into_iter().flat_map(Value::items).filter_map(Value::as_str)
    }

    /// Returns the advice. Members for this connection type override the general ones.
    pub fn advice(&self, connection_type: ConnectionType) -> Option<Advice> {
        Some(Advice::read(self.advice?, connection_type))
    }

    /// Returns the error in its parts.
    pub fn error(&self) -> Option<Error<'_>> {
        self.error.as_deref().map(Error::read)
    }

    /// Returns whether a handshake lists this connection type.
    pub fn supports(&self, connection_type: ConnectionType) -> bool {
        let types = self.supported_connection_types.into_iter().flat_map(Value::items);
        types.filter_map(Value::as_str).any(|name| name == connection_type.name())
    }
}

/// Reads a whole body or WebSocket text: an array of messages, or a single message.
pub fn messages(bytes: &[u8]) -> Result<Messages<'_>, Malformed> {
    let value = Value::parse(bytes)?;
    let start = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if !value.text().starts_with(['[', '{']) {
        return Err(Malformed { at: start, what: "neither a message nor an array of messages" });
    }
    let mut count = 0;
    for item in value.items() {
        let at = item.text().as_ptr() as usize - bytes.as_ptr() as usize;
        if !item.is_object() {
            return Err(Malformed { at, what: "a message that is not an object" });
        }
        count += 1;
        if count > MESSAGES_MAX {
            return Err(Malformed { at, what: "more than 4,096 messages" });
        }
    }
    Ok(Messages { items: value.items(), left: count })
}

/// The messages of one body, in order.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    items: Items<'a>,
    left: usize,
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let message = Message::read(self.items.next()?)?;
        self.left -= 1;
        Some(message)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Messages<'_> {}
