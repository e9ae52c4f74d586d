//! A request of the driver. The conversation adds the fields of its transport.

use crate::http1::{Headers, write};

/// A request in its parts, borrowed from the driver's templates.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// Such as `GET`.
    pub method: &'r str,
    /// `path?query`.
    pub target: &'r str,
    /// For `Host`: `name:port`.
    pub authority: &'r str,
    /// Complete lines, `Name: value\r\n` each. A field given here is not added again.
    pub headers: &'r str,
    /// Often empty. Bayeux: the array of channels to subscribe to ([`super::bayeux::write_channels`]), which
    /// the conversation puts into its own bodies.
    pub body: &'r [u8],
}

impl<'r> Request<'r> {
    /// A GET without additional header fields.
    pub fn get(target: &'r str, authority: &'r str) -> Request<'r> {
        Request { method: "GET", target, authority, headers: "", body: &[] }
    }

    /// Appends the request line, `Host` and the caller's fields.
    pub(super) fn write_start(&self, out: &mut Vec<u8>) {
        write::request_line(out, self.method, self.target);
        self.write_default(out, "Host", self.authority);
        out.extend_from_slice(self.headers.as_bytes());
        self.write_default(out, "Accept-Encoding", "identity");
    }

    /// Appends a field of the transport, unless the caller gave it.
    pub(super) fn write_default(&self, out: &mut Vec<u8>, name: &str, value: &str) {
        if Headers::new(self.headers.as_bytes()).find(name).is_none() {
            write::header(out, name, value);
        }
    }

    /// Appends the request line, the header fields, and a JSON body that `write` appends.
    pub(super) fn write_json(
        &self,
        out: &mut Vec<u8>,
        headers: impl FnOnce(&mut Vec<u8>),
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = out.len();
        write(out);
        let len = out.len() - start;
        let posted = Request { method: "POST", ..*self };
        posted.write_start(out);
        posted.write_default(out, "Content-Type", "application/json;charset=UTF-8");
        headers(out);
        write::header_number(out, "Content-Length", len as u64);
        write::head_end(out);
        // The body was written first to learn its length. It now moves behind the head.
        out[start..].rotate_left(len);
    }

    /// Appends the length, if there is a body or the method implies one (RFC 9110 8.6), and the body.
    pub(super) fn write_end(&self, out: &mut Vec<u8>) {
        if !self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH") {
            write::header_number(out, "Content-Length", self.body.len() as u64);
        }
        write::head_end(out);
        out.extend_from_slice(self.body);
    }
}
