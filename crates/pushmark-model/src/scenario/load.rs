//! `[load]`: the crowd, the phases and how clients behave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pull::{Adaptive, HybridSpec};
use super::text_or_table::{FromText, TextOr, read, read_option};
use super::warmup::WarmUp;
use crate::units::{Nanos, PerSecond};

/// Most browser clients of an arm: each is a process of about 100 MB.
pub(super) const BROWSERS_MAX: u32 = 32;

/// The crowd, the phases and how clients behave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Load {
    /// Connections of each arm. Default: 1000.
    pub connections: u64,
    /// Real browser clients beside them, in a headless Chromium. Default: 0.
    pub browsers: u32,
    /// How the crowd arrives. Default: 500 connections a second.
    pub ramp: RampSpec,
    /// Pause after the ramp; nothing is published. Default: 1s.
    pub settle: Nanos,
    /// Published, not counted: a length, or `{ detect = true, max = "60s" }`, which ends it with a steady state of the server. Default: 2s.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "TextOr<WarmUp>")]
    pub warmup: WarmUp,
    /// Published and counted. Default: 10s.
    pub duration: Nanos,
    /// Nothing new is due, late ones may still arrive; none where nothing is published. Default: 2s.
    pub drain: Nanos,
    /// A delivery later than this after due is late; at most `drain`. Default: as `drain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Nanos>,
    /// Time between polls of one client, or a table that says more (`poll` only). Default: 1s.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "TextOr<Poll>")]
    pub poll_interval: Poll,
    /// Clients that push and pull: `{ pull_share = 0.5 }`, `{ push_max = 300 }` or `{ safety_poll = "30s" }`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<HybridSpec>,
    /// Longest a long poll is held. Default: 45s.
    pub hold: Nanos,
    /// Long pollers say what they have seen, where the target can go on from there. Default: true.
    pub cursor: bool,
    /// A connection carries more than one answer. Default: true.
    pub keep_alive: bool,
    /// Longest wait for a TCP connection. Default: 10s.
    pub connect_timeout: Nanos,
    /// Longest wait from connected to the response head, where the transport answers at once. Default: 10s.
    pub handshake_timeout: Nanos,
    /// Longest silence of a subscribed connection before it counts as lost. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Nanos>,
    /// What a lost client does: `"none"`, or `{ backoff = "full-jitter", base = "100ms", max = "10s" }`. Default: none.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "TextOr<ReconnectSpec>")]
    pub reconnect: ReconnectSpec,
    /// Source addresses the clients rotate over, for more connections than one address has ports. Default: the system's choice.
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
            connect_timeout: Nanos(10_000_000_000),
            handshake_timeout: Nanos(10_000_000_000),
            idle_timeout: None,
            reconnect: ReconnectSpec::default(),
            source_ips: Vec::new(),
        }
    }
}

/// How the crowd arrives: `{ rate = 500 }`, `{ over = "60s" }`, or `{ steps = [{ to = 2000, over = "10s" }] }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RampSpec {
    /// Connections a second. Default: 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<PerSecond>,
    /// The whole crowd within this time, however large it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Nanos>,
    /// Straight pieces in order; the last reaches `load.connections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<RampStepSpec>>,
    /// The crowd arrives inside the measure phase. Default: false.
    pub during: bool,
}

/// One straight piece of a ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RampStepSpec {
    /// Connections at its end.
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
    /// What the interval runs from. Default: fixed.
    pub pace: Pace,
    /// Each gap is drawn from (1 − jitter) to (1 + jitter) × interval; 0 to 1. Default: 0.
    pub jitter: f64,
    /// The interval follows the news, and runs from the answer: `"ttr"`, `"halving"`, or a table. Default: none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option", default)]
    #[schemars(with = "Option<TextOr<Adaptive>>")]
    pub adaptive: Option<Adaptive>,
    /// Where the first polls fall. Default: random.
    pub phase: Phase,
    /// Sends If-None-Match with the last ETag. Default: false.
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

/// What a poll interval runs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// A fixed grid of instants: a slow answer delays nothing but itself.
    Fixed,
    /// The answer before: a closed loop, labelled as such.
    AfterAnswer,
}

/// Where things that repeat begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Spread over the interval by the seed.
    Random,
    /// All at once.
    Aligned,
}

/// What a lost client does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReconnectSpec {
    /// Default: none.
    pub backoff: Backoff,
    /// First bound of the delay. Default: 100ms.
    pub base: Nanos,
    /// Largest bound. Default: 10s.
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
    /// A lost client stays away.
    None,
    /// Drawn from 0 to min(max, base × 2ⁿ).
    FullJitter,
}
