//! The head of a request, as a server reads it.

use std::mem::MaybeUninit;

use super::{BodyLength, HEAD_MAX, HEADERS_MAX, Headers, head_failure, header_lines, length};
use crate::Failure;

/// A complete request head. Borrows from the bytes it was read from.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// As sent: methods are case-sensitive.
    pub method: &'a str,
    /// As sent. Our clients send `path?query`.
    pub target: &'a str,
    /// 0 or 1: the minor version of HTTP/1.x.
    pub minor: u8,
    /// The header fields.
    pub headers: Headers<'a>,
    /// How the body ends.
    pub body: BodyLength,
    /// Whether the connection may carry another request after this one (RFC 9112 9.3).
    pub keep_alive: bool,
}

impl<'a> RequestHead<'a> {
    /// Parses a head of at most [`HEAD_MAX`] bytes. Returns it with its length, or `None` if it is
    /// incomplete.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(RequestHead<'a>, usize)>, Failure> {
        // Only this window is read, so that the result does not depend on how the bytes arrive.
        let window = &bytes[..bytes.len().min(HEAD_MAX)];
        let mut slots = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut []);
        let len = match parsed.parse_with_uninit_headers(window, &mut slots) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if window.len() == HEAD_MAX => {
                return Err(Failure::HeadTooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(head_failure(error)),
        };
        let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
            return Err(Failure::Head("request line"));
        };
        let headers = Headers::new(header_lines(&window[..len]));
        let keep_alive = super::response::keeps_alive(minor, headers);
        let body = length::of_request(minor, headers)?;
        Ok(Some((RequestHead { method, target, minor, headers, body, keep_alive }, len)))
    }

    /// Returns the part of the target before `?`.
    pub fn path(&self) -> &'a str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// Returns the part of the target after `?`, or an empty string.
    pub fn query(&self) -> &'a str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}
