//! `pushmark run` as a process of its own, for what cannot be done to the process of the checks.

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

/// A run is over, or stuck, after this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run under way. Dropping it ends it.
#[derive(Debug)]
pub(super) struct UnderWay {
    child: Child,
    said: Receiver<String>,
    folder: PathBuf,
    truth: PathBuf,
}

/// How it ended, and what it kept.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) run: Run,
    /// Of its server.
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
            // Read to its end, so that it never has to wait for us.
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Ok(UnderWay { child, said, folder, truth })
    }

    /// Stops it for so long, server and all else going on; gives how long it was.
    pub(super) fn stop_for(&self, time: Duration) -> anyhow::Result<Duration> {
        let pid = Pid::from_raw(self.child.id() as i32).context("a process has a number")?;
        let began = Instant::now();
        kill_process(pid, Signal::STOP)?;
        std::thread::sleep(time);
        kill_process(pid, Signal::CONT)?;
        Ok(began.elapsed())
    }

    /// Waits until it says that measuring has begun.
    pub(super) fn wait_measure(&self) -> anyhow::Result<()> {
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) if line.contains("measure") => return Ok(()),
                Ok(_) => {}
                Err(_) => bail!("the run ended before it measured anything"),
            }
        }
    }

    /// Waits for its end; `None` of the code: a signal.
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
        // Both fail where it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
