//! The rows of a measurement as a file, rewritten after each row: a row in it is not measured again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::cell::{Cell, Seen};
use crate::machine::Machine;

const SCHEMA: &str = "pushmark.peers/1";

/// What a row is there to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Question {
    /// What a delivery costs.
    FanOut,
    /// What an idle client costs, and how fast a crowd connects.
    Idle,
    /// The highest rate one core keeps up with.
    Ceiling,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) question: Question,
    /// What was asked.
    #[serde(flatten)]
    pub(super) cell: Cell,
    pub(super) tool: String,
    /// From 0; at a ceiling the attempt.
    pub(super) round: usize,
    /// Absent if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<Seen>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<String>,
}

impl Row {
    pub(super) fn new(question: Question, cell: Cell, tool: &str, round: usize) -> Row {
        Row { question, cell, tool: tool.to_owned(), round, seen: None, failed: None }
    }

    fn is_same(&self, other: &Row) -> bool {
        self.question == other.question
            && self.cell == other.cell
            && self.tool == other.tool
            && self.round == other.round
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    schema: String,
    machine: Machine,
    /// The commit of what was measured.
    sources: String,
    rows: Vec<Row>,
}

/// All rows so far, and the file that holds them.
#[derive(Debug)]
pub(super) struct Rows {
    path: PathBuf,
    document: Document,
}

impl Rows {
    /// Reads the rows of a file; empty if the file does not exist, or if everything is measured again.
    ///
    /// # Errors
    /// A file of other sources or of another machine: figures of two do not mix.
    pub(super) fn open(
        path: PathBuf,
        machine: Machine,
        sources: String,
        again: bool,
    ) -> anyhow::Result<Rows> {
        let place = |sources: &str, machine: &Machine| format!("commit {sources}, {}", machine.hardware());
        let shown = path.display().to_string();
        let rows = match fs::read_to_string(&path) {
            Ok(text) if !again => {
                let there: Document = serde_json::from_str(&text).with_context(|| shown.clone())?;
                ensure!(there.schema == SCHEMA, "{shown}: schema {}, not {SCHEMA}", there.schema);
                let (was, is) = (place(&there.sources, &there.machine), place(&sources, &machine));
                ensure!(
                    was == is,
                    "{shown} was measured on {was}, this is {is}: --again starts over, --out takes another folder"
                );
                // What failed is tried again.
                there.rows.into_iter().filter(|row| row.seen.is_some()).collect()
            }
            _ => Vec::new(),
        };
        Ok(Rows { path, document: Document { schema: SCHEMA.to_owned(), machine, sources, rows } })
    }

    pub(super) fn all(&self) -> &[Row] {
        &self.document.rows
    }

    /// The row that answers the same, if there is one.
    pub(super) fn find(&self, like: &Row) -> Option<&Row> {
        self.all().iter().find(|row| row.is_same(like))
    }

    /// Adds one, and writes all: a kill costs the measurement that is under way.
    pub(super) fn add(&mut self, row: Row) -> anyhow::Result<()> {
        self.document.rows.push(row);
        write(&self.path, &(serde_json::to_string_pretty(&self.document)? + "\n"))
    }

    /// Where a file beside them would be.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }
}

/// Whole or not at all.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let draft = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(draft.path(), text)?;
    draft.persist(path).with_context(|| path.display().to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::transport::Transport;

    fn open(path: PathBuf, sources: &str, again: bool) -> anyhow::Result<Rows> {
        Rows::open(path, Machine::here(), sources.to_owned(), again)
    }

    fn row(tool: &str, round: usize) -> Row {
        let cell = Cell { transport: Transport::Sse, clients: 1_000, interval_us: 100_000, seconds: 5 };
        Row::new(Question::FanOut, cell, tool, round)
    }

    #[test]
    fn what_was_measured_is_found_again_and_what_failed_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new").join("peers.json");
        let mut rows = open(path.clone(), "a", false).unwrap();
        rows.add(Row { seen: Some(Seen { handled: 7, ..Seen::default() }), ..row("k6", 0) }).unwrap();
        rows.add(Row { failed: Some("it fell".into()), ..row("k6", 1) }).unwrap();
        let again = open(path.clone(), "a", false).unwrap();
        assert_eq!(again.find(&row("k6", 0)).unwrap().seen.as_ref().unwrap().handled, 7);
        assert!(again.find(&row("k6", 1)).is_none() && again.find(&row("wrk", 0)).is_none());
        assert!(open(path, "a", true).unwrap().all().is_empty());
    }

    #[test]
    fn rows_of_another_commit_are_not_mixed_in() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("peers.json");
        open(path.clone(), "a", false).unwrap().add(row("k6", 0)).unwrap();
        let error = open(path, "b", false).unwrap_err().to_string();
        assert!(
            error.contains("commit a") && error.contains("commit b") && error.contains("--again"),
            "{error}"
        );
    }
}
