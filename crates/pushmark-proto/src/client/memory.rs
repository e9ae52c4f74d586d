//! State that a polling session keeps between responses: cursor, ETag, cookies.

use super::config::{Config, CursorSource};
use crate::Failure;
use crate::http1::{Headers, write};

/// Longest cursor, and longest ETag, in bytes.
pub const CURSOR_MAX: usize = 1024;

/// The most bytes of cookies that a client sends. Further cookies are not kept.
const COOKIES_MAX: usize = 4 * 1024;

/// Its owner boxes it, and only once there is something to keep.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) cursor: String,
    etag: String,
    /// Ready for `Cookie:`, as `a=1; b=2`.
    cookies: String,
}

impl Memory {
    /// Reads the head of a response. Returns whether the cursor moved.
    pub(super) fn learn(
        memory: &mut Option<Box<Memory>>,
        config: &Config,
        headers: Headers<'_>,
    ) -> Result<bool, Failure> {
        if config.conditional
            && let Some(etag) = headers.text("etag")
            && etag.len() <= CURSOR_MAX
        {
            let kept = &mut memory.get_or_insert_default().etag;
            kept.clear();
            kept.push_str(etag);
        }
        if config.cookies {
            for cookie in headers.all("set-cookie") {
                if let Some((name, value)) = parse_cookie(cookie) {
                    set_cookie(&mut memory.get_or_insert_default().cookies, name, value);
                }
            }
        }
        match &config.cursor {
            CursorSource::Header(name) => match headers.find(name) {
                Some(cursor) => Memory::advance(memory, cursor),
                None => Ok(false),
            },
            CursorSource::None | CursorSource::Json(_) => Ok(false),
        }
    }

    /// Stores a cursor. Returns whether it differs from the previous one.
    pub(super) fn advance(memory: &mut Option<Box<Memory>>, cursor: &[u8]) -> Result<bool, Failure> {
        if cursor.len() > CURSOR_MAX {
            return Err(Failure::Cursor("longer than 1 KiB"));
        }
        // It is part of the next request, and JSON can encode a line end.
        if cursor.iter().any(u8::is_ascii_control) {
            return Err(Failure::Cursor("it contains a control character"));
        }
        let cursor = std::str::from_utf8(cursor).map_err(|_| Failure::Cursor("not UTF-8"))?;
        let kept = &mut memory.get_or_insert_default().cursor;
        if kept == cursor {
            return Ok(false);
        }
        kept.clear();
        kept.push_str(cursor);
        Ok(true)
    }

    /// Appends the header fields for the stored state.
    pub(super) fn write_headers(&self, config: &Config, out: &mut Vec<u8>) {
        if config.conditional && !self.etag.is_empty() {
            write::header(out, "If-None-Match", &self.etag);
        }
        if config.cookies && !self.cookies.is_empty() {
            write::header(out, "Cookie", &self.cookies);
        }
    }
}

/// Returns name and value. Attributes are ignored, because a session uses one host only. `Max-Age=0` (RFC
/// 6265 5.2.2) returns an empty value, which deletes the cookie.
fn parse_cookie(set_cookie: &[u8]) -> Option<(&str, &str)> {
    let mut parts = std::str::from_utf8(set_cookie).ok()?.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let deleted = parts.any(|attribute| attribute.eq_ignore_ascii_case("max-age=0"));
    Some((name.trim(), if deleted { "" } else { value.trim() }))
}

/// Replaces a cookie. Nothing else here allocates; servers set cookies once a session.
fn set_cookie(cookies: &mut String, name: &str, value: &str) {
    let others = cookies
        .split("; ")
        .filter(|pair| pair.split_once('=').is_some_and(|(kept, _)| kept != name))
        .collect::<Vec<_>>();
    let mut next = others.join("; ");
    if !value.is_empty() {
        if !next.is_empty() {
            next.push_str("; ");
        }
        next.push_str(name);
        next.push('=');
        next.push_str(value);
    }
    if next.len() <= COOKIES_MAX {
        *cookies = next;
    }
}
