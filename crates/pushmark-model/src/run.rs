//! `Run`: the stored result of one case, as written to `run.json` (schema `pushmark.run/1`).
//!
//! Times are integer µs, sizes integer bytes. A number that was not measured is absent: every field that can
//! lack a measurement is an `Option` and is left out of the file.

mod arm;
mod browser;
mod connections;
mod cost;
mod delivery;
mod documents;
mod hybrid;
mod ingest;
mod polling;
mod steered;
mod verdict;
mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::transport::Transport;

pub use crate::environment::{Environment, ServerRef};
pub use crate::latency::Latency;
pub use arm::{Arm, Connect, LastWords, Outcome, Tls};
pub use browser::{Agreement, AgreementParts, Browser, BrowserClock};
pub use connections::{Connections, LastSaid};
pub use cost::{AgentClock, AgentPart, Foreign, Generator, Heap, MonitorPart, Server, Wire};
pub use delivery::{AgeOfInformation, Clients, Delivery, Heat, Observed, Published, Spread};
pub use documents::Documents;
pub use hybrid::{Hybrid, HybridHalf, SafetyPolls};
pub use ingest::Ingest;
pub use polling::{Bayeux, BayeuxAdvice, LongPoll, Poll};
pub use steered::{Flood, FloodEnd, FloodInterval, FloodLimit, WarmUp, WarmUpEnd};
pub use verdict::{Reason, Verdict, VerdictState};
pub use window::{ColumnUnit, Window, WindowColumn};

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.run/1";

/// A run and its seconds: what a report is drawn from.
#[derive(Clone, Debug)]
pub struct RunFiles {
    /// `run.json`.
    pub run: Run,
    /// `windows.csv`; empty if it was not kept.
    pub windows: Vec<Window>,
}

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

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideName {
    /// The first.
    A,
    /// The second.
    B,
}

impl SideName {
    /// Returns `A` or `B`.
    pub fn name(self) -> &'static str {
        match self {
            SideName::A => "A",
            SideName::B => "B",
        }
    }
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
