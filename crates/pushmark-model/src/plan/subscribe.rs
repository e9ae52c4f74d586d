//! Where and how a client subscribes.

use serde::{Deserialize, Serialize};

use super::before::Before;
use super::steps::{Step, Wait};
use crate::message::Message;
use crate::template::{Place, Template};

/// Where and how a client subscribes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscribe {
    /// Host as written (name, IPv4, IPv6 without brackets).
    pub host: String,
    /// Port; absent: the port of the started server.
    pub port: Option<u16>,
    /// Whether the URL is https or wss.
    pub tls: bool,
    /// Request method.
    #[serde(default = "get")]
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Header lines added to each request.
    pub headers: Vec<(String, Template)>,
    /// Body of the request; absent: none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<Message>,
    /// An answer that ends in order is a planned end, not a lost connection.
    #[serde(default)]
    pub ends: bool,
    /// WebSocket subprotocol to offer; empty: none.
    pub subprotocol: String,
    /// The offer to inflate compressed WebSocket messages; absent: none is made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deflate: Option<Deflate>,
    /// WebSocket messages sent after open.
    pub after_open: Vec<Message>,
    /// The steps of the WebSocket conversation that subscribes, instead of messages after open.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<Step>,
    /// The byte that divides a WebSocket message into parts, each of which may be one to answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub separator: Option<u8>,
    /// Text with which the target confirms the subscription.
    pub ready: Option<String>,
    /// WebSocket messages sent periodically.
    pub every: Vec<Every>,
    /// WebSocket messages that are answered: when exactly `on` arrives, `send` is sent.
    pub answer: Vec<Answer>,
    /// Answers of a long poll after which a request is made, such as heartbeats.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub respond: Vec<Respond>,
    /// Messages that are no publications, told by their beginning.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ignore: Option<Box<Wait>>,
    /// Source of a long poll's (or poll's) next cursor.
    pub cursor: Cursor,
    /// Cookies are kept per client and sent back.
    pub cookies: bool,
    /// Answers contain everything since the cursor, not only the latest (poll).
    pub resumes: bool,
    /// The text message with which a client publishes, with `{channel}` and `{message}` (peer mode).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<Message>,
    /// Settings of a Bayeux client beyond the URL; absent on other transports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bayeux: Option<Bayeux>,
}

fn get() -> String {
    "GET".to_owned()
}

/// An offer to inflate compressed messages (permessage-deflate, RFC 7692).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deflate {
    /// The server is asked to compress each message by itself.
    pub no_context_takeover: bool,
    /// The server is asked for a window of 2^N bytes at most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_bits: Option<u8>,
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
    pub send: Message,
}

/// A fixed answer to a fixed text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The whole message to answer, or a part of one.
    pub on: Message,
    /// Text to send.
    pub send: Message,
}

/// A request that is made after a certain answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Respond {
    /// The whole answer, or a part of one.
    pub on: Message,
    /// The request. The next poll waits for its answer.
    pub request: Box<Before>,
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
    /// Returns the places of all its texts, each with its key below the transport's key.
    pub fn places(&self) -> Vec<(String, &Place)> {
        let numbered = |list: &str, n: usize, rest: &str| format!("{list}[{n}]{rest}");
        let mut all: Vec<(String, Vec<&Place>)> = vec![("url".to_owned(), self.path.places().collect())];
        let headers = self.headers.iter();
        all.extend(headers.map(|(name, value)| (format!("headers.{name:?}"), value.places().collect())));
        fn of(key: String, message: &Message) -> (String, Vec<&Place>) {
            (key, message.places().collect())
        }
        all.extend(self.body.iter().map(|body| of("body".to_owned(), body)));
        all.extend(self.after_open.iter().enumerate().map(|(n, m)| of(numbered("after_open", n, ""), m)));
        for (n, step) in self.steps.iter().enumerate() {
            all.extend(step.send.iter().map(|send| of(numbered("steps", n, ".send"), send)));
            let awaited = step.wait.iter().flat_map(|wait| wait.messages());
            all.extend(awaited.map(|message| of(numbered("steps", n, ".wait"), message)));
        }
        all.extend(self.every.iter().enumerate().map(|(n, e)| of(numbered("every", n, ".send"), &e.send)));
        all.extend(self.answer.iter().enumerate().map(|(n, a)| of(numbered("answer", n, ".send"), &a.send)));
        all.extend(self.peer.iter().map(|publish| of("publish".to_owned(), publish)));
        let channel = self.bayeux.iter().map(|bayeux| bayeux.channel.places().collect());
        all.extend(channel.map(|places| ("channel".to_owned(), places)));
        all.into_iter()
            .flat_map(|(key, places)| places.into_iter().map(move |place| (key.clone(), place)))
            .collect()
    }
}
