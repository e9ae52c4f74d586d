//! A connection that blocks, plain or over TLS: for control requests and for checks.
//!
//! Nothing that is measured goes through it; that has [`Link`](crate::Link), which never waits.
//! Whom it believes is said by the same [`Client`].

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::tls::{Client, Trouble};

/// A connection that stands. Dropping it closes it in order.
pub enum Blocking {
    /// Bytes as they are.
    Tcp(TcpStream),
    /// Bytes sealed.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Blocking {
    /// TLS on a connection that has just been made; its handshake is a full one, and has so much
    /// time. How long a write may take is for the caller to say, before.
    ///
    /// # Errors
    /// A [`Trouble`]; what the socket says; `TimedOut`.
    pub fn over_tls(stream: TcpStream, client: &Client, within: Duration) -> io::Result<Blocking> {
        let machine = ClientConnection::new(client.config(false), client.host().clone());
        let mut machine = machine.map_err(|error| Trouble::from_rustls(&error, true))?;
        shake_hands(&mut machine, &stream, Instant::now() + within)?;
        Ok(Blocking::Tls(Box::new(StreamOwned::new(machine, stream))))
    }

    /// Bounds each read from now on.
    ///
    /// # Errors
    /// A time of zero.
    pub fn set_read_timeout(&self, time: Duration) -> io::Result<()> {
        self.socket().set_read_timeout(Some(time))
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Blocking::Tcp(stream) => stream,
            Blocking::Tls(stream) => &stream.sock,
        }
    }
}

fn shake_hands(machine: &mut ClientConnection, mut socket: &TcpStream, deadline: Instant) -> io::Result<()> {
    while machine.is_handshaking() || machine.wants_write() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if machine.wants_write() {
            machine.write_tls(&mut socket)?;
            continue;
        }
        // One deadline for all of it, however few bytes come at once.
        socket.set_read_timeout(Some(left))?;
        match machine.read_tls(&mut socket) {
            Ok(0) => return Err(Trouble::cut_off().into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Err(error) = machine.process_new_packets() {
            // The peer is told, as far as it listens; nothing else comes of it.
            let _ = machine.write_tls(&mut socket);
            return Err(Trouble::from_rustls(&error, true).into());
        }
    }
    Ok(())
}

impl Read for Blocking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Blocking::Tcp(stream) => stream.read(buffer),
            Blocking::Tls(stream) => match stream.read(buffer) {
                // Without a farewell it is what an end of TCP is: whether a message is whole is for
                // its own protocol to say.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read.map_err(in_words),
            },
        }
    }
}

impl Write for Blocking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Blocking::Tcp(stream) => stream.write(bytes),
            Blocking::Tls(stream) => stream.write(bytes).map_err(in_words),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Blocking::Tcp(stream) => stream.flush(),
            Blocking::Tls(stream) => stream.flush().map_err(in_words),
        }
    }
}

/// What rustls found, in the words that [`Link`](crate::Link) has for it.
fn in_words(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(found) => Trouble::from_rustls(found, false).into(),
        None => error,
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Blocking::Tls(stream) = self {
            stream.conn.send_close_notify();
            // The connection ends in any case.
            let _ = stream.conn.write_tls(&mut stream.sock);
        }
    }
}

impl fmt::Debug for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if matches!(self, Blocking::Tcp(_)) { "Tcp" } else { "Tls" };
        f.debug_tuple(name).field(self.socket()).finish()
    }
}

#[cfg(test)]
#[path = "blocking_tests.rs"]
mod tests;
