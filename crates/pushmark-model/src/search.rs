//! The search for the highest load at which all conditions are met. A state machine without clocks, servers
//! or figures: it receives the outcome of each probe and returns the next probe. It doubles, bisects, repeats
//! both sides of the bracket, and confirms the lower side in a longer window.
//!
//! The only state is the tally of each load, and the next probe follows from the tallies alone. A load that
//! failed once counts as not held, however often it held. So chance can make the answer lower than the truth,
//! never higher, and the tallies beside the answer show where that happened.

mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::{Over, ProbeRow, SCHEMA, SearchFile};

/// The bounds of a search, and its thoroughness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The lowest load of the search; at least 1.
    pub least: u64,
    /// The first load probed.
    pub start: u64,
    /// The highest load of the search.
    pub most: u64,
    /// The search stops narrowing when the bracket's width is this share of its lower side.
    pub precision: f64,
    /// Runs on each side of the bracket.
    pub runs: u32,
    /// Maximum number of probes.
    pub probes: u32,
}

/// The outcome of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Every condition was met.
    Held,
    /// A condition was not met.
    Failed,
    /// This machine cannot generate this load. Nothing was started.
    Refused,
    /// The figures are not the server's, so they do not answer for it.
    Unbelieved,
}

/// Why a load is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The first load.
    Start,
    /// Twice a load that held.
    Double,
    /// Half of a load that did not hold.
    Halve,
    /// Between a load that held and one that did not.
    Bisect,
    /// A side of the bracket, repeated.
    Repeat,
    /// The answer, in a longer window.
    Confirm,
}

/// A probe to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The load.
    pub at: u64,
    /// Why it is probed.
    pub why: Why,
}

/// Why the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The answer is between the two sides.
    Bracketed,
    /// The highest load of the search held.
    Most,
    /// The lowest load of the search did not hold.
    LowestFails,
    /// This machine cannot generate a higher load.
    Machine,
    /// At a higher load the figures are not the server's but the generator's.
    Generator,
    /// No more probes were allowed.
    Probes,
    /// The search was stopped.
    Stopped,
}

/// One side of the bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side<N = u64> {
    /// The load.
    pub at: N,
    /// Probes that held, including those in the longer window.
    pub held: u32,
    /// Probes that did not hold.
    pub failed: u32,
}

/// A load that failed although a higher load held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inversion<N = u64> {
    /// The load that failed.
    pub failed: N,
    /// The higher load that held.
    pub held: N,
}

/// The answer, as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found<N = u64> {
    /// Why the search ended.
    pub ended: Ended,
    /// The highest load that held, below the lowest that did not.
    pub held: Option<Side<N>>,
    /// The lowest load that failed, or that could not be probed.
    pub not: Option<Side<N>>,
    /// Whether the lower side held as often as required, and in the longer window.
    pub confirmed: bool,
    /// Loads that failed although a higher load held.
    pub inversions: Vec<Inversion<N>>,
}

/// The probes of one load.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    held: u32,
    failed: u32,
    /// Whether one of those that held was in the longer window.
    confirmed: bool,
    refused: bool,
    unbelieved_in_a_row: u32,
}

/// Probes in a row with untrusted figures, after which a load is the generator's limit.
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

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Search {
    limits: Limits,
    tallies: BTreeMap<u64, Tally>,
    probed: u32,
}

impl Search {
    /// Creates a search before its first probe. Puts bounds that cross in order.
    pub fn new(limits: Limits) -> Search {
        let least = limits.least.max(1);
        let most = limits.most.max(least);
        let start = limits.start.clamp(least, most);
        Search { limits: Limits { least, start, most, ..limits }, tallies: BTreeMap::new(), probed: 0 }
    }

    /// Returns the bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the next probe; `None` if there is an answer, or if no probe is left.
    pub fn next(&self) -> Option<Probe> {
        if self.probed >= self.limits.probes {
            return None;
        }
        self.wanted()
    }

    /// Takes the outcome of the probe that [`Search::next`] returned.
    pub fn take(&mut self, probe: Probe, answer: Answer) {
        let tally = self.tallies.entry(probe.at).or_default();
        // A refused probe is free: nothing was started.
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

    /// Returns the answer so far; `stopped` if the caller ended the search.
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

    /// Returns the lowest load that is not held, and the highest held load below it.
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
                // Cheap repetitions first; the long window only when they are complete.
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

    /// Returns the width at which a bracket is narrow enough.
    fn gap(&self, held: u64) -> u64 {
        ((held as f64 * self.limits.precision) as u64).max(1)
    }

    /// Returns each load that failed, with the highest load above it that ever held.
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
    /// Converts the answer to another unit of load.
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
