//! The last event id, through its three stages: a line being read, an event being read, and
//! what a reconnection sends (WHATWG HTML 9.2.6, dispatch step 1).

use std::mem;

use super::ID_MAX;
use crate::Failure;

/// Boxed by its owner, because most streams have no ids. Its strings are swapped, not copied,
/// so that an id per event allocates nothing once they have grown.
#[derive(Clone, Debug, Default)]
pub(super) struct EventId {
    line: Vec<u8>,
    event: Vec<u8>,
    event_set: bool,
    last: String,
}

impl EventId {
    pub(super) fn line_begins(&mut self) {
        self.line.clear();
    }

    pub(super) fn line_goes_on(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.line.len() + bytes.len() > ID_MAX {
            return Err(Failure::Frame("event id longer than 1 KiB"));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// An id with a NUL is no id; the one before it stays.
    pub(super) fn line_ends(&mut self) {
        if !self.line.contains(&0) {
            mem::swap(&mut self.line, &mut self.event);
            self.event_set = true;
        }
    }

    /// A blank line: the id counts from here, with or without data.
    pub(super) fn event_ends(&mut self) {
        if mem::take(&mut self.event_set) {
            self.last.clear();
            match std::str::from_utf8(&self.event) {
                Ok(id) => self.last.push_str(id),
                Err(_) => self.last.push_str(&String::from_utf8_lossy(&self.event)),
            }
        }
    }

    /// The stream is gone: what was not dispatched does not count.
    pub(super) fn stream_ends(&mut self) {
        self.event_set = false;
    }

    pub(super) fn last(&self) -> &str {
        &self.last
    }
}
