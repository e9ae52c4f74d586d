//! Arms become a `Run`: with its verdict, its thresholds and what it ran on.

use pushmark_model::calibration::Calibration;
use pushmark_model::metrics::Expression;
use pushmark_model::plan::Plan;
use pushmark_model::run::{Environment, Run, SCHEMA, SelftestRef, Window};

use super::ArmDone;
use crate::gather;
use crate::server::logs::KeptFile;
use crate::store::hlog::Interval;
use crate::store::{Utc, run_id};
use crate::verdict;

/// What a run is called and where it came from.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// When it began.
    pub started: Utc,
    /// The command that repeats it.
    pub command: String,
    /// The scenario as resolved, without secrets.
    pub scenario: serde_json::Value,
    /// The plan, without secrets.
    pub plan: serde_json::Value,
    /// The scenario's text as given, without secrets.
    pub text: Option<String>,
    /// The machine.
    pub environment: Environment,
    /// Its thresholds.
    pub expressions: &'a [Expression],
    /// The last self-test on this machine.
    pub selftest: Option<SelftestRef>,
    /// The calibration of this machine.
    pub calibration: Option<Calibration>,
}

/// A run and what is kept beside it.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The result.
    pub run: Run,
    /// A line a second and arm.
    pub windows: Vec<Window>,
    /// Latencies second by second.
    pub intervals: Vec<Interval>,
    /// What the servers wrote.
    pub logs: Vec<KeptFile>,
}

/// Puts a run together.
pub fn assemble(plan: &Plan, about: About<'_>, done: Vec<ArmDone>) -> Assembled {
    let mut arms = Vec::new();
    let mut windows = Vec::new();
    let mut reasons = Vec::new();
    let mut intervals = Vec::new();
    let mut logs = Vec::new();
    for mut finished in done {
        arms.push(finished.arm);
        windows.append(&mut finished.windows);
        reasons.append(&mut finished.reasons);
        intervals.append(&mut finished.intervals);
        logs.append(&mut finished.logs);
    }
    // As they were: a warm-up that is detected is shorter than its plan.
    let planned = || plan.arms.first().map(|arm| gather::phases(&arm.phases));
    let phases = arms.first().map(|arm| arm.phases.clone()).or_else(planned).unwrap_or_default();
    let thresholds = about
        .expressions
        .iter()
        .flat_map(|expression| arms.iter().map(|arm| expression.evaluate(arm)))
        .collect();
    let run = Run {
        schema: SCHEMA.to_owned(),
        id: run_id(about.started, &plan.name),
        name: plan.name.clone(),
        started_at: about.started.rfc3339(),
        seed: plan.seed,
        command: about.command,
        pushmark_version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: about.scenario,
        scenario_text: about.text,
        plan: about.plan,
        environment: about.environment,
        phases,
        verdict: verdict::of_run(reasons),
        thresholds,
        arms,
        selftest: about.selftest,
        calibration: about.calibration,
        case: None,
    };
    Assembled { run, windows, intervals, logs }
}
