//! What a suite's end is for a program: which runs there are, and what became of them.

use serde::{Deserialize, Serialize};

use super::Suite;
use crate::run::{Run, VerdictState};

/// A suite and its runs (schema `pushmark.suite-result/1`): what `pushmark suite --format json` prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteResult {
    /// Always `pushmark.suite-result/1`.
    pub schema: String,
    /// Where everything lies.
    pub folder: String,
    /// The suite, refusals among its cases.
    pub suite: Suite,
    /// Every run that is there; the whole of it lies in `folder`, under its id.
    pub runs: Vec<RunOf>,
}

/// A run of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunOf {
    /// The case.
    pub case: String,
    /// Which start of it, from 1.
    pub repeat: u32,
    /// The run: its folder's name.
    pub id: String,
    /// Whether its figures can be believed.
    pub verdict: VerdictState,
    /// Whether every threshold held.
    pub thresholds_ok: bool,
    /// Why it could not be measured; absent where it could.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

impl SuiteResult {
    /// Of the runs that are there.
    pub fn of<'r>(suite: &Suite, folder: String, runs: impl Iterator<Item = &'r Run>) -> SuiteResult {
        let of = |run: &Run| {
            let case = run.case.as_ref()?;
            Some(RunOf {
                case: case.id.clone(),
                repeat: case.repeat,
                id: run.id.clone(),
                verdict: run.verdict.state,
                thresholds_ok: run.thresholds.iter().all(|threshold| threshold.ok),
                error: run.arms.iter().find_map(|arm| arm.error.clone()),
            })
        };
        SuiteResult {
            schema: "pushmark.suite-result/1".to_owned(),
            folder,
            suite: suite.clone(),
            runs: runs.filter_map(of).collect(),
        }
    }
}
