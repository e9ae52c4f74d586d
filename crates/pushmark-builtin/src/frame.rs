//! Bytes that several queues share, and a count of those waiting in any queue of this thread.
//!
//! A message that waits for a thousand subscribers is stored once. The bound applies to stored bytes, not to
//! the sum over the queues.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;

/// The most bytes waiting in all queues of one thread, with shared ones counted once. At this bound a queue
/// drops what it holds before it takes more. If it holds nothing, its connection ends. This is 256 of the
/// longest messages, and the most memory that a server may use by default.
pub(crate) const WAITING_MAX: usize = 256 << 20;

/// The overhead of a frame.
const OVERHEAD: usize = 64;

thread_local! {
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Bytes ready to be written. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Frame(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The number of queues it waits in.
    queues: Cell<u32>,
    bytes: Box<[u8]>,
}

impl From<Vec<u8>> for Frame {
    fn from(bytes: Vec<u8>) -> Frame {
        Frame(Rc::new(Inner { queues: Cell::new(0), bytes: bytes.into_boxed_slice() }))
    }
}

impl From<&[u8]> for Frame {
    fn from(bytes: &[u8]) -> Frame {
        Frame(Rc::new(Inner { queues: Cell::new(0), bytes: bytes.into() }))
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes
    }
}

/// A frame's place in a queue. While it exists, the frame's bytes count as waiting.
#[derive(Debug)]
pub(crate) struct Place(Frame);

impl Place {
    pub(crate) fn of(frame: &Frame) -> Place {
        let queues = &frame.0.queues;
        if queues.get() == 0 {
            WAITING.set(WAITING.get() + frame.len() + OVERHEAD);
        }
        queues.set(queues.get() + 1);
        Place(frame.clone())
    }
}

impl Clone for Place {
    fn clone(&self) -> Place {
        Place::of(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let queues = &self.0.0.queues;
        queues.set(queues.get() - 1);
        if queues.get() == 0 {
            WAITING.set(WAITING.get() - self.0.len() - OVERHEAD);
        }
    }
}

impl Deref for Place {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Returns whether this thread's queues have reached the bound.
pub(crate) fn queues_are_full() -> bool {
    WAITING.get() >= WAITING_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_wait_once_and_no_longer_than_in_a_queue() {
        let before = WAITING.get();
        let frame = Frame::from(vec![0; 1000]);
        assert_eq!(WAITING.get(), before, "it waits nowhere");
        let first = Place::of(&frame);
        let second = first.clone();
        assert_eq!(WAITING.get(), before + 1000 + OVERHEAD);
        drop(frame);
        drop(first);
        assert_eq!(WAITING.get(), before + 1000 + OVERHEAD, "it still waits in one queue");
        drop(second);
        assert_eq!(WAITING.get(), before);
    }
}
