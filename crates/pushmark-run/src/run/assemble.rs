//! Assembles a `Run` from its arms, with its verdict, its thresholds and its environment.

use pushmark_model::calibration::Calibration;
use pushmark_model::metrics::Expression;
use pushmark_model::plan::Plan;
use pushmark_model::run::{Environment, Run, SCHEMA, SelftestRef, Window};

use super::ArmDone;
use crate::gather;
use crate::verdict;
use pushmark_console::redact;
use pushmark_store::KeptFile;
use pushmark_store::hlog::Interval;
use pushmark_store::{Utc, run_id};

/// The name of a run and its origin.
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

/// A run and the files beside it.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The result.
    pub run: Run,
    /// A line a second and arm.
    pub windows: Vec<Window>,
    /// Latencies second by second.
    pub intervals: Vec<Interval>,
    /// The output of the servers.
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
    // The actual phases: a detected warm-up is shorter than planned.
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
        sitting: None,
    };
    redact::logs(&mut logs);
    Assembled { run: redact::run(run), windows, intervals, logs }
}
