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
    /// Bayeux 1.0 over long polling: a session, one held connect, commands beside it.
    Bayeux,
    /// One HTTP response without end ("comet"); each message is one flushed piece.
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

    /// Their names, in the same order.
    pub const NAMES: [&'static str; Transport::ALL.len()] = {
        let mut names = [""; Transport::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = Transport::ALL[i].name();
            i += 1;
        }
        names
    };

    /// The name in files, tables and on the command line.
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

    /// The transport with this name (`ws` and `bayeux-ws` are understood too).
    pub fn parse(name: &str) -> Option<Transport> {
        match name {
            "ws" => Some(Transport::WebSocket),
            "bayeux-ws" => Some(Transport::BayeuxWebSocket),
            _ => Transport::ALL.into_iter().find(|t| t.name() == name),
        }
    }

    /// The server writes on its own; the client asked once.
    pub fn is_push(self) -> bool {
        matches!(self, Transport::Stream | Transport::Sse) || self.is_websocket()
    }

    /// It speaks Bayeux: a session with handshake, subscriptions and publications of its own.
    pub fn is_bayeux(self) -> bool {
        matches!(self, Transport::Bayeux | Transport::BayeuxWebSocket)
    }

    /// It runs over a WebSocket, so its URL begins with `ws`.
    pub fn is_websocket(self) -> bool {
        matches!(self, Transport::WebSocket | Transport::BayeuxWebSocket)
    }

    /// A request is held until there is news, and asked anew at once.
    pub fn is_held(self) -> bool {
        matches!(self, Transport::LongPoll | Transport::Bayeux)
    }

    /// Its clients can publish over their own connections (publisher mode `peer`).
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
