//! `cargo xtask bench`: the bench crate, in release.

use crate::shell;

/// Passes its arguments on.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    let mut command = shell::cargo(&["run", "--release", "--package", "bench", "--"]);
    command.args(given);
    shell::run(command)
}
