//! A foreign process: read line by line, ended with its handle.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{PATIENCE, wait};

/// A running process. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    /// How it is asked to end: `KILL`, or `TERM` for one that has children of its own.
    signal: Signal,
}

impl Process {
    /// Starts it with its stdout read by us.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> Process {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Process { child, lines, signal: Signal::KILL }
    }

    /// It is to end its own children when it is ended.
    pub fn with_children(mut self) -> Process {
        self.signal = Signal::TERM;
        self
    }

    /// The next line it writes.
    ///
    /// # Panics
    /// If none comes, or it has ended.
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("no line from {:?}: {why}", self.child))
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended() {
            let _ = kill_process(Pid::from_child(&self.child), self.signal);
            // One that does not do as it is asked is not asked again.
            if wait::within(Duration::from_secs(10), || self.ended().then_some(())).is_none() {
                let _ = self.child.kill();
            }
        }
        let _ = self.child.wait();
    }
}
