//! How a client hears.

use serde::{Deserialize, Serialize};

/// A way for news to reach a client. The order is the order of every table and figure.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Asks for the latest state on a fixed grid of instants.
    Poll,
    /// Asks, is held until there is news or the hold ends, asks again at once.
    LongPoll,
    /// One HTTP response without end ("comet"); each message is one flushed piece.
    Stream,
    /// Server-Sent Events: the WHATWG event stream over one HTTP response.
    Sse,
    /// RFC 6455.
    #[serde(rename = "websocket")]
    WebSocket,
}

impl Transport {
    /// All transports, in display order.
    pub const ALL: [Transport; 5] =
        [Transport::Poll, Transport::LongPoll, Transport::Stream, Transport::Sse, Transport::WebSocket];

    /// The name in files, tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Poll => "poll",
            Transport::LongPoll => "long-poll",
            Transport::Stream => "stream",
            Transport::Sse => "sse",
            Transport::WebSocket => "websocket",
        }
    }

    /// The transport with this name (`ws` is understood too).
    pub fn parse(name: &str) -> Option<Transport> {
        match name {
            "ws" => Some(Transport::WebSocket),
            _ => Transport::ALL.into_iter().find(|t| t.name() == name),
        }
    }

    /// The server writes on its own; the client asked once.
    pub fn is_push(self) -> bool {
        matches!(self, Transport::Stream | Transport::Sse | Transport::WebSocket)
    }
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
