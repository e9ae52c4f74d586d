//! A process whose lines are read, with a limit on every wait. Dropping it ends it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::Context as _;

use crate::shell;

/// The longest wait for a line.
const PATIENCE: Duration = Duration::from_secs(30);
/// Silence after which nothing more is expected.
const QUIET: Duration = Duration::from_millis(500);

pub(super) struct Process {
    child: Child,
    lines: Receiver<String>,
    /// Read, and not yet taken.
    next: Option<String>,
}

impl Process {
    pub(super) fn start(words: &[String]) -> anyhow::Result<Process> {
        let mut command = shell::command(words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = child.with_context(|| format!("{} cannot be started", shell::line(&command)))?;
        let output = BufReader::new(child.stdout.take().context("its output is piped")?);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Process { child, lines, next: None })
    }

    /// Returns its next line.
    ///
    /// # Errors
    /// None came in time, or it has ended.
    pub(super) fn line(&mut self) -> anyhow::Result<String> {
        match self.next.take() {
            Some(line) => Ok(line),
            None => self.lines.recv_timeout(PATIENCE).context("no line came"),
        }
    }

    /// Whether no line comes for a while.
    pub(super) fn is_quiet(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.lines.recv_timeout(QUIET).ok();
        }
        self.next.is_none()
    }
}

impl Drop for Process {
    /// A server that is a program of its own is ended by the process that started it.
    fn drop(&mut self) {
        let _ = shell::command(&["kill", "-TERM", &self.child.id().to_string()]).status();
        for _ in 0..50 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
