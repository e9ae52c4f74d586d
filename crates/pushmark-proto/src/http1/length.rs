//! The length of a body by RFC 9112 6.3, strict where two readers could disagree.

use super::Headers;
use crate::Failure;

/// What ends a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// There is no body.
    None,
    /// `Content-Length` bytes.
    Sized(u64),
    /// The chunk of size zero.
    Chunked,
    /// The end of the connection (responses only).
    UntilClose,
}

/// Returns the body length of a request. RFC 9112 6.3: a request with both lengths is an attack.
pub fn of_request(minor: u8, headers: Headers<'_>) -> Result<BodyLength, Failure> {
    let length = content_length(headers)?;
    match transfer_coding(minor, headers)? {
        Coding::None => Ok(length.map_or(BodyLength::None, BodyLength::Sized)),
        Coding::Chunked if length.is_none() => Ok(BodyLength::Chunked),
        Coding::Chunked => Err(Failure::Head("both Content-Length and Transfer-Encoding")),
        Coding::Other => Err(Failure::Head("request whose last coding is not chunked")),
    }
}

/// Returns the body length of a response to any method except HEAD and CONNECT. `Transfer-Encoding` overrides
/// `Content-Length`; [`super::ResponseHead`] then forbids reuse of the connection.
pub fn of_response(status: u16, minor: u8, headers: Headers<'_>) -> Result<BodyLength, Failure> {
    if matches!(status, 100..200 | 204 | 304) {
        return Ok(BodyLength::None);
    }
    let length = content_length(headers)?;
    Ok(match transfer_coding(minor, headers)? {
        Coding::Chunked => BodyLength::Chunked,
        Coding::Other => BodyLength::UntilClose,
        Coding::None => length.map_or(BodyLength::UntilClose, BodyLength::Sized),
    })
}

enum Coding {
    None,
    Chunked,
    /// `identity`, which RFC 2616 defined and some old servers still send.
    Other,
}

fn transfer_coding(minor: u8, headers: Headers<'_>) -> Result<Coding, Failure> {
    let mut coding = Coding::None;
    for member in headers.list("transfer-encoding") {
        coding = match coding {
            Coding::Chunked => return Err(Failure::Head("a coding after chunked")),
            _ if member.eq_ignore_ascii_case(b"chunked") => Coding::Chunked,
            _ if member.eq_ignore_ascii_case(b"identity") => Coding::Other,
            _ => return Err(Failure::Compressed),
        };
    }
    match coding {
        Coding::None => Ok(coding),
        // RFC 9112 6.1: HTTP/1.0 has no Transfer-Encoding, so the framing cannot be trusted.
        _ if minor == 0 => Err(Failure::Head("Transfer-Encoding in HTTP/1.0")),
        _ => Ok(coding),
    }
}

fn content_length(headers: Headers<'_>) -> Result<Option<u64>, Failure> {
    let mut length = None;
    for value in headers.all("content-length") {
        // A list of equal values is one value. A proxy that joins repeated fields creates such a list.
        for member in value.split(|&b| b == b',') {
            let this = decimal(member.trim_ascii()).ok_or(Failure::Head("bad Content-Length"))?;
            if length.is_some_and(|seen| seen != this) {
                return Err(Failure::Head("two different Content-Lengths"));
            }
            length = Some(this);
        }
    }
    Ok(length)
}

/// Digits only: no sign, no space, at most `u64::MAX`.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
