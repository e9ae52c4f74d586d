//! The head of a response, as a client reads it.

use std::mem::MaybeUninit;

use super::{BodyLength, HEADERS_MAX, Headers, head_failure, header_lines, length};
use crate::{Failure, input};

/// A complete response head. Borrows from the bytes it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// 100 to 999.
    pub status: u16,
    /// 0 or 1: the minor version of HTTP/1.x.
    pub minor: u8,
    /// The header fields.
    pub headers: Headers<'a>,
    /// How the body ends.
    pub body: BodyLength,
    /// Whether the connection may carry another request once the body has ended (RFC 9112 9.3).
    pub keep_alive: bool,
}

impl<'a> ResponseHead<'a> {
    /// Parses a head of at most `head_max` bytes. Returns it with its length, or `None` if it is incomplete.
    pub fn parse(bytes: &'a [u8], head_max: usize) -> Result<Option<(ResponseHead<'a>, usize)>, Failure> {
        // Only this window is read, so that the result does not depend on how the bytes arrive.
        let window = &bytes[..bytes.len().min(head_max)];
        if window.first() == Some(&0) {
            // No head begins so. A server of HTTP/2 begins with its settings, whatever it was asked.
            match window.get(..SETTINGS.len()) {
                None => return Ok(None),
                Some(start) if is_settings(start) => return Err(Failure::Http2),
                Some(_) => {}
            }
        }
        let mut slots = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let len = match config.parse_response_with_uninit_headers(&mut parsed, window, &mut slots) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if window.len() == head_max => {
                return Err(Failure::HeadTooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(head_failure(error)),
        };
        let (Some(status), Some(minor)) = (parsed.code, parsed.version) else {
            return Err(Failure::Head("status line"));
        };
        if status < 100 {
            return Err(Failure::Head("status"));
        }
        let headers = Headers::new(header_lines(&window[..len]));
        let body = length::of_response(status, minor, headers)?;
        // Both lengths are present: the chunks are used, and the connection is not reused (RFC 9112 6.1).
        let ambiguous = body == BodyLength::Chunked && headers.find("content-length").is_some();
        let keep_alive = keeps_alive(minor, headers) && body != BodyLength::UntilClose && !ambiguous;
        Ok(Some((ResponseHead { status, minor, headers, body, keep_alive }, len)))
    }

    /// Takes a head off the front of `input`. Returns `None` and takes nothing if it is incomplete.
    pub fn take(input: &mut &'a mut [u8], head_max: usize) -> Result<Option<ResponseHead<'a>>, Failure> {
        let Some((head, len)) = ResponseHead::parse(input, head_max)? else {
            return Ok(None);
        };
        // The same head, borrowed for the lifetime of the buffer: the lines run to its end.
        let lines_start = len - head.headers.lines_len();
        let (status, minor, body, keep_alive) = (head.status, head.minor, head.body, head.keep_alive);
        let taken: &'a [u8] = input::take(input, len);
        let headers = Headers::new(&taken[lines_start..]);
        Ok(Some(ResponseHead { status, minor, headers, body, keep_alive }))
    }

    /// Returns whether the content is coded in spite of `Accept-Encoding: identity` (RFC 9110 8.4).
    pub fn compressed(&self) -> bool {
        self.headers.list("content-encoding").any(|coding| !coding.eq_ignore_ascii_case(b"identity"))
    }
}

/// The head of a frame with settings (RFC 9113 4.1, 6.5), apart from its length.
const SETTINGS: [u8; 9] = [0, 0, 0, 0x04, 0, 0, 0, 0, 0];

fn is_settings(start: &[u8]) -> bool {
    // The length is a multiple of six, and small.
    start[0] == 0 && start[2].is_multiple_of(6) && start[3..] == SETTINGS[3..]
}

/// RFC 9112 9.3: `close` ends the connection, HTTP/1.1 is persistent by default, HTTP/1.0 only on request.
pub(super) fn keeps_alive(minor: u8, headers: Headers<'_>) -> bool {
    !headers.has_token("connection", "close") && (minor >= 1 || headers.has_token("connection", "keep-alive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_http2_is_told_however_it_is_cut() {
        let settings = b"\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\0\xff\xff";
        for len in 1..9 {
            assert_eq!(ResponseHead::parse(&settings[..len], 1_000), Ok(None), "{len}");
        }
        assert_eq!(ResponseHead::parse(settings, 1_000), Err(Failure::Http2));
        let other = b"\0\0\x0c\x01\0\0\0\0\0";
        assert!(matches!(ResponseHead::parse(other, 1_000), Err(Failure::Head(_))));
    }
}
