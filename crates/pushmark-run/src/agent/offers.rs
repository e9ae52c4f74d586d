//! The servers that a monitor starts for runs: rows of its own `servers.toml`, and commands of its own file. No
//! command comes from a run.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pushmark_host::server::registry::Registry;
use pushmark_host::server::version::version;
use pushmark_host::server::{build, state};
use pushmark_model::monitor::{Offered, Serve};
use pushmark_model::scenario::{ProcessTemplate, nearest, one_of};

use crate::target::{Started, Target};

/// What a monitor starts.
#[derive(Debug)]
pub struct Offers {
    registry: Registry,
    rows: Vec<Offered>,
    commands: BTreeMap<String, ProcessTemplate>,
    /// The folder that commands are relative to.
    folder: PathBuf,
    /// This program.
    program: PathBuf,
    /// Where its servers listen; absent: at loopback addresses.
    listen: Option<IpAddr>,
}

impl Offers {
    /// Prepares the rows with these names, and reads the file of commands.
    ///
    /// # Errors
    /// Fails if a name is unknown, a server cannot be built here, or the file has errors.
    pub fn new(
        registry: Registry,
        names: &[String],
        commands: Option<&Path>,
        mut say: impl FnMut(&str),
    ) -> anyhow::Result<Offers> {
        let mut rows = Vec::new();
        for name in names {
            let all = || registry.servers().iter().map(|server| server.name.as_str());
            let Some(server) = registry.find(name) else {
                let near =
                    nearest(name, all()).map_or(String::new(), |near| format!("; did you mean {near}?"));
                bail!("--serve {name}: there is no such server, but {}{near}", one_of(all()));
            };
            build::ensure(&registry, server, &mut say)?;
            let built_in = server.is_this_program() && server.build.is_empty();
            rows.push(Offered {
                name: name.clone(),
                row: true,
                version: version(&registry, server),
                checked: built_in || state::checked(&registry, server).is_some(),
            });
        }
        let mut own = BTreeMap::new();
        if let Some(path) = commands {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("--commands {}", path.display()))?;
            own = toml::from_str::<BTreeMap<String, ProcessTemplate>>(&text)
                .with_context(|| format!("--commands {}", path.display()))?;
            if let Some((name, _)) = own.iter().find(|(_, process)| process.start.is_empty()) {
                bail!("--commands {}: {name} has no `start`", path.display());
            }
        }
        let folder = commands.and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let program = std::env::current_exe().context("the path of this program")?;
        Ok(Offers { registry, rows, commands: own, folder, program, listen: None })
    }

    /// Returns whether it starts anything.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.commands.is_empty()
    }

    /// Its servers are reached from other machines.
    pub(super) fn listen_at(&mut self, address: IpAddr) {
        self.listen = Some(address);
    }

    /// Returns all servers.
    pub(super) fn all(&self) -> Vec<Offered> {
        let command =
            |name: &String| Offered { name: name.clone(), row: false, version: None, checked: false };
        self.rows.iter().cloned().chain(self.commands.keys().map(command)).collect()
    }

    /// Starts one of them, and waits until it is ready.
    ///
    /// # Errors
    /// Fails if the server is not offered, lacks a flag, or does not become ready in time.
    pub(super) fn start(&self, serve: &Serve, cpus: &[u32]) -> anyhow::Result<Started> {
        let name = &serve.name;
        if let Some(process) = self.commands.get(name) {
            return Target::of_command(process, &self.folder, serve).start(serve.serves, cpus);
        }
        let row = self.rows.iter().any(|row| row.name == *name);
        let Some(server) = self.registry.find(name).filter(|_| row) else {
            bail!("{name} is not among the servers that it starts (--serve, --commands)");
        };
        for (flag, value) in &serve.flags {
            if !server.flags.contains_key(flag) {
                bail!("{name} has no flag {flag} here");
            }
            // It becomes a part of a word of the command.
            if !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
                bail!("{name}: the flag {flag} has a value that is not taken from others: {value:?}");
            }
        }
        let target = Target::of_row(server, &self.registry, serve, &self.program)?;
        let target = match self.listen {
            Some(address) => target.listening_at(address),
            None => target,
        };
        target.start(serve.serves, cpus)
    }
}
