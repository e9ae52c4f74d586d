//! Where and how a client subscribes.

use serde::{Deserialize, Serialize};

use crate::template::Template;

/// Where and how a client subscribes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscribe {
    /// Host as written (name, IPv4, IPv6 without brackets).
    pub host: String,
    /// Port; absent: the port of the started server.
    pub port: Option<u16>,
    /// Whether the URL is https or wss.
    pub tls: bool,
    /// Path and query.
    pub path: Template,
    /// Header lines added to each request.
    pub headers: Vec<(String, Template)>,
    /// WebSocket subprotocol to offer; empty: none.
    pub subprotocol: String,
    /// WebSocket messages sent after open.
    pub after_open: Vec<Template>,
    /// Text with which the target confirms the subscription.
    pub ready: Option<String>,
    /// WebSocket messages sent periodically.
    pub every: Vec<Every>,
    /// WebSocket messages that are answered: when exactly `on` arrives, `send` is sent.
    pub answer: Vec<Answer>,
    /// Source of a long poll's (or poll's) next cursor.
    pub cursor: Cursor,
    /// Cookies are kept per client and sent back.
    pub cookies: bool,
    /// Answers contain everything since the cursor, not only the latest (poll).
    pub resumes: bool,
    /// The text message with which a client publishes, with `{channel}` and `{message}` (peer mode).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<Template>,
    /// Settings of a Bayeux client beyond the URL; absent on other transports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bayeux: Option<Bayeux>,
}

/// Settings of a Bayeux client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bayeux {
    /// The Bayeux channel of a channel, for subscriptions and for publications of peers.
    pub channel: Template,
    /// Whether it requests the acknowledge extension, which promises order and redelivery.
    pub acknowledge: bool,
}

/// A periodic application heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Every {
    /// Period.
    pub after_ns: u64,
    /// Text to send.
    pub send: Template,
}

/// A fixed answer to a fixed text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The whole text message to answer.
    pub on: String,
    /// Text to send.
    pub send: Template,
}

/// The source of a resume cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cursor {
    /// The target has none.
    None,
    /// A response header.
    Header(String),
    /// A JSON pointer (RFC 6901) into the answer.
    Json(String),
}

impl Subscribe {
    /// Returns all its templates, each with its key below the transport's key.
    pub fn templates(&self) -> Vec<(String, &Template)> {
        let numbered = |list: &str, n: usize, rest: &str| format!("{list}[{n}]{rest}");
        let mut all = vec![("url".to_owned(), &self.path)];
        let headers = self.headers.iter().map(|(name, value)| (format!("headers.{name:?}"), value));
        all.extend(headers);
        all.extend(self.after_open.iter().enumerate().map(|(n, t)| (numbered("after_open", n, ""), t)));
        all.extend(self.every.iter().enumerate().map(|(n, e)| (numbered("every", n, ".send"), &e.send)));
        all.extend(self.answer.iter().enumerate().map(|(n, a)| (numbered("answer", n, ".send"), &a.send)));
        all.extend(self.peer.iter().map(|template| ("publish".to_owned(), template)));
        all.extend(self.bayeux.iter().map(|bayeux| ("channel".to_owned(), &bayeux.channel)));
        all
    }
}
