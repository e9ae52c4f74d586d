//! `[load]`: the crowd, the phases and how clients behave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phase::Phase;
use super::pull::{Adaptive, HybridSpec};
use super::text_or_table::{FromText, TextOr, read, read_option};
use super::warmup::WarmUp;
use crate::units::{Nanos, PerSecond};

/// Maximum number of browser clients of an arm. Each is a process of about 100 MB.
pub(super) const BROWSERS_MAX: u32 = 32;

/// The crowd, the phases and how clients behave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Load {
    /// Number of connections of each arm. Default: 1000.
    pub connections: u64,
    /// Number of browser clients in a headless Chromium, in addition to the crowd. Default: 0.
    pub browsers: u32,
    /// How the crowd connects. Default: 500 connections per second.
    pub ramp: RampSpec,
    /// Pause after the ramp, in which nothing is published. Default: 1s.
    pub settle: Nanos,
    /// Phase with publications that do not count: a length, or `{ detect = true, max = "60s" }`, which ends it once the server is in a steady state. Default: 2s.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "TextOr<WarmUp>")]
    pub warmup: WarmUp,
    /// Length of the measure phase, whose publications count. Default: 10s.
    pub duration: Nanos,
    /// Phase without new publications, in which late deliveries may still arrive. Not used if nothing is published. If clients poll, it lasts until each has polled once more. Default: 2s.
    pub drain: Nanos,
    /// A delivery later than this after due counts as late; at most `drain`. Default: `drain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Nanos>,
    /// Time between polls of one client, or a table with more settings (`poll` only). Default: 1s.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "TextOr<Poll>")]
    pub poll_interval: Poll,
    /// Clients that push and pull: `{ pull_share = 0.5 }`, `{ push_max = 300 }` or `{ safety_poll = "30s" }`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<HybridSpec>,
    /// Longest time to hold a long poll. Default: 45s.
    pub hold: Nanos,
    /// Long pollers send their cursor, if the target supports one. Default: true.
    pub cursor: bool,
    /// Use a connection for more than one request. Default: true.
    pub keep_alive: bool,
    /// Subscribe with requests whose answers say what the server did for them, by its own clock: the section `documents` of the result (stream and long-poll; servers that offer clause 7 of the contract). Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub instrumented: bool,
    /// Longest wait for a TCP connection. Default: 10s.
    pub connect_timeout: Nanos,
    /// Longest wait from the request to the response head, or to the `ready` text if there is one. Default: 10s.
    pub handshake_timeout: Nanos,
    /// Longest silence of a subscribed connection before it counts as lost. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Nanos>,
    /// How a client that lost its connection reconnects: `"none"`, or `{ backoff = "full-jitter", base = "100ms", max = "10s" }`. Default: none.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "TextOr<ReconnectSpec>")]
    pub reconnect: ReconnectSpec,
    /// Source addresses that the clients use in turn, for more connections than one address has ports. Default: the system's choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source_ips: Vec<std::net::IpAddr>,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            connections: 1_000,
            browsers: 0,
            ramp: RampSpec::default(),
            settle: Nanos(1_000_000_000),
            warmup: WarmUp::of(Nanos(2_000_000_000)),
            duration: Nanos(10_000_000_000),
            drain: Nanos(2_000_000_000),
            deadline: None,
            poll_interval: Poll::default(),
            hybrid: None,
            hold: Nanos(45_000_000_000),
            cursor: true,
            keep_alive: true,
            instrumented: false,
            connect_timeout: Nanos(10_000_000_000),
            handshake_timeout: Nanos(10_000_000_000),
            idle_timeout: None,
            reconnect: ReconnectSpec::default(),
            source_ips: Vec::new(),
        }
    }
}

/// How the crowd connects: `{ rate = 500 }`, `{ over = "60s" }`, or `{ steps = [{ to = 2000, over = "10s" }] }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RampSpec {
    /// Connections per second. Default: 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<PerSecond>,
    /// Time in which the whole crowd connects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Nanos>,
    /// Linear steps in order; the last one ends at `load.connections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<RampStepSpec>>,
    /// The crowd connects during the measure phase. Default: false.
    pub during: bool,
}

/// One linear step of a ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RampStepSpec {
    /// Number of connections at its end.
    pub to: u64,
    /// Its length.
    pub over: Nanos,
}

/// How pollers poll.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Poll {
    /// Time between polls of one client. Default: 1s.
    pub interval: Nanos,
    /// The instant from which the interval is counted. Default: fixed.
    pub pace: Pace,
    /// Each gap is drawn from (1 − jitter) to (1 + jitter) × interval; 0 to 1. Default: 0.
    pub jitter: f64,
    /// Adapt the interval to the rate of change, and count it from the answer: `"ttr"`, `"halving"`, or a table. Default: none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option", default)]
    #[schemars(with = "Option<TextOr<Adaptive>>")]
    pub adaptive: Option<Adaptive>,
    /// When the first polls are due. Default: random.
    pub phase: Phase,
    /// Send If-None-Match with the last ETag. Default: false.
    pub conditional: bool,
}

impl Default for Poll {
    fn default() -> Poll {
        Poll {
            interval: Nanos(1_000_000_000),
            pace: Pace::Fixed,
            jitter: 0.0,
            adaptive: None,
            phase: Phase::Random,
            conditional: false,
        }
    }
}

impl FromText for Poll {
    const ACCEPTED: &'static str =
        "a duration such as \"1s\", or a table such as { interval = \"1s\", pace = \"after_answer\" }";
    fn from_text(text: &str) -> Option<Poll> {
        Some(Poll { interval: text.parse().ok()?, ..Poll::default() })
    }
}

/// The instant from which a poll interval is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Fixed instants. A slow answer does not delay later polls.
    Fixed,
    /// The previous answer. This is a closed model, and results are labelled so.
    AfterAnswer,
}

/// How a client that lost its connection reconnects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReconnectSpec {
    /// Default: none.
    pub backoff: Backoff,
    /// First upper bound of the delay. Default: 100ms.
    pub base: Nanos,
    /// Largest upper bound of the delay. Default: 10s.
    pub max: Nanos,
}

impl Default for ReconnectSpec {
    fn default() -> ReconnectSpec {
        ReconnectSpec { backoff: Backoff::None, base: Nanos(100_000_000), max: Nanos(10_000_000_000) }
    }
}

impl FromText for ReconnectSpec {
    const ACCEPTED: &'static str =
        "\"none\", or a table such as { backoff = \"full-jitter\", base = \"100ms\", max = \"10s\" }";
    fn from_text(text: &str) -> Option<ReconnectSpec> {
        let backoff = match text {
            "none" => Backoff::None,
            "full-jitter" => Backoff::FullJitter,
            _ => return None,
        };
        Some(ReconnectSpec { backoff, ..ReconnectSpec::default() })
    }
}

/// How the delay before a reconnect grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// The client does not reconnect.
    None,
    /// The delay is drawn from 0 to min(max, base × 2ⁿ).
    FullJitter,
}
