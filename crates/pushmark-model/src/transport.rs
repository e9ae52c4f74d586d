//! How a client receives messages.

use serde::{Deserialize, Serialize};

/// How a client receives messages. All tables and figures use this order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// The client requests the latest state at fixed instants.
    Poll,
    /// The server holds a request until there is a message or the hold ends; then the client repeats it.
    LongPoll,
    /// Bayeux 1.0 over long polling: a session, one held connect, and commands beside it.
    Bayeux,
    /// One HTTP response that does not end ("comet"); each message is one flushed chunk.
    Stream,
    /// Server-Sent Events: the WHATWG event stream over one HTTP response.
    Sse,
    /// RFC 6455.
    #[serde(rename = "websocket")]
    WebSocket,
    /// Bayeux 1.0 over one WebSocket.
    #[serde(rename = "bayeux-websocket")]
    BayeuxWebSocket,
}

impl Transport {
    /// All transports, in display order.
    pub const ALL: [Transport; 7] = [
        Transport::Poll,
        Transport::LongPoll,
        Transport::Bayeux,
        Transport::Stream,
        Transport::Sse,
        Transport::WebSocket,
        Transport::BayeuxWebSocket,
    ];

    /// The names of all transports, in the same order.
    pub const NAMES: [&'static str; Transport::ALL.len()] = {
        let mut names = [""; Transport::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = Transport::ALL[i].name();
            i += 1;
        }
        names
    };

    /// Returns the name used in files, tables and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Poll => "poll",
            Transport::LongPoll => "long-poll",
            Transport::Bayeux => "bayeux",
            Transport::Stream => "stream",
            Transport::Sse => "sse",
            Transport::WebSocket => "websocket",
            Transport::BayeuxWebSocket => "bayeux-websocket",
        }
    }

    /// Returns the transport with this name (also accepts `ws` and `bayeux-ws`).
    pub fn parse(name: &str) -> Option<Transport> {
        match name {
            "ws" => Some(Transport::WebSocket),
            "bayeux-ws" => Some(Transport::BayeuxWebSocket),
            _ => Transport::ALL.into_iter().find(|t| t.name() == name),
        }
    }

    /// Whether the server sends messages without further requests.
    pub fn is_push(self) -> bool {
        matches!(self, Transport::Stream | Transport::Sse) || self.is_websocket()
    }

    /// Whether it speaks Bayeux: a session with its own handshake, subscriptions and publications.
    pub fn is_bayeux(self) -> bool {
        matches!(self, Transport::Bayeux | Transport::BayeuxWebSocket)
    }

    /// Whether it runs over a WebSocket, so that its URL begins with `ws`.
    pub fn is_websocket(self) -> bool {
        matches!(self, Transport::WebSocket | Transport::BayeuxWebSocket)
    }

    /// Whether a request is held until there is a message, and repeated at once.
    pub fn is_held(self) -> bool {
        matches!(self, Transport::LongPoll | Transport::Bayeux)
    }

    /// Whether its clients can publish over their own connections (publisher mode `peer`).
    pub fn can_publish(self) -> bool {
        self.is_bayeux() || self == Transport::WebSocket
    }
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_the_command_line_use_the_same_names() {
        for (transport, name) in Transport::ALL.into_iter().zip(Transport::NAMES) {
            assert_eq!(serde_json::to_value(transport).unwrap(), name);
            assert_eq!(Transport::parse(name), Some(transport));
        }
        assert!(Transport::ALL.is_sorted());
    }
}
