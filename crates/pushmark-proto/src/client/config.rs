//! The configuration shared by all clients of one arm. The driver holds it once and passes it into calls.

use crate::websocket::deflate::Offer;

/// How a client receives messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Requests the latest state on a schedule.
    Poll,
    /// Sends a request that is held until there is a message, then sends the next.
    LongPoll,
    /// One endless HTTP response.
    Stream,
    /// One endless HTTP response with events (WHATWG HTML 9.2).
    Sse,
    /// RFC 6455.
    WebSocket,
    /// Bayeux 1.0 over HTTP requests, one of them held.
    Bayeux,
    /// Bayeux 1.0 over one WebSocket.
    BayeuxWebSocket,
}

/// Where a response contains the cursor for the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorSource {
    /// Nowhere: messages published between two requests are lost to this client.
    None,
    /// In this header field.
    Header(String),
    /// In the JSON body, at this pointer (RFC 6901), such as `/cursor`.
    Json(String),
}

/// The most heartbeat answers that are recognised. Further ones are never sent.
pub const ANSWERS_MAX: usize = 16;

/// The rules of a conversation.
#[derive(Clone, Debug)]
pub struct Config {
    /// The transport.
    pub transport: Transport,
    /// Poll and long poll: the location of the cursor.
    pub cursor: CursorSource,
    /// Stream, SSE, WebSocket: a text that confirms the subscription when a message or the stream contains
    /// it. For SSE it may also be in an event's name or a comment.
    pub ready: Option<Vec<u8>>,
    /// WebSocket: a message equal to the first is answered with the second, in a message of the same kind, text or
    /// binary. If the second is absent, the driver answers ([`super::Event::Asked`]). At most [`ANSWERS_MAX`].
    pub answers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// WebSocket: the byte that divides a message into parts, each of which may be a heartbeat of `answers`;
    /// absent: a message is one part. If it is a line feed, carriage returns are no part of a heartbeat.
    pub separator: Option<u8>,
    /// WebSocket: the offered subprotocols, comma-separated, or empty.
    pub subprotocol: String,
    /// WebSocket: the offer to inflate compressed messages; absent: none is made.
    pub deflate: Option<Offer>,
    /// The header field in which a server acknowledges the subscription.
    pub ack_header: &'static str,
    /// The longest message in bytes. Streams have no messages.
    pub message_max: u64,
    /// The longest response head in bytes.
    pub head_max: usize,
    /// Poll: send `If-None-Match` once an ETag was received.
    pub conditional: bool,
    /// Send back the cookies that responses set.
    pub cookies: bool,
    /// Bayeux: options beyond the protocol.
    pub bayeux: Bayeux,
}

/// The options of a Bayeux client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bayeux {
    /// The acknowledge extension: events in order and at least once, with connect replies only.
    pub acknowledge: bool,
    /// The timesync extension. The driver then sets the time ([`super::bayeux::Session::set_time_ms`]).
    pub time_sync: bool,
    /// One message for each channel instead of one with an array: Bayeux servers older than version 1.0 do
    /// not support arrays.
    pub subscribe_each: bool,
}

impl Config {
    /// The default configuration of a transport: no cursor, no ready text, 16 MiB per message.
    pub fn new(transport: Transport) -> Config {
        Config {
            transport,
            cursor: CursorSource::None,
            ready: None,
            answers: Vec::new(),
            separator: None,
            subprotocol: String::new(),
            deflate: None,
            ack_header: "pushmark-subscribed",
            message_max: 16 << 20,
            head_max: crate::http1::HEAD_MAX,
            conditional: false,
            // A Bayeux server identifies its clients by cookie as well (BAYEUX_BROWSER): one jar each.
            cookies: matches!(transport, Transport::Bayeux | Transport::BayeuxWebSocket),
            bayeux: Bayeux::default(),
        }
    }
}
