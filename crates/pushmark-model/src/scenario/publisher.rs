//! `[publisher]`: what is published, and by what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::phase::Phase;
use crate::schedule::Arrivals;
use crate::units::{Bytes, Nanos, PerSecond, SizeRange};

/// What is published, and by what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Publisher {
    /// The source of publications. Default: external.
    pub mode: PublisherMode,
    /// Publications per second on each channel. Default: 10/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<PerSecond>,
    /// Time between two publications on a channel, instead of `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Nanos>,
    /// Distribution of publications in time. Default: constant.
    pub arrivals: Arrivals,
    /// How publications are sent (external). Default: post, or the one way that the target has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// Number of publisher connections. Post: the maximum; a due publication opens a connection if none is idle. WebSocket and command: the exact number of connections or processes; each channel uses one of them. Peers over Bayeux long polling: the most second connections open at once, over which they publish while their first holds a connect. Default: 64 for post, 4 for websocket, 1 for command, one for each peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Size of the payload with its stamp and without framing; at least 48B. Sizes of a range are drawn uniformly. Default: 128B.
    pub size: SizeRange,
    /// Draw each payload's padding from the seed and compare it on arrival; a difference counts as corrupt. The generator copies each message for this. Default: false.
    pub check: bool,
    /// Stop after this number of publications on each channel, including warm-up. Default: at the end of measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// When the first publications of the channels are due. Default: random.
    pub phase: Phase,
    /// A publication fails if it has no answer after this time (external). Default: 10s.
    pub timeout: Nanos,
    /// After the crowd has disconnected, continue to publish for this time without subscribers, to measure what the feed alone costs the server (external). Default: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Nanos>,
}

impl Publisher {
    /// Returns the number of publisher connections, or its default, for a crowd of this size.
    pub fn connections_of(&self, crowd: u64, over: Over) -> u32 {
        self.connections.unwrap_or(match (self.mode, over) {
            (PublisherMode::Peer, _) => u32::try_from(crowd).unwrap_or(u32::MAX).max(1),
            (_, Over::Post) => 64,
            (_, Over::WebSocket) => 4,
            (_, Over::Command) => 1,
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
            over: None,
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

/// The default rate of publications.
const RATE: PerSecond = PerSecond(10.0);

impl Publisher {
    /// Returns the publications per second on each channel, given as a rate or as an interval.
    pub fn per_second(&self) -> PerSecond {
        match self.interval {
            Some(interval) => PerSecond(1e9 / interval.0 as f64),
            None => self.rate.unwrap_or(RATE),
        }
    }
}

/// The source of publications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublisherMode {
    /// pushmark, on a schedule (open model).
    External,
    /// The server, with a timer.
    Emitter,
    /// The clients, over their own WebSocket connections.
    Peer,
    /// Nothing is published: the target is only observed.
    None,
}

/// How publications from outside are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// One HTTP request per publication.
    Post,
    /// One text message per publication over WebSockets that stay open: a feed.
    WebSocket,
    /// One line per publication to a process that stays (`[target.publish.command]`).
    Command,
}

/// Highest rate on a channel. Stamps and emitters count whole µs.
const RATE_MAX: f64 = 1e6;

/// Lowest rate on a channel: once in about 31 years, which still fits in a count of nanoseconds.
const RATE_MIN: f64 = 1e-9;

/// Highest rate over all channels: ten times the highest rate that a generator has reached.
const RATE_SUM_MAX: f64 = 1e7;

/// Reports mistakes in the rate of publications on this number of channels.
pub(super) fn check_rate(p: &Publisher, channels: u64, errors: &mut Vec<ScenarioError>) {
    let (key, found) = match (p.rate, p.interval) {
        (Some(rate), Some(interval)) => {
            errors.push(
                ScenarioError::at("publisher.interval", "use either `rate` or `interval`, not both")
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
    } else if p.per_second().0 < RATE_MIN {
        errors.push(
            ScenarioError::at(key, "this rate is too low")
                .found(found)
                .accepted("1e-9/s or more, which is once in 31 years")
                .help("to publish nothing, set publisher.mode = \"none\""),
        );
    } else if p.mode != PublisherMode::None && p.per_second().0 * channels as f64 > RATE_SUM_MAX {
        let sum = p.per_second().0 * channels as f64;
        errors.push(
            ScenarioError::at(key, format!("{found} on {channels} channels is more than pushmark supports"))
                .found(format!("{sum:.0}/s over all channels"))
                .accepted("at most 10000000/s over all channels"),
        );
    }
}
