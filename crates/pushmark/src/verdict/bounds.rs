//! The one table of bounds. Each share at or beyond `suspect` makes a figure doubtful, at or
//! beyond `invalid` worthless. Documents quote these numbers from here.

use pushmark_model::run::VerdictState;

/// A bound on a share (0–1, of what `of` says).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Stable name in files.
    pub code: &'static str,
    /// What is bounded, and of what it is a share.
    pub of: &'static str,
    /// Suspect from here.
    pub suspect: f64,
    /// Invalid from here.
    pub invalid: f64,
}

impl Bound {
    /// The worst bound that a share crosses, with the state it stands for.
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

/// The busiest shard's share of its core.
pub(super) const GENERATOR_BUSY: Bound =
    Bound { code: "generator_busy", of: "busy time of a generator core", suspect: 0.80, invalid: 0.95 };
/// The worst shard's wait for a core, of the window.
pub(super) const RUN_QUEUE_WAIT: Bound = Bound {
    code: "run_queue_wait",
    of: "generator run-queue wait, of the window",
    suspect: 0.05,
    invalid: 0.20,
};
/// Read lag, of the delivery latency at the same percentile.
pub(super) const READ_LAG: Bound =
    Bound { code: "read_lag", of: "read lag p99, of delivery p99", suspect: 0.10, invalid: 0.50 };
/// Publisher lag, of the delivery latency at the same percentile.
pub(super) const PUBLISHER_LAG: Bound =
    Bound { code: "publisher_lag", of: "publisher lag p99, of delivery p99", suspect: 0.10, invalid: 0.50 };
/// What is missing of the planned rate: 99 and 95 % achieved.
pub(super) const ACHIEVED_RATE: Bound = Bound {
    code: "achieved_rate",
    of: "publications short of the planned rate",
    suspect: 0.01,
    invalid: 0.05,
};
/// CPU given to others by the hypervisor.
pub(super) const STEAL: Bound = Bound { code: "steal", of: "CPU time stolen", suspect: 0.02, invalid: 0.10 };
/// Deliveries inside an uncertainty window, of those intended.
pub(super) const EXCUSED: Bound =
    Bound { code: "excused", of: "excused, of intended deliveries", suspect: 0.001, invalid: 0.05 };
/// Uncertainty between two clocks, of the median.
pub(super) const CLOCK_BOUND: Bound =
    Bound { code: "clock_bound", of: "clock uncertainty, of delivery p50", suspect: 0.10, invalid: 0.50 };

/// All bounds, for documents.
pub const BOUNDS: [Bound; 8] =
    [GENERATOR_BUSY, RUN_QUEUE_WAIT, READ_LAG, PUBLISHER_LAG, ACHIEVED_RATE, STEAL, EXCUSED, CLOCK_BOUND];
