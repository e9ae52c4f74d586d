//! `pushmark flood`: opens connections at a fixed rate until the server cannot take more.

use std::path::PathBuf;

use clap::Args;

use super::asking::AskingArgs;
use super::measuring::MeasuringArgs;
use super::run::{self, RunArgs};
use super::secure::TlsArgs;
use pushmark_console::exit::Exit;

/// Flags of `flood`.
#[derive(Args, Clone, Debug)]
pub struct FloodArgs {
    /// A scenario file; the crowd connects at the flood's rate, without the ramp and phases of the file
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: String,
    /// Connections opened per second, such as 50/s; default: the rate of the scenario, else 2/s
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Interval over which new connections are counted; default: 100s
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<String>,
    /// Maximum number of connections; default: 50000, or what this machine holds
    #[arg(long, value_name = "N")]
    pub limit: Option<String>,
    /// End if a publication is received later than this after it was due; default: 10s
    #[arg(long, value_name = "DURATION")]
    pub latency_collapse: Option<String>,
    /// Transports, separated by commas; each has its own flood
    #[arg(short, long, value_name = "TRANSPORT", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Set any key of the scenario, such as target.flags.heap=512m
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Number of usable fresh starts; at most twice as many are made
    #[arg(long, value_name = "N")]
    pub repeat: Option<String>,
    /// Folder of the run; must not exist. With --repeat it holds one folder per start
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Flags of every command that measures
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    /// TLS flags
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Floods the server, prints the result and writes the report. It is a run of a scenario with a
/// `[flood]`.
///
/// # Errors
/// Fails if the run ends before anything was measured. The error has the exit code.
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
        asking: AskingArgs {
            transport: args.transport.clone(),
            sets: args.sets.clone(),
            tls: args.tls.clone(),
            ..AskingArgs::default()
        },
        repeat: args.repeat.clone(),
        output: args.output.clone(),
        measuring: args.measuring.clone(),
        flood: Some(flags.collect()),
    })
}
