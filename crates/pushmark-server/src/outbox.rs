//! What waits for a subscriber who does not read fast enough: a bounded queue, there only
//! while something waits.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::rc::Rc;

use pushmark_net::Link;

use crate::ledger::Ledger;
use crate::options::QueuePolicy;

/// Most pieces one write hands over.
const PIECES_MAX: usize = 64;

/// Bytes to be written.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Rc<[u8]>,
    /// The cursor of the publication this is a delivery of. `None`: a part of the conversation,
    /// which is never dropped.
    pub(crate) delivery: Option<u64>,
}

/// Pieces waiting, the first of them perhaps partly written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece already written.
    written: usize,
    /// Pieces that are deliveries.
    deliveries: usize,
}

/// The queue was full and the policy is to disconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

impl Outbox {
    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Messages among what waits.
    pub(crate) fn deliveries(&self) -> usize {
        self.deliveries
    }

    /// Appends a piece of which `written` bytes are already on their way (only to an empty queue).
    /// At most `max` deliveries wait; what hits that bound is counted.
    pub(crate) fn push(
        &mut self,
        piece: Piece,
        written: usize,
        max: usize,
        policy: QueuePolicy,
        ledger: &mut Ledger,
    ) -> Result<(), Overflow> {
        debug_assert!(written == 0 || self.pieces.is_empty(), "only the first is partly written");
        if piece.delivery.is_some() {
            if self.deliveries >= max.max(1) {
                match policy {
                    QueuePolicy::Disconnect => return Err(Overflow),
                    QueuePolicy::DropOldest => self.drop_oldest(ledger),
                }
            }
            self.deliveries += 1;
            ledger.queue_reached(self.deliveries);
        }
        if self.pieces.is_empty() {
            self.written = written;
        }
        self.pieces.push_back(piece);
        Ok(())
    }

    /// Writes up to `bytes_max`; what is written whole is told to the ledger.
    pub(crate) fn flush(
        &mut self,
        link: &mut Link,
        bytes_max: usize,
        connection: u32,
        ledger: &mut Ledger,
    ) -> io::Result<()> {
        let mut left = bytes_max;
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
            self.written = 0;
            if let Some(cursor) = first.delivery {
                self.deliveries -= 1;
                ledger.written(cursor, connection, at_ns);
            }
            self.pieces.pop_front();
        }
    }

    fn drop_oldest(&mut self, ledger: &mut Ledger) {
        let begun = usize::from(self.written > 0);
        let oldest = (begun..self.pieces.len()).find(|&i| self.pieces[i].delivery.is_some());
        if let Some(piece) = oldest.and_then(|i| self.pieces.remove(i)) {
            self.deliveries -= 1;
            ledger.overflowed(piece.delivery.expect("a delivery was looked for"));
        }
    }
}
