//! A suite's folder. Only the runs in it record what is done. A complete run is moved into it by a rename,
//! so a killed process leaves at most one hidden draft. The folder is locked while a process runs the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pushmark_model::run::RunFiles;
use pushmark_model::run::{Run, VerdictState};
use pushmark_model::suite::{SCHEMA, Suite};

use super::order::Turn;
use pushmark_console::exit::{Ending, Exit};
use pushmark_store::{self as store, Draft};

/// The suite as it was expanded.
const JSON: &str = "suite.json";
/// The suite as the user wrote it.
const TOML: &str = "suite.toml";

/// A folder that only this process writes to.
#[derive(Debug)]
pub(super) struct Folder {
    /// Its path.
    pub(super) path: PathBuf,
    /// Complete runs, by case and start. Their figures stay on disk, so that a long suite does not use more
    /// and more of the memory that it measures.
    pub(super) done: BTreeMap<Turn, CompleteRun>,
    /// Interrupted runs, kept until they are measured again.
    interrupted: BTreeMap<Turn, Vec<PathBuf>>,
    // Closing this file releases the lock.
    _lock: File,
}

/// A complete run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompleteRun {
    path: PathBuf,
    /// Whether its figures can be trusted.
    pub(super) state: VerdictState,
}

impl Folder {
    /// Begins a suite. Creates the folder with the list of cases, or no folder at all.
    pub(super) fn begin(place: &Path, suite: &Suite) -> anyhow::Result<Folder> {
        let draft = Draft::new(place)?;
        draft.write(JSON, |out| {
            serde_json::to_writer_pretty(&mut *out, suite)?;
            Ok(out.write_all(b"\n")?)
        })?;
        draft.write(TOML, |out| Ok(out.write_all(suite.text.as_bytes())?))?;
        let path = draft.keep()?;
        let lock = lock(&path)?;
        Ok(Folder { path, done: BTreeMap::new(), interrupted: BTreeMap::new(), _lock: lock })
    }

    /// Continues the suite of a folder, which must be this suite. Also returns the runs that cannot be read
    /// and are measured again.
    pub(super) fn resume(place: &Path, suite: &mut Suite) -> anyhow::Result<(Folder, Vec<String>)> {
        let lock = lock(place)?;
        let kept = read(place)?;
        if let Some(differs) = differs(&kept, suite) {
            return Err(other_suite(place, &differs));
        }
        suite.repeat = suite.repeat.max(kept.repeat);
        clean(place);
        let mut folder = Folder {
            path: place.to_owned(),
            done: BTreeMap::new(),
            interrupted: BTreeMap::new(),
            _lock: lock,
        };
        let mut unusable = Vec::new();
        for run in store::find_runs(place) {
            match store::load(&run) {
                Ok((kept, _)) => folder.take_in(suite, &kept, run),
                Err(error) => unusable.push(format!("{error:#}; it is measured again")),
            }
        }
        for turn in folder.done.keys() {
            // Measured on another machine that could hold it.
            suite.cases[turn.case].refused = None;
        }
        if kept != *suite {
            folder.write_suite(suite)?;
            folder.write(TOML, suite.text.as_bytes())?;
        }
        Ok((folder, unusable))
    }

    fn take_in(&mut self, suite: &Suite, run: &Run, path: PathBuf) {
        let Some(case) = &run.case else { return };
        let Some(at) = suite.cases.iter().position(|known| known.id == case.id) else { return };
        let turn = Turn { case: at, repeat: case.repeat };
        if is_interrupted(run) {
            self.interrupted.entry(turn).or_default().push(path);
        } else {
            self.done.insert(turn, CompleteRun { path, state: run.verdict.state });
        }
    }

    /// Records a run that was just kept here. It replaces an interrupted one.
    pub(super) fn kept(&mut self, suite: &Suite, turn: Turn, run: &Run) {
        let before = self.interrupted.remove(&turn).unwrap_or_default();
        self.take_in(suite, run, self.path.join(&run.id));
        for old in before {
            // A run that cannot be removed now is removed the next time.
            let _ = fs::remove_dir_all(old);
        }
    }

    /// Writes `suite.json` again.
    pub(super) fn write_suite(&self, suite: &Suite) -> anyhow::Result<()> {
        self.write(JSON, (serde_json::to_string_pretty(suite)? + "\n").as_bytes())
    }

    /// Writes a temporary file in the same folder, then renames it.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> anyhow::Result<()> {
        let partial = self.path.join(format!(".{name}.{}.partial", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&partial)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&partial, self.path.join(name))?;
            File::open(&self.path)?.sync_all()
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written.with_context(|| format!("cannot write {name} in {}", self.path.display()))
    }

    /// Reads everything that a report shows, in the order of the cases: complete runs, and interrupted ones
    /// if there is no complete one.
    pub(super) fn files(&self) -> Vec<RunFiles> {
        let whole = self.done.iter().map(|(turn, whole)| (*turn, &whole.path));
        let halves = self.interrupted.iter().filter(|(turn, _)| !self.done.contains_key(turn));
        let halves = halves.filter_map(|(turn, paths)| Some((*turn, paths.last()?)));
        let mut paths: Vec<(Turn, &PathBuf)> = whole.chain(halves).collect();
        paths.sort_unstable();
        let load = |(_, path): (Turn, &PathBuf)| store::load(path).ok();
        paths.into_iter().filter_map(load).map(|(run, windows)| RunFiles { run, windows }).collect()
    }
}

/// Returns whether a run was stopped: it has the reason, or arms of its plan are missing.
pub(super) fn is_interrupted(run: &Run) -> bool {
    let planned = run.plan.get("arms").and_then(|arms| arms.as_array()).map_or(0, Vec::len);
    run.verdict.reasons.iter().any(|reason| reason.code == "interrupted") || run.arms.len() < planned
}

/// Returns the number of complete starts of each case in a folder.
///
/// # Errors
/// Fails if the folder holds no suite, or another one.
pub fn starts_done(place: &Path, suite: &Suite) -> anyhow::Result<Vec<u32>> {
    let kept = read(place)?;
    if let Some(differs) = differs(&kept, suite) {
        return Err(other_suite(place, &differs));
    }
    let mut done = vec![0; suite.cases.len()];
    for (run, _) in store::find_runs(place).iter().filter_map(|run| store::load(run).ok()) {
        let case = run.case.as_ref().filter(|_| !is_interrupted(&run));
        let at = case.and_then(|case| suite.cases.iter().position(|known| known.id == case.id));
        at.into_iter().for_each(|at| done[at] += 1);
    }
    Ok(done)
}

fn other_suite(place: &Path, differs: &str) -> anyhow::Error {
    let text = format!("{} contains a different suite, so it cannot be resumed\n{differs}", place.display());
    Ending::error(Exit::Usage, text)
}

/// Reads the suite of a folder.
pub(super) fn read(place: &Path) -> anyhow::Result<Suite> {
    let path = place.join(JSON);
    let wrong = |why: String| Ending::error(Exit::Usage, format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path)
        .map_err(|error| wrong(format!("this folder contains no suite: {error}")))?;
    let suite: Suite =
        serde_json::from_str(&text).map_err(|error| wrong(format!("it is not a valid suite: {error}")))?;
    if suite.schema != SCHEMA {
        return Err(wrong(format!("its schema is {:?}; this pushmark reads {SCHEMA}", suite.schema)));
    }
    Ok(suite)
}

/// Returns how a kept suite differs from the requested one, or `None` if it does not.
fn differs(kept: &Suite, asked: &Suite) -> Option<String> {
    let mut lines = Vec::new();
    if kept.name != asked.name {
        lines.push(format!("  name     there {:?}, here {:?}", kept.name, asked.name));
    }
    let (there, here) = (kept.measured(), asked.measured());
    let keys: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    for key in keys.into_iter().filter(|key| there.get(*key) != here.get(*key)) {
        lines.push(format!("  file     differs from its suite.toml in `{key}`"));
    }
    if kept.seed != asked.seed {
        lines.push(format!("  seed     there {}, here {}: --seed {0}", kept.seed, asked.seed));
    }
    for (flag, there, here) in
        [("--scale", kept.scale, asked.scale), ("--scale-time", kept.scale_time, asked.scale_time)]
    {
        if there != here {
            lines.push(format!("  scale    there {flag} {there}, here {here}"));
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Locks the folder. Two processes would disturb each other and measure each case twice.
fn lock(place: &Path) -> anyhow::Result<File> {
    let folder = File::open(place).with_context(|| format!("cannot open {}", place.display()))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => {
            let text = format!("{}: another pushmark is running this suite", place.display());
            Err(Ending::error(Exit::Usage, text))
        }
        // On a file system without locks, other processes cannot be excluded.
        Err(TryLockError::Error(_)) => Ok(folder),
    }
}

/// Removes the drafts of killed processes. This process holds the lock, so no other one writes here.
fn clean(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".partial") {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
