//! The addresses of this machine.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the addresses of this machine's interfaces in this network namespace, loopback and link-local ones left
/// out (proc(5), `/proc/net/fib_trie` and `/proc/net/if_inet6`).
pub fn own() -> Vec<IpAddr> {
    let four = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let six = fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    let mut all: Vec<IpAddr> = v4(&four).into_iter().map(IpAddr::V4).collect();
    all.extend(v6(&six).into_iter().map(IpAddr::V6));
    all.sort();
    all.dedup();
    all
}

/// An address stands in a line of its own; the next says what it is.
fn v4(trie: &str) -> Vec<Ipv4Addr> {
    let mut last = None;
    let mut all = Vec::new();
    for line in trie.lines() {
        match line.trim().strip_prefix("|-- ") {
            Some(address) => last = address.parse::<Ipv4Addr>().ok(),
            None if line.contains("/32 host LOCAL") => all.extend(last),
            None => {}
        }
    }
    all.retain(|address| !address.is_loopback());
    all
}

fn v6(table: &str) -> Vec<Ipv6Addr> {
    let address = |line: &str| u128::from_str_radix(line.split_whitespace().next()?, 16).ok();
    let all = table.lines().filter_map(address).map(Ipv6Addr::from);
    all.filter(|address| !address.is_loopback() && !address.is_unicast_link_local()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_interfaces() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.2.0\n        /24 link UNICAST\n     |-- 10.1.2.3\n        \
                    /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
        assert_eq!(v4(trie), [Ipv4Addr::new(10, 1, 2, 3)]);
        let table = "fe800000000000000042acfffe110002 02 40 20 80 eth0\n\
                     00000000000000000000000000000001 01 80 10 80 lo\n\
                     20010db8000000000000000000000007 02 40 00 80 eth0\n";
        assert_eq!(v6(table), ["2001:db8::7".parse::<Ipv6Addr>().unwrap()]);
        assert!(own().iter().all(|address| !address.is_loopback()));
    }
}
