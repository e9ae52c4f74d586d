//! Resolves host names to addresses: once, before anything is measured or checked.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::Context as _;

/// The address of a host, IPv6 without brackets.
///
/// # Errors
/// Fails if the name has no address or cannot be looked up.
pub fn host(host: &str, port: u16) -> anyhow::Result<SocketAddr> {
    let addresses = (host, port).to_socket_addrs().with_context(|| format!("{host} cannot be resolved"))?;
    let mut addresses: Vec<SocketAddr> = addresses.collect();
    // IPv4 first if a name has both: local targets listen there more often.
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().with_context(|| format!("{host} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_this_host_is_resolved_to_ipv4() {
        assert_eq!(host("localhost", 80).unwrap().to_string(), "127.0.0.1:80");
        assert_eq!(host("::1", 80).unwrap().to_string(), "[::1]:80");
    }

    #[test]
    fn a_name_that_does_not_exist_is_told() {
        assert!(host("no-such-host.invalid", 80).unwrap_err().to_string().contains("no-such-host.invalid"));
    }
}
