//! `results/index.sqlite`: runs, their arms and every metric as tables, and views for the questions
//! of the studies, for `pushmark runs query`.
//!
//! Made only from run folders. A missing, older or damaged index is built again.

mod answer;
mod rows;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use pushmark_model::run::Run;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

pub use answer::Answer;

use super::folder;

/// The index's file, within a folder of results.
pub const FILE: &str = "index.sqlite";
/// Raised whenever [`SCHEMA`] changes: an index of another version is built again.
const VERSION: i32 = 2;

/// The tables and views with what their columns mean: `runs schema` prints it, and `runs query` when it
/// cannot run a query.
pub const SCHEMA: &str = include_str!("index/schema.sql");

/// An open index.
#[derive(Debug)]
pub struct Index {
    database: Connection,
    results: PathBuf,
}

/// The result of a rebuild.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Runs indexed.
    pub runs: usize,
    /// Folders that hold a `run.json` that cannot be used, and why.
    pub unusable: Vec<(PathBuf, String)>,
}

impl Index {
    /// Opens the index of a folder of results; builds it if it is missing or not of this version.
    pub fn open(results: &Path) -> anyhow::Result<Index> {
        let path = results.join(FILE);
        if let Some(database) = current(&path) {
            return Ok(Index { database, results: results.to_path_buf() });
        }
        rebuild(results)?;
        let database = current(&path).with_context(|| format!("{} cannot be opened", path.display()))?;
        Ok(Index { database, results: results.to_path_buf() })
    }

    /// Adds the run in `folder`, or replaces its entry.
    pub fn insert(&mut self, run: &Run, folder: &Path) -> anyhow::Result<()> {
        // Immediate: it waits for another writer before it begins, not in the middle.
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let relative = folder.strip_prefix(&self.results).unwrap_or(folder);
        rows::insert(&transaction, run, relative)?;
        Ok(transaction.commit()?)
    }

    /// Adds runs that were copied here, and removes those whose folders no longer exist. Returns the folders
    /// whose `run.json` cannot be used, and why.
    pub fn follow(&mut self) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let folders: HashSet<PathBuf> = folder::find_runs(&self.results).into_iter().collect();
        let known: Vec<(String, String)> = self
            .database
            .prepare("SELECT id, folder FROM runs")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let mut indexed = HashSet::new();
        for (id, relative) in known {
            let folder = self.results.join(relative);
            if folder.join("run.json").is_file() {
                indexed.insert(folder);
            } else {
                self.remove(&id)?;
            }
        }
        let mut unusable = Vec::new();
        for folder in folders.difference(&indexed) {
            match folder::load(folder) {
                Ok((run, _)) => self.insert(&run, folder)?,
                Err(error) => unusable.push((folder.clone(), format!("{error:#}"))),
            }
        }
        unusable.sort();
        Ok(unusable)
    }

    /// Removes a run from the index. Its folder is not changed.
    pub fn remove(&self, id: &str) -> anyhow::Result<()> {
        self.database.execute("DELETE FROM runs WHERE id = ?1", params![id])?;
        Ok(())
    }

    /// Folders of the runs whose id is `key` or begins or ends with `key` (`k3f9`), or whose scenario has
    /// this name; newest last.
    pub fn find(&self, key: &str) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let mut statement = self.database.prepare(
            "SELECT id, folder FROM runs WHERE id = ?1 OR name = ?1 OR folder = ?1 \
             OR substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1 ORDER BY id",
        )?;
        let rows = statement.query_map(params![key], |row| {
            Ok((row.get::<_, String>(0)?, self.results.join(row.get::<_, String>(1)?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Runs one SELECT. The file is opened read-only: a statement that writes fails.
    pub fn query(results: &Path, sql: &str) -> anyhow::Result<Answer> {
        Index::open(results)?.follow()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(results.join(FILE), flags)?;
        Answer::of(&database, sql)
    }
}

/// Builds the index of a folder of results from its run folders. Writes it beside its place, then renames it.
pub fn rebuild(results: &Path) -> anyhow::Result<Rebuilt> {
    let path = results.join(FILE);
    let partial = results.join(format!(".{FILE}.{}.partial", std::process::id()));
    std::fs::create_dir_all(results).with_context(|| format!("cannot create {}", results.display()))?;
    let _ = std::fs::remove_file(&partial);
    let built = build(&partial, results);
    if built.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    let rebuilt = built.with_context(|| format!("cannot build {}", path.display()))?;
    std::fs::rename(&partial, &path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(rebuilt)
}

fn build(file: &Path, results: &Path) -> anyhow::Result<Rebuilt> {
    let mut database = Connection::open(file)?;
    let transaction = database.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    let mut rebuilt = Rebuilt::default();
    for folder in folder::find_runs(results) {
        match folder::load(&folder) {
            Ok((run, _)) => {
                rows::insert(&transaction, &run, folder.strip_prefix(results).unwrap_or(&folder))?;
                rebuilt.runs += 1;
            }
            Err(error) => rebuilt.unusable.push((folder, format!("{error:#}"))),
        }
    }
    transaction.commit()?;
    Ok(rebuilt)
}

/// The database, if it exists, is intact, and has this version.
fn current(path: &Path) -> Option<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).ok()?;
    // Runs that end together wait for one another.
    database.busy_timeout(Duration::from_secs(5)).ok()?;
    let version: i32 = database.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
    database.pragma_update(None, "foreign_keys", true).ok()?;
    (version == VERSION).then_some(database)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
