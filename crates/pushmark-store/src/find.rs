//! Runs found by what a user calls them: an id, a part of one, or the name of a scenario.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pushmark_model::run::{SCHEMA, VerdictState};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::folder::find_runs;

/// A kept run, as far as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The name of its folder, unless it was moved.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
    /// The verdict.
    pub verdict: VerdictState,
    /// The number of arms.
    pub arms: usize,
    /// The number of thresholds that were crossed.
    pub crossed: usize,
}

/// The part of `run.json` that a list needs. The rest is read over, which is several times as fast.
#[derive(Deserialize)]
struct Head {
    schema: String,
    id: String,
    name: String,
    verdict: State,
    arms: Vec<IgnoredAny>,
    thresholds: Vec<Held>,
}

#[derive(Deserialize)]
struct State {
    state: VerdictState,
}

#[derive(Deserialize)]
struct Held {
    ok: bool,
}

/// The runs below `results`, in the order of their ids, and the folders whose `run.json` cannot be used.
pub fn list(results: &Path) -> (Vec<Listed>, Vec<(PathBuf, anyhow::Error)>) {
    let (mut listed, mut unusable) = (Vec::new(), Vec::new());
    for folder in find_runs(results) {
        match read(&folder) {
            Ok(run) => listed.push(run),
            Err(error) => unusable.push((folder, error)),
        }
    }
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    (listed, unusable)
}

fn read(folder: &Path) -> anyhow::Result<Listed> {
    let path = folder.join("run.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let head = match serde_json::from_str::<Head>(&text) {
        Ok(head) if head.schema == SCHEMA => head,
        // The reader of whole runs says what is wrong with it.
        _ => {
            let whole = super::folder::parse(&text);
            let wrong = whole.err().unwrap_or_else(|| anyhow::anyhow!("its head cannot be read"));
            return Err(wrong.context(format!("{} cannot be used", path.display())));
        }
    };
    Ok(Listed {
        id: head.id,
        name: head.name,
        folder: folder.to_path_buf(),
        verdict: head.verdict.state,
        arms: head.arms.len(),
        crossed: head.thresholds.iter().filter(|threshold| !threshold.ok).count(),
    })
}

/// The runs whose id is `key` or begins or ends with it (`k3f9`), or whose scenario has this name; newest
/// last.
pub fn find(results: &Path, key: &str) -> Vec<Listed> {
    let mut runs = list(results).0;
    runs.retain(|run| run.name == key || run.id.starts_with(key) || run.id.ends_with(key));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{self as store, Kept, testing};

    const ID: &str = "20261121T200412Z-fan-out-k3f9";
    const LATER: &str = "20261121T200500Z-fan-out-m2x7";

    fn keep(place: PathBuf) -> PathBuf {
        let id = place.file_name().unwrap().to_str().unwrap().to_owned();
        let run = testing::run(&id);
        let kept = Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None };
        store::save(&kept, &[place]).unwrap().folder
    }

    #[test]
    fn a_run_is_found_by_its_id_a_part_of_it_and_its_name() {
        let results = tempfile::tempdir().unwrap();
        let in_suite = keep(results.path().join("chat").join(LATER));
        let folder = keep(results.path().join(ID));
        let folders = |key| find(results.path(), key).into_iter().map(|run| run.folder).collect::<Vec<_>>();
        for key in [ID, "k3f9", "20261121T2004"] {
            assert_eq!(folders(key), std::slice::from_ref(&folder), "{key}");
        }
        assert_eq!(folders("fan-out"), [folder.clone(), in_suite], "newest last");
        assert!(folders("%").is_empty() && folders("fan").is_empty());
        let found = &find(results.path(), ID)[0];
        assert_eq!((found.arms, found.crossed, found.verdict), (2, 1, VerdictState::Valid));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(folders(ID).is_empty());
    }

    #[test]
    fn a_damaged_run_is_told_and_hides_no_other() {
        let results = tempfile::tempdir().unwrap();
        let folder = keep(results.path().join(ID));
        let damaged = keep(results.path().join(LATER));
        std::fs::write(damaged.join("run.json"), "{").unwrap();
        let (listed, unusable) = list(results.path());
        assert_eq!(listed.into_iter().map(|run| run.folder).collect::<Vec<_>>(), [folder]);
        assert_eq!(unusable[0].0, damaged);
        assert!(format!("{:#}", unusable[0].1).contains("cut off"), "{:#}", unusable[0].1);
    }
}
