//! What this machine allows: read at run time, never assumed.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors this process may hold: the limit in force, and the most it may be raised to.
/// `u64::MAX` where there is none.
pub fn open_files() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Raises the limit in force to the most allowed; returns it.
pub fn raise_open_files() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(open_files().0)
}

/// First and last port the kernel gives to outgoing connections: each source address reaches
/// one remote at most that many times.
pub fn ephemeral_ports() -> io::Result<(u16, u16)> {
    let path = "/proc/sys/net/ipv4/ip_local_port_range";
    let text = std::fs::read_to_string(path)?;
    let mut ports = text.split_ascii_whitespace().map(str::parse);
    match (ports.next(), ports.next()) {
        (Some(Ok(low)), Some(Ok(high))) => Ok((low, high)),
        _ => Err(unexpected(path, &text)),
    }
}

/// Most connections a listener lets wait, whatever backlog it asks for.
pub fn somaxconn() -> io::Result<u32> {
    let path = "/proc/sys/net/core/somaxconn";
    let text = std::fs::read_to_string(path)?;
    text.trim().parse().map_err(|_| unexpected(path, &text))
}

fn unexpected(path: &str, text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} holds {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_limits() {
        let (soft, hard) = open_files();
        assert!(0 < soft && soft <= hard);
        assert_eq!(raise_open_files().unwrap(), hard);
        let (low, high) = ephemeral_ports().unwrap();
        assert!(low < high);
        assert!(somaxconn().unwrap() > 0);
    }
}
