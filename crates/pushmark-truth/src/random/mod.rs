//! Random runs: fault × transport × poller × shards × host noise, each compared with the server's own truth
//! log.
//!
//! The authors of the code wrote the other checks too, and these share their blind spots. Here everything is
//! drawn: sizes, rates, crowds, warm-ups, threads, faults, and the other load on the host. Two things are
//! counted: figures that differ from the truth while the verdict calls them valid (there must be none), and
//! doubts about correct figures on a host without other load (there must be few, or users ignore them).
//!
//! Run `n` of seed `s` is run 0 of seed `s + n`, so that one run can be repeated alone.

mod disturbing;
mod drawn;
mod judge;
mod noise;
mod tally;

use anyhow::Context as _;

pub(super) use drawn::Drawn;
use judge::{Difference, Judged, judge};
use noise::Noise;
pub use tally::Tally;

use super::bench::Bench;
use super::command::UnderWay;

/// The result of one random run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed that draws this run again.
    pub seed: u64,
    /// The draw, in one line.
    pub what: String,
    /// The other load on the host.
    pub(super) noise: Noise,
    /// Figures that differ from the truth.
    pub(super) differences: Vec<Difference>,
    /// Codes of the reasons of the verdict.
    pub reasons: Vec<String>,
    /// The unexplained codes among them.
    pub unfounded: Vec<String>,
    /// Whether the verdict is *valid*.
    pub valid: bool,
}

impl Outcome {
    /// Figures that are wrong, believed or not.
    pub fn different(&self) -> impl Iterator<Item = String> + '_ {
        self.differences.iter().map(ToString::to_string)
    }

    /// Wrong figures about which the run raises no doubt.
    pub fn wrong(&self) -> impl Iterator<Item = String> + '_ {
        self.differences.iter().filter(|difference| difference.believed).map(ToString::to_string)
    }
}

impl Bench {
    /// Draws a run from a seed, makes it, and compares it with the truth.
    ///
    /// # Errors
    /// Fails if the run could not be made or kept nothing.
    pub fn random(&mut self, seed: u64) -> anyhow::Result<Outcome> {
        let drawn = Drawn::of(seed);
        let what = format!("run of seed {seed}: {drawn}");
        let under_way = UnderWay::start(self, &drawn.ask()).with_context(|| what.clone())?;
        drawn.noise.disturb(&under_way, &drawn).with_context(|| what.clone())?;
        let ended = under_way.wait().with_context(|| what.clone())?;
        let Judged { differences, unfounded } = judge(&drawn, &ended).with_context(|| what.clone())?;
        let verdict = &ended.run.verdict;
        Ok(Outcome {
            seed,
            what: drawn.to_string(),
            noise: drawn.noise,
            differences,
            unfounded,
            reasons: verdict.reasons.iter().map(|reason| reason.code.clone()).collect(),
            valid: verdict.state == pushmark_model::run::VerdictState::Valid,
        })
    }
}
