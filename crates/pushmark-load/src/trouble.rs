//! Names for socket errors and other failures.

use std::io;

use pushmark_net::tls;
use pushmark_proto::Failure;

/// Returns the kind under which an error is counted.
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
        // EMFILE and ENFILE have no `ErrorKind`.
        _ if matches!(error.raw_os_error(), Some(23 | 24)) => "no_descriptor",
        _ => "io",
    }
}

/// Returns how a connection ended that was counted under this kind, in the transport's words.
pub(crate) fn how(kind: &str) -> String {
    match kind {
        "closed" => "end of stream".into(),
        "closed_early" => "end of stream in the middle".into(),
        "refused" => "connection refused".into(),
        "timeout_connect" => "no connection in time".into(),
        "timeout_tls" => "no TLS handshake in time".into(),
        "timeout_handshake" => "no answer in time".into(),
        "timeout_answer" => "no whole answer in time".into(),
        "timeout_ready" => "the ready text did not come in time".into(),
        "timeout_before" => "a request before the subscription had no answer in time".into(),
        "no_capture" => "an answer before the subscription lacked a value".into(),
        "timeout_step" => "a message that a step awaits did not come in time".into(),
        "timeout_idle" => "silence beyond the idle time-out".into(),
        kind => kind.replace('_', " "),
    }
}

/// As [`how`], for what a target answered.
pub(crate) fn how_of(failure: &Failure) -> String {
    match failure {
        Failure::Redirect(status) | Failure::Auth(status) | Failure::Status(status) => {
            format!("HTTP {status}")
        }
        Failure::ClosedEarly => how(failure.kind()),
        failure => failure.to_string(),
    }
}

/// Whether the target or the network caused an error of this kind. It is `false` if this system lacks a
/// resource, or if the cause is unknown.
pub(crate) fn is_theirs(kind: &str) -> bool {
    !matches!(kind, "no_port" | "no_descriptor" | "io")
}

/// Most bytes of an answer that are shown.
pub(crate) const SHOWN_MAX: usize = 300;

/// Shown in place of no bytes.
pub(crate) const NOTHING: &str = "nothing";

/// Returns the beginning of what a target sent, on one line: `HTTP/1.1 302 Found | Location: /login`.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]);
    let lines: Vec<String> =
        text.lines().filter(|line| !line.is_empty()).map(|line| line.escape_debug().to_string()).collect();
    if lines.is_empty() { NOTHING.to_owned() } else { lines.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_in_the_words_of_the_transport() {
        assert_eq!(how_of(&Failure::Auth(401)), "HTTP 401");
        assert_eq!(how_of(&Failure::ClosedEarly), "end of stream in the middle");
        assert_eq!((how("reset").as_str(), how("tls_alert").as_str()), ("reset", "tls alert"));
    }

    #[test]
    fn what_came_is_one_readable_line() {
        let head = b"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\ngo\x07 away";
        assert_eq!(shown(head), "HTTP/1.1 302 Found | Location: /login | go\\u{7} away");
        assert_eq!(shown(b""), "nothing");
        assert_eq!(shown(&[b'x'; 999]).len(), SHOWN_MAX);
    }
}
