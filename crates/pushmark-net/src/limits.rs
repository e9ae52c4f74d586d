//! The limits of this machine, read at run time.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Returns the soft and the hard limit of open files of this process. `u64::MAX` means no limit.
pub fn open_files() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Raises the soft limit to the hard limit and returns it.
pub fn raise_open_files() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(open_files().0)
}

/// Returns the first and the last port that the kernel assigns to outgoing connections. The range limits the
/// connections from one source address to one remote.
pub fn ephemeral_ports() -> io::Result<(u16, u16)> {
    let path = "/proc/sys/net/ipv4/ip_local_port_range";
    let text = std::fs::read_to_string(path)?;
    let mut ports = text.split_ascii_whitespace().map(str::parse);
    match (ports.next(), ports.next()) {
        (Some(Ok(low)), Some(Ok(high))) => Ok((low, high)),
        _ => Err(unexpected(path, &text)),
    }
}

/// Returns the kernel's limit of waiting connections, which bounds every listener's backlog.
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
