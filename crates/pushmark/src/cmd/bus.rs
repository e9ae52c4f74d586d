//! The flags that say how a bus is reached, and which agents on it are wanted.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use pushmark_cluster::{Access, Signer, Targets, TrustedKeys, hostname, is_name};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::note;
use pushmark_net::Clock;
use pushmark_run::agent::{Machines, Offer, Wanted, WantedMonitor};
use pushmark_run::run::Signals;

/// How an agent or a monitor is found on a bus, and whom it obeys.
#[derive(Args, Clone, Debug, Default)]
pub struct WaitingArgs {
    /// The bus
    #[command(flatten)]
    pub access: AccessArgs,
    /// Its name; default: that of this machine (a monitor's ends in -monitor)
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A label by which runs choose agents (may be given again)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
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

impl WaitingArgs {
    /// Returns what it offers, as far as agents and monitors are alike; `None` if no bus is named. `suffix`: the end
    /// of its default name.
    ///
    /// # Errors
    /// Fails if a flag is wrong.
    pub fn offer(&self, suffix: &str) -> anyhow::Result<Option<Offer>> {
        let Some(access) = self.access.access() else { return Ok(None) };
        let own = || hostname().replace('.', "-") + suffix;
        let name = self.name.clone().unwrap_or_else(own);
        if !is_name(&name) {
            return Err(wrong(&format!("--name {name}: letters, digits, - and _, at most 64")));
        }
        Ok(Some(Offer {
            access,
            name,
            labels: self.label.iter().cloned().collect(),
            threads: None,
            targets: Targets::default(),
            trusts: TrustedKeys::new(&self.trust).map_err(|error| wrong(&format!("{error:#}")))?,
            spool: self.spool.clone(),
            address: self.address,
            beside: None,
        }))
    }
}

/// Waits for runs until a signal ends it.
///
/// # Errors
/// Fails if the bus cannot be reached, or the offer is unsafe.
pub(super) fn wait(offer: Offer) -> anyhow::Result<Exit> {
    let signals = Signals::listen()?;
    pushmark_run::agent::serve(offer, &|text| note(text), &|| signals.stopped().is_some())
        .map_err(|error| Ending::error(Exit::Unreachable, format!("{error:#}")))?;
    Ok(Exit::Pass)
}

/// How a bus is reached.
#[derive(Args, Clone, Debug, Default)]
pub struct AccessArgs {
    /// NATS server through which machines work together: nats://HOST:4222, or tls://
    #[arg(long, value_name = "URL", env = "PUSHMARK_NATS")]
    pub nats: Option<String>,
    /// File with a line USER:PASSWORD that the NATS server knows this machine by
    #[arg(long, value_name = "FILE", env = "PUSHMARK_NATS_LOGIN", requires = "nats")]
    pub nats_login: Option<PathBuf>,
    /// File with the certificate of the authority to trust for it
    #[arg(long, value_name = "FILE", env = "PUSHMARK_NATS_CA", requires = "nats")]
    pub nats_ca: Option<PathBuf>,
}

impl AccessArgs {
    /// Returns the way to the bus; `None` if none is named.
    pub fn access(&self) -> Option<Access> {
        let url = self.nats.clone()?;
        Some(Access { url, login: self.nats_login.clone(), ca: self.nats_ca.clone() })
    }
}

/// Which agents make the load.
#[derive(Args, Clone, Debug, Default)]
pub struct MachinesArgs {
    /// The bus
    #[command(flatten)]
    pub access: AccessArgs,
    /// Use this agent (may be given again); default: all that wait
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub agent: Vec<String>,
    /// Use the agents with this label (may be given again: all must fit)
    #[arg(long, value_name = "KEY=VALUE", requires = "nats", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Name of the monitor beside the server, or `none`; default: the one that waits
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub monitor: Option<String>,
    /// File with the key that signs the orders to agents (`pushmark agents --new-key FILE`)
    #[arg(long, value_name = "FILE", env = "PUSHMARK_SIGN_KEY", requires = "nats")]
    pub sign_key: Option<PathBuf>,
}

impl MachinesArgs {
    /// Claims the agents; `None` if no bus is named. `count`: exactly this number; 0: all that fit.
    ///
    /// # Errors
    /// Fails if the agents are not there, or work for others. The error has the exit code.
    pub fn claim(&self, count: u32) -> anyhow::Result<Option<Machines>> {
        let Some(access) = self.access.access() else { return Ok(None) };
        let signer = match &self.sign_key {
            Some(path) => Signer::read(path).map_err(|error| wrong(&format!("--sign-key {error:#}")))?,
            None => Signer::draw()?.0,
        };
        let wanted = Wanted {
            count: (count > 0).then_some(count),
            names: self.agent.clone(),
            labels: self.label.clone(),
            monitor: match self.monitor.as_deref() {
                None => WantedMonitor::Any,
                Some("none") => WantedMonitor::None,
                Some(name) => WantedMonitor::Named(name.to_owned()),
            },
        };
        let claim = format!("{:x}-{:x}", Clock::realtime(), std::process::id());
        let machines = Machines::claim(&access, &wanted, signer, &claim);
        machines.map(Some).map_err(|error| Ending::error(Exit::Unreachable, format!("{error:#}")))
    }
}

/// A flag that is wrong.
pub(super) fn wrong(text: &str) -> anyhow::Error {
    Ending::error(Exit::Usage, text.to_owned())
}

/// Reads a label.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| "KEY=VALUE, as zone=a".to_owned())
}
