//! TLS on a socket: non-blocking handshake, reads and writes.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};

use super::client::Client;
use super::machine::{Machine, RECORD_MAX, Taken};
use super::trouble::Trouble;
use crate::ready::Interest;
use crate::transfer::{Connect, Read, read_result, write_result};

/// Room that a read needs: for the ciphertext of a record and for its plaintext.
pub const ROOM_MIN: usize = 2 * RECORD_MAX;

/// Bytes of a handshake read at once. Few servers send more in one flight.
const HANDSHAKE_ROOM: usize = 4 << 10;

/// The most plaintext sealed at once.
const SEALED_MAX: usize = 64 << 10;

/// A TCP connection with TLS on it.
#[derive(Debug)]
pub struct TlsLink {
    stream: TcpStream,
    machine: Machine,
    stage: Stage,
    /// Ciphertext of an incomplete record.
    carry: Vec<u8>,
    /// Ciphertext that did not fit into the socket.
    out: Vec<u8>,
    /// Plaintext in `out` that was not yet reported as written.
    sealed: usize,
    /// Plaintext that arrived with the end of the handshake, before the first read.
    early: Vec<u8>,
    /// The peer has announced its end.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting,
    Handshake,
    Open,
}

impl TlsLink {
    pub(crate) fn new(stream: TcpStream, client: &Client, returning: bool) -> io::Result<TlsLink> {
        Ok(TlsLink {
            stream,
            machine: Machine::new(client, returning)?,
            stage: Stage::Connecting,
            carry: Vec::new(),
            out: Vec::new(),
            sealed: 0,
            early: Vec::new(),
            ended: false,
        })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.stage == Stage::Handshake
    }

    pub(crate) fn is_resumed(&self) -> Option<bool> {
        self.machine.is_resumed().filter(|_| self.stage == Stage::Open)
    }

    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// TCP is established. Continues the handshake as far as the socket allows.
    pub(crate) fn handshake(&mut self) -> io::Result<Connect> {
        self.stage = Stage::Handshake;
        loop {
            self.take_carry()?;
            if !self.send_out()? {
                return Ok(Connect::Handshake(Interest::Both));
            }
            if !self.machine.is_handshaking() {
                self.stage = Stage::Open;
                return Ok(Connect::Done);
            }
            match self.receive_some()? {
                Read::Bytes(_) => {}
                Read::WouldBlock => return Ok(Connect::Handshake(Interest::Read)),
                Read::End => return Err(Trouble::cut_off().into()),
            }
        }
    }

    fn receive_some(&mut self) -> io::Result<Read> {
        let mut piece = [0; HANDSHAKE_ROOM];
        let read = read_result(io::Read::read(&mut &self.stream, &mut piece))?;
        if let Read::Bytes(n) = read {
            self.carry.extend_from_slice(&piece[..n]);
        }
        Ok(read)
    }

    fn take_carry(&mut self) -> io::Result<()> {
        let early = &mut self.early;
        let taken =
            self.machine.take_in(&mut self.carry, &mut self.out, |plain| early.extend_from_slice(plain));
        let taken = taken.map_err(|trouble| self.say_why(trouble))?;
        self.carry.drain(..taken.used);
        if self.carry.is_empty() {
            self.carry = Vec::new();
        }
        self.note_end(taken);
        Ok(())
    }

    /// Sends the alert to the peer if possible. A failure to send it changes nothing.
    fn say_why(&mut self, trouble: Trouble) -> io::Error {
        let _ = self.send_out();
        trouble.into()
    }

    /// Turns an announced end into an end of the socket, which pollers report. They would not report bytes
    /// that have already been read.
    fn note_end(&mut self, taken: Taken) {
        if taken.ended {
            self.ended = true;
            // This fails only if the end has already arrived.
            let _ = self.stream.shutdown(Shutdown::Read);
        }
    }

    /// Reads into `buffer` with `receive` until a read does not fill the given room.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        mut receive: impl FnMut(&TcpStream, &mut [u8]) -> io::Result<Read>,
    ) -> io::Result<Read> {
        if buffer.len() < ROOM_MIN {
            return Err(io::Error::other("there is no room for a TLS record"));
        }
        let mut filled = self.early.len();
        buffer[..filled].copy_from_slice(&self.early);
        self.early = Vec::new();
        let mut end = self.ended;
        while !end && buffer.len() - filled >= ROOM_MIN {
            // Plaintext is shorter than its ciphertext, so the front has room for all of it.
            let middle = filled + (buffer.len() - filled) / 2;
            let (front, back) = buffer.split_at_mut(middle);
            let carried = self.carry.len();
            back[..carried].copy_from_slice(&self.carry);
            let (came, full) = match receive(&self.stream, &mut back[carried..])? {
                Read::Bytes(n) => (carried + n, carried + n == back.len()),
                Read::WouldBlock => break,
                Read::End => {
                    // An end without close_notify counts as an end of TCP. The protocol above decides whether
                    // a message is complete.
                    end = true;
                    break;
                }
            };
            let machine = &mut self.machine;
            let taken = machine.take_in(&mut back[..came], &mut self.out, |plain| {
                front[filled..filled + plain.len()].copy_from_slice(plain);
                filled += plain.len();
            });
            let taken = match taken {
                Ok(taken) => taken,
                Err(trouble) => return Err(self.say_why(trouble)),
            };
            // An empty rest allocates nothing.
            self.carry = back[taken.used..came].to_vec();
            self.note_end(taken);
            end = self.ended;
            if !self.out.is_empty() && self.sealed == 0 {
                // A reply of TLS itself. The part that does not fit is sent before the next write.
                self.send_out()?;
            }
            if !full {
                break;
            }
        }
        Ok(match filled {
            0 if end => Read::End,
            0 => Read::WouldBlock,
            n => Read::Bytes(n),
        })
    }

    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.carry.capacity() + self.out.capacity() + self.early.capacity()
    }

    /// Returns whether part of a record has arrived.
    pub(crate) fn is_between(&self) -> bool {
        !self.carry.is_empty()
    }

    /// Writes what fits. Returns how many bytes of plaintext have left. Sealed bytes that do not fit count as
    /// not written: they are offered again, but not sealed again.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        loop {
            if !self.send_out()? {
                return Ok(written);
            }
            written += std::mem::take(&mut self.sealed);
            debug_assert!(written <= bytes.len(), "unwritten bytes are offered again");
            let rest = bytes.get(written..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(written.min(bytes.len()));
            }
            let piece = &rest[..rest.len().min(SEALED_MAX)];
            self.machine.seal(piece, &mut self.carry, &mut self.out)?;
            self.sealed = piece.len();
        }
    }

    /// Sends ciphertext. Returns whether all of it has left.
    fn send_out(&mut self) -> io::Result<bool> {
        let mut sent = 0;
        while sent < self.out.len() {
            match write_result((&self.stream).write(&self.out[sent..]))? {
                0 => break,
                n => sent += n,
            }
        }
        if sent == self.out.len() {
            self.out = Vec::new();
        } else {
            self.out.drain(..sent);
        }
        Ok(self.out.is_empty())
    }

    /// Sends close_notify to the peer (RFC 8446 6.1).
    pub(crate) fn say_end(&mut self) {
        if self.stage == Stage::Open && self.machine.seal_end(&mut self.carry, &mut self.out).is_ok() {
            // The connection ends in any case.
            let _ = self.send_out();
        }
    }
}

impl Drop for TlsLink {
    fn drop(&mut self) {
        self.say_end();
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
