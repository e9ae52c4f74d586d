//! What is published, by whom, and where it is sent.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::steps::Wait;
use super::subscribe::{Answer, Every};
use crate::draw::{Draw, Purpose};
use crate::message::Message;
use crate::schedule::Arrivals;
use crate::template::Template;

/// Where publications are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publish {
    /// Request method.
    pub method: String,
    /// Host as written.
    pub host: String,
    /// Port; absent: the port of the started server.
    pub port: Option<u16>,
    /// Whether the URL is https (or wss).
    pub tls: bool,
    /// Path and query.
    pub path: Template,
    /// Header lines.
    pub headers: Vec<(String, Template)>,
    /// Body, or WebSocket message, with `{message}`.
    pub body: Message,
    /// The way to it.
    #[serde(default)]
    pub over: Over,
}

/// The way of external publications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// One request per publication, over a pool of connections.
    #[default]
    Post,
    /// Persistent WebSockets, one text message per publication.
    WebSocket {
        /// Subprotocol to offer; empty: none.
        subprotocol: String,
        /// Messages sent after open.
        after_open: Vec<Message>,
        /// Messages sent periodically.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        every: Vec<Every>,
        /// Messages that are answered.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        answer: Vec<Answer>,
        /// The byte that divides a message into parts, each of which may be one to answer.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        separator: Option<u8>,
        /// Text with which the target says that the feed may begin; absent: the 101 response.
        ready: Option<String>,
        /// Messages by which the target refuses a publication; absent: none is known.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        refused: Option<Box<Wait>>,
    },
    /// Processes that stay, one line of standard input per publication.
    Command(CommandPlan),
}

/// A process that publishes what it is given, a line each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// Program and arguments.
    pub start: Vec<Template>,
    /// Additional environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub env: Vec<(String, Template)>,
    /// Its working folder; absent: that of pushmark.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folder: Option<PathBuf>,
    /// Text in its output after which it takes lines; absent: at once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ready: Option<String>,
}

/// What is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublisherPlan {
    /// Who publishes.
    pub mode: Mode,
    /// Mean gap between publications of one channel, ns.
    pub interval_ns: f64,
    /// Constant or Poisson.
    pub arrivals: Arrivals,
    /// Channels start together instead of at seeded phases.
    pub aligned: bool,
    /// Publisher connections. In external mode: the largest size of the pool, or the exact number of
    /// WebSockets.
    pub connections: u32,
    /// Payload sizes.
    pub size: Size,
    /// Padding is drawn for each publication and compared on receipt.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub check: bool,
    /// Publications per channel; absent: until measure ends.
    pub count: Option<u64>,
    /// A publication without an answer for this long has failed.
    pub timeout_ns: u64,
    /// How long the feed continues after the crowd has disconnected; absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_ns: Option<u64>,
}

/// Who publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// pushmark, on a schedule (open model).
    External,
    /// The server, with a timer.
    Emitter,
    /// The clients, over their own connections.
    Peer,
}

/// Payload size, including the stamp but not the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// One size for all.
    Fixed(u32),
    /// Drawn uniformly, both ends included.
    Uniform(u32, u32),
}

impl Size {
    /// Returns the size of a publication.
    pub fn of(&self, seed: u64, channel: u32, sequence: u64) -> usize {
        match *self {
            Size::Fixed(size) => size as usize,
            Size::Uniform(low, high) => {
                let mut draw = Draw::new(seed, Purpose::Size, u64::from(channel) << 40 ^ sequence);
                (u64::from(low) + draw.below(u64::from(high - low) + 1)) as usize
            }
        }
    }

    /// Returns the largest size.
    pub fn max(&self) -> usize {
        match *self {
            Size::Fixed(size) => size as usize,
            Size::Uniform(_, high) => high as usize,
        }
    }
}
