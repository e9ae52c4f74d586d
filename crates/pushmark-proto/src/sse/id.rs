//! The last event id, through its three stages: a line being read, an event being read, and
//! what a reconnection sends (WHATWG HTML 9.2.6, dispatch step 1).

use smallvec::SmallVec;

use super::ID_MAX;
use crate::Failure;

/// Two ids of twelve digits stand in their client itself: a crowd's ids are never in the cache when
/// they are needed, and what lies elsewhere is waited for twice.
const WITHIN: usize = 24;

/// All three stand in one buffer, one behind the other, so that an id per event allocates nothing
/// once it has grown, and touches little memory.
#[derive(Clone, Debug, Default)]
pub(super) struct EventId {
    /// What a reconnection sends, the event's id if it has one, the line being read.
    text: SmallVec<[u8; WITHIN]>,
    /// At most three bytes for each of [`ID_MAX`].
    last_len: u16,
    event_len: Option<u16>,
}

impl EventId {
    fn line_at(&self) -> usize {
        usize::from(self.last_len) + usize::from(self.event_len.unwrap_or(0))
    }

    pub(super) fn line_begins(&mut self) {
        self.text.truncate(self.line_at());
    }

    pub(super) fn line_goes_on(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.text.len() - self.line_at() + bytes.len() > ID_MAX {
            return Err(Failure::Frame("event id longer than 1 KiB"));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    /// An id with a NUL is no id; the one before it stays.
    pub(super) fn line_ends(&mut self) {
        let at = self.line_at();
        if self.text[at..].contains(&0) {
            self.text.truncate(at);
        } else {
            self.event_len = Some((self.text.len() - at) as u16);
            self.text.drain(usize::from(self.last_len)..at);
        }
    }

    /// A blank line: the id counts from here, with or without data.
    pub(super) fn event_ends(&mut self) {
        let Some(len) = self.event_len.take() else { return };
        let (from, to) = (usize::from(self.last_len), usize::from(self.last_len + len));
        if let Ok(id) = std::str::from_utf8(&self.text[from..to]) {
            let len = id.len();
            self.text.copy_within(from..to, 0);
            self.text.truncate(len);
        } else {
            self.text = String::from_utf8_lossy(&self.text[from..to]).into_owned().into_bytes().into();
        }
        self.last_len = self.text.len() as u16;
    }

    /// The stream is gone: what was not dispatched does not count.
    pub(super) fn stream_ends(&mut self) {
        self.event_len = None;
        self.text.truncate(usize::from(self.last_len));
    }

    pub(super) fn last(&self) -> &str {
        // Made sure of when the event ended.
        std::str::from_utf8(&self.text[..usize::from(self.last_len)]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &mut EventId, text: &[u8]) {
        id.line_begins();
        text.chunks(2).for_each(|piece| id.line_goes_on(piece).unwrap());
        id.line_ends();
    }

    #[test]
    fn an_id_counts_when_its_event_ends() {
        let mut id = EventId::default();
        line(&mut id, b"first");
        assert_eq!(id.last(), "");
        id.event_ends();
        line(&mut id, b"second");
        line(&mut id, b"3");
        assert_eq!(id.last(), "first");
        id.event_ends();
        assert_eq!(id.last(), "3");
        id.event_ends();
        assert_eq!(id.last(), "3", "an event without an id leaves it");
        line(&mut id, b"");
        id.event_ends();
        assert_eq!(id.last(), "", "an empty id forgets it");
    }

    #[test]
    fn an_id_with_a_nul_or_of_a_lost_stream_is_none() {
        let mut id = EventId::default();
        line(&mut id, b"kept");
        line(&mut id, b"n\0ne");
        id.event_ends();
        assert_eq!(id.last(), "kept");
        line(&mut id, b"lost");
        id.line_begins();
        id.line_goes_on(b"half").unwrap();
        id.stream_ends();
        id.event_ends();
        assert_eq!(id.last(), "kept");
        line(&mut id, b"next");
        id.event_ends();
        assert_eq!(id.last(), "next");
    }

    #[test]
    fn what_is_not_utf8_is_replaced() {
        let mut id = EventId::default();
        line(&mut id, &[0xFF; ID_MAX]);
        id.event_ends();
        assert_eq!(id.last().chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count(), ID_MAX);
        line(&mut id, b"after");
        assert!(id.line_goes_on(&[b'x'; ID_MAX + 1]).is_err());
        id.event_ends();
        assert_eq!(id.last(), "after");
    }
}
