//! Appends heads and chunks to a buffer of the caller.
//!
//! No formatting machinery: a server's response or a client's request takes a few copies.

/// `METHOD target HTTP/1.1`.
pub fn request_line(out: &mut Vec<u8>, method: &str, target: &str) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

/// `HTTP/1.1 status reason`.
pub fn status_line(out: &mut Vec<u8>, status: u16) {
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// `Name: value`. The caller guarantees that neither contains a line end.
pub fn header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// `Name: number`.
pub fn header_number(out: &mut Vec<u8>, name: &str, value: u64) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    decimal(out, value);
    out.extend_from_slice(b"\r\n");
}

/// The blank line after the header fields.
pub fn head_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// One chunk (RFC 9112 7.1). Empty data writes nothing: it would be the last chunk.
pub fn chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    hex(out, data.len() as u64);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// The chunk that ends a body, without trailers.
pub fn last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// A number in decimal digits.
pub fn decimal(out: &mut Vec<u8>, value: u64) {
    digits::<10>(out, value);
}

/// A number in lower-case hexadecimal digits.
pub fn hex(out: &mut Vec<u8>, value: u64) {
    digits::<16>(out, value);
}

fn digits<const BASE: u64>(out: &mut Vec<u8>, mut value: u64) {
    let mut text = [0; 20]; // u64::MAX has twenty decimal digits
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b"0123456789abcdef"[(value % BASE) as usize];
        value /= BASE;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[at..]);
}

/// The usual phrase, or an empty one for a status that is not used here (RFC 9112 4 allows that).
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}
