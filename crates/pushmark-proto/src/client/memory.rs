//! What a polling session keeps from answer to answer: cursor, ETag, cookies.

use super::config::{Config, CursorSource};
use crate::Failure;
use crate::http1::{Headers, write};

/// Longest cursor, and longest ETag, in bytes.
pub const CURSOR_MAX: usize = 1024;

/// Most bytes of cookies a client sends; what would go beyond is not kept.
const COOKIES_MAX: usize = 4 * 1024;

/// Boxed by its owner, and only once there is something to keep.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) cursor: String,
    etag: String,
    /// Ready for `Cookie:`, as `a=1; b=2`.
    cookies: String,
}

impl Memory {
    /// Takes what the head of an answer says. Gives whether the cursor moved.
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

    /// Keeps a cursor. Gives whether it differs from the one before.
    pub(super) fn advance(memory: &mut Option<Box<Memory>>, cursor: &[u8]) -> Result<bool, Failure> {
        if cursor.len() > CURSOR_MAX {
            return Err(Failure::Cursor("longer than 1 KiB"));
        }
        // It goes into the next request, and JSON can spell a line end.
        if cursor.iter().any(u8::is_ascii_control) {
            return Err(Failure::Cursor("a control character in it"));
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

    /// Appends the header fields that what was kept calls for.
    pub(super) fn write_headers(&self, config: &Config, out: &mut Vec<u8>) {
        if config.conditional && !self.etag.is_empty() {
            write::header(out, "If-None-Match", &self.etag);
        }
        if config.cookies && !self.cookies.is_empty() {
            write::header(out, "Cookie", &self.cookies);
        }
    }
}

/// Name and value; attributes are left out, because a session talks to one host for its life.
/// `Max-Age=0` (RFC 6265 5.2.2) gives an empty value, which deletes.
fn parse_cookie(set_cookie: &[u8]) -> Option<(&str, &str)> {
    let mut parts = std::str::from_utf8(set_cookie).ok()?.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let deleted = parts.any(|attribute| attribute.eq_ignore_ascii_case("max-age=0"));
    Some((name.trim(), if deleted { "" } else { value.trim() }))
}

/// Replaces a cookie. The one thing here that allocates; servers set cookies once a session.
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
