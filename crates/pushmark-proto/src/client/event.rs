//! The events of a conversation for the driver.

/// Every event of a [`super::Client`]. It borrows from the bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The final response head arrived and was accepted: 2xx, 101, 304 (for polls and long polls) or 408 (for
    /// long polls). Sent for every response.
    Opened {
        /// As sent.
        status: u16,
        /// The value of [`super::Config::ack_header`], if present.
        acknowledged: Option<&'a str>,
    },
    /// The ready text was found, so the client is subscribed. Sent once a connection, inside the message that
    /// contains the text. Bayeux: the subscription was accepted, or continues over a new connection.
    Ready,
    /// Payload of the current message, as far as it has arrived. Never empty.
    Data(&'a [u8]),
    /// Payload of the current message, which was compressed ([`super::Client::take_inflated`]). Never empty.
    Inflated,
    /// The message is complete. Streams have no messages. The body of a response is one message, unless
    /// empty.
    MessageEnd,
    /// The message was nothing but application heartbeats, which were answered. Replaces `MessageEnd`.
    Heartbeat,
    /// The driver must answer a heartbeat in the message. `Heartbeat` or `MessageEnd` follows.
    Asked {
        /// Its number in [`super::Config::answers`].
        answer: u8,
        /// Whether the message was a text: so is the answer ([`super::Client::write_message`]).
        text: bool,
    },
    /// Poll, long poll, Bayeux over HTTP: the response is complete, and the next request may be written.
    Answered {
        /// 304: not modified. 204, 304, 408: no message.
        status: u16,
        /// The cursor differs from the one before.
        cursor_advanced: bool,
    },
    /// Bayeux: a publication was answered.
    Published {
        /// The id from [`super::bayeux::Session::publish`], if the server repeats it.
        id: Option<u32>,
        /// Whether it was accepted rather than refused.
        accepted: bool,
    },
    /// Bayeux: the server does not know the session any more. The session starts again, and [`Event::Ready`]
    /// reports the renewed subscription.
    Forgotten,
    /// SSE: the pause before a reconnection that the server asks for, in milliseconds.
    Retry(u64),
    /// SSE: a comment line, usually a heartbeat.
    Comment,
    /// WebSocket: the peer answered a ping, or sent its heartbeat.
    Pong,
    /// An orderly end: WebSocket's closing handshake, the end of a stream, an SSE response with 204 (reported
    /// in `Opened`), after which a client must not reconnect, or the end of a Bayeux session
    /// ([`super::bayeux::Session::has_ended`]).
    Closed {
        /// WebSocket's close code, if the peer sent one.
        code: Option<u16>,
        /// WebSocket's close reason, if the peer sent one.
        reason: &'a str,
    },
}
