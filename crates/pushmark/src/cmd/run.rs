//! `pushmark run`: a scenario, a URL, or every transport on this machine.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pushmark_model::scenario::Override;
use pushmark_model::transport::Transport;

use super::measuring::MeasuringArgs;
use super::output::{complain, print};
use super::secure::TlsArgs;
use crate::exit::{Ending, Exit};
use crate::progress::Progress;
use crate::progress::screen::Screen;
use crate::report::RunFiles;
use crate::run::{Assembled, Signals, Start};
use crate::scenario_file::{self, Asked, Loaded};
use crate::server::registry::Registry;
use crate::session::{Asking, Cpus, Session, exit_of, keep, prepare};
use crate::store::RESULTS;

/// Flags of `run`.
#[derive(Args, Clone, Debug, Default)]
pub struct RunArgs {
    /// A scenario file, or a URL to observe; without it, every transport on this machine
    #[arg(value_name = "SCENARIO.toml | URL")]
    pub scenario: Option<String>,
    /// Transport, or several: poll, long-poll, stream, sse, websocket
    #[arg(short, long, value_name = "TRANSPORT", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Clients of each transport
    #[arg(short, long, value_name = "N")]
    pub connections: Option<String>,
    /// Publications on each channel, such as 10/s
    #[arg(short, long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Length of the measure phase, such as 30s
    #[arg(short, long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Payload with its stamp, such as 128B
    #[arg(short, long, value_name = "BYTES")]
    pub size: Option<String>,
    /// Set any key of the scenario, such as load.ramp.rate=1000
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// The seed of everything drawn
    #[arg(long)]
    pub seed: Option<String>,
    /// Real browser clients beside the crowd, in a headless Chromium
    #[arg(long, value_name = "N")]
    pub browser: Option<String>,
    /// Generator threads
    #[arg(long)]
    pub threads: Option<String>,
    /// A connection in so many carries kernel receive stamps; 0: none
    #[arg(long, value_name = "N")]
    pub stamp_sample: Option<String>,
    /// Take arrivals in batches of so long: about half the cost at low rates, read up to so much later
    #[arg(long, value_name = "TIME")]
    pub batch: Option<String>,
    /// What tells the threads of arrivals: epoll, or io_uring
    #[arg(long, value_name = "NAME")]
    pub poller: Option<String>,
    /// Generator processes that the threads are dealt to
    #[arg(long, value_name = "N")]
    pub agents: Option<String>,
    /// Source addresses to rotate over, or ranges such as 127.0.0.2-127.0.0.9
    #[arg(long = "source-ip", value_name = "IP", value_delimiter = ',')]
    pub source_ips: Vec<String>,
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
    /// The crowd is a flood: its flags, keys and values (`pushmark flood`)
    #[arg(skip)]
    pub flood: Option<Vec<(&'static str, &'static str, String)>>,
}

/// Runs, prints the result, writes the report.
///
/// # Errors
/// Whatever ends before anything was measured, with its exit code.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.measuring.servers.as_deref()).map_err(usage)?;
    let loaded = load(args, &registry)?;
    let starts = loaded.scenario.repeat.max(1);
    if let Some(output) = args.output.as_deref().filter(|path| path.symlink_metadata().is_ok()) {
        let text = format!("{} exists already; -o names a folder that pushmark makes", output.display());
        return Err(Ending::error(Exit::Usage, text));
    }
    let server = match &loaded.server {
        Some(server) => Some(prepare(&registry, server, &loaded, |text| args.measuring.say(text))?),
        None => None,
    };
    let started = loaded.server.is_some() || loaded.scenario.target.process.is_some();
    let cpus = Cpus::share_out(started, args.measuring.no_pin)?;
    let signals = Signals::listen()?;
    let session = Session { registry: &registry, cpus: &cpus, signals: &signals };
    let mut progress = Progress::new(args.measuring.quiet);
    let mut exit = Exit::Pass;
    let mut files: Vec<RunFiles> = Vec::new();
    let mut last_page = None;
    for number in 1..=starts {
        if signals.stopped().is_some() {
            break;
        }
        let start = Start { number, of: starts };
        let asking = Asking { start, server: server.clone(), case: None };
        let assembled = session.measure(&loaded, asking, &mut progress);
        let Assembled { run, windows, intervals, logs } = match assembled {
            Ok(assembled) => assembled,
            Err(error) if files.is_empty() => return Err(error),
            // The starts before it were measured: they are shown.
            Err(error) => {
                progress.finish();
                complain(&format!("start {number} of {starts}: {error:#}"));
                exit = exit.worst(Exit::Incomplete);
                break;
            }
        };
        exit = exit.worst(exit_of(&run));
        files.push(RunFiles { run, windows });
        let place = place(args, starts, &files[files.len() - 1].run.id);
        progress.finish();
        last_page = keep(&files, &intervals, &logs, &place);
        if last_page.is_none() {
            // Printed or lost: nobody may take this for a kept run.
            exit = exit.worst(Exit::Internal);
        }
    }
    progress.finish();
    exit = exit.worst(signals.stopped().unwrap_or(Exit::Pass));
    print_result(args, &files, last_page.as_deref())?;
    Ok(exit)
}

fn load(args: &RunArgs, registry: &Registry) -> anyhow::Result<Loaded> {
    let mut transports = Vec::new();
    for name in &args.transport {
        match Transport::parse(name) {
            Some(transport) => transports.push(transport),
            None => {
                let nearest = pushmark_model::scenario::nearest(name, Transport::ALL.map(Transport::name));
                let hint = nearest.map_or(String::new(), |n| format!("; did you mean {n}?"));
                let text = format!(
                    "-t {name}: no such transport; accepted: poll, long-poll, stream, sse, websocket{hint}"
                );
                return Err(Ending::error(Exit::Usage, text));
            }
        }
    }
    let mut overrides = Vec::new();
    let mut flag = |flag: &str, key: &str, value: &Option<String>| {
        if let Some(value) = value {
            overrides.push(Override::flag(flag, key, value));
        }
    };
    flag("-c", "load.connections", &args.connections);
    flag("-r", "publisher.rate", &args.rate);
    flag("-d", "load.duration", &args.duration);
    flag("-s", "publisher.size", &args.size);
    flag("--browser", "load.browsers", &args.browser);
    flag("--seed", "seed", &args.seed);
    flag("--threads", "threads", &args.threads);
    flag("--stamp-sample", "stamp_sample", &args.stamp_sample);
    flag("--batch", "batch", &args.batch);
    flag("--poller", "poller", &args.poller);
    flag("--agents", "agents", &args.agents);
    flag("--repeat", "repeat", &args.repeat);
    let list = |items: &mut dyn Iterator<Item = String>| {
        let quoted: Vec<String> = items.map(|item| format!("{item:?}")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let is_url = args.scenario.as_deref().is_some_and(|s| s.contains("://"));
    if !transports.is_empty() && !is_url {
        let names = list(&mut transports.iter().map(|t| t.name().to_owned()));
        overrides.push(Override::flag("-t", "transports", &names));
    }
    if !args.source_ips.is_empty() {
        let mut addresses = Vec::new();
        for text in &args.source_ips {
            addresses.extend(source_range(text)?);
        }
        overrides.push(Override::flag("--source-ip", "load.source_ips", &list(&mut addresses.into_iter())));
    }
    overrides.extend(args.tls.overrides("target.tls"));
    for text in &args.sets {
        overrides.push(
            Override::set(text)
                .map_err(|error| usage(scenario_file::Report::new("command line", "", vec![*error])))?,
        );
    }
    let asked = Asked::argument(args.scenario.as_deref(), &transports);
    if let Some(flood) = &args.flood {
        overrides.extend(flood.iter().map(|(flag, key, value)| Override::flag(flag, key, value)));
        let loaded = scenario_file::load(&asked, &overrides, registry).map_err(usage)?;
        if loaded.scenario.flood.is_some() {
            return Ok(loaded);
        }
        // A scenario without a flood gets the usual one.
        let rate = pushmark_model::scenario::Flood::default().rate.to_string();
        overrides.push(Override::flag("flood", "flood.rate", &rate));
    }
    scenario_file::load(&asked, &overrides, registry).map_err(usage)
}

/// `127.0.0.2` or `127.0.0.2-127.0.0.9`.
fn source_range(text: &str) -> anyhow::Result<Vec<String>> {
    let wrong = || {
        let text = format!("--source-ip {text}: expected an address or a range such as 127.0.0.2-127.0.0.9");
        Ending::error(Exit::Usage, text)
    };
    let Some((low, high)) = text.split_once('-') else { return Ok(vec![text.to_owned()]) };
    let bits = |t: &str| t.trim().parse::<std::net::Ipv4Addr>().map(u32::from).map_err(|_| wrong());
    let (low, high) = (bits(low)?, bits(high)?);
    if low > high || high - low >= 65_536 {
        return Err(wrong());
    }
    Ok((low..=high).map(|n| std::net::Ipv4Addr::from(n).to_string()).collect())
}

fn place(args: &RunArgs, starts: u32, id: &str) -> PathBuf {
    match &args.output {
        Some(output) if starts > 1 => output.join(id),
        Some(output) => output.clone(),
        None => Path::new(RESULTS).join(id),
    }
}

fn print_result(args: &RunArgs, files: &[RunFiles], page: Option<&str>) -> anyhow::Result<()> {
    let text = super::report::shown(files, args.measuring.format, page)?;
    print(&text).context("the result could not be printed; it is kept on disk")
}

pub(super) fn usage(report: scenario_file::Report) -> anyhow::Error {
    Ending::error(Exit::Usage, shown_report(&report))
}

/// The mistakes with the lines at fault, as wide and colourful as stderr allows.
fn shown_report(report: &scenario_file::Report) -> String {
    let screen = Screen::of_stderr();
    report.render(screen.colours, screen.columns.unwrap_or(80)).trim_end().to_owned()
}
