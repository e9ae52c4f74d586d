//! A tool that runs, and its words. It stays in our process group: Ctrl-C ends it with us.

use std::io::{Read as _, Seek as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::Signal;
use serde::Deserialize;

use super::tree;
use crate::server::spawn_on;

/// Between being asked to end and being made to.
const GRACE: Duration = Duration::from_secs(2);
/// How much of an error message is shown.
const COMPLAINT_MAX: usize = 400;

/// The line that a script ends with.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Said {
    /// Of what was due in the window, whenever.
    pub(super) handled: u64,
    /// Of them, those handled so long after it that they are not its work.
    pub(super) late: u64,
    pub(super) p50_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
}

/// A tool that goes on; ended with all it started when dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    name: &'static str,
    words: std::fs::File,
    complaints: std::fs::File,
}

impl Running {
    pub(super) fn start(mut command: Command, cpu: usize, name: &'static str) -> anyhow::Result<Running> {
        let (words, complaints) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command
            .stdin(Stdio::null())
            // Files, not pipes: a full pipe would hold the tool up.
            .stdout(words.try_clone()?)
            .stderr(complaints.try_clone()?);
        let child = spawn_on(command, cpu).with_context(|| format!("starting {name}"))?;
        Ok(Running { child, name, words, complaints })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Waits for its end; its last line that says what it handled.
    pub(super) fn said(&mut self, within: Duration) -> anyhow::Result<Said> {
        if !self.ends(within)? {
            self.end();
        }
        let text = text_of(&self.words);
        match text.lines().rev().find_map(|line| serde_json::from_str(line).ok()) {
            Some(said) => Ok(said),
            None => bail!("{} did not say what it handled{}", self.name, self.complaint()),
        }
    }

    /// The end of its error messages, after a colon; empty if it wrote no error.
    pub(super) fn complaint(&self) -> String {
        let text = text_of(&self.complaints);
        let text = text.trim();
        let from = text.char_indices().rev().nth(COMPLAINT_MAX).map_or(0, |(at, _)| at);
        if text.is_empty() { String::new() } else { format!(": {}", &text[from..]) }
    }

    /// Asks it and all it started to end, and makes them.
    pub(super) fn end(&mut self) {
        self.tell(Signal::TERM);
        if !self.ends(GRACE).unwrap_or(true) {
            self.tell(Signal::KILL);
        }
        let _ = self.child.wait();
    }

    /// Sends nothing if the process has gone: its number may belong to another process by now.
    fn tell(&mut self, signal: Signal) {
        if matches!(self.child.try_wait(), Ok(None)) {
            tree::tell(self.id(), signal);
        }
    }

    fn ends(&mut self, within: Duration) -> anyhow::Result<bool> {
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            if began.elapsed() > within {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(true)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tell(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn text_of(mut file: &std::fs::File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
