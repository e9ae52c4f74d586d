//! Names for what goes wrong with sockets.

use std::io;

/// The kind an error is counted under.
pub(crate) fn kind(error: &io::Error) -> &'static str {
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
