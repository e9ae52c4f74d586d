//! What a page is drawn from: the suites of a study, their questions, and the newest kept runs of each. All
//! of it is read from the tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use pushmark_model::run::RunFiles;
use pushmark_model::suite::{Study, Suite, SuiteFile};
use pushmark_store as store;

use crate::questions::Questions;

/// The folder of the suites, from the root of the tree.
pub(crate) const SUITES: &str = "studies/suites";

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
    /// Its kept runs; absent if there are none.
    pub(crate) kept: Option<Kept>,
}

/// The kept runs of a suite.
pub(crate) struct Kept {
    /// Their folder, from the root of the tree.
    pub(crate) folder: String,
    /// The suite as it was run, with the figures that its file asks for today.
    pub(crate) suite: Suite,
    pub(crate) runs: Vec<RunFiles>,
}

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
    let kept = kept(root, &file, &text)?;
    Ok(StudySuite {
        cases: file.cells.len(),
        name: file.name,
        analysis: file.analysis,
        study,
        questions,
        kept,
    })
}

/// Reads the newest kept runs of a suite as its file is now. Runs of another text are not its runs.
fn kept(root: &Path, file: &SuiteFile, text: &str) -> anyhow::Result<Option<Kept>> {
    for folder in sorted(&root.join("record"))?.into_iter().rev().map(|record| record.join(&file.name)) {
        let Ok(kept) = fs::read_to_string(folder.join("suite.json")) else { continue };
        let mut suite: Suite = serde_json::from_str(&kept).with_context(|| folder.display().to_string())?;
        if suite.measured() != (Suite { text: text.to_owned(), ..suite.clone() }).measured() {
            continue;
        }
        suite.figures.clone_from(&file.figures);
        let runs = store::find_runs(&folder).into_iter().map(|run| {
            let (run, windows) = store::load(&run)?;
            Ok(RunFiles { run, windows })
        });
        let runs = runs.collect::<anyhow::Result<_>>()?;
        return Ok(Some(Kept { folder: folder.strip_prefix(root)?.display().to_string(), suite, runs }));
    }
    Ok(None)
}

/// The paths in a folder, by name.
fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}
