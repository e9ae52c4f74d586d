//! The latest messages to clients that received something lately. Before a target ends a connection, it
//! has often said why. Messages with a stamp do not say why and are not kept.

use pushmark_model::record::SHOWN_MAX;

/// Clients that are remembered at a time: one for each remainder of their index.
const CLIENTS: usize = 64;

/// The latest message without a stamp of some clients; at most [`CLIENTS`] × [`SHOWN_MAX`] bytes.
#[derive(Debug, Default)]
pub(crate) struct Spoken {
    /// Empty until the first message.
    slots: Vec<(u32, Vec<u8>)>,
}

impl Spoken {
    /// Keeps the beginning of a message without a stamp.
    #[cold]
    pub(crate) fn heard(&mut self, index: u32, bytes: &[u8]) {
        if self.slots.is_empty() {
            self.slots.resize_with(CLIENTS, || (u32::MAX, Vec::new()));
        }
        let (whose, said) = &mut self.slots[index as usize % CLIENTS];
        *whose = index;
        said.clear();
        said.extend_from_slice(&bytes[..bytes.len().min(SHOWN_MAX)]);
    }

    /// Returns the last message to this client if it is still known, else nothing.
    pub(crate) fn last(&self, index: u32) -> &[u8] {
        match self.slots.get(index as usize % CLIENTS) {
            Some((whose, said)) if *whose == index => said,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_a_client_is_kept_and_its_length_is_bounded() {
        let mut spoken = Spoken::default();
        assert_eq!(spoken.last(3), b"");
        spoken.heard(3, b"first");
        spoken.heard(3, &[b'x'; 9_999]);
        assert_eq!(spoken.last(3), [b'x'; SHOWN_MAX]);
        spoken.heard(3 + CLIENTS as u32, b"another");
        assert_eq!((spoken.last(3), spoken.last(67)), (b"".as_slice(), b"another".as_slice()));
    }
}
