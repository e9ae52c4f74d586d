//! Finds one value in a JSON text as it passes, by JSON pointer (RFC 6901).
//!
//! It serves long-poll cursors in bodies. The body is never assembled; only the position in it and the value
//! are stored. The text is assumed to be JSON. In other text the scan finds nothing, or a value that the
//! server does not accept as a cursor.

use std::mem;

/// The most bytes of a key or value that are stored. A longer one is cut.
pub const TEXT_MAX: usize = 2048;

/// The search in one text. Reused for the next text, it allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    place: Place,
    /// Tokens of the pointer matched so far.
    level: usize,
    /// In an array on the path: the number of elements before the wanted one. In an object: `None`.
    elements_left: Option<u64>,
    /// The key or value being read, unescaped.
    text: Vec<u8>,
    escape: Escape,
    /// The first half of a surrogate pair while the second is expected, otherwise 0.
    high: u16,
}

/// The position of the scan in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before the value that the matched part of the pointer leads to.
    #[default]
    Value,
    /// In an object on the path, before a key.
    Member,
    /// In a key.
    Key,
    /// After a key.
    Colon { matched: bool },
    /// In a value off the path, at this container depth.
    Aside { depth: u32 },
    /// In a string off the path.
    AsideString { depth: u32, escaped: bool },
    /// In the wanted value.
    Reading { quoted: bool },
    /// The stored text is the wanted value.
    Found { quoted: bool },
    /// The value does not exist.
    Absent,
}

/// The position in an escape of a string (RFC 8259 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    No,
    /// After a backslash.
    Begun,
    /// In `\u`, with `left` digits missing.
    Unicode { left: u8, unit: u16 },
}

impl Scan {
    /// Scans the next bytes. The pointer must be the same for the whole text.
    pub fn look(&mut self, pointer: &str, bytes: &[u8]) {
        for &byte in bytes {
            match self.place {
                Place::Value => self.value(pointer, byte),
                Place::Member => match byte {
                    b'"' => self.read(Place::Key),
                    b'}' => self.place = Place::Absent,
                    _ => {} // white space and commas
                },
                Place::Key => {
                    if self.string_ends(byte) {
                        let key = token(pointer, self.level).map(unescape);
                        let matched = key.is_some_and(|key| key.eq(self.text.iter().copied()));
                        self.place = Place::Colon { matched };
                    }
                }
                Place::Colon { matched: true } if byte == b':' => {
                    self.level += 1;
                    self.place = Place::Value;
                }
                Place::Colon { .. } if byte == b':' => self.place = Place::Aside { depth: 0 },
                Place::Colon { .. } => {}
                Place::Aside { depth } => self.aside(depth, byte),
                Place::AsideString { depth, escaped: false } if byte == b'"' => {
                    self.place = Place::Aside { depth };
                }
                Place::AsideString { depth, escaped } => {
                    let escaped = byte == b'\\' && !escaped;
                    self.place = Place::AsideString { depth, escaped };
                }
                Place::Reading { quoted: true } => {
                    if self.string_ends(byte) {
                        self.place = Place::Found { quoted: true };
                    }
                }
                Place::Reading { quoted: false } => match byte {
                    b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' => {
                        self.place = Place::Found { quoted: false };
                    }
                    _ => self.keep(&[byte]),
                },
                Place::Found { .. } | Place::Absent => return,
            }
        }
    }

    /// Ends the text. Returns the value: a string without quotes and escapes, a number or a boolean as
    /// written. Returns `None` for `null`, an object, an array, or if the value does not exist.
    pub fn finish(&self) -> Option<&[u8]> {
        match self.place {
            Place::Found { quoted: true } => Some(&self.text),
            // A text that is only a number ends with the text.
            Place::Found { quoted: false } | Place::Reading { quoted: false } => {
                Some(&self.text[..]).filter(|&text| text != b"null")
            }
            _ => None,
        }
    }

    /// Prepares for the next text.
    pub fn restart(&mut self) {
        *self = Scan { text: mem::take(&mut self.text), ..Scan::default() };
    }

    fn value(&mut self, pointer: &str, byte: u8) {
        let token = token(pointer, self.level);
        match (byte, token) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => {}
            (b'"', None) => self.read(Place::Reading { quoted: true }),
            (b'{', Some(_)) => {
                self.elements_left = None;
                self.place = Place::Member;
            }
            (b'[', Some(token)) => match token.parse() {
                Ok(index) => self.element(index),
                Err(_) => self.place = Place::Absent,
            },
            (b'{' | b'[' | b'}' | b']' | b',', None) | (_, Some(_)) => self.place = Place::Absent,
            (_, None) => {
                self.read(Place::Reading { quoted: false });
                self.keep(&[byte]);
            }
        }
    }

    /// Handles an element of an array on the path, with `left` elements before the wanted one.
    fn element(&mut self, left: u64) {
        self.elements_left = Some(left);
        if left == 0 {
            self.level += 1;
            self.place = Place::Value;
        } else {
            self.place = Place::Aside { depth: 0 };
        }
    }

    fn aside(&mut self, depth: u32, byte: u8) {
        self.place = match (byte, depth) {
            (b'"', _) => Place::AsideString { depth, escaped: false },
            (b'{' | b'[', _) => Place::Aside { depth: depth.saturating_add(1) },
            (b'}' | b']', 0) => Place::Absent,
            (b'}' | b']', _) => Place::Aside { depth: depth - 1 },
            (b',', 0) => match self.elements_left {
                Some(left) => return self.element(left - 1),
                None => Place::Member,
            },
            _ => return,
        };
    }

    fn read(&mut self, place: Place) {
        self.text.clear();
        self.escape = Escape::No;
        self.high = 0;
        self.place = place;
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = TEXT_MAX - self.text.len();
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Adds a byte of a string to the text. Returns true for the closing quote.
    fn string_ends(&mut self, byte: u8) -> bool {
        match self.escape {
            Escape::No => match byte {
                b'"' => return true,
                b'\\' => self.escape = Escape::Begun,
                _ => self.keep(&[byte]),
            },
            Escape::Begun => {
                self.escape = Escape::No;
                match byte {
                    b'u' => self.escape = Escape::Unicode { left: 4, unit: 0 },
                    b'b' => self.keep(&[8]),
                    b'f' => self.keep(&[12]),
                    b'n' => self.keep(b"\n"),
                    b'r' => self.keep(b"\r"),
                    b't' => self.keep(b"\t"),
                    _ => self.keep(&[byte]),
                }
            }
            Escape::Unicode { left, unit } => {
                let digit = (byte as char).to_digit(16).unwrap_or(0) as u16;
                let unit = unit << 4 | digit;
                self.escape = match left {
                    1 => Escape::No,
                    _ => Escape::Unicode { left: left - 1, unit },
                };
                if left == 1 {
                    self.unit(unit);
                }
            }
        }
        false
    }

    /// Adds a UTF-16 unit of an escape. Half a pair becomes U+FFFD.
    fn unit(&mut self, unit: u16) {
        let pair = [mem::take(&mut self.high), unit];
        let units = if pair[0] == 0 { &pair[1..] } else { &pair[..] };
        if pair[0] == 0 && (0xD800..0xDC00).contains(&unit) {
            self.high = unit;
            return;
        }
        for char in char::decode_utf16(units.iter().copied()) {
            let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.keep(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Returns the pointer's token at `level`, or `None` after the last one.
fn token(pointer: &str, level: usize) -> Option<&str> {
    pointer.split('/').nth(level + 1)
}

/// RFC 6901 4: `~1` is `/` and `~0` is `~`.
fn unescape(token: &str) -> impl Iterator<Item = u8> {
    let mut bytes = token.bytes();
    std::iter::from_fn(move || match bytes.next()? {
        b'~' => Some(if bytes.next() == Some(b'1') { b'/' } else { b'~' }),
        byte => Some(byte),
    })
}
