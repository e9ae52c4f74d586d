//! The byte layer: a connection with non-blocking reads and writes.
//!
//! A closed enum: a new way to carry bytes is a new variant here, and no layer above changes.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::sockopt::{self, TcpInfo};
use crate::stamps;
use crate::tls::{self, TlsLink};
use crate::transfer::{Connect, Read, read_result, would_block, write_result};

/// A connection. Dropping it closes it in order; [`Link::reset`] does not.
#[derive(Debug)]
pub enum Link {
    /// Plain TCP.
    Tcp(TcpLink),
    /// TLS. It is boxed, so that a plain connection does not pay for its size.
    Tls(Box<TlsLink>),
}

/// A TCP connection: non-blocking, without Nagle's delay.
#[derive(Debug)]
pub struct TcpLink {
    stream: TcpStream,
}

impl Link {
    /// Begins to connect. The descriptor becomes writable when the connect has ended, and
    /// [`Link::finish_connect`] then returns the result. With `source`, the connection uses that source
    /// address and the kernel chooses its port at connect, so that ports are shared between remotes.
    ///
    /// # Errors
    /// What the system refuses at once: no descriptors, no ports, a foreign source address, or on some paths
    /// a refusal by the peer.
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

    /// Puts TLS on a connection that has just begun to connect. A `returning` client may resume an earlier
    /// session.
    ///
    /// # Errors
    /// None for a [`tls::Client`] that was made successfully.
    pub fn over_tls(self, client: &tls::Client, returning: bool) -> io::Result<Link> {
        match self {
            Link::Tcp(link) => Ok(Link::Tls(Box::new(TlsLink::new(link.stream, client, returning)?))),
            already => Ok(already),
        }
    }

    /// A connection that a listener accepted: already non-blocking and without Nagle's delay.
    pub(crate) fn accepted(socket: Socket) -> Link {
        Link::Tcp(TcpLink { stream: socket.into() })
    }

    /// A connection from another thread, unchanged.
    pub(crate) fn handed(fd: OwnedFd) -> Link {
        Link::Tcp(TcpLink { stream: fd.into() })
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Link::Tcp(link) => &link.stream,
            Link::Tls(link) => link.stream(),
        }
    }

    /// Returns the state of the connect. Call it when the descriptor first becomes writable, and again when
    /// the returned interest is ready.
    ///
    /// # Errors
    /// The connect's error, `NotConnected` while it is still under way, or a [`tls::Trouble`].
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

    /// Returns whether TCP is established and TLS is not yet.
    pub fn is_handshaking(&self) -> bool {
        matches!(self, Link::Tls(link) if link.is_handshaking())
    }

    /// Returns whether TLS resumed an earlier session. `None` without TLS or before this is known.
    pub fn is_resumed(&self) -> Option<bool> {
        match self {
            Link::Tcp(_) => None,
            Link::Tls(link) => link.is_resumed(),
        }
    }

    /// Returns whether a read would return bytes that arrived with the end of the handshake. No poller
    /// reports these bytes.
    pub fn has_early(&self) -> bool {
        matches!(self, Link::Tls(link) if link.has_early())
    }

    /// Returns whether there is no unread input and the peer has not ended its direction. Only then may a
    /// kept-alive connection carry another request. Messages of TLS itself count as input, too.
    pub fn is_quiet(&self) -> bool {
        self.stream().peek(&mut [0]).is_err_and(|error| would_block(&error))
    }

    /// A read that leaves less room than this may have left bytes in the kernel. Any other read took all
    /// bytes.
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

    /// Reads like [`Link::read`] and returns the arrival of the newest byte read, by
    /// [`stamps::enable_receive_stamps`]: nanoseconds of `CLOCK_REALTIME`. `None` if the kernel reported
    /// none, or if that byte belongs to an incomplete record.
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

    /// Writes what fits; 0 means that nothing fits now. The caller must offer the rest again before anything
    /// else, because no byte of a sealed record counts as written until the record has left.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) => write_result((&link.stream).write(bytes)),
            Link::Tls(link) => link.write(bytes),
        }
    }

    /// Writes what fits of several pieces in one call; 0 means that nothing fits now.
    pub fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) => write_result((&link.stream).write_vectored(pieces)),
            Link::Tls(link) => {
                // One record for each piece would cost more than joining them.
                let whole: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
                link.write(&whole)
            }
        }
    }

    /// The descriptor, for the poller.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream().as_fd()
    }

    /// Returns the local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream().local_addr()
    }

    /// Returns the peer's address.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream().peer_addr()
    }

    /// Ends our direction. The peer's bytes can still be read.
    pub fn shutdown_write(&mut self) -> io::Result<()> {
        if let Link::Tls(link) = self {
            link.say_end();
        }
        self.stream().shutdown(std::net::Shutdown::Write)
    }

    /// Closes with a reset. Unsent bytes are lost, and no port stays in TIME_WAIT.
    pub fn reset(self) {
        // This fails only on a connection that is already gone.
        let _ = SockRef::from(self.stream()).set_linger(Some(Duration::ZERO));
    }

    /// Returns the kernel's counters of this connection, or `None` if there are none.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        sockopt::tcp_info(self.fd())
    }
}
