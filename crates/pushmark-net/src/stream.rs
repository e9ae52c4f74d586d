//! The byte layer: a connection that reads and writes without blocking.
//!
//! A closed enum, so that another way to carry bytes (TLS) is one more arm here and nothing
//! above changes.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::sockopt::{self, TcpInfo};

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing now: wait until the descriptor is readable.
    WouldBlock,
    /// The peer has ended its direction; nothing will come.
    End,
}

/// A connection. Dropping it closes it in order; [`Link::reset`] does not.
#[derive(Debug)]
pub enum Link {
    /// Bytes as they are.
    Tcp(TcpLink),
}

/// A TCP connection: non-blocking, without Nagle's delay.
#[derive(Debug)]
pub struct TcpLink {
    stream: TcpStream,
}

impl Link {
    /// Begins to connect; the descriptor becomes writable when it has ended, and
    /// [`Link::finish_connect`] then says how. With `source` the connection leaves from that
    /// address, its port chosen at connect, so that ports are shared between remotes.
    ///
    /// # Errors
    /// What the system refuses at once: no descriptors, no ports, an address not ours, or on
    /// some paths the refusal of the peer.
    pub fn connect(remote: SocketAddr, source: Option<IpAddr>) -> io::Result<Link> {
        let socket = Socket::new(
            Domain::for_address(remote),
            Type::STREAM.nonblocking().cloexec(),
            Some(Protocol::TCP),
        )?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            sockopt::choose_port_at_connect(socket.as_fd())?;
            socket.bind(&SocketAddr::new(source, 0).into())?;
        }
        match socket.connect(&remote.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        Ok(Link::Tcp(TcpLink { stream: socket.into() }))
    }

    /// A connection a listener accepted: already non-blocking and without delay.
    pub(crate) fn accepted(socket: Socket) -> Link {
        Link::Tcp(TcpLink { stream: socket.into() })
    }

    /// A connection from another thread: as it was there.
    pub(crate) fn handed(fd: OwnedFd) -> Link {
        Link::Tcp(TcpLink { stream: fd.into() })
    }

    /// How the connect ended: call it when the descriptor first becomes writable.
    ///
    /// # Errors
    /// The connect's own error; `NotConnected` where it goes on still.
    pub fn finish_connect(&self) -> io::Result<()> {
        let Link::Tcp(link) = self;
        match link.stream.take_error()? {
            Some(error) => Err(error),
            None => link.stream.peer_addr().map(drop),
        }
    }

    /// Reads into `buffer`, which must not be empty.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        debug_assert!(!buffer.is_empty(), "an empty read looks like the end");
        let Link::Tcp(link) = self;
        read_result((&link.stream).read(buffer))
    }

    /// Writes what fits; 0 means that nothing does now.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Link::Tcp(link) = self;
        write_result((&link.stream).write(bytes))
    }

    /// Writes what fits of several pieces in one call; 0 means that nothing does now.
    pub fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let Link::Tcp(link) = self;
        write_result((&link.stream).write_vectored(pieces))
    }

    /// The descriptor, for the poller.
    pub fn fd(&self) -> BorrowedFd<'_> {
        let Link::Tcp(link) = self;
        link.stream.as_fd()
    }

    /// Where this end is bound.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let Link::Tcp(link) = self;
        link.stream.local_addr()
    }

    /// Whom it is connected to.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let Link::Tcp(link) = self;
        link.stream.peer_addr()
    }

    /// Ends our direction; what the peer sends can still be read.
    pub fn shutdown_write(&self) -> io::Result<()> {
        let Link::Tcp(link) = self;
        link.stream.shutdown(std::net::Shutdown::Write)
    }

    /// Closes with a reset: what is unsent is lost, and no port stays behind in TIME_WAIT.
    pub fn reset(self) {
        let Link::Tcp(link) = self;
        // Fails only on a connection that is gone, which is what was asked for.
        let _ = SockRef::from(&link.stream).set_linger(Some(Duration::ZERO));
    }

    /// What the kernel counted on this connection; `None` where it does not say.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        let Link::Tcp(link) = self;
        sockopt::tcp_info(link.stream.as_fd())
    }
}

pub(crate) fn read_result(result: io::Result<usize>) -> io::Result<Read> {
    match result {
        Ok(0) => Ok(Read::End),
        Ok(n) => Ok(Read::Bytes(n)),
        Err(error) if would_block(&error) => Ok(Read::WouldBlock),
        Err(error) => Err(error),
    }
}

fn write_result(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if would_block(&error) => Ok(0),
        other => other,
    }
}

/// An interrupted call counts as one that would block. Calls that never sleep are not interrupted.
fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
