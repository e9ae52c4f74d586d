//! The TLS machine of one connection: ciphertext in, plaintext out, and the reverse. No I/O.

use std::fmt;

use rustls::HandshakeKind;
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};

use super::client::Client;
use super::trouble::Trouble;

/// The most plaintext in a record (RFC 8446 5.1).
const PLAIN_MAX: usize = 1 << 14;
/// The largest overhead of a record (RFC 8446 5.2: header and up to 256 bytes of expansion).
const AROUND_MAX: usize = 5 + 256;
/// The largest record.
pub(super) const RECORD_MAX: usize = PLAIN_MAX + AROUND_MAX;

pub(super) struct Machine(UnbufferedClientConnection);

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("handshaking", &self.is_handshaking()).finish_non_exhaustive()
    }
}

/// The result of taking in ciphertext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Bytes processed from the front. The rest is an incomplete record.
    pub(super) used: usize,
    /// The peer has sent close_notify.
    pub(super) ended: bool,
}

impl Machine {
    /// Makes a client machine. A `returning` client may resume an earlier session.
    pub(super) fn new(client: &Client, returning: bool) -> Result<Machine, Trouble> {
        let made = UnbufferedClientConnection::new(client.config(returning), client.host().clone());
        made.map(Machine).map_err(|error| Trouble::from_rustls(&error, true))
    }

    /// Returns whether the handshake is still under way.
    pub(super) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Returns whether the handshake resumed an earlier session, or `None` until that is known.
    pub(super) fn is_resumed(&self) -> Option<bool> {
        self.0.handshake_kind().map(|kind| kind == HandshakeKind::Resumed)
    }

    /// Processes all complete records. Passes plaintext to `heard` and appends outgoing ciphertext to `out`,
    /// even on failure: it then holds the alert for the peer.
    pub(super) fn take_in(
        &mut self,
        incoming: &mut [u8],
        out: &mut Vec<u8>,
        mut heard: impl FnMut(&[u8]),
    ) -> Result<Taken, Trouble> {
        let mut taken = Taken::default();
        loop {
            let handshaking = self.is_handshaking();
            let UnbufferedStatus { mut discard, state } =
                self.0.process_tls_records(&mut incoming[taken.used..]);
            let goes_on = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|error| Trouble::from_rustls(&error, false))?;
                        discard += record.discard;
                        heard(record.payload);
                    }
                    true
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(out, 0, |room| data.encode(room));
                    true
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    true
                }
                Ok(ConnectionState::PeerClosed) => {
                    taken.ended = true;
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    self.last_words(&mut incoming[taken.used + discard..], out);
                    return Err(Trouble::from_rustls(&error, handshaking));
                }
            };
            taken.used += discard;
            if !goes_on {
                return Ok(taken);
            }
        }
    }

    /// Appends the alert that reports the error to the peer.
    fn last_words(&mut self, rest: &mut [u8], out: &mut Vec<u8>) {
        if let Ok(ConnectionState::EncodeTlsData(mut data)) = self.0.process_tls_records(rest).state {
            append(out, 0, |room| data.encode(room));
        }
    }

    /// Appends plaintext, sealed, to `out`. `rest` is the input that [`Machine::take_in`] left.
    pub(super) fn seal(&mut self, plain: &[u8], rest: &mut [u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        let records = plain.len().div_ceil(PLAIN_MAX);
        self.write(
            rest,
            out,
            |traffic, room| traffic.encrypt(plain, room),
            plain.len() + records * AROUND_MAX,
        )
    }

    /// Appends close_notify.
    pub(super) fn seal_end(&mut self, rest: &mut [u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        self.write(rest, out, |traffic, room| traffic.queue_close_notify(room), AROUND_MAX)
    }

    fn write(
        &mut self,
        rest: &mut [u8],
        out: &mut Vec<u8>,
        mut seal: impl FnMut(&mut WriteTraffic<'_>, &mut [u8]) -> Result<usize, EncryptError>,
        room: usize,
    ) -> Result<(), Trouble> {
        loop {
            match self.0.process_tls_records(rest).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    return append(out, room, |room| seal(&mut traffic, room))
                        .then_some(())
                        .ok_or_else(Trouble::exhausted);
                }
                // A reply to earlier input is sent first.
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(out, 0, |room| data.encode(room));
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(_) => return Err(Trouble::exhausted()),
                Err(error) => return Err(Trouble::from_rustls(&error, false)),
            }
        }
    }
}

type WriteTraffic<'c> = rustls::unbuffered::WriteTraffic<'c, rustls::client::ClientConnectionData>;

/// An error of a buffer that is too small; it reports the size needed.
trait Short {
    fn required(&self) -> Option<usize>;
}

impl Short for EncodeError {
    fn required(&self) -> Option<usize> {
        match self {
            EncodeError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            EncodeError::AlreadyEncoded => None,
        }
    }
}

impl Short for EncryptError {
    fn required(&self) -> Option<usize> {
        match self {
            EncryptError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            EncryptError::EncryptExhausted => None,
        }
    }
}

/// Appends the output of `write`, with this room or the size that it asks for. Returns whether it could.
fn append<E: Short>(
    out: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> bool {
    let before = out.len();
    out.resize(before + room, 0);
    loop {
        match write(&mut out[before..]) {
            Ok(written) => {
                out.truncate(before + written);
                return true;
            }
            Err(error) => match error.required() {
                Some(required) if before + required > out.len() => out.resize(before + required, 0),
                _ => {
                    out.truncate(before);
                    return false;
                }
            },
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
