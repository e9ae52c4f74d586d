//! Writes answers as bytes: heads, and answers with their body.

use pushmark_proto::http1::write;

use crate::options::Page;

/// An answer with its complete body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    /// Complete header lines.
    pub(crate) extra: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) keep_alive: bool,
}

impl<'a> Reply<'a> {
    /// A JSON document.
    pub(crate) fn json(status: u16, body: &'a [u8], keep_alive: bool) -> Reply<'a> {
        Reply { status, content_type: "application/json", extra: "", body, keep_alive }
    }

    /// A page for browsers. The two fields isolate it from other sites' pages, so that its clock has a
    /// resolution of 5 µs instead of 100.
    pub(crate) fn page(page: &'a Page, keep_alive: bool) -> Reply<'a> {
        let extra =
            "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n";
        Reply { status: 200, content_type: page.content_type, extra, body: page.body.as_bytes(), keep_alive }
    }

    /// Appends the answer.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_head(out, self.body.len());
        out.extend_from_slice(self.body);
    }

    /// Appends the head for a body of this length, which the caller appends.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>, len: usize) {
        write::status_line(out, self.status);
        out.extend_from_slice(self.extra.as_bytes());
        if !self.keep_alive {
            write::header(out, "Connection", "close");
        }
        // RFC 9110 15.4.5: a 304 has no body, and a length in it would describe another answer.
        if self.status != 304 {
            write::header(out, "Content-Type", self.content_type);
            write::header(out, "Cache-Control", "no-store");
            write::header_number(out, "Content-Length", len as u64);
        }
        write::head_end(out);
        // Messages may be long, and growing a buffer copies it.
        out.reserve_exact(len);
    }
}

/// Appends the head of an endless body in chunks.
pub(crate) fn endless(out: &mut Vec<u8>, content_type: &str, extra: &str) {
    write::status_line(out, 200);
    out.extend_from_slice(extra.as_bytes());
    write::header(out, "Content-Type", content_type);
    write::header(out, "Cache-Control", "no-store");
    write::header(out, "Transfer-Encoding", "chunked");
    write::head_end(out);
}
