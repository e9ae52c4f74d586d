//! HTTP/1.1 framing (RFC 9112) for both roles: parsing and writing of heads and bodies.
//!
//! Heads are parsed by `httparse`. Bodies are parsed here, because a chunk, a segment and a message are
//! different things, and each is timed.

pub mod body;
pub mod headers;
pub mod length;
pub mod request;
pub mod response;
pub mod write;

pub use body::{BodyDecoder, BodyEvent};
pub use headers::Headers;
pub use length::BodyLength;
pub use request::RequestHead;
pub use response::ResponseHead;

use crate::Failure;

/// The default limit of a head.
pub const HEAD_MAX: usize = 16 * 1024;

/// The most header fields in a head.
pub const HEADERS_MAX: usize = 64;

fn head_failure(error: httparse::Error) -> Failure {
    Failure::Head(match error {
        httparse::Error::HeaderName => "header name",
        httparse::Error::HeaderValue => "header value",
        httparse::Error::NewLine => "line end",
        httparse::Error::Status => "status",
        httparse::Error::Token => "token",
        httparse::Error::TooManyHeaders => "more than 64 headers",
        httparse::Error::Version => "not HTTP/1.x",
    })
}

/// The header lines of a complete, already validated head.
fn header_lines(head: &[u8]) -> &[u8] {
    // RFC 9112 2.2: empty lines before the start line are skipped.
    let start = head.iter().position(|b| !matches!(b, b'\r' | b'\n')).unwrap_or(head.len());
    let line = memchr::memchr(b'\n', &head[start..]).map_or(head.len(), |n| start + n + 1);
    &head[line..]
}
