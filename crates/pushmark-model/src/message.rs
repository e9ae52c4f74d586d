//! Messages to send: text templates, and binary ones in hexadecimal or base64.
//!
//! | source | is |
//! |---|---|
//! | `hex: 30 varint[ u16be[ {channel} ] {message} ]` | binary: pairs of hexadecimal digits, `'text'`, places, and groups with their length in front |
//! | `base64: wAA=` | binary |
//! | `text: hex: …` | the text behind `text:`, if a text begins like a binary message |
//! | anything else | a text template |
//!
//! The length of a group is in one byte (`u8[ … ]`), in two or four of either order (`u16be`, `u16le`, `u32be`,
//! `u32le`), or a variable-length integer of seven bits a byte, lowest first (`varint`: MQTT 3.1.1 2.2.3, Protocol
//! Buffers).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::template::{Place, Template, TemplateError, Values};

const HEX: &str = "hex:";
const BASE64: &str = "base64:";
const TEXT: &str = "text:";

/// A message with places to fill in. Serialized as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Message {
    source: String,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(Template),
    Binary(Vec<Part>),
}

/// A part of a binary message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Bytes(Vec<u8>),
    /// A template of one place.
    Place(Template),
    Group(Width, Vec<Part>),
}

/// How the length of a group is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    U8,
    U16Be,
    U16Le,
    U32Be,
    U32Le,
    Varint,
}

impl Width {
    const ALL: [(&'static str, Width); 6] = [
        ("u8", Width::U8),
        ("u16be", Width::U16Be),
        ("u16le", Width::U16Le),
        ("u32be", Width::U32Be),
        ("u32le", Width::U32Le),
        ("varint", Width::Varint),
    ];

    /// The longest group.
    fn max(self) -> u64 {
        match self {
            Width::U8 => u64::from(u8::MAX),
            Width::U16Be | Width::U16Le => u64::from(u16::MAX),
            Width::U32Be | Width::U32Le | Width::Varint => u64::from(u32::MAX),
        }
    }

    /// Returns a length as written; one that is too long is cut to the longest.
    fn written(self, length: usize) -> Vec<u8> {
        let length = (length as u64).min(self.max()) as u32;
        match self {
            Width::U8 => vec![length as u8],
            Width::U16Be => (length as u16).to_be_bytes().to_vec(),
            Width::U16Le => (length as u16).to_le_bytes().to_vec(),
            Width::U32Be => length.to_be_bytes().to_vec(),
            Width::U32Le => length.to_le_bytes().to_vec(),
            Width::Varint => {
                let (mut rest, mut out) = (length, Vec::new());
                while rest > 0x7f {
                    out.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                out.push(rest as u8);
                out
            }
        }
    }
}

/// Why a text is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// A place that no template has.
    Place(TemplateError),
    /// A part of a binary message that cannot be read.
    Binary {
        /// The part.
        found: String,
        /// What may stand there.
        accepted: &'static str,
    },
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MessageError::Place(error) => error.fmt(f),
            MessageError::Binary { found, accepted } => write!(f, "{found:?} is not {accepted}"),
        }
    }
}

impl std::error::Error for MessageError {}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// Says what was found and what is accepted.
    pub fn parse(source: &str) -> Result<Message, MessageError> {
        let content = if let Some(parts) = source.strip_prefix(HEX) {
            Content::Binary(binary(parts)?)
        } else if let Some(text) = source.strip_prefix(BASE64) {
            let bytes = STANDARD.decode(text.trim()).map_err(|_| MessageError::Binary {
                found: text.trim().to_owned(),
                accepted: "base64 (RFC 4648 4)",
            })?;
            Content::Binary(vec![Part::Bytes(bytes)])
        } else {
            let text = source.strip_prefix(TEXT).filter(|text| is_marked(text.trim_start()));
            let text = text.map_or(source, str::trim_start);
            Content::Text(Template::parse(text).map_err(MessageError::Place)?)
        };
        Ok(Message { source: source.to_owned(), content })
    }

    /// Returns the text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.content, Content::Text(_))
    }

    /// Returns the places that it contains.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        let mut templates = Vec::new();
        match &self.content {
            Content::Text(template) => templates.push(template),
            Content::Binary(parts) => walk(parts, &mut |part| {
                if let Part::Place(template) = part {
                    templates.push(template);
                }
            }),
        }
        templates.into_iter().flat_map(Template::places)
    }

    /// Returns whether it contains this place.
    pub fn names(&self, place: &Place) -> bool {
        self.places().any(|p| p == place)
    }

    /// Returns the longest payload of a publication that its groups have room for.
    pub fn payload_max(&self) -> u64 {
        let mut max = u64::MAX;
        if let Content::Binary(parts) = &self.content {
            walk(parts, &mut |part| {
                if let Part::Group(width, inside) = part
                    && contains_message(inside)
                {
                    max = max.min(width.max().saturating_sub(OTHERS_MAX) / widest(inside));
                }
            });
        }
        max
    }

    /// Appends the message with its places filled in.
    pub fn render(&self, values: &Values<'_>, out: &mut Vec<u8>) {
        match &self.content {
            Content::Text(template) => template.render(values, out),
            Content::Binary(parts) => render(parts, values, out),
        }
    }

    /// Returns the message with its places filled in.
    pub fn rendered(&self, values: &Values<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        self.render(values, &mut out);
        out
    }

    /// Returns the text with its places filled in, lossy if it is binary.
    pub fn render_text(&self, values: &Values<'_>) -> String {
        String::from_utf8_lossy(&self.rendered(values)).into_owned()
    }
}

/// Room for what is beside the payload in a group: names and fixed bytes.
const OTHERS_MAX: u64 = 128;

fn is_marked(text: &str) -> bool {
    [HEX, BASE64, TEXT].iter().any(|mark| text.starts_with(mark))
}

fn walk<'p>(parts: &'p [Part], seen: &mut impl FnMut(&'p Part)) {
    for part in parts {
        seen(part);
        if let Part::Group(_, inside) = part {
            walk(inside, seen);
        }
    }
}

/// How many bytes a byte of the payload takes at most in these parts.
fn widest(parts: &[Part]) -> u64 {
    let mut widest = 1;
    walk(parts, &mut |part| {
        if let Part::Place(template) = part {
            widest = widest.max(template.widest_message());
        }
    });
    widest
}

fn contains_message(parts: &[Part]) -> bool {
    let mut found = false;
    walk(parts, &mut |part| {
        found |= matches!(part, Part::Place(template) if template.names(&Place::Message))
    });
    found
}

fn render(parts: &[Part], values: &Values<'_>, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Place(template) => template.render(values, out),
            Part::Group(width, inside) => {
                let at = out.len();
                render(inside, values, out);
                let length = width.written(out.len() - at);
                out.splice(at..at, length);
            }
        }
    }
}

const ACCEPTED: &str =
    "hexadecimal digits, 'text', {place}, or a group: u8[ … ], u16be[ … ], u16le, u32be, u32le, varint";

/// Reads the parts of a binary message.
fn binary(text: &str) -> Result<Vec<Part>, MessageError> {
    let (parts, rest) = parts(text, 0)?;
    match rest {
        "" => Ok(parts),
        rest => Err(refused(rest)),
    }
}

/// The deepest nesting of groups.
const DEPTH_MAX: usize = 16;

/// Reads parts up to the end, or up to the bracket that ends a group. Returns them with what follows.
fn parts(text: &str, depth: usize) -> Result<(Vec<Part>, &str), MessageError> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && (depth == 0 || !rest.starts_with(']')) {
        let (part, after) = part(rest, depth)?;
        parts.push(part);
        rest = after.trim_start();
    }
    Ok((parts, rest))
}

fn part(text: &str, depth: usize) -> Result<(Part, &str), MessageError> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let (inside, after) = quoted.split_once('\'').ok_or_else(|| refused(text))?;
        return Ok((Part::Bytes(inside.as_bytes().to_vec()), after));
    }
    if text.starts_with('{') {
        let end = text.find('}').ok_or_else(|| refused(text))? + 1;
        let template = Template::parse(&text[..end]).map_err(MessageError::Place)?;
        let is_place = template.places().count() == 1;
        return if is_place { Ok((Part::Place(template), &text[end..])) } else { Err(refused(text)) };
    }
    for (name, width) in Width::ALL {
        let Some(inside) = text.strip_prefix(name).and_then(|after| after.strip_prefix('[')) else {
            continue;
        };
        if depth == DEPTH_MAX {
            return Err(refused(text));
        }
        let (inside, after) = parts(inside, depth + 1)?;
        let after = after.strip_prefix(']').ok_or_else(|| MessageError::Binary {
            found: text.split_whitespace().next().unwrap_or_default().to_owned(),
            accepted: "a group: its `]` is missing",
        })?;
        return Ok((Part::Group(width, inside), after));
    }
    let digits = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    if digits % 2 == 1 {
        return Err(MessageError::Binary {
            found: text[..digits].to_owned(),
            accepted: "pairs of hexadecimal digits",
        });
    }
    if digits == 0 {
        return Err(refused(text));
    }
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap_or_default(), 16).unwrap_or(0);
    let bytes = text.as_bytes()[..digits].chunks(2).map(byte).collect();
    Ok((Part::Bytes(bytes), &text[digits..]))
}

fn refused(text: &str) -> MessageError {
    let found = text.split_whitespace().next().unwrap_or_default().to_owned();
    MessageError::Binary { found, accepted: ACCEPTED }
}

impl TryFrom<String> for Message {
    type Error = MessageError;
    fn try_from(source: String) -> Result<Self, MessageError> {
        Message::parse(&source)
    }
}

impl From<Message> for String {
    fn from(message: Message) -> String {
        message.source
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(source: &str, message: &[u8]) -> Vec<u8> {
        let values = Values { channels: &["c0"], client: 7, message, ..Values::default() };
        Message::parse(source).unwrap().rendered(&values)
    }

    #[test]
    fn an_mqtt_connect_and_a_publication_are_said_as_the_specification_writes_them() {
        // 3.1: fixed header, remaining length, protocol name and level, flags, keep-alive, client id.
        assert_eq!(
            rendered("hex: 10 varint[ u16be[ 'MQTT' ] 04 02 003c u16be[ 'p' {client} ] ]", b""),
            b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02p7"
        );
        let long = [b'x'; 200];
        let mut expected = b"\x30\xcc\x01\x00\x02c0".to_vec();
        expected.extend_from_slice(&long);
        assert_eq!(rendered("hex: 30 varint[u16be[{channel}]{message}]", &long), expected);
    }

    #[test]
    fn every_width_is_written() {
        for (width, expected) in [
            ("u8", &b"\x03abc"[..]),
            ("u16be", b"\x00\x03abc"),
            ("u16le", b"\x03\x00abc"),
            ("u32be", b"\x00\x00\x00\x03abc"),
            ("u32le", b"\x03\x00\x00\x00abc"),
            ("varint", b"\x03abc"),
        ] {
            assert_eq!(rendered(&format!("hex:{width}['abc']"), b""), expected, "{width}");
        }
    }

    #[test]
    fn a_text_is_a_text_unless_it_is_marked() {
        assert_eq!(rendered("{\"c\":\"{channel}\"}", b""), b"{\"c\":\"c0\"}");
        assert_eq!(rendered("base64: wAA=", b""), b"\xc0\x00");
        assert_eq!(rendered("text: hex: 00", b""), b"hex: 00");
        assert_eq!(rendered("text: 00", b""), b"text: 00");
        let is_text = |source: &str| Message::parse(source).unwrap().is_text();
        assert!(is_text("text: hex: 00") && is_text("hexagon") && !is_text("hex:00"));
    }

    #[test]
    fn what_is_no_message_is_told() {
        for (source, found) in [
            ("hex: 0", "0"),
            ("hex: 00 0g", "0"),
            ("hex: 'a", "'a"),
            ("hex: u8[ 00", "u8["),
            ("hex: u9[ 00 ]", "u9["),
            ("hex: 00 ]", "]"),
            ("hex: {", "{"),
            ("hex: {}", "{}"),
            ("base64: !", "!"),
        ] {
            let error = Message::parse(source).unwrap_err();
            assert!(
                matches!(&error, MessageError::Binary { found: told, .. } if told == found),
                "{source}: {error}"
            );
        }
        assert!(matches!(Message::parse("hex: {chanel}"), Err(MessageError::Place(_))));
        assert!(Message::parse(&format!("hex:{}", "u8[".repeat(100_000))).is_err());
    }

    #[test]
    fn a_group_says_how_long_a_payload_may_be() {
        let max = |source: &str| Message::parse(source).unwrap().payload_max();
        assert_eq!(max("hex: u8[ {channel} ] {message}"), u64::MAX);
        assert_eq!(max("hex: u8[ {channel} {message} ]"), 127);
        assert_eq!(max("hex: varint[ u16be[ {message} ] ]"), 65_407);
        assert_eq!(max("{message}"), u64::MAX);
    }

    proptest! {
        #[test]
        fn bytes_are_sent_as_they_are(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
            prop_assert_eq!(rendered(&format!("hex: {hex}"), b""), bytes.clone());
            prop_assert_eq!(rendered(&format!("base64:{}", STANDARD.encode(&bytes)), b""), bytes);
        }

        #[test]
        fn a_varint_is_read_back(length in 0usize..300_000) {
            let written = Width::Varint.written(length);
            let read = written.iter().rev().fold(0, |n, byte| n << 7 | usize::from(byte & 0x7f));
            prop_assert_eq!(read, length);
            let more = written.iter().filter(|byte| **byte & 0x80 != 0).count();
            prop_assert_eq!(more, written.len() - 1, "only the last byte ends it");
        }

        #[test]
        fn no_text_is_a_reason_to_panic(text in ".{0,40}") {
            let _ = Message::parse(&format!("hex:{text}"));
            let _ = Message::parse(&text);
        }
    }
}
