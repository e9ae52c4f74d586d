//! Why a conversation cannot continue. Each variant names the party at fault.

use std::fmt;

/// A failure that ends a conversation. The connection must then be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The scenario: its URL redirects with a 3xx. Redirects are never followed, so that only the named
    /// target is measured.
    Redirect(u16),
    /// The scenario: its credentials were refused, 401 or 407.
    Auth(u16),
    /// The target: it responded with 4xx or 5xx.
    Status(u16),
    /// The target: it compressed although only `identity` was accepted, so stamps cannot be found.
    Compressed,
    /// The target: it answered HTTP/1.1 with HTTP/2 (RFC 9113).
    Http2,
    /// The target: its message head is not HTTP/1.x, or its framing is ambiguous (RFC 9112 6.3).
    Head(&'static str),
    /// The target: its message head is longer than the limit.
    HeadTooLarge,
    /// The target: a chunk or a trailer is malformed (RFC 9112 7.1).
    Body(&'static str),
    /// The target: it responded, but not with the requested transport.
    Handshake(&'static str),
    /// The peer: it violated the rules of WebSocket frames (RFC 6455 5) or of an event stream.
    Frame(&'static str),
    /// The peer: a WebSocket text is not UTF-8 (RFC 6455 8.1).
    Utf8,
    /// The peer, or the scenario's limit: a message is longer than allowed.
    MessageTooLarge,
    /// The target: its long-poll cursor cannot be used.
    Cursor(&'static str),
    /// The target: a body or text is not valid Bayeux, or lacks the reply.
    Bayeux(&'static str),
    /// The target: it permanently refused a Bayeux handshake, subscription or connect.
    Refused {
        /// What was refused.
        what: &'static str,
        /// The code of its `error`, with its meaning in HTTP.
        code: Option<u16>,
    },
    /// The target: it closed the connection within a response, a stream or a WebSocket.
    ClosedEarly,
}

impl Failure {
    /// Returns the kind it is counted under, in snake case.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Redirect(_) => "redirect",
            Failure::Auth(_) => "auth",
            Failure::Status(500..) => "status_5xx",
            Failure::Status(_) => "status_4xx",
            Failure::Compressed => "compressed",
            Failure::Http2 => "http2",
            Failure::Head(_) => "head",
            Failure::HeadTooLarge => "head_too_large",
            Failure::Body(_) => "body",
            Failure::Handshake(_) => "handshake",
            Failure::Frame(_) => "frame",
            Failure::Utf8 => "utf8",
            Failure::MessageTooLarge => "message_too_large",
            Failure::Cursor(_) => "cursor",
            Failure::Bayeux(_) => "bayeux",
            Failure::Refused { .. } => "bayeux_refused",
            Failure::ClosedEarly => "closed_early",
        }
    }

    /// Returns the WebSocket close code for this failure, if it has one (RFC 6455 7.4.1).
    pub fn close_code(&self) -> Option<u16> {
        match self {
            Failure::Frame(_) => Some(1002),
            Failure::Utf8 => Some(1007),
            // RFC 6455 7.4.1: a message that violates the endpoint's policy.
            Failure::Bayeux(_) | Failure::Refused { .. } => Some(1008),
            Failure::MessageTooLarge => Some(1009),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Redirect(status) => write!(f, "redirected with status {status}"),
            Failure::Auth(status) => write!(f, "credentials refused with status {status}"),
            Failure::Status(status) => write!(f, "answered with status {status}"),
            Failure::Compressed => f.write_str("the answer is compressed"),
            Failure::Http2 => f.write_str("the target speaks HTTP/2 only; pushmark speaks HTTP/1.1"),
            Failure::Head(what) => write!(f, "bad head: {what}"),
            Failure::HeadTooLarge => f.write_str("the head is longer than the limit"),
            Failure::Body(what) => write!(f, "bad body: {what}"),
            Failure::Handshake(what) => write!(f, "handshake refused: {what}"),
            Failure::Frame(what) => write!(f, "bad frame: {what}"),
            Failure::Utf8 => f.write_str("a text message is not UTF-8"),
            Failure::MessageTooLarge => f.write_str("a message is longer than the limit"),
            Failure::Cursor(what) => write!(f, "unusable cursor: {what}"),
            Failure::Bayeux(what) => write!(f, "bad Bayeux: {what}"),
            Failure::Refused { what, code: Some(code) } => write!(f, "{what} refused with error {code}"),
            Failure::Refused { what, code: None } => write!(f, "{what} refused"),
            Failure::ClosedEarly => f.write_str("the connection was closed too early"),
        }
    }
}

impl std::error::Error for Failure {}
