//! Names for what goes wrong with sockets.

use std::io;

use pushmark_net::tls;

/// The kind an error is counted under.
pub(crate) fn kind(error: &io::Error) -> &'static str {
    if let Some(trouble) = tls::Trouble::of(error) {
        return trouble.kind();
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            "reset"
        }
        io::ErrorKind::TimedOut => "timeout_connect",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "unreachable",
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse => "no_port",
        // EMFILE and ENFILE have no kind of their own.
        _ if matches!(error.raw_os_error(), Some(23 | 24)) => "no_descriptor",
        _ => "io",
    }
}

/// Whether an error of this kind is the target's doing, or the network's: not a want of our own system,
/// and none whose reason is not known.
pub(crate) fn is_theirs(kind: &str) -> bool {
    !matches!(kind, "no_port" | "no_descriptor" | "io")
}

/// Most bytes of an answer that are shown.
pub(crate) const SHOWN_MAX: usize = 300;

/// The beginning of what a target said, on one line: `HTTP/1.1 302 Found | Location: /login`.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]);
    let lines: Vec<String> =
        text.lines().filter(|line| !line.is_empty()).map(|line| line.escape_debug().to_string()).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_one_readable_line() {
        let head = b"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\ngo\x07 away";
        assert_eq!(shown(head), "HTTP/1.1 302 Found | Location: /login | go\\u{7} away");
        assert_eq!(shown(b""), "nothing");
        assert_eq!(shown(&[b'x'; 999]).len(), SHOWN_MAX);
    }
}
