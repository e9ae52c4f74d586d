//! A connection from a pushmark client, in the hands of a target that sends what it likes.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pushmark_proto::http1::RequestHead;
use pushmark_proto::websocket::handshake::Upgrade;
use pushmark_proto::websocket::{Decoder, Event};

use crate::tool::http::Hub;

/// A blocked read or write checks after this time whether the run is over.
const LOOK: Duration = Duration::from_millis(100);

/// Size of the pieces of a flood.
const FLOOD: usize = 64 << 10;
/// This much of a flood is sent as fast as the client takes it: for eight clients, more than twice the
/// memory that a run may use.
const FLOOD_FAST: usize = 24 << 20;
const FLOOD_PAUSE: Duration = Duration::from_millis(10);
/// The pause that leaves time for other clients: 2 MiB a second for four clients, which a busy machine can
/// read too.
const PACED_PAUSE: Duration = Duration::from_millis(150);

/// One connection. The methods return `None` when the client has gone.
pub(crate) struct Wire {
    socket: TcpStream,
    /// Bytes that were read and not yet parsed.
    ahead: Vec<u8>,
    /// The publications, and whether the run is over.
    pub(crate) hub: Arc<Hub>,
    port: Port,
    /// Floods are paced from their start.
    paced: bool,
}

/// The port that accepts the connections.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    pub(crate) closed: Arc<AtomicBool>,
}

impl Port {
    /// Whether the port takes no more connections.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends listening at the port.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        // A connection wakes the listener to see the flag; once connections fail, the listener has gone.
        while TcpStream::connect(self.address).is_ok() {}
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The head as received.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// Returns the number after `client=` in its target; 0 without one.
    pub(crate) fn client(&self) -> u64 {
        let head = String::from_utf8_lossy(&self.head);
        let digits = head.split("client=").nth(1).unwrap_or("");
        let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    }

    /// Whether the first line begins with a text such as `POST /publish`.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.head.starts_with(text.as_bytes())
    }
}

impl Wire {
    pub(crate) fn new(socket: TcpStream, hub: Arc<Hub>, port: Port) -> Option<Wire> {
        socket.set_nodelay(true).ok()?;
        socket.set_read_timeout(Some(LOOK)).ok()?;
        socket.set_write_timeout(Some(LOOK)).ok()?;
        Some(Wire { socket, ahead: Vec::new(), hub, port, paced: false })
    }

    /// Waits for bytes; `None` once the client or the run has ended.
    pub(crate) fn more(&mut self) -> Option<()> {
        let mut piece = [0; 16 << 10];
        while !self.hub.over() {
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(n) => {
                    self.ahead.extend_from_slice(&piece[..n]);
                    return Some(());
                }
                Err(error) if is_pause(&error) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Reads the next whole request.
    pub(crate) fn request(&mut self) -> Option<Asked> {
        let end = loop {
            match self.ahead.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.more()?,
            }
        };
        let head = self.ahead[..end].to_vec();
        let text = String::from_utf8_lossy(&head).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
        while self.ahead.len() < end + length {
            self.more()?;
        }
        let rest = self.ahead.split_off(end + length);
        let body = std::mem::replace(&mut self.ahead, rest).split_off(end);
        Some(Asked { head, body })
    }

    /// Puts a request back, as if it had not been read.
    pub(crate) fn put_back(&mut self, asked: &Asked) {
        let rest = std::mem::take(&mut self.ahead);
        self.ahead = [&asked.head[..], &asked.body, &rest].concat();
    }

    /// Sends all bytes, for as long as the client takes them.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> Option<()> {
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(error) if is_pause(&error) && !self.hub.over() => {}
                Err(_) => return None,
            }
        }
        Some(())
    }

    /// Sends the same bytes for ever: as fast as the client takes them until that is far more than it may
    /// keep, and then in pieces with a pause.
    pub(crate) fn flood(&mut self, bytes: impl AsRef<[u8]>) -> Option<()> {
        let bytes = bytes.as_ref();
        let many = bytes.repeat((FLOOD / bytes.len()).max(1));
        for sent in (0..).step_by(many.len()) {
            self.send(&many)?;
            if sent > FLOOD_FAST {
                crate::tool::pass(FLOOD_PAUSE);
            }
            self.breathe();
        }
        None
    }

    /// Makes floods leave time for other clients, even on a busy machine.
    pub(crate) fn pace(&mut self) {
        self.paced = true;
    }

    /// Pauses if floods are paced.
    pub(crate) fn breathe(&self) {
        if self.paced {
            crate::tool::pass(PACED_PAUSE);
        }
    }

    /// Sends the bytes one by one with a pause, in a circle, for ever.
    pub(crate) fn drip(&mut self, bytes: impl AsRef<[u8]>, pause: Duration) -> Option<()> {
        for byte in bytes.as_ref().iter().cycle() {
            self.send([*byte])?;
            // The pause is the purpose of this target.
            crate::tool::pass(pause);
        }
        None
    }

    /// Reads and sends nothing until the client ends.
    pub(crate) fn silence(&mut self) -> Option<()> {
        loop {
            self.ahead.clear();
            self.more()?;
        }
    }

    /// Waits until the run is over, and neither reads nor writes.
    pub(crate) fn stand_still(&mut self) -> Option<()> {
        while !self.hub.over() {
            self.hub.after(usize::MAX - 1, LOOK);
        }
        None
    }

    /// Ends with a reset.
    pub(crate) fn reset(&mut self) -> Option<()> {
        let _ = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
        None
    }

    /// Closes the port where this connection was accepted.
    pub(crate) fn close_port(&self) {
        self.port.close();
    }

    /// Ends the sending direction, and reads on.
    pub(crate) fn half_close(&mut self) -> Option<()> {
        self.socket.shutdown(Shutdown::Write).ok()?;
        self.silence()
    }

    /// Grants the requested upgrade.
    pub(crate) fn upgrade(&mut self) -> Option<()> {
        let asked = self.request()?;
        self.send(Wire::grant(&asked))
    }

    /// Returns the correct answer to an upgrade.
    pub(crate) fn grant(asked: &Asked) -> Vec<u8> {
        let (head, _) = RequestHead::parse(&asked.head).expect("a head").expect("a whole one");
        let mut answer = Vec::new();
        Upgrade::parse(&head).expect("right").expect("an upgrade").write_response(&mut answer, "", "");
        answer
    }

    /// Reads the next text of a client, over an open WebSocket.
    pub(crate) fn text(&mut self, frames: &mut Decoder) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let mut ahead = std::mem::take(&mut self.ahead);
            let mut rest = &mut ahead[..];
            loop {
                match frames.next(&mut rest).expect("what we send are frames") {
                    Some(Event::Data(bytes)) => text.extend_from_slice(bytes),
                    Some(Event::MessageEnd { .. }) => {
                        self.ahead = rest.to_vec();
                        return Some(text);
                    }
                    Some(Event::Close { .. }) => return None,
                    Some(_) => {}
                    None => break,
                }
            }
            self.ahead = rest.to_vec();
            self.more()?;
        }
    }

    /// Discards the bytes that were read.
    pub(crate) fn forget(&mut self) {
        self.ahead.clear();
    }

    /// Answers a request with these bytes.
    pub(crate) fn answer(&mut self, bytes: impl AsRef<[u8]>) -> Option<()> {
        self.request()?;
        self.send(bytes)
    }

    /// Sends each published message, framed, as soon as it is published.
    pub(crate) fn relay(&mut self, frame: impl Fn(&[u8]) -> Vec<u8>) -> Option<()> {
        let mut seen = 0;
        while !self.hub.over() {
            for message in self.hub.after(seen, LOOK).unwrap_or_default() {
                self.send(frame(&message))?;
                seen += 1;
            }
        }
        None
    }

    /// Waits until `n` messages were published; returns all of them.
    pub(crate) fn published(&mut self, n: usize) -> Option<Vec<Vec<u8>>> {
        while !self.hub.over() {
            self.hub.after(n - 1, LOOK);
            if self.hub.count() >= n {
                return self.hub.after(0, LOOK);
            }
        }
        None
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
