//! The machine-readable result of a suite: its runs and their outcomes.

use serde::{Deserialize, Serialize};

use super::Suite;
use crate::run::{Run, VerdictState};

/// A suite and its runs (schema `pushmark.suite-result/1`): what `pushmark suite --format json` prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteResult {
    /// Always `pushmark.suite-result/1`.
    pub schema: String,
    /// The folder of all files.
    pub folder: String,
    /// The suite, including refused cases.
    pub suite: Suite,
    /// Every existing run. Its files are in `folder`, under its id.
    pub runs: Vec<RunOf>,
}

/// A run of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunOf {
    /// The case.
    pub case: String,
    /// The number of its start, from 1.
    pub repeat: u32,
    /// The id of the run: its folder's name.
    pub id: String,
    /// Whether its figures can be trusted.
    pub verdict: VerdictState,
    /// Whether every threshold was met.
    pub thresholds_ok: bool,
    /// Why it could not be measured; absent if it could.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

impl SuiteResult {
    /// Creates the result from the existing runs.
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
