//! `pushmark agent`: a generator process, started by a run.

use pushmark_console::exit::Exit;

/// Runs the shards of the run that started it.
///
/// # Errors
/// Fails if no run started this process, or if that run has ended.
pub fn run() -> anyhow::Result<Exit> {
    pushmark_run::agent::work()?;
    Ok(Exit::Pass)
}
