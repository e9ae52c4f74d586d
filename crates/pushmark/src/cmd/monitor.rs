//! `pushmark monitor`: watches the server beside it for runs that are started on other machines, and starts it for
//! them.

use std::path::PathBuf;

use clap::Args;
use pushmark_console::exit::Exit;
use pushmark_console::output::note;
use pushmark_host::server::registry::Registry;
use pushmark_run::agent::{Offer, Offers};

use super::bus::{WaitingArgs, wait, wrong};
use super::mistakes::usage;

/// Flags of `monitor`.
#[derive(Args, Clone, Debug, Default)]
pub struct MonitorArgs {
    /// How it is found, and whom it obeys
    #[command(flatten)]
    pub waiting: WaitingArgs,
    /// A server of `pushmark servers list` that it starts for runs (may be given again)
    #[arg(long, value_name = "SERVER")]
    pub serve: Vec<String>,
    /// File with commands that it starts for runs: a table each, by its name, with the keys of `target.process`
    #[arg(long, value_name = "FILE")]
    pub commands: Option<PathBuf>,
    /// Folder that holds servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
}

/// Watches, and starts servers, until a signal ends it.
///
/// # Errors
/// Fails if the bus cannot be reached, a flag is wrong, or a server cannot be built.
pub fn run(args: &MonitorArgs) -> anyhow::Result<Exit> {
    let Some(offer) = args.waiting.offer("-monitor")? else {
        return Err(wrong("--nats URL: the bus on which runs find it"));
    };
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let offers = Offers::new(registry, &args.serve, args.commands.as_deref(), note);
    let offers = offers.map_err(|error| wrong(&format!("{error:#}")))?;
    wait(Offer { beside: Some(offers), ..offer })
}
