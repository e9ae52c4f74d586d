//! Waiting output for a slow consumer: a bounded queue that exists only while something waits.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use pushmark_net::Link;

use crate::frame::{Frame, Place, queues_are_full};
use crate::ledger::Ledger;
use crate::options::QueuePolicy;
use crate::rules::Rules;
use crate::stats::Counter;

/// The most pieces in one write.
const PIECES_MAX: usize = 64;

/// The most bytes of messages that wait for one subscriber, in addition to the bound on their number: the
/// limit of CONTRACT 3.5. One message may wait whatever its length.
const MESSAGES_BYTES_MAX: usize = 16 << 20;

/// Bytes to be written.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Frame,
    /// The cursor of the delivered publication. `None`: a part of the conversation, which is never dropped.
    pub(crate) delivery: Option<u64>,
}

/// A piece that waits.
#[derive(Debug)]
struct Waiting {
    bytes: Place,
    delivery: Option<u64>,
}

/// Waiting pieces. The first may be partly written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Waiting>,
    /// Bytes of the first piece already written.
    written: usize,
    /// Pieces that are deliveries, and their bytes.
    deliveries: usize,
    deliveries_bytes: usize,
    /// Bytes of the conversation.
    said: usize,
    /// The answer to the last ping. It leaves before the next piece begins.
    pong: Option<Frame>,
    /// Whether the first piece is such an answer.
    pong_first: bool,
}

/// The queue is full, and its content must not or cannot be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

impl Outbox {
    /// Returns whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.pong.is_none()
    }

    /// Returns the number of waiting messages.
    pub(crate) fn deliveries(&self) -> usize {
        self.deliveries
    }

    /// Returns the waiting bytes that are not messages: answers that the peer requested and does not read.
    pub(crate) fn said(&self) -> usize {
        self.said
    }

    /// Appends a piece of which `written` bytes are already sent (only to an empty queue). Deliveries are
    /// bounded in number and bytes. Drops are counted.
    pub(crate) fn push(
        &mut self,
        piece: &Piece,
        written: usize,
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), Overflow> {
        debug_assert!(written == 0 || self.pieces.is_empty(), "only the first is partly written");
        let len = piece.bytes.len();
        match piece.delivery {
            Some(_) => {
                self.make_room(len, rules, ledger)?;
                self.deliveries += 1;
                self.deliveries_bytes += len;
                ledger.queue_reached(self.deliveries);
            }
            None if queues_are_full() => {
                ledger.count(Counter::QueuesFull);
                return Err(Overflow);
            }
            None => self.said += len,
        }
        if self.pieces.is_empty() {
            self.written = written;
        }
        self.pieces.push_back(Waiting { bytes: Place::of(&piece.bytes), delivery: piece.delivery });
        Ok(())
    }

    /// Drops the oldest deliveries until one more of `len` bytes is within the bounds.
    fn make_room(&mut self, len: usize, rules: &Rules, ledger: &mut Ledger) -> Result<(), Overflow> {
        loop {
            let is_long = self.deliveries > 0 && self.deliveries_bytes + len > MESSAGES_BYTES_MAX;
            let all_full = queues_are_full();
            if self.deliveries < rules.queue_max.max(1) && !is_long && !all_full {
                return Ok(());
            }
            if all_full {
                ledger.count(Counter::QueuesFull);
            }
            if rules.queue_policy == QueuePolicy::Disconnect {
                return Err(Overflow);
            }
            if !self.drop_oldest(ledger) {
                // The remaining piece is partly written, and it must not be cut off for a new one.
                return if all_full { Err(Overflow) } else { Ok(()) };
            }
        }
    }

    /// Keeps the answer to the last ping (RFC 6455 5.5.3 requires no other). Returns whether it replaces an
    /// earlier one.
    pub(crate) fn pong(&mut self, pong: Frame) -> bool {
        self.pong.replace(pong).is_some()
    }

    /// Puts the pong in front of a piece that has not begun.
    fn place_pong(&mut self) {
        if self.written > 0 {
            return;
        }
        let Some(pong) = self.pong.take() else { return };
        if self.pong_first {
            self.pop_first();
        }
        self.said += pong.len();
        self.pieces.push_front(Waiting { bytes: Place::of(&pong), delivery: None });
        self.pong_first = true;
    }

    fn pop_first(&mut self) -> Option<u64> {
        let first = self.pieces.pop_front()?;
        self.forget(&first);
        self.written = 0;
        self.pong_first = false;
        first.delivery
    }

    /// Subtracts a removed piece from the sums.
    fn forget(&mut self, piece: &Waiting) {
        match piece.delivery {
            Some(_) => {
                self.deliveries -= 1;
                self.deliveries_bytes -= piece.bytes.len();
            }
            None => self.said -= piece.bytes.len(),
        }
    }

    /// Writes up to `bytes_max`. Complete deliveries are recorded in the ledger.
    pub(crate) fn flush(
        &mut self,
        link: &mut Link,
        bytes_max: usize,
        connection: u32,
        ledger: &mut Ledger,
    ) -> io::Result<()> {
        let mut left = bytes_max;
        self.place_pong();
        while left > 0 && !self.pieces.is_empty() {
            let at_ns = ledger.write_begins();
            let (asked, taken) = self.write_once(link, left)?;
            self.took(taken, at_ns, connection, ledger);
            left -= taken;
            if taken < asked {
                break;
            }
        }
        Ok(())
    }

    fn write_once(&self, link: &mut Link, bytes_max: usize) -> io::Result<(usize, usize)> {
        let mut slices = [IoSlice::new(&[]); PIECES_MAX];
        let (mut asked, mut n) = (0, 0);
        for (i, piece) in self.pieces.iter().take(PIECES_MAX).enumerate() {
            let bytes = &piece.bytes[if i == 0 { self.written } else { 0 }..];
            let fits = bytes.len().min(bytes_max - asked);
            slices[n] = IoSlice::new(&bytes[..fits]);
            n += 1;
            asked += fits;
            if asked == bytes_max {
                break;
            }
        }
        Ok((asked, link.write_vectored(&slices[..n])?))
    }

    fn took(&mut self, mut bytes: usize, at_ns: u64, connection: u32, ledger: &mut Ledger) {
        while let Some(first) = self.pieces.front() {
            let left = first.bytes.len() - self.written;
            if bytes < left {
                self.written += bytes;
                return;
            }
            bytes -= left;
            if let Some(cursor) = self.pop_first() {
                ledger.written(cursor, connection, at_ns);
            }
        }
    }

    /// Drops the oldest delivery that is completely unwritten. Returns whether there was one.
    fn drop_oldest(&mut self, ledger: &mut Ledger) -> bool {
        let begun = usize::from(self.written > 0);
        let oldest = (begun..self.pieces.len()).find(|&i| self.pieces[i].delivery.is_some());
        let Some(piece) = oldest.and_then(|i| self.pieces.remove(i)) else { return false };
        self.forget(&piece);
        ledger.overflowed(piece.delivery.expect("a delivery was looked for"));
        true
    }
}
