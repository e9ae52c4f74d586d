//! `pushmark find-max`: finds the largest crowd or the highest rate that keeps the given conditions.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pushmark_model::metrics::Expression;
use pushmark_model::scenario::Override;
use pushmark_model::search::{Limits, Over};
use pushmark_model::units::{Nanos, PerSecond, parse_share};

use super::measuring::MeasuringArgs;
use super::mistakes::usage;
use super::secure::TlsArgs;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::file_errors::FileErrors;
use pushmark_console::output::{Format, can_keep, print};
use pushmark_console::progress::Progress;
use pushmark_console::progress::screen::Screen;
use pushmark_host::server::registry::Registry;
use pushmark_run::find_max::{self, Ask};
use pushmark_run::fitted::starts_here;
use pushmark_run::run::Signals;
use pushmark_run::scenario_file::{self, Asked};
use pushmark_run::session::{Cpus, Session, prepare};
use pushmark_store::{RESULTS, Utc, run_id};

/// The upper end of the search: more connections than any machine holds.
const CONNECTIONS_MAX: u64 = 100_000_000;
/// The highest rate of a channel, in publications per 1,000 seconds.
const RATE_MAX: u64 = 1_000_000_000;
/// Number of runs on each side of the bracket.
const RUNS: u32 = 3;

/// Flags of `find-max`.
#[derive(Args, Clone, Debug)]
pub struct FindMaxArgs {
    /// A scenario file; if it has several transports, choose one with -t
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: Option<String>,
    /// Condition to keep, such as 'delivery.p99 < 50ms'; repeatable. Default: 99 % of all intended
    /// deliveries arrive within --within, and none is missing
    #[arg(long, value_name = "CONDITION")]
    pub keep: Vec<String>,
    /// Time limit of the default condition
    #[arg(long, value_name = "TIME", default_value = "100ms", conflicts_with = "keep")]
    pub within: Nanos,
    /// The load to raise
    #[arg(long, value_enum, default_value_t)]
    pub over: Raised,
    /// Lowest load of the search, which begins there; default: begin at the load of the scenario
    #[arg(long, value_name = "LOAD")]
    pub from: Option<String>,
    /// Highest load of the search
    #[arg(long, value_name = "LOAD")]
    pub to: Option<String>,
    /// Widest accepted range of the answer
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub precision: String,
    /// Maximum number of probes
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub probes: u32,
    /// Transport to use
    #[arg(short, long, value_name = "TRANSPORT")]
    pub transport: Option<String>,
    /// Length of the measure phase of a probe; the last probe takes three times as long
    #[arg(short, long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Set any key of the scenario, such as load.ramp.rate=1000
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Folder of the search; must not exist
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Flags of every command that measures
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    /// TLS flags
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// The load that a search raises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Raised {
    /// Number of connections
    #[default]
    Connections,
    /// Publications per second on each channel
    Rate,
}

/// Searches, prints the answer and keeps every probe.
///
/// # Errors
/// Fails if the scenario does not allow the search, or the target cannot be used.
pub fn run(args: &FindMaxArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.measuring.servers.as_deref()).map_err(usage)?;
    let ask = ask(args, &registry)?;
    let limits = limits(args, &ask)?;
    if let Some(output) = args.output.as_deref().filter(|path| path.symlink_metadata().is_ok()) {
        let text = format!("-o {}: this path already exists; name a new folder", output.display());
        return Err(Ending::error(Exit::Usage, text));
    }
    args.output.as_deref().map_or(Ok(()), can_keep)?;
    let machines = args.measuring.machines.claim(0)?;
    let machines = machines.as_ref();
    let say = |text: &str| args.measuring.say(text);
    let server = ask.loaded.server.as_ref();
    let server = server.map(|server| prepare(&registry, server, &ask.loaded, machines, say)).transpose()?;
    args.measuring.look_at_host();
    let cpus = Cpus::share_out(starts_here(&ask.loaded, machines), args.measuring.no_pin)?;
    let signals = Signals::listen()?;
    let session =
        Session { registry: &registry, cpus: &cpus, signals: &signals, pages: super::pages::PAGES, machines };
    let name = format!("find-max-{}", ask.loaded.scenario.name);
    let folder = args.output.clone().unwrap_or_else(|| Path::new(RESULTS).join(run_id(Utc::now(), &name)));
    let mut progress = Progress::new(args.measuring.quiet);
    let found = find_max::search(&ask, limits, &session, server, &folder, &mut progress, say)?;
    let page = folder.join("report.html").display().to_string();
    let text = match args.measuring.format {
        Format::Text => pushmark_report::search::text(
            &found.file,
            &super::report::style(&Screen::of_stdout(), Some(&page)),
        ),
        Format::Json => serde_json::to_string_pretty(&found.file)? + "\n",
    };
    print(&text)?;
    Ok(found.exit)
}

fn ask(args: &FindMaxArgs, registry: &Registry) -> anyhow::Result<Ask> {
    let over = match args.over {
        Raised::Connections => Over::Connections,
        Raised::Rate => Over::Rate,
    };
    let mut overrides = Vec::new();
    if let Some(transport) = &args.transport {
        overrides.push(Override::flag("-t", "transports", &format!("[{transport:?}]")));
    }
    if let Some(duration) = &args.duration {
        overrides.push(Override::flag("-d", "load.duration", duration));
    }
    overrides.extend(args.tls.overrides("target.tls"));
    for text in &args.sets {
        overrides.push(
            Override::set(text).map_err(|error| usage(FileErrors::new("command line", "", vec![*error])))?,
        );
    }
    let mut keep = Vec::new();
    for text in &args.keep {
        keep.push(
            Expression::parse_text(text)
                .map_err(|error| Ending::error(Exit::Usage, format!("--keep {text:?}: {error}")))?,
        );
    }
    if keep.is_empty() {
        keep = Ask::attainment(args.within);
    }
    let loaded = scenario_file::load(&Asked::argument(args.scenario.as_deref(), &[]), &overrides, registry)
        .map_err(usage)?;
    Ask::new(args.scenario.clone(), overrides, loaded, over, keep)
}

fn limits(args: &FindMaxArgs, ask: &Ask) -> anyhow::Result<Limits> {
    let from = args.from.as_deref().map(|text| load("--from", text, ask)).transpose()?;
    let to = args.to.as_deref().map(|text| load("--to", text, ask)).transpose()?;
    let most = to.unwrap_or(match ask.over {
        Over::Connections => CONNECTIONS_MAX,
        Over::Rate => RATE_MAX,
    });
    let least = from.unwrap_or(1);
    if least > most {
        let text = format!("--from {} is above --to {}", text(&args.from), text(&args.to));
        return Err(Ending::error(Exit::Usage, text));
    }
    let precision = parse_share(&args.precision).ok().filter(|share| *share < 1.0).ok_or_else(|| {
        let text = format!("--precision {}: accepted: a share such as 5%", args.precision);
        Ending::error(Exit::Usage, text)
    })?;
    let start = from.unwrap_or_else(|| ask.start());
    Ok(Limits { least, start, most, precision, runs: RUNS, probes: args.probes.max(1) })
}

fn text(given: &Option<String>) -> &str {
    given.as_deref().unwrap_or_default()
}

/// Parses `1000` connections, or a rate such as `50/s` or `50`.
fn load(flag: &str, text: &str, ask: &Ask) -> anyhow::Result<u64> {
    let plain = text.replace('_', "");
    let steps = match ask.over {
        Over::Connections => plain.parse::<u64>().ok(),
        Over::Rate => {
            let rate = plain.parse::<f64>().ok().or_else(|| plain.parse::<PerSecond>().ok().map(|r| r.0));
            rate.filter(|rate| *rate > 0.0 && rate.is_finite()).map(|rate| (rate / ask.step()).round() as u64)
        }
    };
    steps.filter(|steps| *steps > 0).ok_or_else(|| {
        let accepted = match ask.over {
            Over::Connections => "a number of connections, such as 1000",
            Over::Rate => "publications per second, such as 50/s",
        };
        Ending::error(Exit::Usage, format!("{flag} {text}: accepted: {accepted}"))
    })
}
