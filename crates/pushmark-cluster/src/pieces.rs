//! An agent's pieces as they arrive: late, twice, in any order, or not. They are joined to messages in the order
//! of their numbers.

use std::collections::BTreeMap;

use pushmark_model::cluster::Piece;

/// Puts the pieces of one arm in order.
#[derive(Debug, Default)]
pub struct Pieces {
    /// The number of the next piece.
    next: u64,
    /// Pieces after it.
    ahead: BTreeMap<u64, Piece>,
    /// The message so far.
    message: Vec<u8>,
}

impl Pieces {
    /// Takes a piece. Returns the messages that are complete now. A piece that came before is dropped.
    pub fn take(&mut self, piece: Piece) -> Vec<Vec<u8>> {
        if piece.number >= self.next {
            self.ahead.entry(piece.number).or_insert(piece);
        }
        let mut complete = Vec::new();
        while let Some(piece) = self.ahead.remove(&self.next) {
            self.next += 1;
            self.message.extend_from_slice(&piece.bytes);
            if piece.last {
                complete.push(std::mem::take(&mut self.message));
            }
        }
        complete
    }

    /// Returns the number of the next piece: that many came.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number after the last missing piece in a row; `None` if no later one came.
    pub fn missing_to(&self) -> Option<u64> {
        self.ahead.keys().next().copied()
    }
}
