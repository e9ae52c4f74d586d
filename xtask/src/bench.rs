//! `cargo xtask bench`: the bench crate, in release, beside the `pushmark` whose `serve` it starts.

use crate::shell;

/// Passes its arguments on.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    shell::run(shell::cargo(&["build", "--release", "--package", "pushmark"]))?;
    let mut command = shell::cargo(&["run", "--release", "--package", "bench", "--"]);
    command.args(given);
    shell::run(command)
}
