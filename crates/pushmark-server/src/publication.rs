//! A published message on its way to every thread's subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pushmark_model::stamp::{STAMP_LEN, Stamp};

/// Longest message taken from a publisher, bytes.
pub(crate) const MESSAGE_MAX: usize = 1 << 20;

/// What a publisher hands over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    pub(crate) payload: Box<[u8]>,
    /// It is the JSON of a value that a Bayeux client published, and no string: to other Bayeux
    /// clients it is that value again.
    pub(crate) json: bool,
}

impl From<&[u8]> for Message {
    fn from(payload: &[u8]) -> Message {
        Message { payload: payload.into(), json: false }
    }
}

impl From<Box<[u8]>> for Message {
    fn from(payload: Box<[u8]>) -> Message {
        Message { payload, json: false }
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
    /// As published.
    pub(crate) payload: Box<[u8]>,
    /// See [`Message::json`].
    pub(crate) json: bool,
    /// What the last 48 bytes of the payload say; `None` where they are no stamp.
    pub(crate) stamp: Option<Stamp>,
    /// Instrumented requests it was told to so far, over all threads.
    told: AtomicU64,
}

impl Publication {
    pub(crate) fn new(channel: u32, name: Arc<str>, cursor: u64, message: Message) -> Publication {
        let Message { payload, json } = message;
        let stamp = stamp_of(&payload);
        Publication { channel, name, cursor, payload, json, stamp, told: AtomicU64::new(0) }
    }

    /// The same with another first byte, a digit or letter still: text stays text.
    pub(crate) fn corrupted(&self) -> Publication {
        let mut payload = self.payload.clone();
        if let Some(first) = payload.first_mut() {
            *first = if *first == b'x' { b'y' } else { b'x' };
        }
        let message = Message { payload, json: false };
        Publication::new(self.channel, Arc::clone(&self.name), self.cursor, message)
    }

    /// The next instrumented request's place among those that hear it, from 1.
    pub(crate) fn next_place(&self) -> u64 {
        self.told.fetch_add(1, Relaxed) + 1
    }
}

/// The stamp at the end of a payload.
pub(crate) fn stamp_of(payload: &[u8]) -> Option<Stamp> {
    payload.last_chunk::<STAMP_LEN>().and_then(Stamp::parse)
}
