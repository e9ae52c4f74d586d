//! What a conversation tells the driver.

/// Everything a [`super::Client`] can say. Borrows from the bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The final response head came and was accepted: 2xx, 101, for polls also 304, for long
    /// polls also 408. Comes with every answer.
    Opened {
        /// As sent.
        status: u16,
        /// The value of [`super::Config::ack_header`], where it is given.
        acknowledged: Option<&'a str>,
    },
    /// The ready text has been seen: subscribed. Once a connection, inside the message that holds it.
    /// Bayeux: the subscription was accepted, or goes on over a new connection.
    Ready,
    /// Payload of the current message, as much as had arrived. Never empty.
    Data(&'a [u8]),
    /// The message is whole. Streams have no messages; an answer's body is one, unless empty.
    MessageEnd,
    /// The message was an application heartbeat and has been answered. Instead of `MessageEnd`.
    Heartbeat,
    /// Poll, long poll, Bayeux over HTTP: the answer is complete, and the next request may be written.
    Answered {
        /// 304: not modified. 204, 304, 408: nothing to tell.
        status: u16,
        /// The cursor differs from the one before.
        cursor_advanced: bool,
    },
    /// Bayeux: a publication was answered.
    Published {
        /// As [`super::bayeux::Session::publish`] gave it, where the server repeats it.
        id: Option<u32>,
        /// Rather than refused.
        accepted: bool,
    },
    /// Bayeux: the server knows the session no more. It is begun anew, and [`Event::Ready`] tells
    /// when the subscription stands again.
    Forgotten,
    /// SSE: the server wishes this pause before a reconnection, in milliseconds.
    Retry(u64),
    /// SSE: a comment line, usually a heartbeat.
    Comment,
    /// WebSocket: the peer answered a ping, or sent its heartbeat.
    Pong,
    /// An orderly end: WebSocket's closing handshake, the end of a stream, an SSE answer of 204
    /// (seen in `Opened`), after which a client must not reconnect, or the end of a Bayeux session
    /// ([`super::bayeux::Session::has_ended`]).
    Closed {
        /// WebSocket's code, where the peer gave one.
        code: Option<u16>,
    },
}
