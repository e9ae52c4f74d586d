//! `pushmark agent`: a generator process. With `--nats` it waits for runs on other machines; without, it is started
//! by a run of this one, which talks to it.

use clap::Args;
use pushmark_cluster::Targets;
use pushmark_console::exit::Exit;
use pushmark_run::agent::Offer;

use super::bus::{WaitingArgs, wait, wrong};

/// Flags of `agent`.
#[derive(Args, Clone, Debug, Default)]
pub struct AgentArgs {
    /// How it is found, and whom it obeys
    #[command(flatten)]
    pub waiting: WaitingArgs,
    /// Load threads; default: one for each CPU that it may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,
    /// Targets that runs may aim at: an address, a network, a host, or `any` (may be given again). Default: this
    /// machine only
    #[arg(long, value_name = "TARGET", requires = "trust")]
    pub allow: Vec<String>,
}

/// Runs shards for others, until a signal ends it; or the shards of the run that started it.
///
/// # Errors
/// Fails if the bus cannot be reached, a flag is wrong, or no run started this process.
pub fn run(args: &AgentArgs) -> anyhow::Result<Exit> {
    let Some(offer) = args.waiting.offer("")? else {
        pushmark_run::agent::work()?;
        return Ok(Exit::Pass);
    };
    let targets = Targets::new(&args.allow).map_err(|error| wrong(&format!("{error:#}")))?;
    wait(Offer { threads: args.threads, targets, ..offer })
}
