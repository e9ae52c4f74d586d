//! Writes event streams, as a server does.

use crate::http1::write::decimal;

/// `id: …`. Goes before the data of its event. The caller guarantees that it contains no line end and no NUL.
pub fn id(out: &mut Vec<u8>, id: &[u8]) {
    line(out, b"id: ", id);
}

/// `event: …`, the type of the event that follows.
pub fn name(out: &mut Vec<u8>, name: &[u8]) {
    line(out, b"event: ", name);
}

/// `retry: …`, the pause before a reconnection.
pub fn retry(out: &mut Vec<u8>, ms: u64) {
    out.extend_from_slice(b"retry: ");
    decimal(out, ms);
    out.push(b'\n');
}

/// A comment line: the heartbeat of a stream. It must not contain a line end.
pub fn comment(out: &mut Vec<u8>, text: &[u8]) {
    line(out, b": ", text);
}

/// Appends the data and the blank line that dispatches it. Each line of the data becomes a field. CR and CRLF
/// arrive as LF, because the format cannot represent them.
pub fn data(out: &mut Vec<u8>, mut data: &[u8]) {
    while let Some(end) = memchr::memchr2(b'\r', b'\n', data) {
        line(out, b"data: ", &data[..end]);
        let crlf = data[end..].starts_with(b"\r\n");
        data = &data[end + 1 + usize::from(crlf)..];
    }
    line(out, b"data: ", data);
    out.push(b'\n');
}

fn line(out: &mut Vec<u8>, field: &[u8], value: &[u8]) {
    out.extend_from_slice(field);
    out.extend_from_slice(value);
    out.push(b'\n');
}
