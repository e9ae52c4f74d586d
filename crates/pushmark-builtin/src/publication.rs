//! A published message on its way to every thread's subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pushmark_model::stamp::{STAMP_LEN, Stamp};

use crate::faults::Encode;

/// The longest message accepted from a publisher, bytes.
pub(crate) const MESSAGE_MAX: usize = 1 << 20;

/// A publisher's message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    pub(crate) payload: Box<[u8]>,
    /// The payload is the JSON of a value, not a string, that a Bayeux client published. Other Bayeux clients
    /// receive it as that value.
    pub(crate) json: bool,
    /// Its stamp, if the payload no longer contains it.
    pub(crate) stamp: Option<Stamp>,
}

impl Message {
    /// Returns the same message, encoded.
    pub(crate) fn encoded(self, encode: Encode) -> Message {
        let stamp = stamp_of(&self.payload);
        Message { payload: encode.apply(&self.payload).into(), json: false, stamp }
    }
}

impl From<&[u8]> for Message {
    fn from(payload: &[u8]) -> Message {
        Message { payload: payload.into(), json: false, stamp: None }
    }
}

impl From<Box<[u8]>> for Message {
    fn from(payload: Box<[u8]>) -> Message {
        Message { payload, json: false, stamp: None }
    }
}

/// One message, relayed byte for byte.
#[derive(Debug)]
pub(crate) struct Publication {
    /// Number of the channel in the hub's directory.
    pub(crate) channel: u32,
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its place in the order of all publications of this server, from 1.
    pub(crate) cursor: u64,
    /// The payload as published.
    pub(crate) payload: Box<[u8]>,
    /// See [`Message::json`].
    pub(crate) json: bool,
    /// The stamp in the last 48 bytes of the payload; `None` if they are not a stamp.
    pub(crate) stamp: Option<Stamp>,
    /// The instrumented requests that received it so far, over all threads.
    told: AtomicU64,
}

impl Publication {
    pub(crate) fn new(channel: u32, name: Arc<str>, cursor: u64, message: Message) -> Publication {
        let Message { payload, json, stamp } = message;
        let stamp = stamp.or_else(|| stamp_of(&payload));
        Publication { channel, name, cursor, payload, json, stamp, told: AtomicU64::new(0) }
    }

    /// Returns a copy with another first byte, still a digit or letter, so that text stays text.
    pub(crate) fn corrupted(&self) -> Publication {
        let mut payload = self.payload.clone();
        if let Some(first) = payload.first_mut() {
            *first = if *first == b'x' { b'y' } else { b'x' };
        }
        let message = Message { payload, json: false, stamp: self.stamp };
        Publication::new(self.channel, Arc::clone(&self.name), self.cursor, message)
    }

    /// Returns the next instrumented request's place among its receivers, from 1.
    pub(crate) fn next_place(&self) -> u64 {
        self.told.fetch_add(1, Relaxed) + 1
    }
}

/// Returns the stamp at the end of a payload.
pub(crate) fn stamp_of(payload: &[u8]) -> Option<Stamp> {
    payload.last_chunk::<STAMP_LEN>().and_then(Stamp::parse)
}
