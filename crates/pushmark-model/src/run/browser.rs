//! Real browsers among the crowd: what they heard, by whose clock, and whether the synthetic
//! clients agree.

use serde::{Deserialize, Serialize};

use super::Latency;

/// Browser probes of an arm. They are beside the crowd: none of its totals counts them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Browser {
    /// Browser clients asked for.
    pub asked: u64,
    /// Of them subscribed before anything was counted.
    pub opened: u64,
    /// Why a browser cannot be a client of this arm; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
    /// What the browser calls itself; empty where none came up.
    pub agent: String,
    /// The browser ran without its same-origin policy, because targets need not allow other
    /// origins to read them.
    pub web_security_off: bool,
    /// Publications of the measure phase times the browsers that were to hear them.
    pub intended: u64,
    /// Heard, each once.
    pub deliveries: u64,
    /// Never heard.
    pub missing: u64,
    /// Never shown, but a newer one of the same channel was (polling, latest-value channels).
    pub superseded: u64,
    /// Heard again.
    pub duplicate: u64,
    /// received − due, the browser's instants moved onto the clock of the stamps.
    pub latency: Latency,
    /// How the browser's clock was reconciled; absent where no exchange was made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<BrowserClock>,
    /// How late the browser's event loop ran timers of its own.
    pub loop_lag: Latency,
    /// Round trips between a page and this process, during measure: of frames, or of requests
    /// where the transport asks again for each message.
    pub round_trip: Latency,
    /// CPU of the browser's process tree during measure; no part of the generator's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_us: Option<u64>,
    /// Against the synthetic clients; absent where either heard nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agreement: Option<Agreement>,
    /// What the pages complained of, each once.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub troubles: Vec<String>,
}

/// A browser's clock against `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrowserClock {
    /// Largest error of a reconciled instant, over all browsers.
    pub bound_us: u64,
    /// The coarsest step that a browser's clock was seen to make.
    pub grain_us: u64,
    /// Exchanges made.
    pub exchanges: u64,
}

/// Whether browsers and synthetic clients say the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// How far the two may be apart: the sum of the parts.
    pub bound_us: u64,
    /// What the bound is made of.
    pub parts: AgreementParts,
    /// Browsers' median − synthetic clients' median.
    pub p50_difference_us: i64,
    /// The same of the 90th percentile.
    pub p90_difference_us: i64,
    /// Neither is beyond the bound.
    pub ok: bool,
}

/// Why a browser may differ from a synthetic client although both are right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgreementParts {
    /// Error of the reconciled clock.
    pub clock_us: u64,
    /// Step of the browser's clock.
    pub grain_us: u64,
    /// The browser's own way from socket to page: the 90th percentile of the round trips.
    pub path_us: u64,
    /// Its event loop's own lateness: the 90th percentile.
    pub loop_us: u64,
    /// A browser has a fixed place in each broadcast: the median time from first to last.
    pub place_us: u64,
    /// A poller's phase decides when it sees a state: an interval, for few pollers.
    pub phase_us: u64,
    /// What is left: processes that share cores.
    pub slack_us: u64,
}
