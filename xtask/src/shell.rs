//! Running other programs, and the paths of the workspace.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// The profile of tests, lints and documents: one for all, so that dependencies are compiled once.
pub(crate) const PROFILE: &str = "--profile=checked";

/// The root of the tree.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A command that runs in the root of the tree.
pub(crate) fn command<A: AsRef<OsStr>>(words: &[A]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(root()).stdin(Stdio::null());
    command
}

/// The cargo that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = command(&[&[&cargo[..]], arguments].concat());
    // What the cargo that runs us says of this package: build scripts of dependencies look at it, and
    // all that stands on them would be compiled again whenever somebody calls cargo without us.
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_PKG_") || told.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs it to its end, its output shown.
pub(crate) fn run(mut command: Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    if !status.success() {
        bail!("{} failed: {status}", line(&command));
    }
    Ok(())
}

/// The command as it would be typed.
pub(crate) fn line(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}

/// Whether an environment variable says yes.
pub(crate) fn says_yes(variable: &str) -> bool {
    matches!(std::env::var(variable).as_deref(), Ok("1" | "true"))
}
