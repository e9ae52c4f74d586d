//! One arm of a run: its crowd, its totals, and what became of its server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Bayeux, Browser, Delivery, Flood, Generator, Hybrid, Ingest, Latency, LongPoll, Observed, Phase, Poll,
    Published, Server, VerdictState, WarmUp, Wire,
};
use crate::transport::Transport;

/// What became of a server under an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Kept every connection and delivered everything.
    Held,
    /// Lost connections, or deliveries.
    Degraded,
    /// The server ended, or its publications did.
    Died,
}

impl Outcome {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Degraded => "degraded",
            Outcome::Died => "died",
        }
    }
}

/// One transport with its own crowd and a fresh server: all totals belong to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arm {
    /// How its clients heard.
    pub transport: Transport,
    /// The server's name or the target's URL.
    pub target: String,
    /// The nonce of its stamps, base 36.
    pub nonce: String,
    /// What became of the server.
    pub outcome: Outcome,
    /// Whether its figures can be believed.
    pub verdict: VerdictState,
    /// An error that ended it early; what was gathered is kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Nothing was published by us: `delivery` is absent, `observed` counts.
    pub observe: bool,
    /// Which subscription rule applied: `acknowledged`, `ready`, `head`, `settle`.
    pub subscribed_by: String,
    /// Connections asked, opened, failed.
    pub connections: Connections,
    /// Time from connect to first response byte.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect: Option<Connect>,
    /// How TLS was set up; absent without it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
    /// What became of every intended delivery; absent in `observe`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery: Option<Delivery>,
    /// Messages and bytes of an observed target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observed: Option<Observed>,
    /// Only for `poll`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub poll: Option<Poll>,
    /// Only for a crowd that pushes and pulls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hybrid: Option<Hybrid>,
    /// Only where requests are held: `long-poll` and `bayeux`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub long_poll: Option<LongPoll>,
    /// Only for `bayeux` and `bayeux-websocket`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bayeux: Option<Bayeux>,
    /// Publications; absent in `observe`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<Published>,
    /// What the feed alone cost the server; only where it was asked for (`publisher.alone`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ingest: Option<Ingest>,
    /// The server's cost; absent when its process is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<Server>,
    /// Our own cost.
    pub generator: Generator,
    /// CPU time in soft interrupts over all CPUs during measure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub softirq_us: Option<u64>,
    /// Kernel memory (slab and socket buffers, both ends) that the crowd added; absent if not seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_memory_bytes: Option<u64>,
    /// Bytes and segments.
    pub wire: Wire,
    /// Time of each phase of this arm as it was, from the arm's start.
    pub phases: Vec<Phase>,
    /// How warm-up ended; only where its end was looked for (`load.warmup.detect`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warmup: Option<WarmUp>,
    /// Where the flood ended; only for floods.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flood: Option<Flood>,
    /// What the server says of itself (`/stats` at the end): its own word.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_says: Option<serde_json::Value>,
    /// The end of a started server that did not hold; absent where it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_words: Option<LastWords>,
    /// Real browsers beside the crowd; absent where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub browser: Option<Browser>,
}

/// How a server ended, and what it wrote last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWords {
    /// `exit 1`, `signal 9`, or what we had to do to it.
    pub how: String,
    /// It ended before it was told to.
    pub by_itself: bool,
    /// It did not end when it was told to, and was killed.
    pub hung: bool,
    /// It wanted for memory: its own word, or the kernel's.
    pub out_of_memory: bool,
    /// The last lines of its output.
    pub lines: Vec<String>,
}

/// Connections of an arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Planned.
    pub asked: u64,
    /// Subscribed at least once.
    pub opened: u64,
    /// Lost unasked after they were open.
    pub lost: u64,
    /// Made again after a loss.
    pub reconnected: u64,
    /// Attempts that failed before they were subscribed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Losses after subscribing, by kind.
    pub lost_by: BTreeMap<String, u64>,
}

/// TLS handshakes of an arm: those of clients, of their later connections, and of publishers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// In full, with a key exchange and the proof of a certificate.
    pub full: u64,
    /// Taken up from an earlier session.
    pub resumed: u64,
}

/// Connect times, µs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connect {
    /// Connections that got a first response byte.
    pub count: u64,
    /// Median until the first response byte.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Slowest.
    pub max_us: u64,
    /// TCP handshake alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<Latency>,
    /// Until TLS has shaken hands; absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Latency>,
    /// Until subscribed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subscribed: Option<Latency>,
    /// Until the first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_message: Option<Latency>,
}
