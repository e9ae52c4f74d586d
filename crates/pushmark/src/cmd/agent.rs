//! `pushmark agent`: a generator process. With `--nats` it waits for runs on other machines; without, it is started
//! by a run of this one, which talks to it.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use pushmark_cluster::{Targets, TrustedKeys, is_name};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::note;
use pushmark_run::agent::Offer;
use pushmark_run::run::Signals;

use super::bus::{AccessArgs, label, wrong};

/// Flags of `agent`.
#[derive(Args, Clone, Debug, Default)]
pub struct AgentArgs {
    /// The bus
    #[command(flatten)]
    pub access: AccessArgs,
    /// Its name; default: that of this machine
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A label by which runs choose agents (may be given again)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Load threads; default: one for each CPU that it may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,
    /// Targets that runs may aim at: an address, a network, a host, or `any` (may be given again). Default: this
    /// machine only
    #[arg(long, value_name = "TARGET", requires = "trust")]
    pub allow: Vec<String>,
    /// Public key of a coordinator whose orders are taken (may be given again). Default: anybody's, for this machine
    /// only
    #[arg(long, value_name = "KEY")]
    pub trust: Vec<String>,
    /// Folder for what was measured and has not arrived yet
    #[arg(long, value_name = "DIR", default_value = "spool")]
    pub spool: PathBuf,
    /// Address at which other machines reach this one; default: that on the way to the NATS server
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,
}

/// Runs shards for others, until a signal ends it; or the shards of the run that started it.
///
/// # Errors
/// Fails if the bus cannot be reached, a flag is wrong, or no run started this process.
pub fn run(args: &AgentArgs) -> anyhow::Result<Exit> {
    let Some(access) = args.access.access() else {
        pushmark_run::agent::work()?;
        return Ok(Exit::Pass);
    };
    let hostname = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = args.name.clone().unwrap_or_else(|| hostname().trim().replace('.', "-"));
    if !is_name(&name) {
        return Err(wrong(&format!("--name {name}: letters, digits, - and _, at most 64")));
    }
    let offer = Offer {
        access,
        name,
        labels: args.label.iter().cloned().collect(),
        threads: args.threads,
        targets: Targets::new(&args.allow).map_err(|error| wrong(&format!("{error:#}")))?,
        trusts: TrustedKeys::new(&args.trust).map_err(|error| wrong(&format!("{error:#}")))?,
        spool: args.spool.clone(),
        address: args.address,
    };
    let signals = Signals::listen()?;
    pushmark_run::agent::serve(offer, &|text| note(text), &|| signals.stopped().is_some())
        .map_err(|error| Ending::error(Exit::Unreachable, format!("{error:#}")))?;
    Ok(Exit::Pass)
}
