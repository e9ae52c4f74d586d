//! Interleaved rounds: what drifts on a machine is on both sides of a ratio taken within one.

use crate::plan::Ask;
use crate::receive::Receiver;
use crate::run::{self, Common, Measured};
use crate::table::Table;

/// Of the cores' time that the hypervisor may take in a round that counts.
pub(crate) const STEAL_MAX: f64 = 0.02;
/// Disturbed rounds are repeated up to this many times the number of requested rounds.
const DISTURBED_MAX: usize = 2;

/// A contestant that is measured in every round.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) name: String,
    pub(crate) receiver: Receiver,
    pub(crate) ask: Ask,
}

/// What came of them.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// By turn, then by round.
    pub(crate) measured: Vec<Vec<Measured>>,
    /// Rounds that were thrown away and made again.
    disturbed: usize,
}

impl Rounds {
    /// Measures every turn once a round, and begins each round with another.
    pub(crate) fn of(turns: &[Turn], pairs: usize, common: &Common) -> anyhow::Result<Rounds> {
        let mut rounds = Rounds { measured: vec![Vec::new(); turns.len()], disturbed: 0 };
        while rounds.done() < pairs {
            let first = rounds.done() + rounds.disturbed;
            let mut round: Vec<(usize, Measured)> = Vec::new();
            for at in (0..turns.len()).map(|turn| (turn + first) % turns.len()) {
                let turn = &turns[at];
                let m = run::measure(common, turn.receiver, &turn.ask, &[])?;
                eprintln!(
                    "{} {} of {pairs}, {}: {:.2} CPU-s/M, {:.0}/s, waited {:.1} %, steal {:.1} %",
                    turn.ask.transport,
                    rounds.done() + 1,
                    turn.name,
                    m.cpu_s_per_million(),
                    m.rate(),
                    m.waited() * 100.0,
                    m.steal() * 100.0
                );
                round.push((at, m));
            }
            let disturbed = round.iter().any(|(_, m)| m.steal() > STEAL_MAX);
            if disturbed && rounds.disturbed < DISTURBED_MAX * pairs {
                rounds.disturbed += 1;
                continue;
            }
            round.into_iter().for_each(|(at, m)| rounds.measured[at].push(m));
        }
        Ok(rounds)
    }

    fn done(&self) -> usize {
        self.measured.first().map_or(0, Vec::len)
    }

    /// Says on a table what had to be made again.
    pub(crate) fn note(&self, table: &mut Table) {
        if self.disturbed > 0 {
            table.note(format!(
                "{} rounds were made again: the hypervisor took more than {:.0} %.",
                self.disturbed,
                STEAL_MAX * 100.0
            ));
        }
    }
}
