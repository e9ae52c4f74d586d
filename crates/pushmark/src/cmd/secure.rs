//! The flags of commands that measure over TLS.

use std::path::{Path, PathBuf};

use clap::Args;
use pushmark_model::scenario::Override;

/// How `https` and `wss` targets are met.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArgs {
    /// Over TLS, believe any certificate of the target
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// Over TLS, believe the authorities of this PEM file instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Over TLS, the clients' certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Its private key, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}

impl TlsArgs {
    /// The keys that they stand for, below `table`: `target.tls`, or a suite's.
    pub fn overrides(&self, table: &str) -> Vec<Override> {
        let insecure =
            self.insecure.then(|| Override::flag("--insecure", &format!("{table}.insecure"), "true"));
        let files = [("--ca", "ca", &self.ca), ("--cert", "cert", &self.cert), ("--key", "key", &self.key)];
        let files = files.into_iter().filter_map(|(flag, key, path)| {
            let path = from_here(path.as_deref()?);
            Some(Override::flag(flag, &format!("{table}.{key}"), &format!("{:?}", path.to_string_lossy())))
        });
        insecure.into_iter().chain(files).collect()
    }
}

/// A flag's path is relative to where the command is typed, a scenario's to the scenario.
fn from_here(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
