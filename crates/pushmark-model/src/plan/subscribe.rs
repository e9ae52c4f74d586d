//! Where and how a client subscribes.

use serde::{Deserialize, Serialize};

use crate::template::Template;

/// Where and how a client subscribes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscribe {
    /// Host as written (name, IPv4, IPv6 without brackets).
    pub host: String,
    /// Port; absent: the one the started server was given.
    pub port: Option<u16>,
    /// https or wss.
    pub tls: bool,
    /// Path and query.
    pub path: Template,
    /// Header lines added to each request.
    pub headers: Vec<(String, Template)>,
    /// WebSocket subprotocol to offer; empty: none.
    pub subprotocol: String,
    /// WebSocket messages sent after open.
    pub after_open: Vec<Template>,
    /// Text that says the subscription stands.
    pub ready: Option<String>,
    /// WebSocket messages sent periodically.
    pub every: Vec<Every>,
    /// WebSocket messages answered: when exactly `on` arrives, `send` goes out.
    pub answer: Vec<Answer>,
    /// Where a long poll's (or poll's) next cursor comes from.
    pub cursor: Cursor,
    /// Cookies are kept per client and sent back.
    pub cookies: bool,
    /// Answers carry everything since the cursor, not only the latest (poll).
    pub resumes: bool,
    /// The text message by which a client publishes itself, with `{channel}` and `{message}` (peer mode).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<Template>,
    /// What a Bayeux client needs beside the URL; absent on other transports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bayeux: Option<Bayeux>,
}

/// A Bayeux client's own choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bayeux {
    /// The Bayeux channel of a channel: what it subscribes to, and what a peer publishes on.
    pub channel: Template,
    /// It asks for the acknowledge extension, which promises order and redelivery.
    pub acknowledge: bool,
}

/// A periodic application heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Every {
    /// Period.
    pub after_ns: u64,
    /// Text to send.
    pub send: String,
}

/// A fixed answer to a fixed text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The whole text message to answer.
    pub on: String,
    /// Text to send.
    pub send: String,
}

/// Where a resume cursor is found.
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
