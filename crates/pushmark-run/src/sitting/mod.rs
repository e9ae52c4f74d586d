//! A sitting: the starts of two scenarios in turn. Each run is kept at once in the folder of its side. The
//! runs are the only state, so they survive an interruption, and a later sitting continues with the next
//! block.

mod turns;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pushmark_model::compare::SideName;
use pushmark_model::run::RunFiles;
use pushmark_model::run::{Run, ServerRef, Sitting};
use pushmark_model::transport::Transport;

use crate::run::{Assembled, Start};
use crate::scenario_file::Loaded;
use crate::session::{Asking, Session};
use crate::tally::{ATTEMPTS, believed};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::complain;
use pushmark_console::progress::Progress;
use pushmark_store as store;
use turns::Turns;

/// One side of a sitting.
#[derive(Debug)]
pub struct Side {
    /// Its name on the command line.
    pub given: String,
    /// Its scenario.
    pub loaded: Loaded,
    /// Its prepared server; absent for the user's own target.
    pub server: Option<ServerRef>,
}

/// The result of a sitting.
#[derive(Debug)]
pub struct Done {
    /// The runs of both sides, including those of earlier sittings.
    pub runs: [Vec<Run>; 2],
    /// The exit code, without that of the runs.
    pub exit: Exit,
}

/// The starts of both sides in one folder.
#[derive(Debug)]
pub struct Table {
    id: String,
    folder: PathBuf,
    runs: [Vec<Run>; 2],
}

/// `a` or `b`: the folder of a side.
fn name(side: SideName) -> &'static str {
    match side {
        SideName::A => "a",
        SideName::B => "b",
    }
}

impl Table {
    /// Makes an empty table. The first run creates the folder.
    pub fn new(folder: &Path, id: String) -> Table {
        Table { id, folder: folder.to_owned(), runs: [Vec::new(), Vec::new()] }
    }

    /// Reads the runs of earlier sittings from a folder.
    ///
    /// # Errors
    /// Fails if the folder has no runs of a sitting, or runs of other scenarios; exit 2.
    pub fn resume(folder: &Path, sides: &[Side; 2]) -> anyhow::Result<Table> {
        let wrong = |why: String| Ending::error(Exit::Usage, format!("{}: {why}", folder.display()));
        let mut table = Table::new(folder, String::new());
        for (side, asked) in [SideName::A, SideName::B].into_iter().zip(sides) {
            for path in store::find_runs(&folder.join(name(side))) {
                let (run, _) = store::load(&path).map_err(|error| wrong(format!("{error:#}")))?;
                let Some(place) = run.sitting.as_ref() else {
                    return Err(wrong(format!("{} is not a run of a pushmark ab", run.id)));
                };
                if !table.id.is_empty() && table.id != place.id {
                    return Err(wrong("it contains runs of two pushmark ab".to_owned()));
                }
                table.id.clone_from(&place.id);
                if run.scenario != asked.loaded.scenario.redacted_value() {
                    let side = side.name();
                    return Err(wrong(format!("{} ran another scenario than this {side}", run.id)));
                }
                table.runs[side as usize].push(run);
            }
        }
        if table.id.is_empty() {
            return Err(wrong("there is nothing to resume: it contains no runs of a pushmark ab".to_owned()));
        }
        Ok(table)
    }

    /// Makes the missing starts until each side has `wanted` usable ones.
    ///
    /// # Errors
    /// Fails if a side could not be measured at all.
    pub fn fill(
        mut self,
        sides: &[Side; 2],
        wanted: u32,
        session: &Session<'_>,
        progress: &mut Progress,
    ) -> anyhow::Result<Done> {
        let blocks = self.runs.iter().flatten().filter_map(|run| Some(run.sitting.as_ref()?.block)).max();
        let mut turns = Turns::after(blocks.unwrap_or(0), sides[0].loaded.scenario.seed);
        let mut exit = Exit::Pass;
        while session.signals.stopped().is_none() {
            let Some((side, block)) = turns.next(self.lacking(wanted)) else { break };
            let asked = &sides[side as usize];
            let number = self.runs.iter().map(Vec::len).sum::<usize>() as u32 + 1;
            let start = Start { number, of: number.max(2 * wanted) };
            progress.note(&format!("{}: {}", side.name(), asked.given));
            let asking = Asking { start, server: asked.server.clone(), case: None };
            match session.measure(&asked.loaded, asking, progress) {
                Ok(assembled) => {
                    progress.finish();
                    let (run, kept) = self.keep(assembled, side, block, session);
                    // The run was not kept, so the exit code must not report success.
                    exit = exit.worst(if kept { Exit::Pass } else { Exit::Internal });
                    self.runs[side as usize].push(run);
                }
                Err(error) if self.runs.iter().any(Vec::is_empty) => return Err(error),
                // The earlier starts were measured and are compared.
                Err(error) => {
                    progress.finish();
                    complain(&format!("{}, start {number}: {error:#}", side.name()));
                    exit = exit.worst(Exit::Incomplete);
                    break;
                }
            }
        }
        progress.finish();
        if let Some(words) = self.words(wanted) {
            complain(&words);
        }
        exit = exit.worst(session.signals.stopped().unwrap_or(Exit::Pass));
        Ok(Done { runs: self.runs, exit })
    }

    /// Returns the missing starts of each side that may still be made. A start counts if it can be compared:
    /// it is usable, and in a block in which both sides have one. The arm and side with the fewest decide.
    fn lacking(&self, wanted: u32) -> u32 {
        let made = self.runs.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let room = wanted.saturating_mul(ATTEMPTS).saturating_sub(made);
        wanted.saturating_sub(self.comparable()).min(room)
    }

    fn comparable(&self) -> u32 {
        let mut blocks: BTreeMap<(Transport, u32), [u32; 2]> = BTreeMap::new();
        for run in self.runs.iter().flatten() {
            let Some(place) = &run.sitting else { continue };
            for (transport, is_good) in believed(run) {
                blocks.entry((transport, place.block)).or_default()[place.side as usize] +=
                    u32::from(is_good);
            }
        }
        let mut sums: BTreeMap<Transport, [u32; 2]> = BTreeMap::new();
        for ((transport, _), [a, b]) in blocks {
            let sum = sums.entry(transport).or_default();
            if a > 0 && b > 0 {
                *sum = [sum[0] + a, sum[1] + b];
            }
        }
        sums.values().flatten().min().copied().unwrap_or(0)
    }

    /// Returns a message if more starts were made than requested.
    fn words(&self, wanted: u32) -> Option<String> {
        let made = self.runs.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let good = self.comparable();
        match (made > wanted, good >= wanted) {
            (false, _) => None,
            (true, true) => {
                Some(format!("{made} starts of each side were made for {wanted} that can be compared"))
            }
            (true, false) => Some(format!(
                "{made} starts of each side were made, and {good} can be compared of the {wanted} asked for \
                 (at most {ATTEMPTS} × {wanted} are made)"
            )),
        }
    }

    /// Keeps a start on its side, and tells whether a folder could take it.
    fn keep(&self, assembled: Assembled, side: SideName, block: u32, session: &Session<'_>) -> (Run, bool) {
        let Assembled { mut run, windows, intervals, logs } = assembled;
        run.sitting = Some(Sitting { id: self.id.clone(), side, block });
        let place = self.folder.join(name(side)).join(&run.id);
        let files = [RunFiles { run, windows }];
        let kept = session.keep_run(&files, &intervals, &logs, &place).is_some();
        let [RunFiles { run, .. }] = files;
        (run, kept)
    }
}

#[cfg(test)]
mod tests {
    use pushmark_model::draw::{Draw, Purpose};
    use pushmark_model::run::VerdictState;

    use super::*;
    use pushmark_store::testing;

    /// A series of starts, some of which are not usable.
    #[test]
    fn every_block_has_as_many_of_both_whatever_fails() {
        let seed = 20_261_123;
        println!("seed {seed}");
        for case in 0..100 {
            let mut draw = Draw::new(seed, Purpose::Check, case);
            let (wanted, share) = (2 + draw.below(7) as u32, draw.unit());
            let mut table = Table::new(Path::new("nowhere"), "one".to_owned());
            let mut turns = Turns::after(0, case);
            while let Some((side, block)) = turns.next(table.lacking(wanted)) {
                let mut run = testing::run("20261121T200412Z-fan-out-k3f9");
                run.sitting = Some(Sitting { id: "one".into(), side, block });
                if draw.unit() < share {
                    run.arms[0].verdict = VerdictState::Invalid;
                }
                table.runs[side as usize].push(run);
            }
            let made = table.runs.each_ref().map(Vec::len);
            assert_eq!(made[0], made[1], "case {case}");
            let full = table.comparable() >= wanted;
            assert!(full || made[0] as u32 == 2 * wanted, "case {case}: {made:?} of {wanted}");
            assert!(made[0] as u32 <= 2 * wanted, "case {case}: {made:?} of {wanted}");
            assert_eq!(table.words(wanted).is_some(), made[0] as u32 > wanted, "case {case}");
        }
    }
}
