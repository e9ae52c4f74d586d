//! The last event id in its three stages: the line being read, the event being read, and the id for a
//! reconnection (WHATWG HTML 9.2.6, dispatch step 1).

use smallvec::SmallVec;

use super::ID_MAX;
use crate::Failure;

/// Room for two ids of twelve digits inside the client. The ids of a crowd are rarely in the cache, and
/// memory elsewhere would cause a second cache miss.
const WITHIN: usize = 24;

/// All three are in one buffer, one behind the other. After it has grown, an id per event allocates nothing
/// and touches little memory.
#[derive(Clone, Debug, Default)]
pub(super) struct EventId {
    /// The id for a reconnection, the event's id if it has one, the line being read.
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

    /// An id with a NUL is ignored, and the previous id stays.
    pub(super) fn line_ends(&mut self) {
        let at = self.line_at();
        if self.text[at..].contains(&0) {
            self.text.truncate(at);
        } else {
            self.event_len = Some((self.text.len() - at) as u16);
            self.text.drain(usize::from(self.last_len)..at);
        }
    }

    /// Handles a blank line: the id counts from here, with or without data.
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

    /// Handles the end of the stream: an id that was not dispatched does not count.
    pub(super) fn stream_ends(&mut self) {
        self.event_len = None;
        self.text.truncate(usize::from(self.last_len));
    }

    pub(super) fn last(&self) -> &str {
        // Checked when the event ended.
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
