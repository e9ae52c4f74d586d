//! The byte layer: a connection that reads and writes without blocking.
//!
//! A closed enum: a way to carry bytes is an arm here, and nothing above changes.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::poller::Interest;
use crate::sockopt::{self, TcpInfo};
use crate::stamps;
use crate::tls::{self, TlsLink};

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

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connect {
    /// It stands.
    Done,
    /// TCP stands, TLS shakes hands: it goes on when this has come.
    Handshake(Interest),
}

/// A connection. Dropping it closes it in order; [`Link::reset`] does not.
#[derive(Debug)]
pub enum Link {
    /// Bytes as they are.
    Tcp(TcpLink),
    /// Bytes sealed. What it takes is boxed, so that a plain connection does not pay for it.
    Tls(Box<TlsLink>),
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

    /// The same connection with TLS on it, where it has just begun to connect. One that is
    /// `returning` may take up a session that was had before.
    ///
    /// # Errors
    /// None that a [`tls::Client`] which could be made leaves.
    pub fn over_tls(self, client: &tls::Client, returning: bool) -> io::Result<Link> {
        match self {
            Link::Tcp(link) => Ok(Link::Tls(Box::new(TlsLink::new(link.stream, client, returning)?))),
            already => Ok(already),
        }
    }

    /// A connection a listener accepted: already non-blocking and without delay.
    pub(crate) fn accepted(socket: Socket) -> Link {
        Link::Tcp(TcpLink { stream: socket.into() })
    }

    /// A connection from another thread: as it was there.
    pub(crate) fn handed(fd: OwnedFd) -> Link {
        Link::Tcp(TcpLink { stream: fd.into() })
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Link::Tcp(link) => &link.stream,
            Link::Tls(link) => link.stream(),
        }
    }

    /// How the connect ended: call it when the descriptor first becomes writable, and again when
    /// what it asks for has come.
    ///
    /// # Errors
    /// The connect's own error, `NotConnected` where it goes on still; a [`tls::Trouble`].
    pub fn finish_connect(&mut self) -> io::Result<Connect> {
        if !self.is_handshaking() {
            match self.stream().take_error()? {
                Some(error) => return Err(error),
                None => self.stream().peer_addr().map(drop)?,
            }
        }
        match self {
            Link::Tcp(_) => Ok(Connect::Done),
            Link::Tls(link) => link.handshake(),
        }
    }

    /// Whether TCP stands and TLS does not yet.
    pub fn is_handshaking(&self) -> bool {
        matches!(self, Link::Tls(link) if link.is_handshaking())
    }

    /// Whether TLS took up an earlier session; `None` where there is none, or not yet.
    pub fn is_resumed(&self) -> Option<bool> {
        match self {
            Link::Tcp(_) => None,
            Link::Tls(link) => link.is_resumed(),
        }
    }

    /// Whether a read would bring what came with the end of the handshake: no poller tells of it.
    pub fn has_early(&self) -> bool {
        matches!(self, Link::Tls(link) if link.has_early())
    }

    /// A read that leaves less room than this may have left bytes in the kernel; any other took
    /// all there was.
    pub fn room_min(&self) -> usize {
        match self {
            Link::Tcp(_) => 1,
            Link::Tls(_) => tls::ROOM_MIN,
        }
    }

    /// Reads into `buffer`, which must have room for [`Link::room_min`].
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        debug_assert!(!buffer.is_empty(), "an empty read looks like the end");
        let receive = |mut stream: &TcpStream, buffer: &mut [u8]| read_result(stream.read(buffer));
        match self {
            Link::Tcp(link) => receive(&link.stream, buffer),
            Link::Tls(link) => link.read(buffer, receive),
        }
    }

    /// Reads like [`Link::read`], with the arrival of the newest byte read by
    /// [`stamps::enable_receive_stamps`]: nanoseconds of `CLOCK_REALTIME`. `None` where the kernel
    /// gave none, or where that byte belongs to a record that is not whole.
    pub fn read_stamped(&mut self, buffer: &mut [u8]) -> io::Result<(Read, Option<u64>)> {
        match self {
            Link::Tcp(link) => stamps::read_stamped(link.stream.as_fd(), buffer),
            Link::Tls(link) => {
                let mut newest = None;
                let read = link.read(buffer, |stream, buffer| {
                    let (read, stamp) = stamps::read_stamped(stream.as_fd(), buffer)?;
                    newest = stamp.or(newest);
                    Ok(read)
                })?;
                Ok((read, newest.filter(|_| !link.is_between())))
            }
        }
    }

    /// Writes what fits; 0 means that nothing does now. What was not written is to be offered
    /// again, before anything else: of a sealed record that did not fit nothing counts as written.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) => write_result((&link.stream).write(bytes)),
            Link::Tls(link) => link.write(bytes),
        }
    }

    /// Writes what fits of several pieces in one call; 0 means that nothing does now.
    pub fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) => write_result((&link.stream).write_vectored(pieces)),
            Link::Tls(link) => {
                // A record each would cost more than to join them.
                let whole: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
                link.write(&whole)
            }
        }
    }

    /// The descriptor, for the poller.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream().as_fd()
    }

    /// Where this end is bound.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream().local_addr()
    }

    /// Whom it is connected to.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream().peer_addr()
    }

    /// Ends our direction; what the peer sends can still be read.
    pub fn shutdown_write(&mut self) -> io::Result<()> {
        if let Link::Tls(link) = self {
            link.say_end();
        }
        self.stream().shutdown(std::net::Shutdown::Write)
    }

    /// Closes with a reset: what is unsent is lost, and no port stays behind in TIME_WAIT.
    pub fn reset(self) {
        // Fails only on a connection that is gone, which is what was asked for.
        let _ = SockRef::from(self.stream()).set_linger(Some(Duration::ZERO));
    }

    /// What the kernel counted on this connection; `None` where it does not say.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        sockopt::tcp_info(self.fd())
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

pub(crate) fn write_result(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if would_block(&error) => Ok(0),
        other => other,
    }
}

/// An interrupted call counts as one that would block. Calls that never sleep are not interrupted.
fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
