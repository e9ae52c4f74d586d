//! The search for the highest load that keeps what was asked: a machine without clocks, servers or
//! figures. It is told how each probe went and says what to probe next: double, bisect, repeat both
//! sides of the bracket, confirm the lower in a longer window.
//!
//! Nothing is remembered but the tally of each load, and where to go next follows from the tallies
//! alone: a load that failed once is not held, however often it held. So chance can make the answer
//! lower than the truth, never higher, and the tallies beside the answer show where it did.

mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::{Over, ProbeRow, SCHEMA, SearchFile};

/// What is searched, and how thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The lowest load worth knowing; at least 1.
    pub least: u64,
    /// The first load probed.
    pub start: u64,
    /// The highest load worth knowing.
    pub most: u64,
    /// The bracket ends when it is this share of its lower side wide.
    pub precision: f64,
    /// Runs on each side of the bracket.
    pub runs: u32,
    /// Most probes.
    pub probes: u32,
}

/// How a probe went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Everything asked was kept.
    Held,
    /// Something was not.
    Failed,
    /// This machine cannot make such a load: nothing was started.
    Refused,
    /// The figures are not the server's: no answer of the server's.
    Unbelieved,
}

/// Why a load is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The first.
    Start,
    /// Twice what held.
    Double,
    /// Half of what did not.
    Halve,
    /// Between the two.
    Bisect,
    /// A side of the bracket again.
    Repeat,
    /// The answer, in a longer window.
    Confirm,
}

/// What to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The load.
    pub at: u64,
    /// Why.
    pub why: Why,
}

/// Why there is nothing more to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The answer lies between the two sides.
    Bracketed,
    /// The highest load asked for was held.
    Most,
    /// The lowest load asked for was not.
    LowestFails,
    /// This machine makes no higher load.
    Machine,
    /// The generator's figures are not believed at a higher load.
    Generator,
    /// No more probes were allowed.
    Probes,
    /// It was told to stop.
    Stopped,
}

/// One side of the bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side<N = u64> {
    /// The load.
    pub at: N,
    /// Probes that held, longer ones too.
    pub held: u32,
    /// Probes that did not.
    pub failed: u32,
}

/// A load that did not hold below one that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inversion<N = u64> {
    /// It failed here,
    pub failed: N,
    /// and held here.
    pub held: N,
}

/// The answer, as far as there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found<N = u64> {
    /// Why the search ended.
    pub ended: Ended,
    /// The highest load that never failed below one that did.
    pub held: Option<Side<N>>,
    /// The lowest load that failed, or that could not be probed.
    pub not: Option<Side<N>>,
    /// The lower side held as often as was asked, and in the longer window.
    pub confirmed: bool,
    /// Where more load did better than less.
    pub inversions: Vec<Inversion<N>>,
}

/// What became of one load.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    held: u32,
    failed: u32,
    /// Of those that held, in the longer window.
    confirmed: bool,
    refused: bool,
    unbelieved_in_a_row: u32,
}

/// Probes in a row without a believed answer, after which a load is the generator's limit.
const UNBELIEVED_MAX: u32 = 2;

impl Tally {
    fn is_wall(&self) -> bool {
        self.refused || self.unbelieved_in_a_row >= UNBELIEVED_MAX
    }

    fn is_not_held(&self) -> bool {
        self.failed > 0 || self.is_wall()
    }

    fn runs(&self) -> u32 {
        self.held + self.failed
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    limits: Limits,
    tallies: BTreeMap<u64, Tally>,
    probed: u32,
}

impl Search {
    /// Before the first probe. Bounds that cross are put in order.
    pub fn new(limits: Limits) -> Search {
        let least = limits.least.max(1);
        let most = limits.most.max(least);
        let start = limits.start.clamp(least, most);
        Search { limits: Limits { least, start, most, ..limits }, tallies: BTreeMap::new(), probed: 0 }
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What to probe next; `None` when there is an answer, or no probe left.
    pub fn next(&self) -> Option<Probe> {
        if self.probed >= self.limits.probes {
            return None;
        }
        self.wanted()
    }

    /// Takes in how the probe that [`Search::next`] asked for went.
    pub fn take(&mut self, probe: Probe, answer: Answer) {
        let tally = self.tallies.entry(probe.at).or_default();
        // A refusal costs nothing: nothing was started.
        self.probed += u32::from(answer != Answer::Refused);
        match answer {
            Answer::Held => {
                tally.held += 1;
                tally.confirmed |= probe.why == Why::Confirm;
            }
            Answer::Failed => tally.failed += 1,
            Answer::Refused => tally.refused = true,
            Answer::Unbelieved => tally.unbelieved_in_a_row += 1,
        }
        if matches!(answer, Answer::Held | Answer::Failed) {
            tally.unbelieved_in_a_row = 0;
        }
    }

    /// The answer as it stands; `stopped` where the caller gave up.
    pub fn found(&self, stopped: bool) -> Found {
        let (held, not) = self.bracket();
        let side = |at: u64| Side { at, held: self.tallies[&at].held, failed: self.tallies[&at].failed };
        let confirmed = held.is_some_and(|at| self.is_confirmed(at));
        let ended = match (held, not) {
            _ if stopped => Ended::Stopped,
            _ if self.wanted().is_some() => Ended::Probes,
            (_, Some(not)) if self.tallies[&not].failed == 0 => match self.tallies[&not].refused {
                true => Ended::Machine,
                false => Ended::Generator,
            },
            (None, _) => Ended::LowestFails,
            (Some(_), None) => Ended::Most,
            (Some(_), Some(_)) => Ended::Bracketed,
        };
        Found { ended, held: held.map(side), not: not.map(side), confirmed, inversions: self.inversions() }
    }

    /// The lowest load that is not held, and the highest below it that is.
    fn bracket(&self) -> (Option<u64>, Option<u64>) {
        let not = self.tallies.iter().find(|(_, tally)| tally.is_not_held()).map(|(at, _)| *at);
        let below = self.tallies.range(..not.unwrap_or(u64::MAX));
        (below.rev().find(|(_, tally)| tally.held > 0).map(|(at, _)| *at), not)
    }

    fn wanted(&self) -> Option<Probe> {
        let Limits { least, start, most, runs, .. } = self.limits;
        let probe = |at, why| Some(Probe { at, why });
        match self.bracket() {
            (None, None) => probe(start, Why::Start),
            (Some(held), None) if held < most => probe(held.saturating_mul(2).min(most), Why::Double),
            (Some(held), None) => self.confirmation(held),
            (None, Some(not)) if not > least => probe((not / 2).max(least), Why::Halve),
            (None, Some(not)) => {
                let tally = self.tallies[&not];
                (!tally.is_wall() && tally.runs() < runs).then_some(Probe { at: not, why: Why::Repeat })
            }
            (Some(held), Some(not)) => {
                if not - held > self.gap(held) {
                    return probe(held + (not - held) / 2, Why::Bisect);
                }
                let tally = self.tallies[&not];
                let other_side = !tally.is_wall() && tally.runs() < runs;
                // The cheap doubts first; the long window only where they are gone.
                if self.tallies[&held].runs() < runs {
                    return probe(held, Why::Repeat);
                }
                if other_side { probe(not, Why::Repeat) } else { self.confirmation(held) }
            }
        }
    }

    fn confirmation(&self, held: u64) -> Option<Probe> {
        match () {
            () if self.tallies[&held].runs() < self.limits.runs => Some(Probe { at: held, why: Why::Repeat }),
            () if !self.tallies[&held].confirmed => Some(Probe { at: held, why: Why::Confirm }),
            () => None,
        }
    }

    fn is_confirmed(&self, held: u64) -> bool {
        self.confirmation(held).is_none()
    }

    /// How wide a bracket may stay.
    fn gap(&self, held: u64) -> u64 {
        ((held as f64 * self.limits.precision) as u64).max(1)
    }

    /// Each load that failed, with the highest above it that ever held.
    fn inversions(&self) -> Vec<Inversion> {
        let failed = self.tallies.iter().filter(|(_, tally)| tally.failed > 0);
        failed
            .filter_map(|(&failed, _)| {
                let above = self.tallies.range(failed + 1..).rev();
                let (&held, _) = above.into_iter().find(|(_, tally)| tally.held > 0)?;
                Some(Inversion { failed, held })
            })
            .collect()
    }
}

impl Found {
    /// The same in another unit of load.
    pub fn scaled(&self, by: f64) -> Found<f64> {
        let side = |s: Side| Side { at: s.at as f64 * by, held: s.held, failed: s.failed };
        let inversion = |i: &Inversion| Inversion { failed: i.failed as f64 * by, held: i.held as f64 * by };
        Found {
            ended: self.ended,
            held: self.held.map(side),
            not: self.not.map(side),
            confirmed: self.confirmed,
            inversions: self.inversions.iter().map(inversion).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
