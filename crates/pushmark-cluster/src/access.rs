//! How to reach the bus.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::path::PathBuf;

use anyhow::Context as _;

/// The address of a NATS server, and what it asks of those who connect.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// `nats://host:4222`, or `tls://host:4222`.
    pub url: String,
    /// A file with a line `USER:PASSWORD`, which proves who this is.
    pub login: Option<PathBuf>,
    /// A file with the certificate of an authority to trust beside those of the system.
    pub ca: Option<PathBuf>,
}

impl Access {
    /// Returns the address of this machine on the way to the bus: the other machines reach it there.
    ///
    /// # Errors
    /// Fails if there is no way.
    pub fn own_address(&self) -> io::Result<IpAddr> {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host).trim_end_matches('/');
        let host = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            host.to_owned()
        } else {
            format!("{host}:4222")
        };
        // Nothing is sent: the system only looks for the way.
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(host.as_str())?;
        Ok(socket.local_addr()?.ip())
    }

    /// Returns the user and the password of its login.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or holds anything else.
    pub(crate) fn user_and_password(&self) -> anyhow::Result<Option<(String, String)>> {
        let Some(path) = &self.login else { return Ok(None) };
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let pair = text.trim().split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()));
        pair.map(Some).with_context(|| format!("{}: a line USER:PASSWORD is wanted", path.display()))
    }
}
