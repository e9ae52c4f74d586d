//! `cargo xtask bench`: the bench crate, in release, beside the `pushmark` whose `serve` it starts.

use crate::{shell, tools};

/// The load tools that pushmark is measured against.
const PEERS: &str = "bench/peers/tools.toml";

/// Passes its arguments on; the tools that `peers` measures are got first.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    let asks_peers = given.first().is_some_and(|question| question == "peers");
    if asks_peers && tools::ready_of(PEERS, false).is_err() {
        tools::ready_of(PEERS, true)?;
    }
    shell::run(shell::cargo(&["build", "--release", "--package", "pushmark"]))?;
    let mut command = shell::cargo(&["run", "--release", "--package", "bench", "--"]);
    command.args(given);
    shell::run(command)
}
