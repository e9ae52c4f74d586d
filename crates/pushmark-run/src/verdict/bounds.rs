//! The table of bounds. A share at or above `suspect` makes figures doubtful, and at or above
//! `invalid` worthless. Documents quote these numbers.

use pushmark_model::metrics::family::{
    CONNECT, COUNTS, CPU, FROM_SENT, LATENCY, LATENCY_STAMPED, LOOPBACK_SHARE, MEMORY, RATES, REQUESTS, WIRE,
};
use pushmark_model::run::VerdictState;

/// A bound on a share, 0–1; `of` describes the share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Stable name in files.
    pub code: &'static str,
    /// The bounded quantity, and the whole of which it is a share.
    pub of: &'static str,
    /// Suspect from this share.
    pub suspect: f64,
    /// Invalid from this share.
    pub invalid: f64,
    /// Families of metrics that it makes doubtful; for lags only the percentiles that crossed the bound.
    pub concerns: &'static [&'static str],
}

/// Metrics to which the generator's own queueing adds: every time, no count.
pub(super) const TIMES: &[&str] = &[LATENCY, LOOPBACK_SHARE, FROM_SENT, REQUESTS, CONNECT];

impl Bound {
    /// Returns the worst limit that a share crosses, with its state.
    pub fn crossed(&self, share: f64) -> Option<(VerdictState, f64)> {
        if share >= self.invalid {
            Some((VerdictState::Invalid, self.invalid))
        } else if share >= self.suspect {
            Some((VerdictState::Suspect, self.suspect))
        } else {
            None
        }
    }
}

/// Metrics that depend on the load. Fates do not: a publication that was not sent is counted as unpublished.
pub(super) const LOAD: &[&str] =
    &[LATENCY, LATENCY_STAMPED, LOOPBACK_SHARE, FROM_SENT, REQUESTS, RATES, CPU, MEMORY, WIRE];

/// Metrics that other programs on the same cores change: every time, and the CPU cost.
pub(super) const DISTURBED: &[&str] =
    &[LATENCY, LATENCY_STAMPED, LOOPBACK_SHARE, FROM_SENT, REQUESTS, CONNECT, CPU];

/// The busiest shard's share of its core.
pub(super) const GENERATOR_BUSY: Bound = Bound {
    code: "generator_busy",
    of: "busy time of a generator core",
    suspect: 0.80,
    invalid: 0.95,
    concerns: TIMES,
};
/// The worst shard's wait for a core, as a share of the window.
pub(super) const RUN_QUEUE_WAIT: Bound = Bound {
    code: "run_queue_wait",
    of: "generator run-queue wait, of the window",
    suspect: 0.05,
    invalid: 0.20,
    concerns: &[LATENCY, LOOPBACK_SHARE, FROM_SENT, REQUESTS],
};
/// Read lag, as a share of the delivery latency at the same percentile.
pub(super) const READ_LAG: Bound = Bound {
    code: "read_lag",
    of: "read lag, of delivery latency at the same percentile",
    suspect: 0.10,
    invalid: 0.50,
    concerns: &[LATENCY, LOOPBACK_SHARE, FROM_SENT],
};
/// Publisher lag, as a share of the delivery latency at the same percentile.
pub(super) const PUBLISHER_LAG: Bound = Bound {
    code: "publisher_lag",
    of: "publisher lag, of delivery latency at the same percentile",
    suspect: 0.10,
    invalid: 0.50,
    concerns: &[LATENCY, LATENCY_STAMPED, LOOPBACK_SHARE],
};
/// The shortfall of the planned rate: 99 and 95 % achieved.
pub(super) const ACHIEVED_RATE: Bound = Bound {
    code: "achieved_rate",
    of: "publications short of the planned rate",
    suspect: 0.01,
    invalid: 0.05,
    concerns: LOAD,
};
/// CPU time that the hypervisor gave to other guests.
pub(super) const STEAL: Bound =
    Bound { code: "steal", of: "CPU time stolen", suspect: 0.02, invalid: 0.10, concerns: DISTURBED };
/// Deliveries inside an uncertainty window, as a share of the intended deliveries.
pub(super) const EXCUSED: Bound = Bound {
    code: "excused",
    of: "excused, of intended deliveries",
    suspect: 0.001,
    invalid: 0.05,
    concerns: &[COUNTS, LATENCY, LATENCY_STAMPED, LOOPBACK_SHARE, FROM_SENT],
};
/// Uncertainty between two clocks, as a share of the delivery latency at each percentile.
pub(super) const CLOCK_BOUND: Bound = Bound {
    code: "clock_bound",
    of: "clock uncertainty, of delivery latency at each percentile",
    suspect: 0.10,
    invalid: 0.50,
    concerns: &[LATENCY, LATENCY_STAMPED, FROM_SENT],
};

/// Messages without a stamp, as a share of the messages that could be pushmark's.
pub(super) const UNSTAMPED: Bound = Bound {
    code: "unstamped",
    of: "messages without a stamp, of those long enough for one",
    suspect: 0.001,
    invalid: 1.0,
    concerns: &[COUNTS, LATENCY, LATENCY_STAMPED, LOOPBACK_SHARE, FROM_SENT],
};

/// CPU of other programs, as a share of the CPUs that server and generator have. A thread that wakes finds
/// its core taken as often as other programs use it: from a tenth this affects the p90, from a half the median.
pub(super) const FOREIGN_CPU: Bound = Bound {
    code: "foreign_cpu",
    of: "CPU of other programs, of the run's CPUs",
    suspect: 0.10,
    invalid: 0.50,
    concerns: DISTURBED,
};
/// The server's wait for cores that other programs used, as a share of the time it wanted to run.
pub(super) const SERVER_WAIT: Bound = Bound {
    code: "server_wait",
    of: "server's wait for others, of the time it wanted to run",
    suspect: 0.10,
    invalid: 0.50,
    concerns: DISTURBED,
};
/// Share of foreign CPU below which a server's wait is not attributed to other programs: on a quiet host a
/// server that hardly runs waits for the kernel's own threads as long as it runs.
pub(super) const FOREIGN_MIN: f64 = 0.05;

/// All bounds, for documents.
pub const BOUNDS: [Bound; 11] = [
    FOREIGN_CPU,
    SERVER_WAIT,
    GENERATOR_BUSY,
    RUN_QUEUE_WAIT,
    READ_LAG,
    PUBLISHER_LAG,
    ACHIEVED_RATE,
    STEAL,
    EXCUSED,
    CLOCK_BOUND,
    UNSTAMPED,
];
