//! A published message on its way to every thread's subscribers.

use pushmark_model::stamp::{STAMP_LEN, Stamp};

/// Longest message taken from a publisher, bytes.
pub(crate) const MESSAGE_MAX: usize = 1 << 20;

/// One message, relayed byte for byte.
#[derive(Debug)]
pub(crate) struct Publication {
    /// Number of the channel in the hub's directory.
    pub(crate) channel: u32,
    /// Its place in the order of all publications of this server, from 1.
    pub(crate) cursor: u64,
    /// As published.
    pub(crate) payload: Box<[u8]>,
    /// What the last 48 bytes of the payload say; `None` where they are no stamp.
    pub(crate) stamp: Option<Stamp>,
}

/// The stamp at the end of a payload.
pub(crate) fn stamp_of(payload: &[u8]) -> Option<Stamp> {
    payload.last_chunk::<STAMP_LEN>().and_then(Stamp::parse)
}
