//! Accepts connections without blocking.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::stream::Link;

/// A bound and listening TCP socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Binds and listens. Port 0 lets the system choose. `backlog` is bounded by
    /// [`crate::limits::somaxconn`]. With `reuse_port`, several listeners share the port and the kernel
    /// distributes connections over them.
    pub fn bind(address: SocketAddr, backlog: u32, reuse_port: bool) -> io::Result<Listener> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM.nonblocking().cloexec(),
            Some(Protocol::TCP),
        )?;
        socket.set_reuse_address(true)?;
        if reuse_port {
            socket.set_reuse_port(true)?;
        }
        // Accepted sockets inherit this option, which saves one system call for each connection.
        socket.set_tcp_nodelay(true)?;
        socket.bind(&address.into())?;
        socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        Ok(Listener { socket })
    }

    /// Returns the bound address, with the real port if port 0 was requested.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
    }

    /// Accepts a waiting connection. Returns it with the peer's address, or `None` if none is waiting.
    ///
    /// # Errors
    /// Errors of the listener or the process (no descriptors left). A connection that died while it waited is
    /// skipped.
    pub fn accept(&self) -> io::Result<Option<(Link, SocketAddr)>> {
        loop {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let error = match self.socket.accept4(flags) {
                Ok((socket, peer)) => {
                    let peer = peer.as_socket().expect("an internet socket has such peers");
                    return Ok(Some((Link::accepted(socket), peer)));
                }
                Err(error) => error,
            };
            if error.kind() == io::ErrorKind::WouldBlock {
                return Ok(None);
            }
            // accept(2): errors already pending on the new connection are passed to the caller.
            let passing = [Errno::INTR, Errno::CONNABORTED, Errno::PROTO, Errno::NETDOWN, Errno::HOSTUNREACH];
            if !passing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) {
                return Err(error);
            }
        }
    }

    /// The descriptor, for the poller.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
