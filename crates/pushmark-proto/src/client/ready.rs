//! Searches the text that confirms the subscription, across reads and chunks.
//!
//! It stores a count instead of bytes: how much of the text the last bytes matched.

/// The search on one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    matched: u16,
    seen: bool,
    untold: bool,
}

impl Ready {
    /// Searches the next bytes of a message or a stream.
    pub(super) fn look(&mut self, text: Option<&[u8]>, bytes: &[u8]) {
        let Some(text) = text.filter(|text| !self.seen && !text.is_empty()) else { return };
        for &byte in bytes {
            let mut matched = usize::from(self.matched);
            while matched > 0 && text[matched] != byte {
                matched = border(&text[..matched]);
            }
            matched += usize::from(text[matched] == byte);
            if matched == text.len() {
                *self = Ready { matched: 0, seen: true, untold: true };
                return;
            }
            // Ready texts are written by hand. A text of 64 KiB would never be found.
            self.matched = u16::try_from(matched).unwrap_or(0);
        }
    }

    /// Ends a message: the text cannot span two messages.
    pub(super) fn message_ends(&mut self) {
        self.matched = 0;
    }

    /// Returns true once, after the text was found.
    pub(super) fn tell(&mut self) -> bool {
        std::mem::take(&mut self.untold)
    }
}

/// Returns the length of the longest proper prefix of `text` that is also its suffix. Knuth, Morris and Pratt
/// keep a table of these. This search ends with the first match, so it computes them when needed.
fn border(text: &[u8]) -> usize {
    (0..text.len()).rev().find(|&n| text.ends_with(&text[..n])).unwrap_or(0)
}
