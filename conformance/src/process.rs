//! A foreign process. Its output is read line by line; dropping the handle ends it.

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
    /// The signal that ends it: `KILL`, or `TERM` for a process that has children.
    signal: Signal,
}

impl Process {
    /// Starts the process and reads its stdout.
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

    /// Ends the process with `TERM`, so that it can end its own children.
    pub fn with_children(mut self) -> Process {
        self.signal = Signal::TERM;
        self
    }

    /// Returns the next line of its output.
    ///
    /// # Panics
    /// If no line arrives or the process has ended.
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("no line from {:?}: {why}", self.child))
    }

    /// Returns whether the process has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended() {
            let _ = kill_process(Pid::from_child(&self.child), self.signal);
            // A process that ignores the signal is killed.
            if wait::within(Duration::from_secs(10), || self.ended().then_some(())).is_none() {
                let _ = self.child.kill();
            }
        }
        let _ = self.child.wait();
    }
}
