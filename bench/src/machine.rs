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

    /// What does not change between two sittings.
    pub(crate) fn hardware(&self) -> String {
        let Machine { cpu, cpus, kernel, .. } = self;
        format!("{cpu}, {cpus} CPUs, Linux {kernel}")
    }
}

/// The sources that decide the figures: the engine, the server, the measured tools and the method.
const SOURCES: [&str; 4] = ["crates", "bench/src", "bench/peers", "Cargo.lock"];

/// The commit, marked if the sources differ from it.
fn commit() -> String {
    marked(git(&["rev-parse", "--short=12", "HEAD"]))
}

/// The last commit that changed the sources: a result that is committed does not change what is measured.
pub(crate) fn sources() -> String {
    marked(git(&[&["log", "-1", "--abbrev=12", "--format=%h", "--"][..], &SOURCES].concat()))
}

fn marked(commit: Option<String>) -> String {
    let Some(commit) = commit else { return "unknown".to_owned() };
    match git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat()) {
        Some(files) if !files.is_empty() => format!("{commit} with changes"),
        _ => commit,
    }
}

/// In the tree this was built from, wherever it is called.
fn git(arguments: &[&str]) -> Option<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = Command::new("git").args(["-C", root]).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "commit {} · {}\n{}", self.commit, self.hardware(), self.command)
    }
}
