//! A blocking connection, plain or over TLS: for control requests and for checks.
//!
//! Measured traffic never uses it; that uses [`Link`](crate::Link), which does not block. The same [`Client`]
//! decides which certificates are trusted.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::tls::{Client, Trouble};

/// An established connection. Dropping it closes it in order.
pub enum Blocking {
    /// Plain TCP.
    Tcp(TcpStream),
    /// TLS.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Blocking {
    /// Performs a full TLS handshake on a new connection within the given time. The caller sets the write
    /// timeout beforehand.
    ///
    /// # Errors
    /// A [`Trouble`], a socket error, or `TimedOut`.
    pub fn over_tls(stream: TcpStream, client: &Client, within: Duration) -> io::Result<Blocking> {
        let machine = ClientConnection::new(client.config(false), client.host().clone());
        let mut machine = machine.map_err(|error| Trouble::from_rustls(&error, true))?;
        shake_hands(&mut machine, &stream, Instant::now() + within)?;
        Ok(Blocking::Tls(Box::new(StreamOwned::new(machine, stream))))
    }

    /// Sets the timeout of each later read.
    ///
    /// # Errors
    /// If the time is zero.
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
        // One deadline covers the whole handshake, even if each read returns few bytes.
        socket.set_read_timeout(Some(left))?;
        match machine.read_tls(&mut socket) {
            Ok(0) => return Err(Trouble::cut_off().into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Err(error) = machine.process_new_packets() {
            // Sends the alert to the peer if possible. A failure to send it changes nothing.
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
                // An end without close_notify counts as an end of TCP. The protocol above decides whether a
                // message is complete.
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

/// Converts a rustls error into the same [`Trouble`] that [`Link`](crate::Link) reports.
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
