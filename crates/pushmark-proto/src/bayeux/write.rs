//! Writes messages as bytes. No formatting machinery and no tree: members are appended in order.

use super::{Advice, Message, VERSION};
use crate::http1::write::decimal;

/// An array of messages that is appended to a buffer. An array is always sent, even for one message: every
/// receiver accepts it.
#[derive(Debug)]
pub struct Batch<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Batch<'o> {
    /// Begins the array.
    pub fn new(out: &'o mut Vec<u8>) -> Batch<'o> {
        out.push(b'[');
        Batch { out, empty: true }
    }

    /// Returns whether no message was added yet.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Begins a message; [`Fields::end`] completes it.
    pub fn message(&mut self, channel: &str) -> Fields<'_> {
        self.separate();
        Fields::new(self.out, channel)
    }

    /// Adds a whole message, or several separated by commas, as already written.
    pub fn raw(&mut self, message: &[u8]) {
        self.separate();
        self.out.extend_from_slice(message);
    }

    /// Adds an event for a subscriber. `data` is JSON.
    pub fn event(&mut self, channel: &str, data: &[u8]) {
        self.message(channel).raw("data", data).end();
    }

    /// Completes the array.
    pub fn end(self) {
        self.out.push(b']');
    }

    fn separate(&mut self) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
    }
}

/// The members of one message. Names come from our own code and need no escapes.
#[derive(Debug)]
#[must_use = "a message is completed by `end`"]
pub struct Fields<'b> {
    out: &'b mut Vec<u8>,
    first: bool,
}

impl<'b> Fields<'b> {
    /// Begins a message outside an array. Add it later with [`Batch::raw`].
    pub fn new(out: &'b mut Vec<u8>, channel: &str) -> Fields<'b> {
        Fields::object(out).text("channel", channel)
    }

    /// Begins an object that is not a message, such as `ext`.
    pub fn object(out: &'b mut Vec<u8>) -> Fields<'b> {
        out.push(b'{');
        Fields { out, first: true }
    }

    /// Adds a string.
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        quote(self.out, value);
        self
    }

    /// Adds a value that is already JSON.
    pub fn raw(mut self, name: &str, value: &[u8]) -> Self {
        self.name(name);
        self.out.extend_from_slice(value);
        self
    }

    /// Adds a value that the caller writes.
    pub fn with(mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.name(name);
        write(self.out);
        self
    }

    /// Appends a message id: a string, as the specification requires (`id`).
    pub fn id(self, id: u32) -> Self {
        self.with("id", |out| {
            out.push(b'"');
            decimal(out, u64::from(id));
            out.push(b'"');
        })
    }

    /// Adds `true` or `false`.
    pub fn flag(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { b"true" } else { b"false" })
    }

    /// Adds an integer.
    pub fn number(self, name: &str, value: i64) -> Self {
        self.with(name, |out| integer(out, value))
    }

    /// Adds an array of strings.
    pub fn texts<'t>(self, name: &str, values: impl IntoIterator<Item = &'t str>) -> Self {
        self.with(name, |out| {
            out.push(b'[');
            for (at, value) in values.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                quote(out, value);
            }
            out.push(b']');
        })
    }

    /// Adds `advice`, unless it is empty.
    pub fn advice(self, advice: &Advice) -> Self {
        if *advice == Advice::default() {
            return self;
        }
        self.with("advice", |out| {
            let mut fields = Fields::object(out);
            if let Some(reconnect) = advice.reconnect {
                fields = fields.text("reconnect", reconnect.name());
            }
            if let Some(interval_ms) = advice.interval_ms {
                fields = fields.number("interval", interval_ms);
            }
            if let Some(timeout_ms) = advice.timeout_ms {
                fields = fields.number("timeout", timeout_ms);
            }
            if advice.multiple_clients {
                fields = fields.flag("multiple-clients", true);
            }
            fields.end();
        })
    }

    /// Adds the fields of every reply: the `id` of its request, `successful`, and for subscribe and
    /// unsubscribe the channels named in the request.
    pub fn reply_to(mut self, request: &Message<'_>, successful: bool) -> Self {
        if let Some(id) = request.id {
            self = self.raw("id", id.text().as_bytes());
        }
        self = self.flag("successful", successful);
        match request.subscription {
            Some(subscription) if super::channel::is_meta(&request.channel) => {
                self.raw("subscription", subscription.text().as_bytes())
            }
            _ => self,
        }
    }

    /// Adds the version fields of a handshake, of either role.
    pub fn versions<'t>(self, connection_types: impl IntoIterator<Item = &'t str>) -> Self {
        self.text("version", VERSION)
            .text("minimumVersion", VERSION)
            .texts("supportedConnectionTypes", connection_types)
    }

    /// Completes the message.
    pub fn end(self) {
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// Appends a JSON string (RFC 8259 7).
pub fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => {
                out.extend_from_slice(b"\\u00");
                out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends an integer.
pub(super) fn integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    decimal(out, value.unsigned_abs());
}
