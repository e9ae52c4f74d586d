//! Connections with or without TLS: what a shard's clients share of it, and its publisher.

use std::io;
use std::net::{IpAddr, SocketAddr};

use pushmark_model::plan::Tls;
use pushmark_model::record::Counts;
use pushmark_net::{Link, tls};

/// Where connections go, and how.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    to: SocketAddr,
    tls: Option<tls::Client>,
}

impl Way {
    /// To a host at this address. With TLS there is room for so many sessions to come back to.
    ///
    /// # Errors
    /// What of a plan's certificates cannot be used here.
    pub(crate) fn new(
        to: SocketAddr,
        host: &str,
        plan: Option<&Tls>,
        sessions_max: usize,
    ) -> io::Result<Way> {
        let client = plan.map(|plan| tls::Client::new(&settings(plan), host, sessions_max)).transpose();
        Ok(Way { to, tls: client.map_err(io::Error::other)? })
    }

    /// Begins to connect. Who was there before may take up a session.
    pub(crate) fn connect(&self, source: Option<IpAddr>, returning: bool) -> io::Result<Link> {
        let link = Link::connect(self.to, source)?;
        match &self.tls {
            None => Ok(link),
            Some(client) => link.over_tls(client, returning),
        }
    }
}

fn settings(plan: &Tls) -> tls::Settings<'_> {
    tls::Settings {
        insecure: plan.insecure,
        resumption: plan.resumption,
        ca: plan.ca.as_deref(),
        identity: plan.cert.as_deref().zip(plan.key.as_deref()),
    }
}

/// Counts how a connection that now stands was secured.
pub(crate) fn count(link: &Link, counts: &mut Counts) {
    match link.is_resumed() {
        Some(true) => counts.tls_resumed += 1,
        Some(false) => counts.tls_full += 1,
        None => {}
    }
}
