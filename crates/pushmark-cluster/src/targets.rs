//! Where an agent may send traffic. A coordinator cannot widen this: it is given where the agent is started.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use anyhow::bail;

/// An allow-list of targets. The agent's own machine is always allowed.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    allowed: Vec<Allowed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Allowed {
    Any,
    Net {
        address: IpAddr,
        bits: u8,
    },
    /// Resolved when it is asked for.
    Host(String),
}

impl Targets {
    /// Reads an allow-list: `any`, `10.0.0.0/8`, `192.0.2.7`, `push.example.com`.
    ///
    /// # Errors
    /// Fails if one is anything else.
    pub fn new(texts: &[String]) -> anyhow::Result<Targets> {
        let allowed = texts.iter().map(|text| Allowed::read(text)).collect::<anyhow::Result<_>>()?;
        Ok(Targets { allowed })
    }

    /// Returns whether it is only the agent's own machine.
    pub fn is_loopback_only(&self) -> bool {
        self.allowed.is_empty()
    }

    /// Returns the list as text.
    pub fn names(&self) -> Vec<String> {
        self.allowed.iter().map(Allowed::to_string).collect()
    }

    /// Returns whether traffic may go there.
    pub fn allow(&self, target: SocketAddr) -> bool {
        let ip = target.ip().to_canonical();
        ip.is_loopback() || self.allowed.iter().any(|allowed| allowed.allows(ip))
    }
}

impl Allowed {
    fn read(text: &str) -> anyhow::Result<Allowed> {
        if text == "any" {
            return Ok(Allowed::Any);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        match (address.parse::<IpAddr>(), bits) {
            (Ok(address), bits) => {
                let most = if address.is_ipv4() { 32 } else { 128 };
                let bits = bits.map_or(Some(most), |bits| bits.parse().ok().filter(|bits| *bits <= most));
                let Some(bits) = bits else { bail!("--allow {text}: 0 to {most} bits after the slash") };
                Ok(Allowed::Net { address, bits })
            }
            (Err(_), None) if is_host(text) => Ok(Allowed::Host(text.to_owned())),
            _ => bail!("--allow {text}: not an address, a network (10.0.0.0/8), a host or `any`"),
        }
    }

    fn allows(&self, ip: IpAddr) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Net { address, bits } => match (address, ip) {
                (IpAddr::V4(net), IpAddr::V4(ip)) => {
                    same(net.to_bits().into(), ip.to_bits().into(), 32, *bits)
                }
                (IpAddr::V6(net), IpAddr::V6(ip)) => same(net.to_bits(), ip.to_bits(), 128, *bits),
                _ => false,
            },
            Allowed::Host(host) => {
                let addresses = (host.as_str(), 0).to_socket_addrs();
                addresses.is_ok_and(|mut all| all.any(|address| address.ip().to_canonical() == ip))
            }
        }
    }
}

/// Whether two addresses of this length have the same first `bits`.
fn same(a: u128, b: u128, length: u32, bits: u8) -> bool {
    let rest = length - u32::from(bits);
    a.checked_shr(rest).unwrap_or(0) == b.checked_shr(rest).unwrap_or(0)
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Any => f.write_str("any"),
            Allowed::Net { address, bits } => write!(f, "{address}/{bits}"),
            Allowed::Host(host) => f.write_str(host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(list: &[&str], target: &str) -> bool {
        let texts: Vec<String> = list.iter().map(|text| (*text).to_owned()).collect();
        let target: IpAddr = target.parse().unwrap();
        Targets::new(&texts).unwrap().allow((target, 80).into())
    }

    #[test]
    fn without_a_list_only_this_machine_is_allowed() {
        for target in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(allows(&[], target), "{target}");
        }
        for target in ["10.0.0.1", "192.0.2.1", "2001:db8::1", "0.0.0.0", "::ffff:10.0.0.1"] {
            assert!(!allows(&[], target), "{target}");
            assert!(allows(&["any"], target), "{target}");
        }
    }

    #[test]
    fn a_network_ends_where_its_bits_do() {
        for (list, target, allowed) in [
            ("10.1.0.0/16", "10.1.255.255", true),
            ("10.1.0.0/16", "10.2.0.0", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("10.0.0.0/8", "::ffff:10.9.9.9", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db9::1", true),
            ("localhost", "10.0.0.1", false),
        ] {
            assert_eq!(allows(&[list], target), allowed, "{target} in {list}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0.0/x", "2001:db8::/129", "a b", "http://host", "10.0.0.0/8/8"]
        {
            assert!(Targets::new(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
