//! `cargo xtask bench`: the bench crate, in release, beside the `pushmark` whose `serve` it starts.
//! `cargo xtask bench server` asks of that server what the rest asks of the engine: a suite.

use crate::{shell, tools};

/// The load tools that pushmark is measured against.
const PEERS: &str = "bench/peers/tools.toml";

/// The built-in server beside others.
const SERVER: &str = "suites/reference.toml";

/// Passes its arguments on; the tools that `peers` measures are got first.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    let asks_peers = given.first().is_some_and(|question| question == "peers");
    if asks_peers && tools::ready_of(PEERS, false).is_err() {
        tools::ready_of(PEERS, true)?;
    }
    shell::run(shell::cargo(&["build", "--release", "--package", "pushmark"]))?;
    if let Some((question, flags)) = given.split_first()
        && question == "server"
    {
        let mut command = shell::cargo(&["run", "--release", "--package", "pushmark", "--", "suite", SERVER]);
        command.args(flags);
        return shell::run(command);
    }
    let mut command = shell::cargo(&["run", "--release", "--package", "bench", "--"]);
    command.args(given);
    shell::run(command)
}
