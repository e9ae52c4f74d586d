//! The flags of every command that measures.

use std::path::PathBuf;

use clap::Args;

use super::bus::MachinesArgs;
use pushmark_console::output::{Format, note};
use pushmark_host::quiet;
use pushmark_run::verdict;

/// Flags for the folder of servers, and for how the result and the progress are shown.
#[derive(Args, Clone, Debug, Default)]
pub struct MeasuringArgs {
    /// Folder that holds servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Show no progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
    /// Do not pin server and generator to different CPUs
    #[arg(long)]
    pub no_pin: bool,
    /// Agents on other machines
    #[command(flatten)]
    pub machines: MachinesArgs,
}

impl MeasuringArgs {
    /// Prints a line about the preparations, unless `--quiet` is given.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            note(text);
        }
    }

    /// Checks this host before a measurement, and reports other processes that use it.
    pub fn look_at_host(&self) {
        if !self.quiet
            && let Some(text) = quiet::before_a_run(verdict::foreign_cpu_from())
        {
            note(&text);
        }
    }
}
