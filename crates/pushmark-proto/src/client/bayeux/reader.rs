//! Reads replies as a stream: the payload is passed on, other fields are noted, and no message is assembled.
//!
//! The grammar is checked where it determines the structure (arrays, members, strings, nesting). Values that
//! are read are checked completely. In `data` only the end is searched.

use super::incoming::{Incoming, Name, ReplyFields};
use crate::Failure;
use crate::bayeux::Value;

/// The longest key and the longest value that is read, in bytes. Longer keys are unknown keys.
const KEPT_MAX: usize = 16 << 10;

/// Deepest nesting of a value.
const DEPTH_MAX: u16 = 512;

/// Reads bodies, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    place: Place,
    /// The messages are in an array.
    array: bool,
    name: Name,
    value: Nesting,
    /// A key or value that began in an earlier piece. Otherwise empty and without capacity.
    kept: Vec<u8>,
    /// The fields of the present message so far.
    pub(super) incoming: Incoming,
}

/// The position of the next byte in a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    /// Before a message. `first`: the array may end here.
    Message {
        first: bool,
    },
    /// Before a key. `first`: the object may end here.
    Key {
        first: bool,
    },
    InKey,
    Colon,
    Value,
    InValue,
    AfterValue,
    AfterMessage,
    Done,
}

/// The position of the next byte in a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Nesting {
    depth: u16,
    string: bool,
    escaped: bool,
    /// Neither a string nor a container: it ends before the byte that follows it.
    scalar: bool,
}

/// The element found at the end of the bytes taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Payload of the present message: the bytes taken, from this offset.
    Data { from: usize },
    /// The message is complete.
    End,
    /// The last byte taken is invalid. Earlier bytes come first; they may be invalid in ways that are not
    /// checked here.
    Wrong(Failure),
}

/// The number of bytes to take (at least one, if there is one), and what they contain.
pub(crate) struct Taken {
    pub(crate) len: usize,
    pub(crate) part: Option<Part>,
}

fn wrong(what: &'static str) -> Failure {
    Failure::Bayeux(what)
}

impl Reader {
    /// Reads bytes until an element is found or the bytes end.
    pub(crate) fn next(&mut self, bytes: &[u8], look: &ReplyFields) -> Taken {
        let mut at = 0;
        let part = self.advance(bytes, &mut at, look).unwrap_or_else(|failure| Some(Part::Wrong(failure)));
        Taken { len: at, part }
    }

    /// After a failure, `at` is behind the invalid byte.
    fn advance(&mut self, bytes: &[u8], at: &mut usize, look: &ReplyFields) -> Result<Option<Part>, Failure> {
        while let Some(&byte) = bytes.get(*at) {
            match self.place {
                Place::InKey => self.key(bytes, at)?,
                Place::InValue => {
                    let from = *at;
                    self.in_value(bytes, at, look)?;
                    if self.name == Name::Data && *at > from {
                        return Ok(Some(Part::Data { from }));
                    }
                }
                _ if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') => *at += 1,
                Place::Value => {
                    // Its first byte is read again as a part of the value.
                    self.value = Nesting::begin(byte).inspect_err(|_| *at += 1)?;
                    self.place = Place::InValue;
                }
                _ => {
                    *at += 1;
                    if self.structure(byte)? {
                        return Ok(Some(Part::End));
                    }
                }
            }
        }
        Ok(None)
    }

    fn key(&mut self, bytes: &[u8], at: &mut usize) -> Result<(), Failure> {
        let from = *at;
        let ended = self.value.scan(bytes, at)?;
        if let Some(raw) = keep(&mut self.kept, bytes, from, at, ended)? {
            self.name = Name::read(raw);
            self.kept = Vec::new();
            self.place = Place::Colon;
        }
        Ok(())
    }

    fn in_value(&mut self, bytes: &[u8], at: &mut usize, look: &ReplyFields) -> Result<(), Failure> {
        let from = *at;
        let ended = self.value.scan(bytes, at)?;
        match self.name {
            Name::Other => {}
            Name::Data => {
                self.incoming.data_len += (*at - from) as u64;
                if self.incoming.data_len > look.data_max {
                    return Err(Failure::MessageTooLarge);
                }
            }
            name => {
                if let Some(raw) = keep(&mut self.kept, bytes, from, at, ended)? {
                    let value = Value::parse(raw).map_err(|malformed| wrong(malformed.what))?;
                    self.incoming.take(name, value, look)?;
                    self.kept = Vec::new();
                }
            }
        }
        if ended {
            self.place = Place::AfterValue;
        }
        Ok(())
    }

    /// Handles a byte between keys and values. Returns whether it ends a message.
    fn structure(&mut self, byte: u8) -> Result<bool, Failure> {
        self.place = match (self.place, byte) {
            (Place::Start, b'[') => {
                self.array = true;
                Place::Message { first: true }
            }
            (Place::Start | Place::Message { .. }, b'{') => {
                self.incoming = Incoming::default();
                Place::Key { first: true }
            }
            (Place::Message { first: true } | Place::AfterMessage, b']') => Place::Done,
            (Place::AfterMessage, b',') => Place::Message { first: false },
            (Place::Key { .. }, b'"') => {
                self.value = Nesting { string: true, ..Nesting::default() };
                Place::InKey
            }
            (Place::Colon, b':') => Place::Value,
            (Place::AfterValue, b',') => Place::Key { first: false },
            (Place::Key { first: true } | Place::AfterValue, b'}') => {
                self.place = if self.array { Place::AfterMessage } else { Place::Done };
                return Ok(true);
            }
            (Place::Start, _) => return Err(wrong("neither a message nor an array of messages")),
            (Place::Message { .. }, _) => return Err(wrong("a message that is not an object")),
            (Place::Done, _) => return Err(wrong("more than one array of messages")),
            _ => return Err(wrong("not JSON")),
        };
        Ok(false)
    }

    /// Handles the end of the body. Returns whether there was one.
    pub(crate) fn body_ends(&mut self) -> Result<bool, Failure> {
        let place = self.place;
        *self = Reader::default();
        match place {
            Place::Done => Ok(true),
            Place::Start => Ok(false),
            _ => Err(wrong("the body is incomplete")),
        }
    }
}

/// Returns a text that arrived in pieces, once it has ended. A text in one piece is not copied.
fn keep<'k>(
    kept: &'k mut Vec<u8>,
    bytes: &'k [u8],
    from: usize,
    at: &mut usize,
    ended: bool,
) -> Result<Option<&'k [u8]>, Failure> {
    let room = KEPT_MAX - kept.len();
    if *at - from > room {
        *at = from + room + 1;
        return Err(wrong("a field that is too long"));
    }
    let piece = &bytes[from..*at];
    if ended && kept.is_empty() {
        return Ok(Some(piece));
    }
    kept.extend_from_slice(piece);
    Ok(ended.then_some(&kept[..]))
}

impl Nesting {
    fn begin(byte: u8) -> Result<Nesting, Failure> {
        let scalar = match byte {
            b'"' | b'[' | b'{' => false,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => true,
            _ => return Err(wrong("not JSON")),
        };
        Ok(Nesting { scalar, ..Nesting::default() })
    }

    /// Continues to the end of the value or of the bytes. Returns whether the value ends there.
    fn scan(&mut self, bytes: &[u8], at: &mut usize) -> Result<bool, Failure> {
        if self.scalar {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t'..=b'\r');
            let end = bytes[*at..].iter().position(ends);
            *at = end.map_or(bytes.len(), |end| *at + end);
            return Ok(end.is_some());
        }
        while let Some(&byte) = bytes.get(*at) {
            if self.escaped {
                self.escaped = false;
                *at += 1;
                continue;
            }
            if self.string {
                let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[*at..]) else {
                    *at = bytes.len();
                    break;
                };
                *at += found + 1;
                self.escaped = bytes[*at - 1] == b'\\';
                self.string = self.escaped;
            } else {
                *at += 1;
                match byte {
                    b'"' => self.string = true,
                    b'[' | b'{' if self.depth == DEPTH_MAX => return Err(wrong("nested too deep")),
                    b'[' | b'{' => self.depth += 1,
                    b']' | b'}' => self.depth -= 1,
                    _ => {}
                }
            }
            if self.depth == 0 && !self.string {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
