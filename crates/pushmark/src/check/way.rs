//! Where connections of a check go, and whether over TLS.

use std::io;
use std::net::{SocketAddr, TcpStream};

use anyhow::Context as _;
use pushmark_model::plan::{ArmPlan, Publish, Tls};
use pushmark_net::{Blocking, tls};
use rustix::net::{AddressFamily, SocketType, sockopt};

use super::wire::PATIENCE;
use crate::{resolve, secure};

/// A listener of what is checked.
#[derive(Clone, Debug)]
pub struct Way {
    /// Where it listens.
    pub address: SocketAddr,
    /// What requests say in `Host`.
    pub(super) host: String,
    tls: Option<tls::Client>,
}

/// Plain, by its address.
impl From<SocketAddr> for Way {
    fn from(address: SocketAddr) -> Way {
        Way { address, host: address.to_string(), tls: None }
    }
}

impl Way {
    /// To a host by its name, over TLS where something says how.
    ///
    /// # Errors
    /// A name that has no address, or that no certificate can have.
    pub fn new(host: &str, port: u16, tls: Option<&Tls>) -> anyhow::Result<Way> {
        let address = resolve::host(host, port)?;
        let tls = tls.map(|tls| secure::client(tls, host)).transpose()?;
        let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(Way { address, host, tls })
    }

    /// To where clients of an arm subscribe; `port` is that of a target that was started.
    pub(super) fn to_subscribe(arm: &ArmPlan, port: u16) -> anyhow::Result<Way> {
        let to = &arm.subscribe;
        Way::new(&to.host, to.port.unwrap_or(port), arm.tls.as_ref().filter(|_| to.tls))
    }

    /// To where is published, where something says how.
    pub(super) fn to_publish(arm: &ArmPlan, port: u16) -> anyhow::Result<Option<Way>> {
        let way =
            |to: &Publish| Way::new(&to.host, to.port.unwrap_or(port), arm.tls.as_ref().filter(|_| to.tls));
        arm.publish.as_ref().map(way).transpose()
    }

    /// Connects once, to see whether it can be done.
    ///
    /// # Errors
    /// Nobody listens, or there is no TLS with who does: why.
    pub(super) fn try_out(&self) -> anyhow::Result<()> {
        let over = if self.tls.is_some() { " over TLS" } else { "" };
        self.open(None).map(drop).with_context(|| format!("cannot be reached at {}{over}", self.address))
    }

    /// Connects. `receive_buffer`: bytes that the kernel may keep for a client who does not read.
    pub(super) fn open(&self, receive_buffer: Option<usize>) -> io::Result<Blocking> {
        let stream = match receive_buffer {
            None => TcpStream::connect_timeout(&self.address, PATIENCE)?,
            Some(bytes) => {
                let family = if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
                // Before the connection is made: its window is agreed on then.
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
