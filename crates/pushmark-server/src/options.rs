//! What a server is told when it starts. Plain data; the command line fills it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::faults::{Faults, SpecError};
use crate::stop::Stop;

/// Everything [`crate::serve()`] needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 lets the system choose one.
    pub address: SocketAddr,
    /// Event loops, each with its own listener and share of the connections. At least 1.
    pub threads: usize,
    /// Connections the kernel may hold before they are accepted (bounded by somaxconn).
    pub backlog: u32,
    /// Most messages that wait for one subscriber who does not read. At least 1.
    pub queue_max: usize,
    /// What happens to a subscriber whose queue is full.
    pub queue_policy: QueuePolicy,
    /// How long what comes for a subscriber is collected before it is written, ns; 0: not at all.
    /// It leaves earlier where more would not fit the queue.
    pub batch_ns: u64,
    /// Messages a channel remembers for those who ask with a cursor. At least 1.
    pub history_max: usize,
    /// An emitter more than one interval behind skips the ticks it missed, and counts them,
    /// instead of publishing each of them late. Either way its schedule stays absolute.
    pub skip_late: bool,
    /// What Bayeux clients are advised.
    pub bayeux: Bayeux,
    /// What to do wrong, and exactly how often.
    pub faults: Faults,
    /// Where to write the truth log at the end; `None`: keep none.
    pub truth: Option<PathBuf>,
    /// Served beside the contract; a path of the contract is not hidden by one.
    pub pages: Vec<Page>,
    /// Lets another thread or a signal handler end the server; `None`: only `/shutdown` does.
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
            bayeux: Bayeux::default(),
            faults: Faults::default(),
            truth: None,
            pages: Vec::new(),
            stop: None,
        }
    }
}

/// A file for browsers, of the same origin as what it subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it is, such as `/pull`; a query is passed over.
    pub path: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// The whole of it.
    pub body: Arc<str>,
}

/// What Bayeux clients are advised, ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bayeux {
    /// How long a connect is held that does not say.
    pub timeout_ms: u64,
    /// How long a client waits between a connect's reply and its next connect.
    pub interval_ms: u64,
    /// How long beyond that a session lives without a connect.
    pub max_interval_ms: u64,
}

impl Default for Bayeux {
    /// As CometD has them.
    fn default() -> Bayeux {
        Bayeux { timeout_ms: 30_000, interval_ms: 0, max_interval_ms: 10_000 }
    }
}

/// What happens when a subscriber's queue is full. Both are counted in `/stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePolicy {
    /// The oldest message of which nothing is written yet gives way.
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
