//! One side of a comparison: its runs, sorted into arms. A run of a suite belongs to its cell. All other runs
//! must be starts of one scenario: a side that mixes scenarios is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use pushmark_model::calibration::NoiseFloor;
use pushmark_model::compare::{self, Doubt, SideName};
use pushmark_model::run::{Arm, Reason, Run, Sitting, Verdict, VerdictState};
use pushmark_model::transport::Transport;

use super::settings;
use pushmark_console::exit::{Ending, Exit};
use pushmark_store as store;

/// The key by which arms of two sides are matched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The cell of the suite; absent outside one.
    pub case: Option<String>,
    /// The transport.
    pub transport: Transport,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.case {
            Some(case) => write!(f, "{case} {}", self.transport),
            None => write!(f, "{}", self.transport),
        }
    }
}

/// A side.
#[derive(Clone, Debug)]
pub struct Set {
    /// As it was named.
    pub given: String,
    /// All its runs.
    pub runs: Vec<Run>,
    /// Its arms, in the order of the report.
    pub arms: BTreeMap<Key, Arms>,
}

/// One arm over its starts.
#[derive(Clone, Debug, Default)]
pub struct Arms {
    /// One a start.
    pub starts: Vec<Start>,
}

/// One start of an arm.
#[derive(Clone, Debug)]
pub struct Start {
    /// The run's id.
    pub run: String,
    /// Its figures.
    pub arm: Arm,
    /// The verdict of its run.
    pub verdict: Verdict,
    /// Its place in a sitting; absent outside one.
    pub sitting: Option<Sitting>,
    /// The least that its generator can measure, if it was calibrated.
    pub floor: Option<NoiseFloor>,
}

impl Start {
    /// Figures that do not describe the server, or cover only part of a window, are not compared. A doubt
    /// about some figures does not affect the others.
    pub fn is_used_for(&self, metric: &str) -> bool {
        is_believed(&self.verdict, &self.arm, metric)
    }

    /// Whether the backlog grew: then its percentiles depend on the length of the run.
    pub fn is_unstable(&self) -> bool {
        self.arm.delivery.as_ref().is_some_and(|delivery| delivery.unstable)
    }

    /// The reasons that concern it, worst first, its own before the run's.
    fn reasons(&self) -> Vec<&Reason> {
        let mut reasons: Vec<&Reason> = of_arm(&self.verdict, &self.arm).collect();
        reasons.sort_by_key(|reason| (std::cmp::Reverse(reason.state), reason.arm.is_none()));
        reasons
    }

    /// The doubt that a reader must know; `None` if there is none.
    pub(super) fn doubt(&self, side: SideName) -> Option<Doubt> {
        let (state, unstable) = (self.arm.verdict, self.is_unstable());
        let reasons = self.reasons();
        let seen = reasons.first().map(|reason| reason.seen.clone()).or_else(|| self.arm.error.clone());
        let refused: Vec<&&Reason> = reasons.iter().filter(|r| r.state >= VerdictState::Incomplete).collect();
        let of_some = !refused.is_empty() && refused.iter().all(|reason| !reason.concerns.is_empty());
        let without: BTreeSet<&String> = match of_some {
            true => refused.iter().flat_map(|reason| &reason.concerns).collect(),
            false => BTreeSet::new(),
        };
        (state != VerdictState::Valid || unstable).then(|| Doubt {
            side,
            run: self.run.clone(),
            transport: self.arm.transport,
            state,
            unstable,
            used: state < VerdictState::Incomplete || of_some,
            without: without.into_iter().cloned().collect(),
            reason: match unstable && reasons.is_empty() {
                true => "the backlog grew through the window".to_owned(),
                false => seen.unwrap_or_default(),
            },
        })
    }
}

fn of_arm<'a>(verdict: &'a Verdict, arm: &'a Arm) -> impl Iterator<Item = &'a Reason> {
    verdict.reasons.iter().filter(|reason| reason.arm.is_none_or(|of| of == arm.transport))
}

/// Whether a figure of an arm is usable by the verdict of its run.
pub(crate) fn is_believed(verdict: &Verdict, arm: &Arm, metric: &str) -> bool {
    let told = of_arm(verdict, arm).map(|reason| reason.state).max().unwrap_or(VerdictState::Valid);
    // A verdict without reasons applies to all figures.
    let state = if told < arm.verdict { arm.verdict } else { verdict.of_metric(arm.transport, metric) };
    state < VerdictState::Incomplete
}

impl Arms {
    /// Returns the starts in which a figure is usable.
    pub fn used<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a Start> {
        self.starts.iter().filter(move |start| start.is_used_for(metric))
    }
}

impl Set {
    /// Makes a set from loaded runs.
    ///
    /// # Errors
    /// Fails if the runs are of different scenarios: they are not starts of the same thing.
    pub fn new(given: &str, runs: Vec<Run>) -> anyhow::Result<Set> {
        let mut arms: BTreeMap<Key, Arms> = BTreeMap::new();
        let mut first: BTreeMap<Option<String>, &Run> = BTreeMap::new();
        for run in &runs {
            let case = run.case.as_ref().map(|case| case.id.clone());
            let other = *first.entry(case.clone()).or_insert(run);
            let mixed = settings::of_scenario(&[other, run]);
            if !mixed.is_empty() {
                return Err(Ending::error(Exit::Usage, mixes(given, &mixed)));
            }
            for arm in &run.arms {
                let key = Key { case: case.clone(), transport: arm.transport };
                let start = Start {
                    run: run.id.clone(),
                    arm: arm.clone(),
                    verdict: run.verdict.clone(),
                    sitting: run.sitting.clone(),
                    floor: run.calibration.as_ref().map(|calibration| calibration.floor.clone()),
                };
                arms.entry(key).or_default().starts.push(start);
            }
        }
        Ok(Set { given: given.to_owned(), runs, arms })
    }

    /// Loads a run's folder, a folder of runs, or runs of `results` by their ids.
    ///
    /// # Errors
    /// Fails with exit 2 if nothing is found or something cannot be read.
    pub fn load(given: &str, results: &Path) -> anyhow::Result<Set> {
        let mut runs = Vec::new();
        for folder in folders(given, results)? {
            let (run, _) =
                store::load(&folder).map_err(|error| Ending::error(Exit::Usage, format!("{error:#}")))?;
            runs.push(run);
        }
        Set::new(given, runs)
    }

    /// Its name and its runs' ids, as a result has them.
    pub(super) fn named(&self) -> compare::Set {
        compare::Set { given: self.given.clone(), runs: self.runs.iter().map(|run| run.id.clone()).collect() }
    }
}

fn folders(given: &str, results: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let path = Path::new(given);
    if path.exists() {
        let found = if path.is_dir() { store::find_runs(path) } else { vec![path.to_owned()] };
        if found.is_empty() {
            let text = format!("{given}: contains no run (a run is a folder with a run.json)");
            return Err(Ending::error(Exit::Usage, text));
        }
        return Ok(found);
    }
    let unknown = || {
        let text = format!(
            "{given}: neither a folder nor a run in {}; pushmark runs list shows them",
            results.display()
        );
        Ending::error(Exit::Usage, text)
    };
    if !results.is_dir() {
        return Err(unknown());
    }
    let found = store::find(results, given);
    match found.len() {
        0 => Err(unknown()),
        1 => Ok(found.into_iter().map(|run| run.folder).collect()),
        several => {
            let ids: Vec<String> = found.into_iter().map(|run| run.id).collect();
            let text = format!("{given} names {several} runs; name one of\n  {}", ids.join("\n  "));
            Err(Ending::error(Exit::Usage, text))
        }
    }
}

fn mixes(given: &str, mixed: &[settings::Values]) -> String {
    let lines: Vec<String> = mixed
        .iter()
        .take(5)
        .map(|setting| format!("{}: {}", setting.key, setting.values.join(", ")))
        .collect();
    format!(
        "{given} holds runs of different scenarios, which are no starts of one thing:\n  {}\n\
         name the folder of one of them",
        lines.join("\n  ")
    )
}
