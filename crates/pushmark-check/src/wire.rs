//! One connection of a check: cuts requests into packets at random places, reads answers strictly, and limits
//! every wait.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use pushmark_net::{Blocking, tls};
use pushmark_proto::http1::{BodyDecoder, BodyEvent, BodyLength, ResponseHead};
use serde_json::Value;

use super::chance::Chance;
use super::endpoint::Endpoint;
use super::journal::Journal;
use super::outcome::{Miss, Outcome, Step, brief, failed, holds, same, shown};
use super::patience::PATIENCE;

/// Longest head of an answer.
const HEAD_MAX: usize = 32 * 1024;
/// Longest accepted body of an answer.
const BODY_MAX: usize = 64 << 20;
/// Time between two packets of a request that is cut.
const BETWEEN_PACKETS: Duration = Duration::from_micros(300);

/// An answer: its head, and its body if it was read.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in small letters.
    pub(super) headers: Vec<(String, String)>,
    pub(super) length: BodyLength,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The first value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns a header. Fails if it is absent.
    pub(super) fn wants_header(&self, name: &str) -> Step<&str> {
        self.header(name).ok_or_else(|| failed(format!("an answer without {name}: {}", self.words())))
    }

    /// Fails unless the status is that one.
    pub(super) fn is(self, status: u16) -> Step<Answer> {
        holds(self.status == status, || format!("{} where {status} is wanted", self.words()))?;
        Ok(self)
    }

    /// Returns the body as JSON. Fails if the content type is not JSON.
    pub(super) fn json(&self) -> Step<Value> {
        let media = self.header("content-type").unwrap_or("no content type");
        holds(media.to_ascii_lowercase().starts_with("application/json"), || {
            format!("a document of {media} where application/json is wanted")
        })?;
        serde_json::from_slice(&self.body).map_err(|_| failed(format!("no JSON: {}", shown(&self.body))))
    }

    /// 2.0: a refusal with one of these statuses, and a document with the reason.
    pub(super) fn refuses(&self, statuses: &[u16]) -> Outcome {
        holds(statuses.contains(&self.status), || {
            let wanted: Vec<String> = statuses.iter().map(u16::to_string).collect();
            format!("{} where {} is wanted", self.words(), wanted.join(" or "))
        })?;
        let document = self.json()?;
        holds(document["error"].as_str().is_some_and(|text| !text.is_empty()), || {
            format!("a refusal that does not say {{\"error\": TEXT}}: {}", brief(&document.to_string()))
        })
    }

    /// 6.1: the position of this answer in the order of publications.
    pub(super) fn cursor(&self) -> Step<String> {
        let cursor = self.wants_header("pushmark-cursor")?;
        holds(!cursor.is_empty(), || "an empty pushmark-cursor".into())?;
        Ok(cursor.to_owned())
    }

    /// 3.2: the last publication of each channel before the subscription took effect.
    pub(super) fn acknowledged(&self) -> Step<BTreeMap<String, Option<u64>>> {
        let header = self.wants_header("pushmark-subscribed")?;
        let pair = |pair: &str| {
            let (name, last) = pair.trim().split_once('=')?;
            let last = if last == "-" { None } else { Some(last.parse().ok()?) };
            Some((name.to_owned(), last))
        };
        let pairs: Option<BTreeMap<_, _>> = header.split(',').map(pair).collect();
        pairs.ok_or_else(|| failed(format!("pushmark-subscribed: {} is not NAME=NUMBER,…", brief(header))))
    }

    /// Status and body in a line.
    pub(super) fn words(&self) -> String {
        match self.body.is_empty() {
            true => self.status.to_string(),
            false => format!("{} {}", self.status, shown(&self.body)),
        }
    }
}

/// A piece of a body without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One chunk, whole.
    Chunk(Vec<u8>),
    /// The last chunk.
    End,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Blocking,
    endpoint: Endpoint,
    /// The TLS error that ended the connection; otherwise empty.
    last_words: String,
    pub(super) pending: Vec<u8>,
    decoder: BodyDecoder,
    /// The body has no chunks: each read is a piece.
    until_close: bool,
    chunk: Vec<u8>,
    /// The last answer closed the connection (RFC 9112 9.6): the next request opens a new one.
    ends: bool,
    /// Nothing is waited for beyond this instant.
    pub(super) until: Option<Instant>,
    pub(super) chance: Chance,
    pub(super) journal: Journal,
}

impl Wire {
    /// Connects. `receive_buffer`: bytes that the kernel may buffer for a client that does not read.
    pub(super) fn connect(
        endpoint: &Endpoint,
        receive_buffer: Option<usize>,
        chance: Chance,
        journal: Journal,
    ) -> Step<Wire> {
        let refused = |error| failed(format!("{} does not take a connection: {error}", endpoint.address));
        let socket = endpoint.open(receive_buffer).map_err(refused)?;
        let decoder = BodyDecoder::new(BodyLength::None);
        let (last_words, pending, chunk) = (String::new(), Vec::new(), Vec::new());
        Ok(Wire {
            socket,
            endpoint: endpoint.clone(),
            last_words,
            pending,
            decoder,
            until_close: false,
            chunk,
            ends: false,
            until: None,
            chance,
            journal,
        })
    }

    /// A request as bytes.
    pub(super) fn request(&self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
        let mut bytes =
            format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n", self.endpoint.host).into_bytes();
        for header in headers {
            bytes.extend_from_slice(format!("{header}\r\n").as_bytes());
        }
        if !body.is_empty() || !matches!(method, "GET" | "DELETE") {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        bytes
    }

    /// Sends a request, cut into packets.
    pub(super) fn send(&mut self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> Outcome {
        let bytes = self.request(method, target, headers, body);
        let more = headers.iter().map(|header| format!(" [{header}]")).collect::<String>();
        let with = if body.is_empty() { String::new() } else { format!(" {}", shown(body)) };
        self.journal.note(brief(&format!("{method} {target}{more}{with}")));
        self.renew()?;
        self.write(&bytes)
    }

    /// Sends bytes unchanged, cut into packets.
    pub(super) fn send_raw(&mut self, what: &str, bytes: &[u8]) -> Outcome {
        self.send_told(format!("{what}: {}", shown(bytes)), bytes)
    }

    /// Sends bytes that are told in words alone.
    pub(super) fn send_told(&mut self, what: String, bytes: &[u8]) -> Outcome {
        self.journal.note(what);
        self.renew()?;
        self.write(bytes)
    }

    /// Opens a new connection if the server announced that it closes this one.
    fn renew(&mut self) -> Outcome {
        if std::mem::take(&mut self.ends) {
            let refused =
                |error| failed(format!("{} takes no other connection: {error}", self.endpoint.address));
            self.socket = self.endpoint.open(None).map_err(refused)?;
            self.pending.clear();
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome {
        let mut from = 0;
        let cuts = self.chance.cuts(bytes.len());
        // Byte by byte the packets need no pause: there are enough of them.
        let pause = cuts.len() <= 8;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            // A server may refuse and close before the last byte: its answer is then the evidence.
            let written = self.socket.write_all(&bytes[from..cut]).and_then(|()| self.socket.flush());
            if written.is_err() {
                return Ok(());
            }
            from = cut;
            if pause && from < bytes.len() {
                std::thread::sleep(BETWEEN_PACKETS);
            }
        }
        Ok(())
    }

    /// Reads more until a deadline; false at the end of the connection.
    pub(super) fn read_more(&mut self, deadline: Instant) -> Step<bool> {
        let mut buffer = [0; 64 * 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let read = self.socket.set_read_timeout(left).and_then(|()| self.socket.read(&mut buffer));
            return match read {
                Ok(0) => Ok(false),
                Ok(n) => {
                    self.pending.extend_from_slice(&buffer[..n]);
                    Ok(true)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    Err(failed("nothing came in time"))
                }
                // Reset: the peer is gone in this case too.
                Err(error) => {
                    let told = tls::Trouble::of(&error).map(|trouble| format!(": {trouble}"));
                    self.last_words = told.unwrap_or_default();
                    Ok(false)
                }
            };
        }
    }

    fn read(&mut self, what: &str) -> Outcome {
        let patience = Instant::now() + PATIENCE;
        match self.read_more(self.until.map_or(patience, |until| until.min(patience))) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let (so_far, why) = (self.so_far(), &self.last_words);
                Err(failed(format!("the connection ended before {what}{so_far}{why}")))
            }
            Err(_) => Err(failed(format!("{what} did not come within {PATIENCE:?}{}", self.so_far()))),
        }
    }

    fn so_far(&self) -> String {
        let rest = [&self.chunk[..], &self.pending].concat();
        if rest.is_empty() { String::new() } else { format!(", only {}", shown(&rest)) }
    }

    /// Reads the head of an answer, not its body.
    pub(super) fn head(&mut self) -> Step<Answer> {
        loop {
            let parsed = ResponseHead::parse(&self.pending, HEAD_MAX)
                .map_err(|failure| failed(format!("no answer of HTTP/1.1: {failure}{}", self.so_far())))?;
            let Some((head, len)) = parsed else {
                self.read("the head of an answer")?;
                continue;
            };
            let headers = head.headers.iter();
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect();
            let answer = Answer { status: head.status, headers, length: head.body, body: Vec::new() };
            let compressed = head.compressed();
            self.pending.drain(..len);
            self.ends = answer.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
            if (100..200).contains(&answer.status) && answer.status != 101 {
                continue;
            }
            // 3.4, wherever it happens.
            holds(!compressed, || format!("a compressed answer: {:?}", answer.header("content-encoding")))?;
            self.decoder = BodyDecoder::new(answer.length);
            self.until_close = answer.length == BodyLength::UntilClose;
            self.chunk.clear();
            return Ok(answer);
        }
    }

    /// A whole answer.
    pub(super) fn answer(&mut self) -> Step<Answer> {
        let mut answer = self.head()?;
        loop {
            match self.decode()? {
                Some(Piece::Chunk(data)) => answer.body.extend_from_slice(&data),
                Some(Piece::End) => return Ok(answer),
                None => {
                    let started = Instant::now();
                    holds(answer.body.len() < BODY_MAX, || format!("a body of more than {BODY_MAX} bytes"))?;
                    match self.read_more(started + PATIENCE) {
                        Ok(true) => {}
                        Ok(false) => {
                            let end = self.decoder.handle_eof();
                            end.map_err(|_| {
                                failed(format!("an answer that is cut off: {}", answer.words()))
                            })?;
                            answer.body.append(&mut self.chunk);
                            return Ok(answer);
                        }
                        Err(_) => return Err(failed(format!("the body did not end: {}", answer.words()))),
                    }
                }
            }
        }
    }

    /// Asks and reads the whole answer.
    pub(super) fn ask(&mut self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> Step<Answer> {
        self.send(method, target, headers, body)?;
        self.answer()
    }

    /// The next chunk of a body that has been begun.
    pub(super) fn piece(&mut self) -> Step<Piece> {
        loop {
            if let Some(piece) = self.decode()? {
                return Ok(piece);
            }
            self.read("another chunk")?;
        }
    }

    /// The next chunk, which must not be the last.
    pub(super) fn chunk(&mut self) -> Step<Vec<u8>> {
        match self.piece()? {
            Piece::Chunk(data) => Ok(data),
            Piece::End => Err(failed("the body ended")),
        }
    }

    /// Returns a chunk, or the rest of a sized body, once it is complete; its line end may arrive with the
    /// next.
    fn decode(&mut self) -> Step<Option<Piece>> {
        let bad = |failure| failed(format!("a body that breaks its framing: {failure}"));
        let before = self.pending.len();
        let mut input = &mut self.pending[..];
        let mut piece = None;
        while piece.is_none() {
            match self.decoder.next(&mut input).map_err(bad)? {
                Some(BodyEvent::Data(data)) => self.chunk.extend_from_slice(data),
                Some(BodyEvent::ChunkEnd) if self.chunk.is_empty() => {} // it was given without its line end
                Some(BodyEvent::ChunkEnd) => piece = Some(Piece::Chunk(std::mem::take(&mut self.chunk))),
                Some(BodyEvent::End) if self.chunk.is_empty() => piece = Some(Piece::End),
                Some(BodyEvent::End) => {
                    // A sized body: its data first, its end when asked again.
                    self.decoder = BodyDecoder::new(BodyLength::None);
                    piece = Some(Piece::Chunk(std::mem::take(&mut self.chunk)));
                }
                None => break,
            }
        }
        let taken = before - input.len();
        self.pending.drain(..taken);
        let whole = self.until_close || self.decoder.awaits_line_end();
        if whole && piece.is_none() && !self.chunk.is_empty() {
            piece = Some(Piece::Chunk(std::mem::take(&mut self.chunk)));
        }
        Ok(piece)
    }

    /// Reads raw bytes instead of an answer: after an upgrade.
    pub(super) fn more_bytes(&mut self, what: &str) -> Outcome {
        self.read(what)
    }

    /// Fails unless the connection ends without another byte.
    pub(super) fn ends(&mut self) -> Outcome {
        let started = Instant::now();
        while self.pending.is_empty() {
            match self.read_more(started + PATIENCE) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(_) => return Err(failed(format!("the connection stayed open for {PATIENCE:?}"))),
            }
        }
        Err(failed(format!("more came: {}", shown(&self.pending))))
    }

    /// Fails if anything arrives within `time`.
    pub(super) fn is_quiet(&mut self, time: Duration) -> Outcome {
        if self.pending.is_empty() {
            match self.read_more(Instant::now() + time) {
                Err(Miss::Failed(_)) => return Ok(()),
                Ok(false) => return Err(failed("the connection ended")),
                _ => {}
            }
        }
        Err(failed(format!("{} where nothing is wanted", shown(&self.pending))))
    }
}

/// Fails unless a header with a media type has this prefix.
pub(super) fn wants_media(answer: &Answer, media: &str) -> Outcome {
    let came = answer.wants_header("content-type")?.to_ascii_lowercase();
    same("content type", &came.split(';').next().unwrap_or_default().trim(), &media)
}
