//! The cells of a suite: a case and its starts. A cell without a run is refused or not run. It is kept, so
//! that missing results are shown as missing.

use std::collections::BTreeMap;

use pushmark_model::metrics::Metric;
use pushmark_model::run::{Outcome, Run, VerdictState};
use pushmark_model::suite::{self, Axis, Figure, Suite};

use super::super::RunFiles;
use super::super::case::{ArmView, Case};
use super::places::titled;

/// A suite with its results.
pub struct View<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// In the order of the axes.
    pub cells: Vec<Cell<'a>>,
}

/// One case and its starts.
pub struct Cell<'a> {
    /// The case.
    pub case: &'a suite::Case,
    /// The starts, by repeat; `None` for a case that was not run.
    pub(crate) measured: Option<Case<'a>>,
}

/// The state of a cell or of an arm in it: the verdict, or the reason for its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Its numbers can be trusted.
    Valid,
    /// Its numbers are doubtful.
    Suspect,
    /// It ended before its time.
    Incomplete,
    /// The server crashed: a finding, not a verdict.
    Died,
    /// Its numbers say nothing.
    Invalid,
    /// Nothing was measured.
    Failed,
    /// The machine cannot hold it.
    Refused,
    /// It has no run.
    NotRun,
}

impl Fate {
    pub(crate) const ALL: [Fate; 8] = [
        Fate::Valid,
        Fate::Suspect,
        Fate::Incomplete,
        Fate::Died,
        Fate::Invalid,
        Fate::Failed,
        Fate::Refused,
        Fate::NotRun,
    ];

    /// Returns its name: `valid`, `not run`.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Valid => "valid",
            Fate::Suspect => "suspect",
            Fate::Incomplete => "incomplete",
            Fate::Died => "died",
            Fate::Invalid => "invalid",
            Fate::Failed => "failed",
            Fate::Refused => "refused",
            Fate::NotRun => "not run",
        }
    }

    /// Returns the glyph of the fate. None of them has an emoji form.
    pub(crate) fn glyph(self) -> &'static str {
        match self {
            Fate::Valid => "✓",
            Fate::Suspect => "▲",
            Fate::Incomplete => "◐",
            Fate::Died => "†",
            Fate::Invalid | Fate::Failed => "✕",
            Fate::Refused | Fate::NotRun => "–",
        }
    }

    /// Whether the cell has a number.
    pub(crate) fn has_value(self) -> bool {
        self <= Fate::Incomplete
    }
}

impl<'a> View<'a> {
    /// Groups runs by the case of the suite to which they belong; runs of other suites are left out.
    pub fn new(suite: &'a Suite, runs: &'a [RunFiles]) -> View<'a> {
        let mut starts: BTreeMap<&str, Vec<&RunFiles>> = BTreeMap::new();
        for files in runs {
            if let Some(case) = files.run.case.as_ref().filter(|c| c.suite == suite.name) {
                starts.entry(&case.id).or_default().push(files);
            }
        }
        let cell = |case: &'a suite::Case| {
            let measured = starts.remove(case.id.as_str()).map(|mut starts| {
                starts.sort_by_key(|s| s.run.case.as_ref().map_or(0, |c| c.repeat));
                Case::new(starts, format!("{}-", case.id))
            });
            Cell { case, measured }
        };
        View { suite, cells: suite.cases.iter().map(cell).collect() }
    }

    /// Returns the cells that a figure asks for.
    pub fn chosen(&self, figure: &Figure) -> Vec<&Cell<'a>> {
        self.cells.iter().filter(|cell| cell.fits(&figure.only)).collect()
    }

    /// Returns the same cells; an error if there are none.
    pub(crate) fn asked(&self, figure: &Figure) -> Result<Vec<&Cell<'a>>, String> {
        let cells = self.chosen(figure);
        if cells.is_empty() { Err("no case is what it asks for".into()) } else { Ok(cells) }
    }

    /// Returns an axis by its name.
    pub fn axis(&self, name: &str) -> Option<&'a Axis> {
        self.suite.axes.iter().find(|a| a.name == name)
    }

    /// Returns the axes in which these cells differ, in the order of the suite.
    pub fn varied(&self, cells: &[&Cell<'_>]) -> Vec<&'a Axis> {
        let differs = |axis: &&Axis| cells.windows(2).any(|w| w[0].axis(&axis.name) != w[1].axis(&axis.name));
        self.suite.axes.iter().filter(differs).collect()
    }

    /// Counts the cells of each fate, none left out.
    pub(crate) fn counts(&self) -> Vec<(Fate, usize)> {
        let of = |fate| self.cells.iter().filter(|c| c.fate() == fate).count();
        Fate::ALL.into_iter().map(|f| (f, of(f))).filter(|(_, n)| *n > 0).collect()
    }

    /// Returns the fewest and most starts of the cells that were run; `None` if no cell was run.
    pub(crate) fn starts(&self) -> Option<(usize, usize)> {
        let all = || self.cells.iter().map(Cell::n).filter(|n| *n > 0);
        Some((all().min()?, all().max()?))
    }

    /// Returns the first run of the suite, for values that all runs share.
    pub fn run(&self) -> Option<&'a pushmark_model::run::Run> {
        self.cells.iter().filter_map(|c| c.measured.as_ref()).map(Case::run).min_by_key(|r| &r.started_at)
    }
}

impl<'a> Cell<'a> {
    /// Returns its value of an axis; `None` if the case does not have that axis.
    pub fn axis(&self, name: &str) -> Option<&'a str> {
        self.case.axes.get(name).map(String::as_str)
    }

    /// Whether it has one of the values named for each axis.
    pub fn fits(&self, only: &BTreeMap<String, Vec<String>>) -> bool {
        let fits = |(axis, values): (&String, &Vec<String>)| {
            self.axis(axis).is_some_and(|own| values.iter().any(|value| value == own))
        };
        only.iter().all(fits)
    }

    /// Returns its arms; none if it was not run.
    pub fn arms(&self) -> &[ArmView<'a>] {
        self.measured.as_ref().map_or(&[], |m| &m.arms)
    }

    /// Returns the number of fresh starts.
    pub fn n(&self) -> usize {
        self.measured.as_ref().map_or(0, Case::n)
    }

    /// Returns the value of a metric in the first arm of each start, without the starts in which that metric is
    /// invalid or in which the server died (a flood is meant to end its server).
    pub fn values(&self, metric: &Metric) -> Vec<f64> {
        let starts = self.measured.iter().flat_map(|measured| &measured.starts);
        starts.filter_map(|start| believed(&start.run, metric)).collect()
    }

    /// Returns the ids of its runs, by repeat.
    pub fn run_ids(&self) -> Vec<&'a str> {
        self.measured.iter().flat_map(|m| &m.starts).map(|start| start.run.id.as_str()).collect()
    }

    /// Returns the fate: the worst of its arms.
    pub fn fate(&self) -> Fate {
        match &self.measured {
            None if self.case.refused.is_some() => Fate::Refused,
            None => Fate::NotRun,
            Some(measured) => measured.arms.iter().map(fate_of).max().unwrap_or(Fate::Failed),
        }
    }

    /// Returns why the cell has no number, or a doubtful one; empty for a valid cell.
    pub(crate) fn reason(&self) -> String {
        match &self.measured {
            None => self.case.refused.clone().unwrap_or_default(),
            Some(measured) => {
                let worst = measured.arms.iter().max_by_key(|a| fate_of(a));
                worst
                    .map(reason_of)
                    .filter(|r| !r.is_empty())
                    .unwrap_or_else(|| measured.reasons().first().map_or(String::new(), |r| r.seen.clone()))
            }
        }
    }

    /// Returns the axis values for people: server · style · 5 000 clients.
    pub fn words(&self, suite: &Suite, leave: &[&str]) -> String {
        let values = suite.axes.iter().filter(|a| !leave.contains(&a.name.as_str()));
        let values = values.filter_map(|a| Some(titled(self.axis(&a.name)?, &a.label)));
        values.collect::<Vec<_>>().join(" · ")
    }
}

/// Returns the value of a metric in the first arm of a run, if it can be used.
fn believed(run: &Run, metric: &Metric) -> Option<f64> {
    let arm = run.arms.first()?;
    let invalid = run.verdict.of_metric(arm.transport, &metric.name) == VerdictState::Invalid;
    let died = arm.outcome == Outcome::Died && arm.flood.is_none();
    if invalid || died { None } else { metric.value(arm) }
}

/// Returns the fate of an arm.
pub fn fate_of(arm: &ArmView<'_>) -> Fate {
    let nothing = |a: &pushmark_model::run::Arm| a.error.is_some() && a.connections.opened == 0;
    match (arm.state, arm.outcome) {
        (_, Outcome::Died) if arm.state != VerdictState::Invalid => Fate::Died,
        (VerdictState::Valid, _) => Fate::Valid,
        (VerdictState::Suspect, _) => Fate::Suspect,
        _ if arm.starts.iter().all(|a| nothing(a)) => Fate::Failed,
        (VerdictState::Incomplete, _) => Fate::Incomplete,
        (VerdictState::Invalid, _) => Fate::Invalid,
    }
}

/// Whether the numbers of an arm are usable. A flood is meant to end its server, so its numbers are
/// usable.
pub fn stands(arm: &ArmView<'_>) -> bool {
    let fate = fate_of(arm);
    fate.has_value() || fate == Fate::Died && arm.starts.iter().any(|a| a.flood.is_some())
}

/// Returns the error of an arm, the end of its server, or the first words of its verdict's reason.
pub fn reason_of(arm: &ArmView<'_>) -> String {
    let error = || arm.starts.iter().find_map(|a| a.error.clone());
    match fate_of(arm) {
        Fate::Died => super::super::ending::of(arm).or_else(error).unwrap_or_else(|| arm.reason.clone()),
        Fate::Failed => error().unwrap_or_else(|| arm.reason.clone()),
        _ => arm.reason.clone(),
    }
}
