//! One arm of a run: its crowd, its totals, and the outcome for its server.

use serde::{Deserialize, Serialize};

use super::{
    AgentPart, Bayeux, Browser, Connections, Delivery, Documents, Flood, Foreign, Generator, Hybrid, Ingest,
    Latency, LongPoll, MonitorPart, Observed, Phase, Poll, Published, Server, VerdictState, WarmUp, Wire,
};
use crate::transport::Transport;

/// What happened to a server under an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The server kept every connection and delivered everything.
    Held,
    /// The server lost connections, or deliveries.
    Degraded,
    /// The server's process ended, or its publications stopped.
    Died,
}

impl Outcome {
    /// Returns the word used in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Degraded => "degraded",
            Outcome::Died => "died",
        }
    }
}

/// One transport with its own crowd and a fresh server. All totals are of this arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arm {
    /// How its clients received.
    pub transport: Transport,
    /// The server's name or the target's URL.
    pub target: String,
    /// The nonce of its stamps, base 36.
    pub nonce: String,
    /// What happened to the server.
    pub outcome: Outcome,
    /// Whether its figures can be trusted.
    pub verdict: VerdictState,
    /// The error that ended it early; results up to then are kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// pushmark published nothing: `delivery` is absent, and `observed` has the counts.
    pub observe: bool,
    /// Rule by which subscriptions were known to be established: `acknowledged`, `ready`, `head`, `settle`.
    pub subscribed_by: String,
    /// Connections planned, opened, failed.
    pub connections: Connections,
    /// Time from connect to the first response byte.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect: Option<Connect>,
    /// TLS handshakes; absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
    /// The fates of all intended deliveries; absent in `observe`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery: Option<Delivery>,
    /// Messages and bytes of an observed target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observed: Option<Observed>,
    /// Only for `poll`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub poll: Option<Poll>,
    /// Only for a crowd that pushes and polls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hybrid: Option<Hybrid>,
    /// Only if requests are held: `long-poll` and `bayeux`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub long_poll: Option<LongPoll>,
    /// Only for `bayeux` and `bayeux-websocket`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bayeux: Option<Bayeux>,
    /// What the server says of its answers, by its own clock; only with `load.instrumented`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub documents: Option<Documents>,
    /// Publications; absent in `observe`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<Published>,
    /// Cost of the feed alone for the server; present if requested (`publisher.alone`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ingest: Option<Ingest>,
    /// The server's cost; absent if its process is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<Server>,
    /// The generator's cost.
    pub generator: Generator,
    /// The agents that made it up, if they ran on other machines.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub agents: Vec<AgentPart>,
    /// Who watched the server, if it ran on another machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub monitor: Option<MonitorPart>,
    /// Other CPU use during measure; absent if the server's own use is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign: Option<Foreign>,
    /// CPU time in soft interrupts over all CPUs during measure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub softirq_us: Option<u64>,
    /// Kernel memory (slab and socket buffers, both ends) that the crowd added; absent if not measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_memory_bytes: Option<u64>,
    /// Bytes and segments.
    pub wire: Wire,
    /// Actual times of the phases of this arm, from the arm's start.
    pub phases: Vec<Phase>,
    /// How warm-up ended; present if its end was detected (`load.warmup.detect`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warmup: Option<WarmUp>,
    /// How the flood ended; only for floods.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flood: Option<Flood>,
    /// The server's own figures (`/stats` at the end).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_says: Option<serde_json::Value>,
    /// How a started server ended whose outcome is not *held*; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_words: Option<LastWords>,
    /// Real browsers beside the crowd; absent if none were requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub browser: Option<Browser>,
}

/// How a server ended, and its last output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWords {
    /// `exit 1`, `signal 9`, or how pushmark ended it.
    pub how: String,
    /// It ended before pushmark asked it to.
    pub by_itself: bool,
    /// It did not end when pushmark asked it to, and was killed.
    pub hung: bool,
    /// It ran out of memory, by its own output or the kernel's.
    pub out_of_memory: bool,
    /// The last lines of its output.
    pub lines: Vec<String>,
}

/// TLS handshakes of an arm: of clients, of their later connections, and of publishers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Full handshakes, with a key exchange and a certificate check.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
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
    /// Until the TCP handshake is complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<Latency>,
    /// Until the TLS handshake is complete; absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Latency>,
    /// Until subscribed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subscribed: Option<Latency>,
    /// Until the first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_message: Option<Latency>,
}
