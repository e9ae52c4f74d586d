//! What all clients of one arm have in common. Held once by the driver and passed into calls.

/// How a client hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Asks for the latest state on a schedule.
    Poll,
    /// Asks, is held until there is something, asks again.
    LongPoll,
    /// One endless HTTP answer.
    Stream,
    /// One endless HTTP answer of events (WHATWG HTML 9.2).
    Sse,
    /// RFC 6455.
    WebSocket,
    /// Bayeux 1.0 over requests of HTTP, one of them held.
    Bayeux,
    /// Bayeux 1.0 over one WebSocket.
    BayeuxWebSocket,
}

/// Where a polled answer says how to ask for what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorSource {
    /// Nowhere: what is published between two requests is lost to this client.
    None,
    /// In the header field of this name.
    Header(String),
    /// In the JSON body, at this pointer (RFC 6901), such as `/cursor`.
    Json(String),
}

/// Most answers that are looked for at once; more are never given.
pub const ANSWERS_MAX: usize = 16;

/// The rules of a conversation.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which conversation.
    pub transport: Transport,
    /// Poll and long poll: where the cursor stands.
    pub cursor: CursorSource,
    /// Stream, SSE, WebSocket: a text that says "subscribed" once a message or the stream contains it.
    pub ready: Option<Vec<u8>>,
    /// WebSocket: a text message equal to the first is answered by the second. At most [`ANSWERS_MAX`].
    pub answers: Vec<(Vec<u8>, Vec<u8>)>,
    /// WebSocket: subprotocols offered, comma-separated; empty for none.
    pub subprotocol: String,
    /// The header field in which a server acknowledges the subscription.
    pub ack_header: &'static str,
    /// Longest message in bytes; streams have none.
    pub message_max: u64,
    /// Longest response head in bytes.
    pub head_max: usize,
    /// Poll: ask with `If-None-Match` once an ETag was seen.
    pub conditional: bool,
    /// Send back the cookies that answers set.
    pub cookies: bool,
    /// Bayeux: what is asked for beyond the protocol.
    pub bayeux: Bayeux,
}

/// What a Bayeux client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bayeux {
    /// The acknowledge extension: events in order and at least once, with connect replies only.
    pub acknowledge: bool,
    /// The timesync extension; the driver then tells the time
    /// ([`super::bayeux::Session::set_time_ms`]).
    pub time_sync: bool,
    /// A message for each channel instead of one with an array of them: Bayeux servers older than
    /// version 1.0 know no array.
    pub subscribe_each: bool,
}

impl Config {
    /// The usual rules of a transport: no cursor, no ready text, 16 MiB a message.
    pub fn new(transport: Transport) -> Config {
        Config {
            transport,
            cursor: CursorSource::None,
            ready: None,
            answers: Vec::new(),
            subprotocol: String::new(),
            ack_header: "pushmark-subscribed",
            message_max: 16 << 20,
            head_max: crate::http1::HEAD_MAX,
            conditional: false,
            // A Bayeux server knows its clients by cookie as well (BAYEUX_BROWSER): one jar each.
            cookies: matches!(transport, Transport::Bayeux | Transport::BayeuxWebSocket),
            bayeux: Bayeux::default(),
        }
    }
}
