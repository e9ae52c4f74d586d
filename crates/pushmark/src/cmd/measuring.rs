//! The flags that every command which measures has.

use std::path::PathBuf;

use clap::Args;

use super::output::{Format, note};

/// Where servers are found, and how a result and its progress are shown.
#[derive(Args, Clone, Debug, Default)]
pub struct MeasuringArgs {
    /// Folder of servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
    /// What stdout is
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
    /// Do not keep server and generator on different CPUs
    #[arg(long)]
    pub no_pin: bool,
}

impl MeasuringArgs {
    /// Says how preparations go on, unless nobody wants to hear it.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            note(text);
        }
    }
}
