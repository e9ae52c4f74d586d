//! Connections with or without TLS. The clients of a shard share one [`Route`]; its publisher has another.

use std::io;
use std::net::{IpAddr, SocketAddr};

use pushmark_model::plan::Tls;
use pushmark_model::record::Counts;
use pushmark_net::{Link, tls};

/// Where connections go, and whether over TLS.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    to: SocketAddr,
    tls: Option<tls::Client>,
}

impl Route {
    /// Returns the way to a host at this address. With TLS it keeps at most `sessions_max` sessions to
    /// resume.
    ///
    /// # Errors
    /// Fails if the plan's certificates cannot be used here.
    pub(crate) fn new(
        to: SocketAddr,
        host: &str,
        plan: Option<&Tls>,
        sessions_max: usize,
    ) -> io::Result<Route> {
        let client = plan.map(|plan| tls::Client::new(&settings(plan), host, sessions_max)).transpose();
        Ok(Route { to, tls: client.map_err(io::Error::other)? })
    }

    /// Begins to connect. A returning client may resume a TLS session.
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

/// Counts whether an established connection resumed a TLS session.
pub(crate) fn count(link: &Link, counts: &mut Counts) {
    match link.is_resumed() {
        Some(true) => counts.tls_resumed += 1,
        Some(false) => counts.tls_full += 1,
        None => {}
    }
}
