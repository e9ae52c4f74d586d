//! One side of a comparison: its runs, sorted into arms. A run that is a cell of a suite belongs to
//! that cell; all others are starts of one scenario, and a side that mixes several is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use pushmark_model::compare::{self, Doubt, SideName};
use pushmark_model::run::{Arm, Run, VerdictState};
use pushmark_model::transport::Transport;

use super::settings;
use crate::exit::{Ending, Exit};
use crate::store::{self, Index};

/// What arms of two sides are matched by.
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
    /// The worst reason for doubt; empty without any.
    pub reason: String,
}

impl Start {
    /// Figures that are not the server's, or of half a window, are not compared.
    pub fn is_used(&self) -> bool {
        self.arm.verdict < VerdictState::Incomplete
    }

    /// The backlog grew: its percentiles depend on when it was stopped.
    pub fn is_unstable(&self) -> bool {
        self.arm.delivery.as_ref().is_some_and(|delivery| delivery.unstable)
    }

    /// What a reader must know of it; `None` if nothing.
    pub(super) fn doubt(&self, side: SideName) -> Option<Doubt> {
        let (state, unstable) = (self.arm.verdict, self.is_unstable());
        (state != VerdictState::Valid || unstable).then(|| Doubt {
            side,
            run: self.run.clone(),
            transport: self.arm.transport,
            state,
            unstable,
            used: self.is_used(),
            reason: match unstable {
                true if self.reason.is_empty() => "the backlog grew through the window".to_owned(),
                _ => self.reason.clone(),
            },
        })
    }
}

impl Arms {
    /// The starts whose figures are compared.
    pub fn used(&self) -> impl Iterator<Item = &Start> {
        self.starts.iter().filter(|start| start.is_used())
    }
}

impl Set {
    /// From runs that are here already.
    ///
    /// # Errors
    /// Runs of different scenarios, which are no starts of one thing.
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
                let reason = reason(run, arm);
                let start = Start { run: run.id.clone(), arm: arm.clone(), reason };
                arms.entry(key).or_default().starts.push(start);
            }
        }
        Ok(Set { given: given.to_owned(), runs, arms })
    }

    /// A run's folder, a folder that holds some, or what the index of `results` knows.
    ///
    /// # Errors
    /// Nothing there, or something that cannot be read; all exit 2.
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
            let text = format!("{given}: no run here (a run is a folder with a run.json)");
            return Err(Ending::error(Exit::Usage, text));
        }
        return Ok(found);
    }
    let unknown = || {
        let text = format!(
            "{given}: no such folder, and no run of {} is called so; pushmark runs list shows them",
            results.display()
        );
        Ending::error(Exit::Usage, text)
    };
    if !results.is_dir() {
        return Err(unknown());
    }
    let mut index = Index::open(results)?;
    index.follow()?;
    let found = index.find(given)?;
    match found.len() {
        0 => Err(unknown()),
        1 => Ok(found.into_iter().map(|(_, folder)| folder).collect()),
        several => {
            let ids: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
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

/// The worst doubt about an arm: its own before the run's.
fn reason(run: &Run, arm: &Arm) -> String {
    let mut reasons: Vec<_> =
        run.verdict.reasons.iter().filter(|r| r.arm.is_none_or(|of| of == arm.transport)).collect();
    reasons.sort_by_key(|r| (std::cmp::Reverse(r.state), r.arm.is_none()));
    let seen = reasons.first().map(|r| r.seen.clone());
    seen.or_else(|| arm.error.clone()).unwrap_or_default()
}
