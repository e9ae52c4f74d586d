//! `[publisher]`: what is published, by whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub rate: PerSecond,
    /// How they are spread in time. Default: constant.
    pub arrivals: Arrivals,
    /// Most publisher connections: a due publication that finds none idle opens one (external). Default: 64.
    pub connections: u32,
    /// Payload with its stamp, without framing; at least 48B. A range is drawn from uniform. Default: 128B.
    pub size: SizeRange,
    /// Stop after so many publications of each channel, warm-up included. Default: at the end of measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Where the channels' first publications fall. Default: random.
    pub phase: Phase,
    /// A publication without an answer for so long has failed (external). Default: 10s.
    pub timeout: Nanos,
}

impl Default for Publisher {
    fn default() -> Publisher {
        Publisher {
            mode: PublisherMode::External,
            rate: PerSecond(10.0),
            arrivals: Arrivals::Constant,
            connections: 64,
            size: SizeRange { low: Bytes(128), high: Bytes(128) },
            count: None,
            phase: Phase::Random,
            timeout: Nanos(10_000_000_000),
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
