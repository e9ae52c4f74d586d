//! `[publisher]`: what is published, by whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::load::Phase;
use crate::schedule::Arrivals;
use crate::units::{Bytes, Nanos, PerSecond, SizeRange};

/// What is published, by whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Publisher {
    /// Who publishes. Default: external.
    pub mode: PublisherMode,
    /// Publications a second of each channel. Default: 10/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<PerSecond>,
    /// Time between two publications of a channel, in place of `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Nanos>,
    /// How they are spread in time. Default: constant.
    pub arrivals: Arrivals,
    /// What publications go over (external). Default: post.
    pub over: Over,
    /// Publisher connections (external). Post: at most so many, a due publication that finds none idle opens one; websocket: exactly so many, each channel on one of them. Default: 64 for post, 4 for websocket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Payload with its stamp, without framing; at least 48B. A range is drawn from uniform. Default: 128B.
    pub size: SizeRange,
    /// Draw each payload's padding from the seed and compare what arrives: what differs is counted as corrupt. Costs the generator a copy of each message. Default: false.
    pub check: bool,
    /// Stop after so many publications of each channel, warm-up included. Default: at the end of measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Where the channels' first publications fall. Default: random.
    pub phase: Phase,
    /// A publication without an answer for so long has failed (external). Default: 10s.
    pub timeout: Nanos,
    /// When the crowd has left, publish as before for so long, heard by nobody: what the feed alone costs the server (external). Default: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Nanos>,
}

impl Publisher {
    /// Publisher connections, the default filled in.
    pub fn connections(&self) -> u32 {
        self.connections.unwrap_or(match self.over {
            Over::Post => 64,
            Over::WebSocket => 4,
        })
    }
}

impl Default for Publisher {
    fn default() -> Publisher {
        Publisher {
            mode: PublisherMode::External,
            rate: None,
            interval: None,
            arrivals: Arrivals::Constant,
            over: Over::Post,
            connections: None,
            size: SizeRange { low: Bytes(128), high: Bytes(128) },
            check: false,
            count: None,
            phase: Phase::Random,
            timeout: Nanos(10_000_000_000),
            alone: None,
        }
    }
}

/// Publications a second of a publisher that says nothing.
const RATE: PerSecond = PerSecond(10.0);

impl Publisher {
    /// Publications a second of each channel, however they were given.
    pub fn per_second(&self) -> PerSecond {
        match self.interval {
            Some(interval) => PerSecond(1e9 / interval.0 as f64),
            None => self.rate.unwrap_or(RATE),
        }
    }
}

/// Who publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublisherMode {
    /// pushmark, by HTTP requests on an open schedule.
    External,
    /// The server itself, every interval.
    Emitter,
    /// The clients, over their own WebSocket connections.
    Peer,
    /// Nobody: the target is observed.
    None,
}

/// What publications from outside go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// A request each.
    Post,
    /// WebSockets that stay open, a text message each: a feed.
    WebSocket,
}

/// Highest rate on a channel: stamps and emitters count whole µs.
const RATE_MAX: f64 = 1e6;

/// What is wrong with how often is published.
pub(super) fn check_rate(p: &Publisher, errors: &mut Vec<ScenarioError>) {
    let (key, found) = match (p.rate, p.interval) {
        (Some(rate), Some(interval)) => {
            errors.push(
                ScenarioError::at("publisher.interval", "a rate and an interval say the same thing twice")
                    .found(format!("rate = \"{rate}\", interval = \"{interval}\""))
                    .accepted("one of them"),
            );
            return;
        }
        (_, Some(Nanos(0))) => {
            errors.push(
                ScenarioError::at("publisher.interval", "`publisher.interval` cannot be 0")
                    .found(Nanos(0))
                    .accepted("a duration above zero"),
            );
            return;
        }
        (_, Some(interval)) => ("publisher.interval", interval.to_string()),
        (rate, None) => ("publisher.rate", rate.unwrap_or(RATE).to_string()),
    };
    if p.per_second().0 > RATE_MAX {
        errors.push(
            ScenarioError::at(key, "stamps and emitters count whole microseconds")
                .found(found)
                .accepted("at most 1000000/s on a channel")
                .help("spread a higher rate over more channels"),
        );
    }
}
