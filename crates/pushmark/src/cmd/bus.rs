//! The flags that say how a bus is reached, and which agents on it are wanted.

use std::path::PathBuf;

use clap::Args;
use pushmark_cluster::{Access, Signer};
use pushmark_net::Clock;
use pushmark_run::agent::{Machines, Wanted};

use pushmark_console::exit::{Ending, Exit};

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
