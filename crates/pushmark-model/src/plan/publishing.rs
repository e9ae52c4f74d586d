//! What is published, by whom, and where it goes.

use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};
use crate::schedule::Arrivals;
use crate::template::Template;

/// Where publications go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publish {
    /// Request method.
    pub method: String,
    /// Host as written.
    pub host: String,
    /// Port; absent: the started server's.
    pub port: Option<u16>,
    /// https.
    pub tls: bool,
    /// Path and query.
    pub path: Template,
    /// Header lines.
    pub headers: Vec<(String, Template)>,
    /// Body, or WebSocket text, with `{message}`.
    pub body: Template,
    /// What they go over.
    #[serde(default)]
    pub over: Over,
}

/// What publications from outside go over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// A request each, over a pool of connections.
    #[default]
    Post,
    /// Persistent WebSockets, a text message each.
    WebSocket {
        /// Subprotocol to offer; empty: none.
        subprotocol: String,
        /// Messages sent after open.
        after_open: Vec<Template>,
        /// Text that says that the feed may begin; absent: the 101.
        ready: Option<String>,
    },
}

/// What is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublisherPlan {
    /// Who publishes.
    pub mode: Mode,
    /// Mean gap of one channel's publications, ns.
    pub interval_ns: f64,
    /// Constant or Poisson.
    pub arrivals: Arrivals,
    /// Channels start together instead of at seeded phases.
    pub aligned: bool,
    /// Publisher connections (external): the most of a pool, or exactly so many WebSockets.
    pub connections: u32,
    /// Payload sizes.
    pub size: Size,
    /// Padding is drawn for each publication and compared on receipt.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub check: bool,
    /// Publications a channel; absent: until measure ends.
    pub count: Option<u64>,
    /// A publication without an answer for so long has failed.
    pub timeout_ns: u64,
    /// How long the feed goes on after the crowd has left; absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_ns: Option<u64>,
}

/// Who publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// pushmark, by POST, on an open schedule.
    External,
    /// The server itself, every interval.
    Emitter,
    /// The clients, over their own connections.
    Peer,
}

/// Payload size, stamp included, framing not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// All alike.
    Fixed(u32),
    /// Drawn uniform, both ends included.
    Uniform(u32, u32),
}

impl Size {
    /// The size of a publication.
    pub fn of(&self, seed: u64, channel: u32, sequence: u64) -> usize {
        match *self {
            Size::Fixed(size) => size as usize,
            Size::Uniform(low, high) => {
                let mut draw = Draw::new(seed, Purpose::Size, u64::from(channel) << 40 ^ sequence);
                (u64::from(low) + draw.below(u64::from(high - low) + 1)) as usize
            }
        }
    }

    /// The largest size.
    pub fn max(&self) -> usize {
        match *self {
            Size::Fixed(size) => size as usize,
            Size::Uniform(_, high) => high as usize,
        }
    }
}
