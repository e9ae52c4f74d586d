//! JSON (RFC 8259) in place: checked once, then read without copying.
//!
//! A Bayeux message has few members, and its `data` is not parsed. A tree of values would be built and thrown
//! away.

use std::borrow::Cow;
use std::fmt;

/// The deepest nesting of arrays and objects.
pub const DEPTH_MAX: usize = 64;

/// Why a text is not JSON, or not a body of Bayeux messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Bytes before the error.
    pub at: usize,
    /// The error.
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for Malformed {}

/// One value of a checked text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    text: &'a str,
}

impl<'a> Value<'a> {
    /// Checks a whole text. Only white space may surround the value.
    pub fn parse(bytes: &'a [u8]) -> Result<Value<'a>, Malformed> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Malformed { at: error.valid_up_to(), what: "not UTF-8" })?;
        let mut check = Check { bytes, at: 0 };
        check.space();
        let start = check.at;
        check.value(0)?;
        let end = check.at;
        check.space();
        if check.at < bytes.len() {
            return Err(check.wrong("more than one value"));
        }
        Ok(Value { text: &text[start..end] })
    }

    /// Returns the value as written.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Returns a string with its escapes resolved; borrowed if it has none.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inside = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(match inside.contains('\\') {
            false => Cow::Borrowed(inside),
            true => Cow::Owned(unescape(inside)),
        })
    }

    /// `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        self.text.parse().ok()
    }

    /// Returns a number, truncated to an integer.
    pub fn as_i64(self) -> Option<i64> {
        if !self.text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return None;
        }
        self.text.parse().ok().or_else(|| self.text.parse::<f64>().ok().map(|number| number as i64))
    }

    /// Returns whether this is an object.
    pub fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    /// Iterates over the elements of an array. Any other value is its own only element.
    pub fn items(self) -> Items<'a> {
        Items { rest: self.text.strip_prefix('[').unwrap_or(self.text) }
    }

    /// Iterates over the members of an object. Any other value has none.
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Value<'a>)> {
        let mut rest = if self.is_object() { &self.text[1..] } else { "" };
        std::iter::from_fn(move || {
            let key = next_value(&mut rest)?.as_str()?;
            Some((key, next_value(&mut rest)?))
        })
    }

    /// Returns the member of an object with this key; the last one if the key is repeated.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.members().filter(|(have, _)| have == key).last().map(|(_, value)| value)
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        next_value(&mut self.rest)
    }
}

/// Takes the next value off a checked text, with the separator before it. Returns `None` at the end of the
/// container.
fn next_value<'a>(rest: &mut &'a str) -> Option<Value<'a>> {
    let from = rest.trim_start_matches([' ', '\t', '\r', '\n', ',', ':']);
    let len = value_len(from.as_bytes());
    if len == 0 {
        return None;
    }
    let (text, after) = from.split_at_checked(len)?;
    *rest = after;
    Some(Value { text })
}

/// Returns the length of the value at the front; 0 at the end of a container or of the text.
fn value_len(bytes: &[u8]) -> usize {
    match bytes.first() {
        None | Some(b']' | b'}') => 0,
        Some(b'"') => string_len(bytes),
        Some(b'[' | b'{') => {
            let (mut depth, mut at) = (0usize, 0);
            while let Some(&byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at += string_len(&bytes[at..]);
                        continue;
                    }
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
            at
        }
        Some(_) => bytes
            .iter()
            .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n'))
            .unwrap_or(bytes.len()),
    }
}

/// Returns the length of the string at the front, with its quotes.
fn string_len(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Resolves the escapes of a string's content (RFC 8259 7). Half a surrogate pair becomes U+FFFD.
fn unescape(inside: &str) -> String {
    let mut out = String::with_capacity(inside.len());
    let mut units = Vec::new();
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escape) = rest.chars().next() else { break };
        rest = &rest[escape.len_utf8()..];
        match escape {
            'u' => {
                // A pair is two escapes in a row.
                units.clear();
                let mut from = rest;
                while let Some(unit) = from.get(..4).and_then(|hex| u16::from_str_radix(hex, 16).ok()) {
                    units.push(unit);
                    rest = &from[4..];
                    match rest.strip_prefix("\\u") {
                        Some(next) => from = next,
                        None => break,
                    }
                }
                let characters = char::decode_utf16(units.iter().copied());
                out.extend(characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            other => out.push(other),
        }
    }
    out.push_str(rest);
    out
}

/// Checks the grammar in one pass.
struct Check<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Check<'_> {
    fn wrong(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{' | b'[') if depth == DEPTH_MAX => Err(self.wrong("nested too deep")),
            Some(b'{') => self.container(b'}', |check| {
                check.string()?;
                check.space();
                if check.peek() != Some(b':') {
                    return Err(check.wrong("no colon after a key"));
                }
                check.at += 1;
                check.space();
                check.value(depth + 1)
            }),
            Some(b'[') => self.container(b']', |check| check.value(depth + 1)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => {
                let words = [&b"true"[..], b"false", b"null"];
                let word = words.into_iter().find(|word| self.bytes[self.at..].starts_with(word));
                self.at += word.ok_or(self.wrong("no value"))?.len();
                Ok(())
            }
            None => Err(self.wrong("the text ends too soon")),
        }
    }

    fn container(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.at += 1;
        self.space();
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == end => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => return Err(self.wrong("no comma between two values")),
                None => return Err(self.wrong("the text ends too soon")),
            }
            self.space();
        }
    }

    fn string(&mut self) -> Result<(), Malformed> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a key that is not a string"));
        }
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.wrong("the text ends in a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let escape = self.bytes.get(self.at + 1);
                    let hex = self.bytes.get(self.at + 2..self.at + 6);
                    self.at += match escape {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') if hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => 6,
                        _ => return Err(self.wrong("an invalid escape")),
                    };
                }
                Some(..b' ') => return Err(self.wrong("a control character in a string")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn number(&mut self) -> Result<(), Malformed> {
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("a number without digits")) } else { Ok(()) }
    }
}
