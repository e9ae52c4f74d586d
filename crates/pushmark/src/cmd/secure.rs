//! The flags of commands that measure over TLS.

use std::path::{Path, PathBuf};

use clap::Args;
use pushmark_model::scenario::Override;

/// TLS flags for `https` and `wss` targets.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArgs {
    /// Accept any TLS certificate of the target without a check
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// Trust the certificate authorities of this PEM file instead of those of this machine
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// PEM file of the TLS client certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// PEM file of the private key of --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}

impl TlsArgs {
    /// Returns the scenario keys of these flags, below `table`: `target.tls`, or that of a suite.
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

/// Makes a path absolute. A path in a flag is relative to the working folder, in a scenario to its file.
fn from_here(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
