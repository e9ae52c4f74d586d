//! URL, header and body templates: `{channel}`, `{channels}`, `{client}`, `{client.NAME}`, `{cursor}`,
//! `{hold_ms}`, `{port}`, `{message}`, `{message.length}`, `{log}`, `{secret.NAME}`, `{capture.NAME}`, `{uuid}`,
//! `{seq}`, `{feed}`. `{{channel}}` is rendered as the text `{channel}`. A value is written as JSON, base64 or a URL
//! needs it by `{json.…}`, `{base64.…}` and `{url.…}`: `{base64.message}`.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};
use crate::encoding::Encoding;
use crate::secret::SecretValues;

/// A text with places to fill in. Serialized as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    source: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Place(Place, Option<Encoding>),
}

/// A place in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The one channel of a connection or publication.
    Channel,
    /// All channels of a connection, comma-joined.
    Channels,
    /// The number of the client.
    Client,
    /// A column of the clients' CSV.
    ClientField(String),
    /// The cursor of the client; empty at first.
    Cursor,
    /// Longest time a long poll may be held, ms.
    HoldMs,
    /// The port of a started server.
    Port,
    /// The payload of a publication.
    Message,
    /// The length of that payload, bytes.
    MessageLength,
    /// The folder for files of a started server.
    Log,
    /// A value that is never written to a result.
    Secret(String),
    /// A value that a step took from the target's messages.
    Capture(String),
    /// A random UUID, another each time.
    Uuid,
    /// A number that grows each time: 1, 2, 3.
    Seq,
    /// The number of a feed's connection, from 0.
    Feed,
}

/// The names that a template may use, for messages.
pub const NAMES: [&str; 15] = [
    "channel",
    "channels",
    "client",
    "client.NAME",
    "cursor",
    "hold_ms",
    "port",
    "message",
    "message.length",
    "log",
    "secret.NAME",
    "capture.NAME",
    "uuid",
    "seq",
    "feed",
];

/// Values to fill in. Every value that a template names must be present.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'v> {
    /// Channel names.
    pub channels: &'v [&'v str],
    /// The number of the client.
    pub client: u64,
    /// Fields of this client, by column name.
    pub fields: Option<&'v ClientFields>,
    /// The cursor.
    pub cursor: &'v str,
    /// Hold in ms.
    pub hold_ms: u64,
    /// Port of a started server.
    pub port: u16,
    /// Payload of a publication.
    pub message: &'v [u8],
    /// Folder for files of a started server.
    pub log: &'v str,
    /// Values of `{secret.NAME}`.
    pub secrets: Option<&'v SecretValues>,
    /// Values of `{capture.NAME}`.
    pub captures: Option<&'v Captures>,
    /// The number of a feed's connection.
    pub feed: u64,
    /// The source of `{uuid}` and `{seq}`.
    pub drawn: Option<&'v Drawn>,
}

/// The source of values that differ each time. Each belongs to one thread.
#[derive(Debug, Default)]
pub struct Drawn {
    seed: u64,
    seqs: AtomicU64,
    uuids: AtomicU64,
}

impl Drawn {
    /// The UUIDs of another seed differ.
    pub fn new(seed: u64) -> Drawn {
        Drawn { seed, ..Drawn::default() }
    }

    /// Returns the next number, from 1.
    fn seq(&self) -> u64 {
        self.seqs.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the next UUID: version 4, of random bits (RFC 9562 5.4).
    fn uuid(&self) -> String {
        let mut draw = Draw::new(self.seed, Purpose::Uuid, self.uuids.fetch_add(1, Ordering::Relaxed));
        let (high, low) = (draw.next_u64(), draw.next_u64());
        let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// Values that steps took from the target's messages, by name. A client has a few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures(Vec<(String, String)>);

impl Captures {
    /// Returns a value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Sets a value.
    pub fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Returns all names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets all values of `newer`.
    pub fn extend(&mut self, newer: Captures) {
        newer.0.into_iter().for_each(|(name, value)| self.set(&name, value));
    }
}

/// Per-client identities: a table from `clients = "users.csv"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientFields {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows; client i uses row i mod rows.
    pub rows: Vec<Vec<String>>,
}

impl Template {
    /// Parses a template. The error says what was found and what is accepted.
    pub fn parse(source: &str) -> Result<Template, TemplateError> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..];
            // `{{name}}` is rendered as `{name}`.
            if let Some(escaped) = brace.strip_prefix('{').and_then(name_in_braces)
                && brace[1 + escaped.len() + 2..].starts_with('}')
            {
                literal.push_str(&brace[1..1 + escaped.len() + 2]);
                rest = &brace[escaped.len() + 4..];
                continue;
            }
            // A brace that starts no name is literal: JSON bodies need no escaping.
            match name_in_braces(brace) {
                Some(name) => {
                    let (encoding, place) = Encoding::split(name);
                    let place = Place::parse(place)?;
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(Piece::Place(place, encoding));
                    rest = &brace[name.len() + 2..];
                }
                None => {
                    if let Some(found) = misspelt(brace) {
                        return Err(TemplateError { found: found.to_owned() });
                    }
                    literal.push_str(&brace[..1]);
                    rest = &brace[1..];
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Template { source: source.to_owned(), pieces })
    }

    /// Returns the text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the places that it contains.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.pieces.iter().filter_map(|p| match p {
            Piece::Place(place, _) => Some(place),
            Piece::Literal(_) => None,
        })
    }

    /// Returns whether it contains this place.
    pub fn names(&self, place: &Place) -> bool {
        self.places().any(|p| p == place)
    }

    /// Appends the text with its places filled in.
    pub fn render(&self, values: &Values<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            let (place, encoding) = match piece {
                Piece::Literal(text) => {
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                Piece::Place(place, encoding) => (place, encoding),
            };
            let from = out.len();
            match place {
                Place::Channel => {
                    out.extend_from_slice(values.channels.first().copied().unwrap_or_default().as_bytes());
                }
                Place::Channels => {
                    for (i, channel) in values.channels.iter().enumerate() {
                        if i > 0 {
                            out.push(b',');
                        }
                        out.extend_from_slice(channel.as_bytes());
                    }
                }
                Place::Client => append_number(out, values.client),
                Place::ClientField(name) => {
                    if let Some(fields) = values.fields {
                        out.extend_from_slice(
                            fields.field(values.client, name).unwrap_or_default().as_bytes(),
                        );
                    }
                }
                Place::Cursor => out.extend_from_slice(values.cursor.as_bytes()),
                Place::HoldMs => append_number(out, values.hold_ms),
                Place::Feed => append_number(out, values.feed),
                Place::Port => append_number(out, u64::from(values.port)),
                Place::Log => out.extend_from_slice(values.log.as_bytes()),
                Place::Secret(name) => {
                    let value = values.secrets.and_then(|secrets| secrets.get(name));
                    out.extend_from_slice(value.unwrap_or_default().as_bytes());
                }
                Place::Capture(name) => {
                    let value = values.captures.and_then(|captures| captures.get(name));
                    out.extend_from_slice(value.unwrap_or_default().as_bytes());
                }
                Place::Uuid => {
                    let uuid = values.drawn.map(Drawn::uuid).unwrap_or_default();
                    out.extend_from_slice(uuid.as_bytes());
                }
                Place::Seq => append_number(out, values.drawn.map_or(0, Drawn::seq)),
                Place::MessageLength => append_number(out, values.message.len() as u64),
                Place::Message => out.extend_from_slice(values.message),
            }
            if let Some(encoding) = encoding {
                encoding.encode(out, from);
            }
        }
    }

    /// Returns how many bytes a byte of the payload takes at most, where it is written.
    pub(crate) fn widest_message(&self) -> u64 {
        let of = |piece: &Piece| match piece {
            Piece::Place(Place::Message, encoding) => Some(encoding.map_or(1, Encoding::widest)),
            _ => None,
        };
        self.pieces.iter().filter_map(of).max().unwrap_or(1)
    }

    /// Returns the text with its places filled in, lossy if a payload is not UTF-8.
    pub fn render_text(&self, values: &Values<'_>) -> String {
        let mut out = Vec::new();
        self.render(values, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl ClientFields {
    /// Returns the value of a column for a client.
    pub fn field(&self, client: u64, name: &str) -> Option<&str> {
        let column = self.columns.iter().position(|c| c == name)?;
        let row = self.rows.get(client as usize % self.rows.len().max(1))?;
        row.get(column).map(String::as_str)
    }
}

impl Place {
    fn parse(name: &str) -> Result<Place, TemplateError> {
        Ok(match name {
            "channel" => Place::Channel,
            "channels" => Place::Channels,
            "client" => Place::Client,
            "cursor" => Place::Cursor,
            "hold_ms" => Place::HoldMs,
            "port" => Place::Port,
            "message" => Place::Message,
            "message.length" => Place::MessageLength,
            "log" => Place::Log,
            "uuid" => Place::Uuid,
            "seq" => Place::Seq,
            "feed" => Place::Feed,
            _ => match name.split_once('.') {
                Some(("client", field)) if !field.is_empty() => Place::ClientField(field.to_owned()),
                Some(("secret", field)) if !field.is_empty() => Place::Secret(field.to_owned()),
                Some(("capture", field)) if !field.is_empty() => Place::Capture(field.to_owned()),
                _ => return Err(TemplateError { found: name.to_owned() }),
            },
        })
    }

    /// Returns its entry in [`NAMES`].
    pub fn kind(&self) -> &'static str {
        match self {
            Place::Channel => "channel",
            Place::Channels => "channels",
            Place::Client => "client",
            Place::ClientField(_) => "client.NAME",
            Place::Cursor => "cursor",
            Place::HoldMs => "hold_ms",
            Place::Port => "port",
            Place::Message => "message",
            Place::MessageLength => "message.length",
            Place::Log => "log",
            Place::Secret(_) => "secret.NAME",
            Place::Capture(_) => "capture.NAME",
            Place::Uuid => "uuid",
            Place::Seq => "seq",
            Place::Feed => "feed",
        }
    }
}

/// As written between braces.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::ClientField(name) => write!(f, "client.{name}"),
            Place::Secret(name) => write!(f, "secret.{name}"),
            Place::Capture(name) => write!(f, "capture.{name}"),
            other => f.write_str(other.kind()),
        }
    }
}

/// Returns the name of a text that begins with `{name}` or `{name.field}`: a lower-case identifier, so that
/// no JSON text is mistaken for one.
fn name_in_braces(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.split_once('}')?.0;
    let (root, field) = name.split_once('.').unwrap_or((name, ""));
    let is_root = root.starts_with(|c: char| c.is_ascii_lowercase())
        && root.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let is_field = field.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    (is_root && is_field).then_some(name)
}

/// Returns the inside of a text that begins with a misspelt place: `{Channel}`, `{ channel }`.
fn misspelt(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?.split_once('}')?.0;
    let plain = inside.trim().to_ascii_lowercase().replace('-', "_");
    let (_, plain) = Encoding::split(&plain);
    let root = plain.split('.').next().unwrap_or_default();
    NAMES.iter().any(|name| name.split('.').next() == Some(root)).then_some(inside)
}

fn append_number(out: &mut Vec<u8>, value: u64) {
    use std::io::Write as _;
    write!(out, "{value}").expect("writing to memory");
}

/// A place that is not one of [`NAMES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The name between the braces.
    pub found: String,
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown place `{{{}}}`; a template may name", self.found)?;
        for (i, name) in NAMES.iter().enumerate() {
            write!(f, "{} {{{name}}}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("; written for where it stands: {json.…}, {base64.…}, {url.…}")
    }
}

impl std::error::Error for TemplateError {}

impl TryFrom<String> for Template {
    type Error = TemplateError;
    fn try_from(source: String) -> Result<Self, TemplateError> {
        Template::parse(&source)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> String {
        let fields =
            ClientFields { columns: vec!["token".into()], rows: vec![vec!["t0".into()], vec!["t1".into()]] };
        Template::parse(source).unwrap().render_text(&Values {
            channels: &["a", "b"],
            client: 3,
            fields: Some(&fields),
            cursor: "17",
            hold_ms: 45_000,
            port: 9001,
            message: b"hi",
            log: "/tmp/x",
            secrets: None,
            captures: None,
            ..Values::default()
        })
    }

    #[test]
    fn a_value_is_encoded_for_where_it_stands() {
        let mut captures = Captures::default();
        captures.set("token", "a\"b/\u{e4}".to_owned());
        let values =
            Values { captures: Some(&captures), channels: &["c0"], message: b"pm1:", ..Values::default() };
        let text = |source: &str| Template::parse(source).unwrap().render_text(&values);
        let json = "{\"t\":\"{json.capture.token}\",\"k\":\"{base64.channel}\"}";
        assert_eq!(text(json), "{\"t\":\"a\\\"b/\u{e4}\",\"k\":\"YzA=\"}");
        assert_eq!(text("/{url.capture.token}?{base64.message}"), "/a%22b%2F%C3%A4?cG0xOg==");
        let template = Template::parse("{base64.message}{json.capture.token}").unwrap();
        let places: Vec<String> = template.places().map(ToString::to_string).collect();
        assert_eq!(places, ["message", "capture.token"], "checks see the places");
        assert_eq!(Template::parse("{json.chanel}").unwrap_err().found, "chanel");
        assert_eq!(Template::parse("{Base64.message}").unwrap_err().found, "Base64.message");
    }

    #[test]
    fn what_differs_each_time_does() {
        let (one, other) = (Drawn::new(1), Drawn::new(2));
        let template = Template::parse("{uuid} {seq}").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for n in 1..=1_000 {
            for drawn in [&one, &other] {
                let text = template.render_text(&Values { drawn: Some(drawn), ..Values::default() });
                let (uuid, seq) = text.split_once(' ').unwrap();
                assert_eq!(seq, n.to_string());
                let parts: Vec<&str> = uuid.split('-').collect();
                assert_eq!(
                    parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
                    [8, 4, 4, 4, 12],
                    "{uuid}"
                );
                assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{uuid}");
                assert!(uuid.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()));
                assert!(seen.insert(uuid.to_owned()), "{uuid} again");
            }
        }
    }

    #[test]
    fn places_are_filled_in() {
        assert_eq!(
            render("http://h:{port}/{channel}?all={channels}&c={client}&s={cursor}"),
            "http://h:9001/a?all=a,b&c=3&s=17"
        );
        assert_eq!(render("Bearer {client.token}"), "Bearer t1");
    }

    #[test]
    fn json_needs_no_escaping() {
        assert_eq!(render(r#"{"subscribe":"{channel}","n":{"x":1}}"#), r#"{"subscribe":"a","n":{"x":1}}"#);
        assert_eq!(render("{{channel}}"), "{channel}");
    }

    #[test]
    fn an_unknown_place_is_named() {
        let error = Template::parse("/x/{chanel}").unwrap_err().to_string();
        assert!(error.starts_with("unknown place `{chanel}`; a template may name {channel},"), "{error}");
    }
}
