//! `Run`: the stored result of one case, as written to `run.json` (schema `pushmark.run/1`).
//!
//! Times are integer µs, sizes integer bytes. A number that was not measured is absent: every field that can
//! lack a measurement is an `Option` and is left out of the file.

mod arm;
mod browser;
mod cost;
mod delivery;
mod hybrid;
mod ingest;
mod polling;
mod steered;
mod verdict;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::compare::SideName;
use crate::transport::Transport;

pub use arm::{Arm, Connect, Connections, LastSaid, LastWords, Outcome, Tls};
pub use browser::{Agreement, AgreementParts, Browser, BrowserClock};
pub use cost::{Foreign, Generator, Server, Wire};
pub use delivery::{AgeOfInformation, Clients, Delivery, Heat, Latency, Observed, Published, Spread};
pub use hybrid::{Hybrid, HybridHalf, SafetyPolls};
pub use ingest::Ingest;
pub use polling::{Bayeux, BayeuxAdvice, LongPoll, Poll};
pub use steered::{Flood, FloodEnd, FloodInterval, FloodLimit, WarmUp, WarmUpEnd};
pub use verdict::{Reason, Verdict, VerdictState};
pub use window::{ColumnUnit, Window, WindowColumn};

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.run/1";

/// The whole result of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// `<UTC time>-<name>-<short id>`, also the name of its folder.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// The command that repeats this run.
    pub command: String,
    /// The version of pushmark that made the run.
    pub pushmark_version: String,
    /// The resolved scenario (the user's file with flags applied).
    pub scenario: serde_json::Value,
    /// The text of the scenario file as given; absent for a run without a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scenario_text: Option<String>,
    /// The plan: every number filled in.
    pub plan: serde_json::Value,
    /// The machine and software it ran on.
    pub environment: Environment,
    /// The phases of an arm, relative to the arm's start.
    pub phases: Vec<Phase>,
    /// The worst verdict of the arms, with all their reasons.
    pub verdict: Verdict,
    /// Each threshold on each arm.
    pub thresholds: Vec<Threshold>,
    /// One entry per arm, in display order.
    pub arms: Vec<Arm>,
    /// The case of a suite that this run belongs to; absent outside a suite.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<CaseRef>,
    /// The place in a sitting of two sides (`pushmark ab`); absent outside one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sitting: Option<Sitting>,
    /// The last self-test on this machine; absent if none is stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selftest: Option<SelftestRef>,
    /// What the generator can do on this machine; absent if it was not calibrated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration: Option<Calibration>,
}

/// The case of a suite that a run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseRef {
    /// The suite's name.
    pub suite: String,
    /// The case's id within the suite: its axis values, joined by `-`.
    pub id: String,
    /// Axis → value, as written in the suite.
    pub axes: BTreeMap<String, String>,
    /// Repetition, from 1.
    pub repeat: u32,
    /// Factor by which crowds and cycles were scaled (`--scale`); 1: as written.
    pub scale: f64,
    /// Further factor by which cycles were scaled (`--scale-time`).
    pub scale_time: f64,
}

/// A place in a sitting, which alternates the starts of two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sitting {
    /// The id of the sitting: its runs are compared by blocks.
    pub id: String,
    /// The side of this start.
    pub side: SideName,
    /// The block, from 1: starts made directly after each other.
    pub block: u32,
}

/// The last self-test of pushmark on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelftestRef {
    /// RFC 3339, UTC.
    pub at: String,
    /// Whether every truth test passed.
    pub passed: bool,
    /// Tests passed, out of all tests.
    pub summary: String,
}

/// The machine and software of the run. All fields as the system names them.
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
    /// CPUs that the generator's threads were pinned to; absent if not pinned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator_cpus: Option<Vec<u32>>,
    /// CPUs that the server was pinned to; absent if pushmark did not start it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cpus: Option<Vec<u32>>,
    /// Source of CPU figures: `schedstat` or `cgroup`.
    pub cpu_accounting: String,
    /// Whether target and generator share this host.
    pub same_host: bool,
    /// Open files allowed to this process.
    pub open_files: u64,
    /// Ephemeral port range, inclusive.
    pub ephemeral_ports: (u16, u16),
    /// The measured reference server; absent for a target of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// Other facts (kernel settings, versions), name to value.
    pub settings: BTreeMap<String, String>,
}

/// The reference server of a run, from its registry row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerRef {
    /// Its name.
    pub name: String,
    /// The output of its version command; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The product and version it represents, for people.
    pub stands_for: String,
    /// `original` or `present`.
    pub generation: String,
    /// How it serves many clients; absent if its row does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub architecture: Option<String>,
    /// Name shared by servers with a common origin.
    pub family: String,
    /// Its flags: the defaults of the row, and those set by the case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flags: BTreeMap<String, String>,
    /// Whether it had passed `pushmark check` in the state in which it was measured.
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
    /// Whether the condition was met.
    pub ok: bool,
}
