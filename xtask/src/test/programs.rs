//! The test programs of the workspace: built once, then run several at a time.
//!
//! Cargo runs one after the other. Most tests wait for sockets, servers and browsers, so on two cores seven tests at
//! a time still leave the machine half idle.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::shell;

/// Programs that run at the same time.
const AT_ONCE: usize = 2;

/// The program of most tests, which wait for sockets and servers: it begins first, with more threads than cores.
const WIDE: &str = "pushmark system";
const WIDE_THREADS: &str = "7";

/// Programs that run with nothing beside them: they compare times with bounds.
const ALONE: [&str; 3] = ["timed", "truth", "hosts"];

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Package and target: `pushmark system`.
    pub(super) name: String,
    path: PathBuf,
    /// The folder of its package, in which cargo runs it.
    folder: PathBuf,
    alone: bool,
}

/// The end of a program.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) program: Program,
    pub(super) took: Duration,
    pub(super) passed: bool,
    /// The tests that failed, by name.
    pub(super) fallen: BTreeSet<String>,
    /// It was killed, or it ended otherwise than a harness that names what fell.
    pub(super) unnamed: bool,
}

/// Builds all of them.
pub(super) fn build() -> anyhow::Result<Vec<Program>> {
    let arguments =
        ["test", shell::PROFILE, "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let output = shell::cargo(&arguments).stderr(Stdio::inherit()).output().context("cargo")?;
    if !output.status.success() {
        bail!("cargo {} failed: {}", arguments.join(" "), output.status);
    }
    let programs: Vec<Program> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(program).collect();
    if programs.is_empty() {
        bail!("cargo {} named no test program", arguments.join(" "));
    }
    Ok(programs)
}

/// The test program of a message of cargo, if it is about one.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(text(&message["executable"])?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let (package, target) = (folder.file_name()?.to_string_lossy(), text(&message["target"]["name"])?);
    let kind = message["target"]["kind"][0].as_str()?;
    let name = if kind == "test" { format!("{package} {target}") } else { format!("{package} ({kind})") };
    let alone = kind == "test" && ALONE.contains(&target.as_str());
    Some(Program { name, path, folder, alone })
}

/// Runs all, first those that may have others beside them. Shows the output of each when it has ended.
pub(super) fn run(programs: &[Program], environment: &[(&str, &str)]) -> anyhow::Result<Vec<Ended>> {
    let (alone, mut beside): (Vec<_>, Vec<_>) = programs.iter().partition(|program| program.alone);
    beside.sort_by_key(|program| program.name != WIDE);
    let mut ended = several(&beside, AT_ONCE, environment)?;
    ended.extend(several(&alone, 1, environment)?);
    Ok(ended)
}

fn several(
    programs: &[&Program],
    at_once: usize,
    environment: &[(&str, &str)],
) -> anyhow::Result<Vec<Ended>> {
    let (next, ended) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one_after_the_other = || -> anyhow::Result<()> {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let one = program.run(&[], environment)?;
            ended.lock().expect("no panic while it is held").push(one);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(one_after_the_other)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it returns its errors"))
    })?;
    Ok(ended.into_inner()?)
}

impl Program {
    /// Runs it with arguments of its harness, and shows its output when it has ended.
    pub(super) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Ended> {
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env("CARGO_MANIFEST_DIR", &self.folder).envs(environment.iter().copied());
        if self.name == WIDE {
            command.env("RUST_TEST_THREADS", WIDE_THREADS);
        }
        let started = Instant::now();
        let output = command.output().with_context(|| format!("{} cannot be started", self.name))?;
        let took = started.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        let told = String::from_utf8_lossy(&output.stderr);
        println!("-- {}: {} after {:.1} s\n{said}{told}", self.name, output.status, took.as_secs_f64());
        let fallen = fallen(&said);
        let passed = output.status.success();
        // Libtest ends with 101 if tests failed.
        let unnamed = !passed && (output.status.code() != Some(101) || fallen.is_empty());
        Ok(Ended { program: self.clone(), took, passed, fallen, unnamed })
    }
}

/// The tests that failed, from the lines of the harness.
fn fallen(said: &str) -> BTreeSet<String> {
    let test = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    said.lines().filter_map(test).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_read_from_the_message_that_it_was_built() {
        let message = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/a/pushmark/Cargo.toml","target":{{"kind":["{kind}"],"name":"timed"}},"profile":{{"test":{test}}},"executable":"/t/timed-1"}}"#
            )
        };
        let timed = program(&message("test", true)).unwrap();
        assert_eq!((&timed.name[..], timed.alone), ("pushmark timed", true));
        assert_eq!((&timed.path, &timed.folder), (&"/t/timed-1".into(), &"/a/pushmark".into()));
        let unit = program(&message("lib", true)).unwrap();
        assert_eq!((&unit.name[..], unit.alone), ("pushmark (lib)", false));
        assert_eq!(program(&message("bin", false)), None);
        assert_eq!(program("not json"), None);
    }

    #[test]
    fn what_fell_is_read_from_the_lines_of_the_harness() {
        let said = "running 2 tests\ntest a::b ... FAILED\ntest c ... ok\nfailures:\n    a::b\n";
        assert_eq!(fallen(said), BTreeSet::from(["a::b".to_owned()]));
    }

    impl Program {
        /// The program of a path.
        pub(in crate::test) fn at(path: &str) -> Program {
            Program { name: path.to_owned(), path: path.into(), folder: "/".into(), alone: false }
        }
    }

    #[test]
    fn a_program_that_names_nothing_that_fell_is_told_from_one_that_does() {
        let ended = |script: &str| {
            let ended = Program::at("/bin/sh").run(&["-c", script], &[]).unwrap();
            (ended.passed, ended.unnamed, ended.fallen.len())
        };
        assert_eq!(ended("exit 0"), (true, false, 0));
        assert_eq!(ended("echo 'test a ... FAILED'; exit 101"), (false, false, 1));
        assert_eq!(ended("exit 101"), (false, true, 0));
        assert_eq!(ended("echo 'test a ... FAILED'; kill -9 $$"), (false, true, 1));
    }
}
