//! `pushmark agent`: a process of the generator, started by a run.

use crate::exit::Exit;

/// Runs the shards of the run that started it.
///
/// # Errors
/// A run that is gone, or none.
pub fn run() -> anyhow::Result<Exit> {
    crate::agent::work()?;
    Ok(Exit::Pass)
}
