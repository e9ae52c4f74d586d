//! The address of a check's connections, with or without TLS.

use std::io;
use std::net::{SocketAddr, TcpStream};

use anyhow::Context as _;
use pushmark_model::plan::{ArmPlan, Over, Publish, Tls};
use pushmark_net::{Blocking, tls};
use rustix::net::{AddressFamily, SocketType, sockopt};

use super::patience::PATIENCE;
use pushmark_host::{resolve, secure};

/// A listener of the subject.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address it listens on.
    pub address: SocketAddr,
    /// The `Host` header of requests.
    pub(super) host: String,
    tls: Option<tls::Client>,
}

/// A way without TLS to an address.
impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint { address, host: address.to_string(), tls: None }
    }
}

impl Endpoint {
    /// The way to a host by its name, over TLS if `tls` is given.
    ///
    /// # Errors
    /// Fails if a name has no address, or cannot be the name in a certificate.
    pub fn new(host: &str, port: u16, tls: Option<&Tls>) -> anyhow::Result<Endpoint> {
        let address = resolve::host(host, port)?;
        let tls = tls.map(|tls| secure::client(tls, host)).transpose()?;
        let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(Endpoint { address, host, tls })
    }

    /// The way on which clients of an arm subscribe; `port` is the port of a started target.
    pub(super) fn to_subscribe(arm: &ArmPlan, port: u16) -> anyhow::Result<Endpoint> {
        let to = &arm.subscribe;
        Endpoint::new(&to.host, to.port.unwrap_or(port), arm.tls.as_ref().filter(|_| to.tls))
    }

    /// The way on which an arm publishes; `None` without a publish template, or if a command publishes.
    pub(super) fn to_publish(arm: &ArmPlan, port: u16) -> anyhow::Result<Option<Endpoint>> {
        let endpoint = |to: &Publish| {
            Endpoint::new(&to.host, to.port.unwrap_or(port), arm.tls.as_ref().filter(|_| to.tls))
        };
        let by_command = |to: &&Publish| matches!(to.over, Over::Command(_));
        arm.publish.as_ref().filter(|to| !by_command(to)).map(endpoint).transpose()
    }

    /// Connects once, to check that it is reachable.
    ///
    /// # Errors
    /// Fails with the reason if nothing listens or TLS cannot be set up.
    pub(super) fn try_out(&self) -> anyhow::Result<()> {
        let over = if self.tls.is_some() { " over TLS" } else { "" };
        self.open(None).map(drop).with_context(|| format!("cannot be reached at {}{over}", self.address))
    }

    /// Connects. `receive_buffer`: bytes that the kernel may buffer for a client that does not read.
    pub(super) fn open(&self, receive_buffer: Option<usize>) -> io::Result<Blocking> {
        let stream = match receive_buffer {
            None => TcpStream::connect_timeout(&self.address, PATIENCE)?,
            Some(bytes) => {
                let family = if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
                // Before the connect, because the handshake fixes the window scale.
                sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
                rustix::net::connect(&socket, &self.address)?;
                TcpStream::from(socket)
            }
        };
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        match &self.tls {
            None => Ok(Blocking::Tcp(stream)),
            Some(client) => Blocking::over_tls(stream, client, PATIENCE),
        }
    }
}
