//! The options of a server. Plain data; the command line fills it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::access::Access;
use crate::faults::{Faults, SpecError};
use crate::stop::Stop;

/// The options of [`crate::serve()`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 lets the system choose one.
    pub address: SocketAddr,
    /// Event loops, each with its own listener and share of the connections. At least 1.
    pub threads: usize,
    /// Connections that the kernel may hold before they are accepted (bounded by somaxconn).
    pub backlog: u32,
    /// The most messages that wait for one slow consumer. At least 1.
    pub queue_max: usize,
    /// What happens to a subscriber whose queue is full.
    pub queue_policy: QueuePolicy,
    /// How long messages for a subscriber are collected before they are written, ns; 0: not at all. They are
    /// written earlier if more would not fit into the queue.
    pub batch_ns: u64,
    /// Messages that a channel keeps for requests with a cursor. At least 1.
    pub history_max: usize,
    /// An emitter more than one interval behind skips and counts the missed ticks instead of publishing each
    /// of them late. In both cases its schedule stays absolute.
    pub skip_late: bool,
    /// How long a request or a message may take to become complete, and a last answer to be read, ns.
    pub request_max_ns: u64,
    /// Access rules.
    pub access: Access,
    /// The advice for Bayeux clients.
    pub bayeux: Bayeux,
    /// Faults.
    pub faults: Faults,
    /// The path of the truth log, written at the end; `None`: keep none.
    pub truth: Option<PathBuf>,
    /// Pages served in addition to the contract. They cannot hide a path of the contract.
    pub pages: Vec<Page>,
    /// Lets another thread or a signal handler stop the server. `None`: only `/shutdown` does.
    pub stop: Option<Stop>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            threads: 1,
            backlog: 4096,
            queue_max: 256,
            queue_policy: QueuePolicy::DropOldest,
            batch_ns: 0,
            history_max: 256,
            skip_late: false,
            request_max_ns: 30_000_000_000,
            access: Access::default(),
            bayeux: Bayeux::default(),
            faults: Faults::default(),
            truth: None,
            pages: Vec::new(),
            stop: None,
        }
    }
}

/// A page for browsers, with the same origin as its subscriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its path, such as `/pull`. A query is ignored.
    pub path: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// The whole content.
    pub body: Arc<str>,
}

/// The advice for Bayeux clients, ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bayeux {
    /// How long a connect without its own timeout is held.
    pub timeout_ms: u64,
    /// How long a client waits between a connect's reply and its next connect.
    pub interval_ms: u64,
    /// How long beyond that a session lives without a connect.
    pub max_interval_ms: u64,
}

impl Default for Bayeux {
    /// CometD's defaults.
    fn default() -> Bayeux {
        Bayeux { timeout_ms: 30_000, interval_ms: 0, max_interval_ms: 10_000 }
    }
}

/// What happens when a subscriber's queue is full. Both are counted in `/stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePolicy {
    /// The oldest message that is still completely unwritten is dropped.
    #[default]
    DropOldest,
    /// The subscriber is disconnected.
    Disconnect,
}

impl FromStr for QueuePolicy {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<QueuePolicy, SpecError> {
        match text {
            "drop-oldest" => Ok(QueuePolicy::DropOldest),
            "disconnect" => Ok(QueuePolicy::Disconnect),
            _ => Err(SpecError::new(text, "`drop-oldest` or `disconnect`")),
        }
    }
}

impl fmt::Display for QueuePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueuePolicy::DropOldest => "drop-oldest",
            QueuePolicy::Disconnect => "disconnect",
        })
    }
}
