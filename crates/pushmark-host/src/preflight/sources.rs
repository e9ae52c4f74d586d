//! Source addresses. The number of connections from one address to one target is limited by the ephemeral
//! ports. The loopback device has 16 million addresses.

use std::net::{IpAddr, Ipv4Addr};

/// Share of the ports of a source that is used. Beyond it the kernel searches longer for a free port with
/// each connect, and other programs need ports too.
const FILL: f64 = 0.8;
/// Share of the ports after which the next source is used, if there is one. The kernel assigns every
/// second port first. Beyond half, each connect searches that half in vain, which takes about 2 ms at
/// 14,000 ports, and a crowd of 15,000 connects at half the speed.
const EASY_FILL: f64 = 0.45;
/// Maximum number of sources.
const SOURCES_MAX: u64 = 16_384;

/// Returns the number of connections from one source address to one target.
pub(super) fn per_source(ports: (u16, u16)) -> u64 {
    share(ports, FILL)
}

fn share((low, high): (u16, u16), fill: f64) -> u64 {
    let all = u64::from(high.saturating_sub(low)) + 1;
    ((all as f64 * fill) as u64).max(1)
}

/// Returns the sources that this number of connections to a target needs, for the ephemeral range (both
/// ends included). Empty if the system's choice is enough, or if there is no choice: only targets in
/// 127.0.0.0/8 can be reached from other addresses than those of this machine.
pub fn sources_for(connections: u64, ports: (u16, u16), target: IpAddr) -> Vec<IpAddr> {
    let needed = connections.div_ceil(share(ports, EASY_FILL));
    match target {
        IpAddr::V4(v4) if v4.is_loopback() && needed > 1 => {
            (0..needed.min(SOURCES_MAX)).map(|n| IpAddr::V4(loopback(n as u32))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns 127.0.0.1 to 127.0.0.254, 127.0.1.1 and so on, without addresses that end in 0 or 255.
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
