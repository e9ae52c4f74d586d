//! Answers as bytes: heads of this server, and answers with their body.

use pushmark_proto::http1::write;

use crate::options::Page;

/// An answer with its whole body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    /// Ready header lines.
    pub(crate) extra: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) keep_alive: bool,
}

impl<'a> Reply<'a> {
    /// A JSON document.
    pub(crate) fn json(status: u16, body: &'a [u8], keep_alive: bool) -> Reply<'a> {
        Reply { status, content_type: "application/json", extra: "", body, keep_alive }
    }

    /// A page for browsers. The two fields make it one that nobody else's page shares a process
    /// with, which gives it a clock of 5 µs instead of 100.
    pub(crate) fn page(page: &'a Page, keep_alive: bool) -> Reply<'a> {
        let extra =
            "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n";
        Reply { status: 200, content_type: page.content_type, extra, body: page.body.as_bytes(), keep_alive }
    }

    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        write::status_line(out, self.status);
        out.extend_from_slice(self.extra.as_bytes());
        if !self.keep_alive {
            write::header(out, "Connection", "close");
        }
        // RFC 9110 15.4.5: a 304 has no body, and a length in it would be another answer's.
        if self.status != 304 {
            write::header(out, "Content-Type", self.content_type);
            write::header(out, "Cache-Control", "no-store");
            write::header_number(out, "Content-Length", self.body.len() as u64);
        }
        write::head_end(out);
        out.extend_from_slice(self.body);
    }
}

/// Appends the head of a body without end, in chunks.
pub(crate) fn endless(out: &mut Vec<u8>, content_type: &str, extra: &str) {
    write::status_line(out, 200);
    out.extend_from_slice(extra.as_bytes());
    write::header(out, "Content-Type", content_type);
    write::header(out, "Cache-Control", "no-store");
    write::header(out, "Transfer-Encoding", "chunked");
    write::head_end(out);
}
