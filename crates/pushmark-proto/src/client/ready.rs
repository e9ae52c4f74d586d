//! Looks for the text that says "subscribed", wherever reads and chunks cut it.
//!
//! Keeps a count, not bytes: how much of the text the last bytes matched.

/// The search of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    matched: u16,
    seen: bool,
    untold: bool,
}

impl Ready {
    /// Looks at the next bytes of a message or a stream.
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
            // Ready texts are written by hand; one of 64 KiB would never be found.
            self.matched = u16::try_from(matched).unwrap_or(0);
        }
    }

    /// A message has ended: the text does not stand across two.
    pub(super) fn message_ends(&mut self) {
        self.matched = 0;
    }

    /// True once, after the text was seen.
    pub(super) fn tell(&mut self) -> bool {
        std::mem::take(&mut self.untold)
    }
}

/// Length of the longest proper prefix of `text` that also ends it. Knuth, Morris and Pratt keep
/// a table of these; this search ends with the first find, so they are worked out when needed.
fn border(text: &[u8]) -> usize {
    (0..text.len()).rev().find(|&n| text.ends_with(&text[..n])).unwrap_or(0)
}
