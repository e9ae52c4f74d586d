//! The intent of a request (CONTRACT 2 to 7), parsed from its head into a type without invalid states.

use pushmark_proto::http1::RequestHead;

use crate::hub::is_channel_name;

/// The longest body of a request, bytes. An emitter with 65,536 channels fits.
pub(crate) const BODY_MAX: usize = 4 << 20;

/// How long a poll without its own hold is held, ms.
pub(crate) const HOLD_DEFAULT_MS: u64 = 30_000;

/// The longest hold, ms: an hour.
pub(crate) const HOLD_MAX_MS: u64 = 3_600_000;

/// What a request asks for. `Register` is an instrumented request (CONTRACT 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Health,
    Time { client: String },
    Stats,
    Log,
    Shutdown,
    Publish { channel: String },
    Register,
    SetEmitter { name: String },
    ClearEmitter { name: String },
    ClearEmitters,
    Poll { channels: Vec<String>, since: Since },
    LongPoll { channels: Vec<String>, since: Since, hold_ms: u64 },
    Stream { channels: Vec<String> },
    Sse { channels: Vec<String>, after: Option<u64> },
    WebSocket { channels: Vec<String> },
    Bayeux { cookie: Option<String> },
    BayeuxSocket,
}

/// The starting point of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// Not given: the client has no cursor.
    Unsaid,
    /// From now on: the client requests its first cursor.
    Now,
    /// Everything after this cursor.
    Cursor(u64),
}

/// The refusal of a request: its status, and a sentence with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into() }
    }
}

impl Intent {
    /// Parses the head of a request.
    pub(crate) fn of(head: &RequestHead<'_>) -> Result<Intent, Refusal> {
        let query = Query(head.query());
        let path = head.path();
        Ok(match (head.method, path) {
            ("GET", "/health") => Intent::Health,
            ("GET", "/time") => Intent::Time { client: query.find("client")?.unwrap_or_default() },
            ("GET", "/stats") => Intent::Stats,
            ("POST", "/log") => Intent::Log,
            ("POST", "/shutdown") => Intent::Shutdown,
            ("POST", "/publish") => match <[String; 1]>::try_from(query.channels()?) {
                Ok([channel]) => Intent::Publish { channel },
                Err(_) => return Err(Refusal::new(400, "one channel at a time is published to")),
            },
            ("POST", "/request") => Intent::Register,
            ("DELETE", "/emitters") => Intent::ClearEmitters,
            ("GET", "/poll") => Intent::Poll { channels: query.channels()?, since: query.since()? },
            ("GET", "/long-poll") => Intent::LongPoll {
                channels: query.channels()?,
                since: query.since()?,
                hold_ms: query.hold_ms()?,
            },
            ("GET", "/stream") => Intent::Stream { channels: query.channels()? },
            ("GET", "/sse") => Intent::Sse {
                channels: query.channels()?,
                // An invalid id is from another server. Begin as without an id.
                after: head.headers.text("last-event-id").and_then(|id| id.parse().ok()),
            },
            // A WebSocket that only publishes has no channel.
            ("GET", "/ws") if query.find("channel")?.is_none() => Intent::WebSocket { channels: Vec::new() },
            ("GET", "/ws") => Intent::WebSocket { channels: query.channels()? },
            ("POST", path) if is_bayeux(path) => Intent::Bayeux { cookie: cookie(head, BROWSER_COOKIE) },
            ("GET", path) if is_bayeux(path) => Intent::BayeuxSocket,
            (method, path) => match (method, path.strip_prefix("/emitters/")) {
                ("PUT", Some(name)) => Intent::SetEmitter { name: emitter_name(name)? },
                ("DELETE", Some(name)) => Intent::ClearEmitter { name: emitter_name(name)? },
                _ => return Err(unknown(path)),
            },
        })
    }

    /// Returns whether it changes something for others: publications or the server. Bayeux and WebSockets
    /// carry both kinds of messages, which are checked one by one.
    pub(crate) fn changes(&self) -> bool {
        match self {
            Intent::Log
            | Intent::Shutdown
            | Intent::Publish { .. }
            | Intent::SetEmitter { .. }
            | Intent::ClearEmitter { .. }
            | Intent::ClearEmitters => true,
            Intent::Health
            | Intent::Time { .. }
            | Intent::Stats
            | Intent::Register
            | Intent::Poll { .. }
            | Intent::LongPoll { .. }
            | Intent::Stream { .. }
            | Intent::Sse { .. }
            | Intent::WebSocket { .. }
            | Intent::Bayeux { .. }
            | Intent::BayeuxSocket => false,
        }
    }

    /// Returns its transport, if it subscribes.
    pub(crate) fn transport(&self) -> Option<&'static str> {
        match self {
            Intent::Poll { .. } => Some("poll"),
            Intent::LongPoll { .. } => Some("long-poll"),
            Intent::Stream { .. } => Some("stream"),
            Intent::Sse { .. } => Some("sse"),
            Intent::WebSocket { .. } => Some("websocket"),
            Intent::BayeuxSocket => Some("bayeux-websocket"),
            _ => None,
        }
    }
}

fn unknown(path: &str) -> Refusal {
    let known = [
        "/health",
        "/time",
        "/stats",
        "/log",
        "/shutdown",
        "/publish",
        "/request",
        "/emitters",
        "/poll",
        "/long-poll",
        "/stream",
        "/sse",
        "/ws",
        "/cometd",
    ];
    match known.contains(&path) || is_bayeux(path) || path.starts_with("/emitters/") {
        true => Refusal::new(405, "this path has another method: CONTRACT.md lists them"),
        false => Refusal::new(404, format!("no such path; there are {}", known.join(" "))),
    }
}

/// CometD's clients append `/handshake`, `/connect` or `/disconnect`, for readers of logs.
fn is_bayeux(path: &str) -> bool {
    path.strip_prefix("/cometd").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The cookie that identifies a browser to Bayeux servers (section "Multi frame operation").
pub(crate) const BROWSER_COOKIE: &str = "BAYEUX_BROWSER";

/// Returns a cookie's value (RFC 6265 4.2.1).
fn cookie(head: &RequestHead<'_>, name: &str) -> Option<String> {
    let mut pairs = head.headers.text("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

fn emitter_name(encoded: &str) -> Result<String, Refusal> {
    let name = decode(encoded)?;
    match is_channel_name(&name) {
        true => Ok(name),
        false => Err(Refusal::new(400, "an emitter's name is 1 to 128 visible ASCII characters")),
    }
}

/// The part of a target after `?`.
struct Query<'a>(&'a str);

impl Query<'_> {
    /// Returns the first value with this name.
    fn find(&self, name: &str) -> Result<Option<String>, Refusal> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
        values.next().map(decode).transpose()
    }

    /// Returns the requested channels: at least one, without duplicates.
    fn channels(&self) -> Result<Vec<String>, Refusal> {
        let list = self.find("channel")?.unwrap_or_default();
        let mut names: Vec<String> = list.split(',').map(str::to_owned).collect();
        if !names.iter().all(|name| is_channel_name(name)) {
            let why = "channel=NAME[,NAME...] is needed; a name is 1 to 128 visible ASCII \
                       characters without , = \" and \\";
            return Err(Refusal::new(400, why));
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn since(&self) -> Result<Since, Refusal> {
        match self.find("since")?.as_deref() {
            None => Ok(Since::Unsaid),
            Some("") => Ok(Since::Now),
            Some(cursor) => cursor
                .parse()
                .map(Since::Cursor)
                .map_err(|_| Refusal::new(400, "since is a cursor of this server, or empty")),
        }
    }

    fn hold_ms(&self) -> Result<u64, Refusal> {
        let Some(text) = self.find("hold")? else { return Ok(HOLD_DEFAULT_MS) };
        text.parse()
            .ok()
            .filter(|&ms| ms <= HOLD_MAX_MS)
            .ok_or_else(|| Refusal::new(400, "hold is a number of ms, at most 3600000"))
    }
}

/// Decodes percent-encoding (RFC 3986 2.1).
fn decode(text: &str) -> Result<String, Refusal> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let refusal = || Refusal::new(400, "bad percent-encoding");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>().ok_or_else(refusal)?;
        let hex = |digit: u8| (digit as char).to_digit(16).ok_or_else(refusal);
        bytes.push((hex(digits[0])? * 16 + hex(digits[1])?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| refusal())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(line: &str) -> Result<Intent, u16> {
        let bytes = format!("{line} HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 7\r\n\r\n");
        let (head, _) = RequestHead::parse(bytes.as_bytes()).unwrap().unwrap();
        Intent::of(&head).map_err(|refusal| refusal.status)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn requests_say_what_they_want() {
        let channels = names(&["a", "b"]);
        let table = [
            ("GET /health", Ok(Intent::Health)),
            ("GET /health?x=1", Ok(Intent::Health)),
            ("POST /publish?channel=c%30", Ok(Intent::Publish { channel: "c0".into() })),
            ("PUT /emitters/x%79", Ok(Intent::SetEmitter { name: "xy".into() })),
            ("DELETE /emitters", Ok(Intent::ClearEmitters)),
            ("POST /request", Ok(Intent::Register)),
            ("GET /request", Err(405)),
            // Channels are sorted and deduplicated.
            ("GET /stream?channel=b,a,b", Ok(Intent::Stream { channels: channels.clone() })),
            ("GET /sse?channel=a,b", Ok(Intent::Sse { channels: channels.clone(), after: Some(7) })),
            ("GET /ws", Ok(Intent::WebSocket { channels: vec![] })),
            ("GET /poll?channel=a,b", Ok(Intent::Poll { channels: channels.clone(), since: Since::Unsaid })),
            (
                "GET /long-poll?channel=a,b&hold=5&since=",
                Ok(Intent::LongPoll { channels: channels.clone(), since: Since::Now, hold_ms: 5 }),
            ),
            (
                "GET /long-poll?since=12&channel=a,b",
                Ok(Intent::LongPoll { channels, since: Since::Cursor(12), hold_ms: 30_000 }),
            ),
            ("GET /poll", Err(400)),
            ("GET /poll?channel=a,,b", Err(400)),
            ("GET /poll?channel=a&since=x", Err(400)),
            ("GET /long-poll?channel=a&hold=4000000", Err(400)),
            ("POST /publish?channel=a,b", Err(400)),
            ("GET /poll?channel=%4", Err(400)),
            ("POST /poll?channel=a", Err(405)),
            ("GET /nothing", Err(404)),
            ("POST /cometd", Ok(Intent::Bayeux { cookie: None })),
            ("POST /cometd/connect", Ok(Intent::Bayeux { cookie: None })),
            ("GET /cometd", Ok(Intent::BayeuxSocket)),
            ("PUT /cometd", Err(405)),
            ("POST /cometdx", Err(404)),
        ];
        for (line, expected) in table {
            assert_eq!(intent(line), expected, "{line}");
        }
    }
}
