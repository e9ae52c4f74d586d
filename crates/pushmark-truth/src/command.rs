//! `pushmark run` as a separate process, for faults that must not affect the process of the checks.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_model::run::Run;
use rustix::process::{Pid, Signal, kill_process};

use super::bench::Bench;
use super::log::TruthLog;
use super::scenario::Ask;

/// A run that takes longer than this is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run in progress. Dropping it ends it.
#[derive(Debug)]
pub(super) struct UnderWay {
    child: Child,
    said: Receiver<String>,
    folder: PathBuf,
    truth: PathBuf,
}

/// How the process ended, and the run that it kept.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) run: Run,
    /// The truth log of its server.
    pub(super) truth: TruthLog,
}

impl UnderWay {
    pub(super) fn start(bench: &mut Bench, ask: &Ask) -> anyhow::Result<UnderWay> {
        let (scenario, truth) = bench.write(ask)?;
        let folder = bench.path("run");
        let mut child = Command::new(&bench.program)
            .arg("run")
            .arg(&scenario)
            .arg("-o")
            .arg(&folder)
            .current_dir(scenario.parent().unwrap_or(&folder))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", bench.program.display()))?;
        let stderr = child.stderr.take().context("stderr was asked for")?;
        let (sender, said) = channel();
        std::thread::spawn(move || {
            // Read to its end, so that the process never blocks on its output.
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Ok(UnderWay { child, said, folder, truth })
    }

    /// Stops the run for `time` while the server and the rest continue. Returns how long it was stopped.
    pub(super) fn stop_for(&self, time: Duration) -> anyhow::Result<Duration> {
        let pid = Pid::from_raw(self.child.id() as i32).context("a process has a number")?;
        let began = Instant::now();
        kill_process(pid, Signal::STOP)?;
        std::thread::sleep(time);
        kill_process(pid, Signal::CONT)?;
        Ok(began.elapsed())
    }

    /// Interrupts the process, as Ctrl-C does.
    pub(super) fn interrupt(&self) -> anyhow::Result<()> {
        let pid = Pid::from_raw(self.child.id() as i32).context("a process has a number")?;
        Ok(kill_process(pid, Signal::INT)?)
    }

    /// Waits until it reports that measuring has begun.
    pub(super) fn wait_measure(&self) -> anyhow::Result<()> {
        let mut told = Vec::new();
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) if line.contains("measure") => return Ok(()),
                Ok(line) => told.push(line),
                Err(_) => bail!("the run ended before it measured anything: {}", told.join("\n")),
            }
        }
    }

    /// Waits until the process ends. The code is `None` if a signal ended it.
    pub(super) fn wait(mut self) -> anyhow::Result<Ended> {
        let mut told = Vec::new();
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) => told.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => return Err(error).context("the run does not end"),
            }
        }
        let code = self.child.wait()?.code();
        let path = self.folder.join("run.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("the run kept nothing (exit {code:?}): {}", told.join("\n")))?;
        Ok(Ended { code, run: serde_json::from_str(&text)?, truth: TruthLog::read(&self.truth)? })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
