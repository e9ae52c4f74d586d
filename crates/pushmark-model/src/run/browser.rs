//! Real browsers beside the crowd: what they received, by which clock, and whether the synthetic clients
//! agree.

use serde::{Deserialize, Serialize};

use super::Latency;

/// Browser probes of an arm. They run beside the crowd: no total of the crowd includes them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Browser {
    /// Browser clients asked for.
    pub asked: u64,
    /// Of them, those subscribed before measure began.
    pub opened: u64,
    /// Why a browser cannot be a client of this arm; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
    /// The browser's user agent; empty if no browser started.
    pub agent: String,
    /// The browser ran without its same-origin policy, because targets may not allow other origins to read
    /// their responses.
    pub web_security_off: bool,
    /// Publications of the measure phase × the browsers that subscribe to them.
    pub intended: u64,
    /// Received, each counted once.
    pub deliveries: u64,
    /// Never received.
    pub missing: u64,
    /// Never received, because a newer one of the same channel replaced it (polling, latest-value channels).
    pub superseded: u64,
    /// Received again.
    pub duplicate: u64,
    /// received − due, with the browser's instants converted to the clock of the stamps.
    pub latency: Latency,
    /// How the browser's clock was synchronised; absent if no exchange was made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<BrowserClock>,
    /// How late the browser's event loop ran the page's timers.
    pub loop_lag: Latency,
    /// Round trips between a page and this process, during measure: of frames, or of requests if the
    /// transport sends one for each message.
    pub round_trip: Latency,
    /// CPU of the browser's process tree during measure; not part of the generator's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_us: Option<u64>,
    /// Agreement with the synthetic clients; absent if either received nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agreement: Option<Agreement>,
    /// Errors that the pages reported, each once.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub troubles: Vec<String>,
}

/// A browser's clock against `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BrowserClock {
    /// Largest error of a converted instant, over all browsers.
    pub bound_us: u64,
    /// The coarsest step observed in a browser's clock.
    pub grain_us: u64,
    /// Exchanges made.
    pub exchanges: u64,
}

/// Whether browsers and synthetic clients agree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Largest difference allowed: the sum of the parts.
    pub bound_us: u64,
    /// The parts of the bound.
    pub parts: AgreementParts,
    /// Browsers' median − synthetic clients' median.
    pub p50_difference_us: i64,
    /// The same for the 90th percentile.
    pub p90_difference_us: i64,
    /// Neither difference exceeds the bound.
    pub ok: bool,
}

/// Reasons why a browser may differ from a synthetic client although both are right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgreementParts {
    /// Error of the converted clock.
    pub clock_us: u64,
    /// Step of the browser's clock.
    pub grain_us: u64,
    /// The browser's path from socket to page: the 90th percentile of the round trips.
    pub path_us: u64,
    /// The lateness of its event loop: the 90th percentile.
    pub loop_us: u64,
    /// A browser has a fixed place in each broadcast: the median time from first to last.
    pub place_us: u64,
    /// A poller's phase decides when it receives a state: one interval, for few pollers.
    pub phase_us: u64,
    /// Remaining slack: processes that share cores.
    pub slack_us: u64,
}
