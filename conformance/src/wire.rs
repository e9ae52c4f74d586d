//! The bytes of one connection, read by the driver's own pollers.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use pushmark_net::{Batch, Clock, Connect, Interest, Link, Poller, Read};

use crate::PATIENCE;

/// No other descriptor is watched.
const TOKEN: u64 = 1;

/// Makes a poller.
pub type MakePoller = fn() -> io::Result<Poller>;

/// Both pollers.
pub const POLLERS: [MakePoller; 2] = [Poller::new, Poller::with_ring];

/// A connection and the poller that watches it.
#[derive(Debug)]
pub struct Wire {
    poller: Poller,
    link: Link,
    /// Bytes that were received and not yet returned.
    came: Vec<u8>,
    /// How the peer ended its direction, after those bytes.
    ended: Option<Result<(), ErrorKind>>,
}

impl Wire {
    /// Connects.
    ///
    /// # Panics
    /// If the port is closed, or the system does not support the poller.
    pub fn connect(address: SocketAddr, make: MakePoller) -> Wire {
        let mut poller = make().expect("a poller");
        let link = connect(address, &mut poller);
        Wire { poller, link, came: Vec::new(), ended: None }
    }

    /// Replaces the connection with a new one.
    ///
    /// # Panics
    /// If the port is closed.
    pub fn reconnect(&mut self, address: SocketAddr) {
        self.poller.forget(self.link.fd());
        self.link = connect(address, &mut self.poller);
        self.came.clear();
        self.ended = None;
    }

    /// Appends at least one received byte to `input`. Returns 0 at the end.
    ///
    /// # Errors
    /// A connection error, or `TimedOut`.
    pub fn read(&mut self, input: &mut Vec<u8>) -> io::Result<usize> {
        while self.came.is_empty() && self.ended.is_none() {
            self.look()?;
        }
        match self.ended {
            Some(Err(kind)) if self.came.is_empty() => Err(kind.into()),
            _ => {
                let n = self.came.len();
                input.append(&mut self.came);
                Ok(n)
            }
        }
    }

    /// Writes all bytes and keeps bytes received meanwhile.
    ///
    /// # Errors
    /// A connection error, or `TimedOut`.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.link.write(bytes)? {
                0 => {
                    self.poller.modify(self.link.fd(), TOKEN, Interest::Both)?;
                    self.look()?;
                    self.poller.modify(self.link.fd(), TOKEN, Interest::Bytes)?;
                }
                n => bytes = &bytes[n..],
            }
        }
        Ok(())
    }

    /// Waits for an event and reads everything that is available.
    fn look(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        for ready in news(&mut self.poller)? {
            match ready.arrival {
                Some(arrival) => {
                    let read = self.poller.take(arrival, &mut buffer);
                    self.take(read, &buffer);
                }
                None if ready.readable && !self.poller.reads(self.link.fd()) => {
                    while self.ended.is_none() {
                        let read = self.link.read(&mut buffer);
                        if !self.take(read, &buffer) {
                            break;
                        }
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Keeps the bytes of a read. Returns whether there may be more.
    fn take(&mut self, read: io::Result<Read>, buffer: &[u8]) -> bool {
        match read {
            Ok(Read::Bytes(n)) => self.came.extend_from_slice(&buffer[..n]),
            Ok(Read::WouldBlock) => return false,
            Ok(Read::End) => self.ended = Some(Ok(())),
            Err(error) => self.ended = Some(Err(error.kind())),
        }
        true
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.poller.forget(self.link.fd());
    }
}

fn connect(address: SocketAddr, poller: &mut Poller) -> Link {
    let mut link = Link::connect(address, None).expect("a connection");
    poller.add(link.fd(), TOKEN, Interest::Write).expect("it can be watched");
    news(poller).expect("the connect ends");
    assert_eq!(link.finish_connect().expect("the port is open"), Connect::Done);
    poller.modify(link.fd(), TOKEN, Interest::Bytes).expect("it can be watched");
    link
}

/// Returns the next batch that is not empty. A wait may end without an event: a ring that runs out of buffers
/// restarts its receives in the next wait.
fn news(poller: &mut Poller) -> io::Result<Batch> {
    let until_ns = Clock::now() + PATIENCE.as_nanos() as u64;
    loop {
        let left_ns = until_ns.saturating_sub(Clock::now());
        let batch = poller.wait(Some(left_ns))?;
        match batch.len() {
            0 if left_ns == 0 => return Err(ErrorKind::TimedOut.into()),
            0 => {}
            _ => return Ok(batch),
        }
    }
}
