//! The answer to a poll, kept for the others that hold the same request: it is built once and its bytes are
//! shared.

use crate::frame::Frame;
use crate::reply::Reply;

/// Bytes of an answer whose memory is reused for the next. A larger one is freed.
const KEPT_BYTES_MAX: usize = 1 << 16;

/// A message to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Index of the publication in the pass.
    pub(crate) index: usize,
    /// Without its end, by a fault.
    pub(crate) cut: bool,
}

/// The last answer to a poll. Thousands of clients hold the same request and get the same bytes.
#[derive(Default)]
pub(crate) struct AnswerCache {
    channels: Vec<u32>,
    items: Vec<Item>,
    keep_alive: bool,
    bytes: Vec<u8>,
    /// Contains the bytes instead, if some of the receivers have to wait.
    frame: Option<Frame>,
}

impl AnswerCache {
    /// Returns whether it is the answer to a poll of these channels with these messages.
    pub(crate) fn is_for(&self, channels: &[u32], items: &[Item], keep_alive: bool) -> bool {
        !self.bytes().is_empty()
            && (&*self.channels, &*self.items, self.keep_alive) == (channels, items, keep_alive)
    }

    /// Builds the answer: `body` appends the messages, `len` bytes.
    pub(crate) fn fill(
        &mut self,
        channels: &[u32],
        items: &[Item],
        reply: &Reply<'_>,
        len: usize,
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        self.clear();
        self.channels.extend_from_slice(channels);
        self.items.extend_from_slice(items);
        self.keep_alive = reply.keep_alive;
        reply.write_head(&mut self.bytes, len);
        body(&mut self.bytes);
    }

    /// Clears the cache. Call it when the meaning of the items' indexes changes.
    pub(crate) fn clear(&mut self) {
        self.channels.clear();
        self.items.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        self.frame = None;
    }

    pub(crate) fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.frame.as_deref().unwrap_or(&self.bytes)
    }

    /// Returns the answer for receivers that have to wait, shared by all of them.
    pub(crate) fn frame(&mut self) -> Frame {
        let bytes = &mut self.bytes;
        self.frame.get_or_insert_with(|| Frame::from(std::mem::take(bytes))).clone()
    }
}
