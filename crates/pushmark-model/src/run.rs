//! `Run`: the kept result of one case, as `run.json` holds it (schema `pushmark.run/1`).
//!
//! Times are integer µs, sizes integer bytes. A number not measured is absent: every
//! field that can lack a measurement is an `Option` and is left out of the file.

mod arm;
mod browser;
mod cost;
mod delivery;
mod hybrid;
mod ingest;
mod polling;
mod steered;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::transport::Transport;

pub use arm::{Arm, Connect, Connections, LastWords, Outcome, Tls};
pub use browser::{Agreement, AgreementParts, Browser, BrowserClock};
pub use cost::{Generator, Server, Wire};
pub use delivery::{AgeOfInformation, Delivery, Heat, Latency, Observed, Published, Spread};
pub use hybrid::{Hybrid, HybridHalf, SafetyPolls};
pub use ingest::Ingest;
pub use polling::{Bayeux, BayeuxAdvice, LongPoll, Poll};
pub use steered::{Flood, FloodEnd, FloodInterval, FloodLimit, WarmUp, WarmUpEnd};
pub use window::{ColumnUnit, Window, WindowColumn};

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.run/1";

/// The whole result of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// `<UTC time>-<name>-<short id>`, the name of its folder.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What every drawing was drawn from.
    pub seed: u64,
    /// The command that repeats this run.
    pub command: String,
    /// The version of pushmark that made it.
    pub pushmark_version: String,
    /// The scenario as resolved (what the user gave, flags applied).
    pub scenario: serde_json::Value,
    /// The scenario file's text as given; absent for a run without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scenario_text: Option<String>,
    /// The plan: every number filled in.
    pub plan: serde_json::Value,
    /// The machine and software it ran on.
    pub environment: Environment,
    /// The phases of an arm, relative to the arm's start.
    pub phases: Vec<Phase>,
    /// The worst verdict of the arms, all their reasons.
    pub verdict: Verdict,
    /// Each threshold on each arm.
    pub thresholds: Vec<Threshold>,
    /// One an arm, in display order.
    pub arms: Vec<Arm>,
    /// The cell of a suite that this is a run of; absent outside one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<CaseRef>,
    /// The last self-test on this machine, if one was stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selftest: Option<SelftestRef>,
    /// What this generator can do on this machine, if it was calibrated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration: Option<Calibration>,
}

/// Which cell of which suite a run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseRef {
    /// The suite's name.
    pub suite: String,
    /// The case's id within the suite: its axis values, joined by `-`.
    pub id: String,
    /// Axis → value, as the suite writes them.
    pub axes: BTreeMap<String, String>,
    /// From 1.
    pub repeat: u32,
    /// Crowds and cycles were shrunk to this share (`--scale`); 1: as written.
    pub scale: f64,
    /// Cycles were shrunk to this share besides (`--scale-time`).
    pub scale_time: f64,
}

/// When the ruler itself was last checked on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelftestRef {
    /// RFC 3339, UTC.
    pub at: String,
    /// Whether every truth test passed.
    pub passed: bool,
    /// Tests passed of all.
    pub summary: String,
}

/// What the run ran on. All fields as the system names them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// Logical CPUs online.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// CPUs the generator's threads were kept to; absent if not pinned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator_cpus: Option<Vec<u32>>,
    /// CPUs the server was kept to; absent if pushmark did not start it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cpus: Option<Vec<u32>>,
    /// Where CPU figures came from: `schedstat` or `cgroup`.
    pub cpu_accounting: String,
    /// Whether target and generator share this host.
    pub same_host: bool,
    /// Open files allowed to this process.
    pub open_files: u64,
    /// Ephemeral port range, inclusive.
    pub ephemeral_ports: (u16, u16),
    /// The reference server that was measured; absent for a target of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// Anything else worth keeping (kernel settings, versions), name to value.
    pub settings: BTreeMap<String, String>,
}

/// The reference server of a run, as its row had it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerRef {
    /// Its name.
    pub name: String,
    /// What its version command says; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// Which version of which product it is, for people.
    pub stands_for: String,
    /// `original` or `present`.
    pub generation: String,
    /// How it serves many; absent where its row does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub architecture: Option<String>,
    /// Servers that share a descent.
    pub family: String,
    /// Its flags: the defaults of the row, and what the case set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flags: BTreeMap<String, String>,
    /// It had passed `pushmark check`, as it was when it was measured.
    pub checked: bool,
}

/// A phase: ramp, settle, warm-up, measure, drain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// `ramp`, `settle`, `warmup`, `measure`, `drain`.
    pub name: String,
    /// From the arm's start.
    pub start_us: u64,
    /// From the arm's start.
    pub end_us: u64,
}

/// Whether the figures can be believed, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictState {
    /// The figures are the server's.
    Valid,
    /// Some may be ours.
    Suspect,
    /// Stopped before the end; what is there was measured.
    Incomplete,
    /// They are not the server's.
    Invalid,
}

impl VerdictState {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            VerdictState::Valid => "valid",
            VerdictState::Suspect => "suspect",
            VerdictState::Incomplete => "incomplete",
            VerdictState::Invalid => "invalid",
        }
    }
}

/// A verdict and every reason for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst of the reasons.
    pub state: VerdictState,
    /// Worst first.
    pub reasons: Vec<Reason>,
}

/// One doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reason {
    /// Stable name: `generator_busy`, `read_lag`, …
    pub code: String,
    /// How bad.
    pub state: VerdictState,
    /// The arm it is said of; absent for the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arm: Option<Transport>,
    /// What was seen, with its bound.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// What to try.
    #[serde(rename = "try")]
    pub try_: String,
}

/// A threshold's outcome on one arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Threshold {
    /// As written: `delivery.p99 < 50ms`.
    pub expression: String,
    /// The arm.
    pub arm: Transport,
    /// The metric's value in its own unit (µs, bytes, count); absent if not measured, which fails.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<f64>,
    /// Whether it held.
    pub ok: bool,
}
