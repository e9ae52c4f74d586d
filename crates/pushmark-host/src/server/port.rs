//! Finds a free port for a server, outside the ephemeral range, because a client of the crowd could
//! otherwise take it.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use pushmark_net::limits;

/// Lowest port that needs no privilege, with room for well-known ones above it.
const LOWEST: u32 = 2_048;
/// Number of ports to try.
const TRIES: u32 = 4_096;

/// Advances through the ports, so that no two servers of this process get the same one.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port of 127.0.0.1 that is free now. Another process may take it before the server does: the server then
/// ends with its own message, which is shown.
pub fn free_port() -> io::Result<u16> {
    let (low, high) = limits::ephemeral_ports()?;
    let ports = candidates(low, high);
    // Two processes that start together begin at different places.
    let first = std::process::id().wrapping_mul(2_654_435_761) >> 8;
    for _ in 0..TRIES {
        let at = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (ports.1 - ports.0);
        let port = (ports.0 + at) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("no free port between {} and {}", ports.0, ports.1 - 1),
    ))
}

/// First port, and the one after the last: below the ephemeral range, or above it if that range extends down
/// to the privileged ports.
fn candidates(low: u16, high: u16) -> (u32, u32) {
    let (low, high) = (u32::from(low), u32::from(high));
    if low > LOWEST + 256 {
        (LOWEST.max(low.saturating_sub(12_000)), low)
    } else if high < 65_535 - 256 {
        (high + 1, 65_536)
    } else {
        // The ephemeral range covers everything: any port is equally good.
        (LOWEST, 65_536)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_free_new_and_not_ephemeral() {
        let (low, high) = limits::ephemeral_ports().unwrap();
        let (a, b) = (free_port().unwrap(), free_port().unwrap());
        assert_ne!(a, b);
        let outside = !(low..=high).contains(&a);
        assert!(outside || (u32::from(low) <= LOWEST + 256 && high >= 65_535 - 256));
        assert!(TcpListener::bind(("127.0.0.1", a)).is_ok());
    }

    #[test]
    fn the_range_is_avoided_wherever_it_lies() {
        assert_eq!(candidates(32_768, 60_999), (20_768, 32_768));
        assert_eq!(candidates(1_024, 60_999), (61_000, 65_536));
        assert_eq!(candidates(1_024, 65_535), (2_048, 65_536));
        assert_eq!(candidates(10_000, 65_535), (2_048, 10_000));
    }
}
