//! The bytes of one connection as the driver gets them: by its own pollers.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use pushmark_net::{Batch, Clock, Connect, Interest, Link, Poller, Read};

use crate::PATIENCE;

/// No other descriptor is watched.
const TOKEN: u64 = 1;

/// A way to wait and read.
pub type MakePoller = fn() -> io::Result<Poller>;

/// Both that there are.
pub const POLLERS: [MakePoller; 2] = [Poller::new, Poller::with_ring];

/// A connection, and the poller that tells of it.
#[derive(Debug)]
pub struct Wire {
    poller: Poller,
    link: Link,
    /// What came and nobody has asked for yet.
    came: Vec<u8>,
    /// How the peer's direction ended, behind that.
    ended: Option<Result<(), ErrorKind>>,
}

impl Wire {
    /// Connects.
    ///
    /// # Panics
    /// If nobody listens, or the system has no such poller.
    pub fn connect(address: SocketAddr, make: MakePoller) -> Wire {
        let mut poller = make().expect("a poller");
        let link = connect(address, &mut poller);
        Wire { poller, link, came: Vec::new(), ended: None }
    }

    /// Leaves the connection for another one.
    ///
    /// # Panics
    /// If nobody listens.
    pub fn reconnect(&mut self, address: SocketAddr) {
        self.poller.forget(self.link.fd());
        self.link = connect(address, &mut self.poller);
        self.came.clear();
        self.ended = None;
    }

    /// Adds what comes next to `input`, at least a byte; 0 at the end.
    ///
    /// # Errors
    /// The connection's own, or `TimedOut`.
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

    /// Writes all of it; what comes meanwhile is kept.
    ///
    /// # Errors
    /// The connection's own, or `TimedOut`.
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

    /// Waits for news, and takes all that lies there.
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

    /// Keeps what a read brought; whether there may be more.
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
    assert_eq!(link.finish_connect().expect("somebody listens"), Connect::Done);
    poller.modify(link.fd(), TOKEN, Interest::Bytes).expect("it can be watched");
    link
}

/// The next batch that is not empty. A wait may end without news: a ring that runs out of buffers
/// begins again by the next one.
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
