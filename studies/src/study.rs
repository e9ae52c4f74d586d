//! What a page is drawn from: the suites of a study, their questions, and the kept runs of each. All of it is
//! read from the tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use pushmark_model::run::RunFiles;
use pushmark_model::suite::{Study, Suite, SuiteFile};
use pushmark_report::suite::parts::{Cell, View};
use pushmark_store as store;

use crate::questions::Questions;

/// The folder of the suites, from the root of the tree.
pub(crate) const SUITES: &str = "studies/suites";

/// The folder within a sitting's of what was measured again.
const AGAIN: &str = "again";

/// The folder of their questions.
const QUESTIONS: &str = "studies/questions";

/// A suite of a study.
pub(crate) struct StudySuite {
    /// Its name.
    pub(crate) name: String,
    /// What it shows.
    pub(crate) analysis: String,
    /// The number of its cases.
    pub(crate) cases: usize,
    /// What it says of the study.
    pub(crate) study: Study,
    /// What the page asks of its runs.
    pub(crate) questions: Questions,
    /// Its kept runs, a folder for each machine, the newest first.
    pub(crate) kept: Vec<Kept>,
    /// Runs of cells drawn by lot, measured again in another sitting.
    pub(crate) again: Vec<Kept>,
}

/// The kept runs of a suite on one machine.
pub(crate) struct Kept {
    /// Their folder, from the root of the tree.
    pub(crate) folder: String,
    /// The suite as it was run, with the figures that its file asks for today.
    pub(crate) suite: Suite,
    pub(crate) runs: Vec<RunFiles>,
}

impl StudySuite {
    /// Returns the kept runs that have most starts of the cells that are asked for; the newest of those that have
    /// as many, `None` if no folder has a start. Two machines differ by more than two starts do, so the runs of
    /// one figure, and of one answer, are of one machine.
    pub(crate) fn of(&self, asked: impl Fn(&Cell<'_>) -> bool) -> Option<&Kept> {
        let with = |kept: &Kept| {
            let view = View::new(&kept.suite, &kept.runs);
            view.cells
                .iter()
                .filter(|cell| asked(cell))
                .map(|cell| cell.n().min(STARTS_COUNTED))
                .sum::<usize>()
        };
        let counted = self.kept.iter().map(|kept| (with(kept), kept)).rev().filter(|(starts, _)| *starts > 0);
        counted.max_by_key(|(starts, _)| *starts).map(|(_, kept)| kept)
    }
}

/// More starts of a cell than these add nothing to the choice of a machine: five are asked for at most.
const STARTS_COUNTED: usize = 5;

/// Reads the suites of the tree by the number of their study, each list by file name.
pub(crate) fn read(root: &Path) -> anyhow::Result<BTreeMap<u32, Vec<StudySuite>>> {
    let mut studies: BTreeMap<u32, Vec<StudySuite>> = BTreeMap::new();
    for path in sorted(&root.join(SUITES))? {
        let suite = suite(root, &path).with_context(|| path.display().to_string())?;
        studies.entry(suite.study.number).or_default().push(suite);
    }
    Ok(studies)
}

fn suite(root: &Path, path: &Path) -> anyhow::Result<StudySuite> {
    let text = fs::read_to_string(path)?;
    let file = SuiteFile::parse(&text, &[]).map_err(|errors| anyhow!("{errors:?}"))?;
    let study = file.study.clone().context("it has no [study]")?;
    let asked = root.join(QUESTIONS).join(path.file_name().context("a file's name")?);
    let read = fs::read_to_string(&asked).map_err(anyhow::Error::from);
    let questions = read.and_then(|text| Questions::read(&text, &file.axes));
    let questions = questions.with_context(|| asked.display().to_string())?;
    let folders = sorted(&root.join("record"))?.into_iter().rev();
    let (kept, again): (Vec<PathBuf>, Vec<PathBuf>) =
        folders.map(|record| (record.join(&file.name), record.join(AGAIN).join(&file.name))).unzip();
    let read = |folders: Vec<PathBuf>| -> anyhow::Result<Vec<Kept>> {
        folders.iter().filter_map(|folder| kept_in(root, folder, &file, &text).transpose()).collect()
    };
    let (kept, again) = (read(kept)?, read(again)?);
    Ok(StudySuite {
        cases: file.cells.len(),
        name: file.name,
        analysis: file.analysis,
        study,
        questions,
        kept,
        again,
    })
}

/// Reads the kept runs of a suite in a folder. Runs of another text than that of its file are not its runs.
fn kept_in(root: &Path, folder: &Path, file: &SuiteFile, text: &str) -> anyhow::Result<Option<Kept>> {
    let Ok(kept) = fs::read_to_string(folder.join("suite.json")) else { return Ok(None) };
    let mut suite: Suite = serde_json::from_str(&kept).with_context(|| folder.display().to_string())?;
    if suite.measured() != (Suite { text: text.to_owned(), ..suite.clone() }).measured() {
        return Ok(None);
    }
    suite.figures.clone_from(&file.figures);
    let runs = store::find_runs(folder).into_iter().map(|run| {
        let (run, windows) = store::load(&run)?;
        Ok(RunFiles { run, windows })
    });
    let runs = runs.collect::<anyhow::Result<_>>()?;
    Ok(Some(Kept { folder: folder.strip_prefix(root)?.display().to_string(), suite, runs }))
}

/// The paths in a folder, by name.
fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}
