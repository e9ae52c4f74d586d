//! `pushmark flood`: connections at a fixed rate until the server has had enough of them.

use std::path::PathBuf;

use clap::Args;

use super::measuring::MeasuringArgs;
use super::run::{self, RunArgs};
use super::secure::TlsArgs;
use crate::exit::Exit;

/// Flags of `flood`.
#[derive(Args, Clone, Debug)]
pub struct FloodArgs {
    /// A scenario file: its crowd comes at the flood's rate, and its ramp and phases do not apply
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: String,
    /// Connections opened each second, such as 50/s; default: as the scenario says, or 2/s
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// New connections are counted over so long; default 100s
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<String>,
    /// Most connections; default 50000, or what this machine holds
    #[arg(long, value_name = "N")]
    pub limit: Option<String>,
    /// It ends when a publication is heard so much later than it was due; default 10s
    #[arg(long, value_name = "DURATION")]
    pub latency_collapse: Option<String>,
    /// Transport, or several: each is a flood of its own
    #[arg(short, long, value_name = "TRANSPORT", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Set any key of the scenario, such as target.flags.heap=512m
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Fresh starts
    #[arg(long, value_name = "N")]
    pub repeat: Option<String>,
    /// The run's folder; must not exist. With --repeat the parent of one folder a start
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// What every command that measures has
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    /// How a target is met over TLS
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Floods, prints what was met, writes the report: a run like any other, of a scenario with a
/// `[flood]`.
///
/// # Errors
/// Whatever ends before anything was measured, with its exit code.
pub fn run(args: &FloodArgs) -> anyhow::Result<Exit> {
    let flags = [
        ("--rate", "flood.rate", &args.rate),
        ("--interval", "flood.interval", &args.interval),
        ("--limit", "flood.limit", &args.limit),
        ("--latency-collapse", "flood.latency_collapse", &args.latency_collapse),
    ];
    let flags = flags.into_iter().filter_map(|(flag, key, value)| Some((flag, key, value.clone()?)));
    run::run(&RunArgs {
        scenario: Some(args.scenario.clone()),
        transport: args.transport.clone(),
        sets: args.sets.clone(),
        repeat: args.repeat.clone(),
        output: args.output.clone(),
        measuring: args.measuring.clone(),
        tls: args.tls.clone(),
        flood: Some(flags.collect()),
        ..RunArgs::default()
    })
}
