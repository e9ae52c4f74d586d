//! Source addresses: one address reaches one target as often as there are ephemeral ports;
//! on the loopback device there are 16 million addresses to go on with.

use std::net::{IpAddr, Ipv4Addr};

/// Share of the ports of a source that is used: beyond it the kernel's search for a free one
/// takes longer with each connect, and others of this machine need some too.
const FILL: f64 = 0.8;
/// Share of them after which another source is taken where there is one. The kernel gives out
/// every other port first: beyond half, each connect looks through all of that half in vain,
/// some 2 ms at 14,000 ports, and a crowd of 15,000 opens at half the speed.
const EASY_FILL: f64 = 0.45;
/// Most sources given out.
const SOURCES_MAX: u64 = 16_384;

/// Connections one source address carries to one target.
pub(super) fn per_source(ports: (u16, u16)) -> u64 {
    share(ports, FILL)
}

fn share((low, high): (u16, u16), fill: f64) -> u64 {
    let all = u64::from(high.saturating_sub(low)) + 1;
    ((all as f64 * fill) as u64).max(1)
}

/// The sources that so many connections to a target need, given the ephemeral range (both ends
/// included). Empty where the system's own choice is enough, and where there is nothing to
/// choose from: only targets in 127.0.0.0/8 can be reached from more addresses than we have.
pub fn sources_for(connections: u64, ports: (u16, u16), target: IpAddr) -> Vec<IpAddr> {
    let needed = connections.div_ceil(share(ports, EASY_FILL));
    match target {
        IpAddr::V4(v4) if v4.is_loopback() && needed > 1 => {
            (0..needed.min(SOURCES_MAX)).map(|n| IpAddr::V4(loopback(n as u32))).collect()
        }
        _ => Vec::new(),
    }
}

/// 127.0.0.1 to 127.0.0.254, 127.0.1.1 and so on: never an address that ends in 0 or 255.
fn loopback(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 0, 0, 0)) + (n / 254) * 256 + n % 254 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: (u16, u16) = (32_768, 60_999);

    fn to(connections: u64, target: &str) -> Vec<String> {
        let sources = sources_for(connections, PORTS, target.parse().unwrap());
        sources.iter().map(IpAddr::to_string).collect()
    }

    #[test]
    fn sources_come_when_ports_run_out() {
        assert_eq!(per_source(PORTS), 22_585);
        assert!(to(12_704, "127.0.0.1").is_empty());
        assert_eq!(to(12_705, "127.0.0.1"), ["127.0.0.1", "127.0.0.2"]);
        assert_eq!(to(100_000, "127.0.0.1").len(), 8);
    }

    #[test]
    fn only_the_loopback_device_has_more_addresses() {
        assert!(to(100_000, "::1").is_empty());
        assert!(to(100_000, "192.0.2.1").is_empty());
    }

    #[test]
    fn many_sources_leave_out_network_and_broadcast() {
        let sources = sources_for(1_000_000, (50_000, 50_999), "127.0.0.1".parse().unwrap());
        assert_eq!(sources.len(), 2_223);
        assert_eq!([253, 254].map(|n| sources[n].to_string()), ["127.0.0.254", "127.0.1.1"]);
        let mut unique = sources.clone();
        unique.dedup();
        assert_eq!(unique, sources);
    }
}
