//! A suite's folder: what is done is told by the runs that lie in it, and by nothing else. Runs
//! are renamed into it when they are whole, so a process that was killed leaves at most one
//! hidden draft; the folder is locked while a process runs the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pushmark_model::run::{Run, VerdictState};
use pushmark_model::suite::{SCHEMA, Suite};

use super::order::Turn;
use crate::exit::{Ending, Exit};
use crate::report::RunFiles;
use crate::store::{self, Draft};

/// The suite as it was expanded.
const JSON: &str = "suite.json";
/// The suite as given.
const TOML: &str = "suite.toml";

/// A folder that this process alone writes to.
#[derive(Debug)]
pub(super) struct Folder {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whole runs, by case and start. Their figures stay on the disk: a suite that goes on must
    /// not take ever more of the memory that is measured.
    pub(super) done: BTreeMap<Turn, Whole>,
    /// Runs that were interrupted: kept until they are measured again.
    interrupted: BTreeMap<Turn, Vec<PathBuf>>,
    // The lock ends with it.
    _lock: File,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    path: PathBuf,
    /// Whether its figures can be believed.
    pub(super) state: VerdictState,
}

impl Folder {
    /// Begins a suite: the folder appears with what will be run, or not at all.
    pub(super) fn begin(place: &Path, suite: &Suite) -> anyhow::Result<Folder> {
        clean_beside(place);
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

    /// Goes on with the suite of a folder, which must be this one. Gives besides what could not
    /// be read and is measured again.
    pub(super) fn resume(place: &Path, suite: &mut Suite) -> anyhow::Result<(Folder, Vec<String>)> {
        let lock = lock(place)?;
        let kept = read(place)?;
        if let Some(differs) = differs(&kept, suite) {
            let text = format!(
                "{} holds another suite, which cannot be resumed as this one\n{differs}",
                place.display()
            );
            return Err(Ending::error(Exit::Usage, text));
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
            // Measured elsewhere, on a machine that could.
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
            self.done.insert(turn, Whole { path, state: run.verdict.state });
        }
    }

    /// Takes note of a run that was just kept here; what was interrupted before gives way.
    pub(super) fn kept(&mut self, suite: &Suite, turn: Turn, run: &Run) {
        let before = self.interrupted.remove(&turn).unwrap_or_default();
        self.take_in(suite, run, self.path.join(&run.id));
        for old in before {
            // What cannot be removed is removed the next time: it is known by its reason.
            let _ = fs::remove_dir_all(old);
        }
    }

    /// Writes `suite.json` anew.
    pub(super) fn write_suite(&self, suite: &Suite) -> anyhow::Result<()> {
        self.write(JSON, (serde_json::to_string_pretty(suite)? + "\n").as_bytes())
    }

    /// Writes a file beside its place, then renames it.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> anyhow::Result<()> {
        let partial = self.path.join(format!(".{name}.{}.partial", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&partial)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&partial, self.path.join(name))
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written.with_context(|| format!("cannot write {name} in {}", self.path.display()))
    }

    /// Everything that a report shows, read from the disk, in the order of the cases: whole runs,
    /// and interrupted ones where there is no whole one.
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

/// A run that was stopped: by its reason, or because arms of its plan are not there.
pub(super) fn is_interrupted(run: &Run) -> bool {
    let planned = run.plan.get("arms").and_then(|arms| arms.as_array()).map_or(0, Vec::len);
    run.verdict.reasons.iter().any(|reason| reason.code == "interrupted") || run.arms.len() < planned
}

/// The suite of a folder.
pub(super) fn read(place: &Path) -> anyhow::Result<Suite> {
    let path = place.join(JSON);
    let wrong = |why: String| Ending::error(Exit::Usage, format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path)
        .map_err(|error| wrong(format!("no suite was begun in this folder: {error}")))?;
    let suite: Suite =
        serde_json::from_str(&text).map_err(|error| wrong(format!("it is no suite: {error}")))?;
    if suite.schema != SCHEMA {
        return Err(wrong(format!("its schema is {:?}; this pushmark reads {SCHEMA}", suite.schema)));
    }
    Ok(suite)
}

/// In what a kept suite differs from the one that is asked for; absent where it does not.
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

/// One process a folder: two would measure each other, and each case twice.
fn lock(place: &Path) -> anyhow::Result<File> {
    let folder = File::open(place).with_context(|| format!("{} cannot be opened", place.display()))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => {
            let text = format!("{}: another pushmark is running this suite", place.display());
            Err(Ending::error(Exit::Usage, text))
        }
        // A file system without locks: nobody can be kept out.
        Err(TryLockError::Error(_)) => Ok(folder),
    }
}

/// Removes the drafts of processes that were killed. The lock is ours: nobody else writes here.
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

/// Removes drafts of this very folder whose processes are gone: killed before it was there.
fn clean_beside(place: &Path) {
    let Some(name) = place.file_name().map(|name| format!(".{}.", name.to_string_lossy())) else { return };
    let parent = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let draft = entry.file_name().to_string_lossy().into_owned();
        let pid = draft.strip_prefix(&name).and_then(|rest| rest.strip_suffix(".partial"));
        let gone = pid
            .and_then(|pid| pid.parse::<i32>().ok())
            .is_some_and(|pid| procfs::process::Process::new(pid).is_err());
        if gone {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
