//! Ports for servers that need a fixed port.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// Returns a free port below the range that the kernel assigns to clients, so that no connection of another
/// test takes it before the server does.
///
/// # Panics
/// If no port is free.
pub fn free() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|port| port.parse().ok()).unwrap_or(32_768);
    let (low, high) = (10_000, u16::max(first, 10_001));
    // Test binaries that run at the same time begin at different places.
    let start = std::process::id() as u16;
    for _ in low..high {
        let step = start.wrapping_mul(31).wrapping_add(NEXT.fetch_add(1, Relaxed));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, low + step % (high - low)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
    panic!("no port from {low} to {high} is free");
}
