//! Where something was measured.

use std::process::Command;

use serde::{Deserialize, Serialize};

/// A machine and a state of the tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) commit: String,
    pub(crate) cpu: String,
    pub(crate) cpus: usize,
    pub(crate) kernel: String,
    /// As it was typed.
    pub(crate) command: String,
}

impl Machine {
    pub(crate) fn here() -> Machine {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        Machine {
            commit: commit(),
            cpu: model.map_or("unknown CPU", |(_, name)| name).to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: kernel.trim().to_owned(),
            command: format!("cargo run --release -p bench -- {}", arguments.join(" ")),
        }
    }

    /// The commit and the machine, without what was asked there.
    pub(crate) fn place(&self) -> String {
        let Machine { commit, cpu, cpus, kernel, .. } = self;
        format!("commit {commit} · {cpu}, {cpus} CPUs, Linux {kernel}")
    }
}

/// The commit, marked where the sources of the engine or the server differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--", "crates", "bench/src", "Cargo.lock"]);
    match changed {
        Some(files) if !files.is_empty() => format!("{commit} with changes"),
        _ => commit,
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.place(), self.command)
    }
}
