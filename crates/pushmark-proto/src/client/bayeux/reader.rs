//! Replies as they pass: the payload handed on, everything else noted; no message is assembled.
//!
//! The grammar is checked where it steers (arrays, members, strings, nesting), and values that
//! are looked into are checked whole. Inside `data` only its end is looked for.

use super::incoming::{Incoming, Look, Name};
use crate::Failure;
use crate::bayeux::Value;

/// Longest key, and longest value that is looked into, in bytes. Longer keys are none of ours.
const KEPT_MAX: usize = 16 << 10;

/// Deepest nesting of a value.
const DEPTH_MAX: u16 = 512;

/// Reads one body after the other.
#[derive(Debug, Default)]
pub(super) struct Reader {
    place: Place,
    /// The messages stand in an array.
    array: bool,
    name: Name,
    value: Nesting,
    /// A key or value that began in an earlier piece. Empty and without room otherwise.
    kept: Vec<u8>,
    /// What the present message has said so far.
    pub(super) incoming: Incoming,
}

/// Where in a body the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    /// Before a message. `first`: the array may end instead.
    Message {
        first: bool,
    },
    /// Before a key. `first`: the object may end instead.
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

/// Where in a value the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Nesting {
    depth: u16,
    string: bool,
    escaped: bool,
    /// Neither a string nor a container: ends before what follows it.
    scalar: bool,
}

/// What was found, at the end of the bytes taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Payload of the present message: what was taken, from here.
    Data { from: usize },
    /// The message is whole.
    End,
}

/// How many bytes are to be taken (at least one where there was one), and what they hold.
pub(super) struct Taken {
    pub(super) len: usize,
    pub(super) part: Option<Part>,
}

fn wrong(what: &'static str) -> Failure {
    Failure::Bayeux(what)
}

impl Reader {
    /// Looks at bytes until something is found or they end.
    pub(super) fn next(&mut self, bytes: &[u8], look: &Look) -> Result<Taken, Failure> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') && self.between() {
                at += 1;
                continue;
            }
            match self.place {
                Place::InKey => {
                    let (len, ended) = self.value.scan(&bytes[at..])?;
                    let raw = keep(&mut self.kept, &bytes[at..at + len], ended)?;
                    at += len;
                    if let Some(raw) = raw {
                        self.name = Name::read(raw);
                        self.kept = Vec::new();
                        self.place = Place::Colon;
                    }
                    continue;
                }
                Place::Value => {
                    self.value = Nesting::begin(byte)?;
                    self.place = Place::InValue;
                    continue;
                }
                Place::InValue => {
                    let (len, ended) = self.value.scan(&bytes[at..])?;
                    let (from, piece) = (at, &bytes[at..at + len]);
                    at += len;
                    if self.name == Name::Data {
                        self.incoming.data_len += len as u64;
                        if self.incoming.data_len > look.data_max {
                            return Err(Failure::MessageTooLarge);
                        }
                    } else if self.name != Name::Other
                        && let Some(raw) = keep(&mut self.kept, piece, ended)?
                    {
                        let value = Value::parse(raw).map_err(|malformed| wrong(malformed.what))?;
                        self.incoming.take(self.name, value, look)?;
                        self.kept = Vec::new();
                    }
                    if ended {
                        self.place = Place::AfterValue;
                    }
                    if self.name == Name::Data && len > 0 {
                        return Ok(Taken { len: at, part: Some(Part::Data { from }) });
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
            self.place = match (self.place, byte) {
                (Place::Start, b'[') => {
                    self.array = true;
                    Place::Message { first: true }
                }
                (Place::Start | Place::Message { .. }, b'{') => {
                    self.incoming = Incoming::default();
                    Place::Key { first: true }
                }
                (Place::Message { first: true }, b']') | (Place::AfterMessage, b']') => Place::Done,
                (Place::AfterMessage, b',') => Place::Message { first: false },
                (Place::Key { .. }, b'"') => {
                    self.value = Nesting { string: true, ..Nesting::default() };
                    Place::InKey
                }
                (Place::Colon, b':') => Place::Value,
                (Place::AfterValue, b',') => Place::Key { first: false },
                (Place::Key { first: true } | Place::AfterValue, b'}') => {
                    self.place = if self.array { Place::AfterMessage } else { Place::Done };
                    return Ok(Taken { len: at, part: Some(Part::End) });
                }
                (Place::Start, _) => return Err(wrong("neither an array of messages nor one")),
                (Place::Message { .. }, _) => return Err(wrong("a message that is no object")),
                (Place::Done, _) => return Err(wrong("more than one array of messages")),
                _ => return Err(wrong("not JSON")),
            };
        }
        Ok(Taken { len: at, part: None })
    }

    /// The body has ended. Gives whether there was one.
    pub(super) fn body_ends(&mut self) -> Result<bool, Failure> {
        let place = self.place;
        *self = Reader::default();
        match place {
            Place::Done => Ok(true),
            Place::Start => Ok(false),
            _ => Err(wrong("the body ends in the middle")),
        }
    }

    /// White space means nothing here.
    fn between(&self) -> bool {
        !matches!(self.place, Place::InKey | Place::InValue)
    }
}

/// The whole of a text that came in pieces, once it has ended; as it stands where it is one.
fn keep<'k>(kept: &'k mut Vec<u8>, piece: &'k [u8], ended: bool) -> Result<Option<&'k [u8]>, Failure> {
    if kept.len() + piece.len() > KEPT_MAX {
        return Err(wrong("a field that is too long"));
    }
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

    /// How many of these bytes belong to the value, and whether it ends with them.
    fn scan(&mut self, bytes: &[u8]) -> Result<(usize, bool), Failure> {
        let mut at = 0;
        if self.scalar {
            let end = bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t'..=b'\r'));
            return Ok((end.unwrap_or(bytes.len()), end.is_some()));
        }
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            if self.string {
                let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) else {
                    at = bytes.len();
                    break;
                };
                at += found + 1;
                match bytes[at - 1] {
                    b'\\' => self.escaped = true,
                    _ => {
                        self.string = false;
                        if self.depth == 0 {
                            return Ok((at, true));
                        }
                    }
                }
                continue;
            }
            match bytes[at] {
                b'"' => self.string = true,
                b'[' | b'{' if self.depth == DEPTH_MAX => return Err(wrong("nested too deep")),
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth -= 1,
                _ => {}
            }
            at += 1;
            if self.depth == 0 && !self.string {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }
}
