//! `pushmark run`: a scenario, a URL, or every transport on this machine.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pushmark_model::plan::Plan;
use pushmark_model::run::{Run, ServerRef, VerdictState};
use pushmark_model::scenario::Override;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use super::output::{Format, complain, note, print};
use crate::environment::{Placement, environment};
use crate::exit::{Ending, Exit};
use crate::preflight::{self, Machine, Need, sources_for};
use crate::progress::Progress;
use crate::progress::screen::Screen;
use crate::report::{self, RunFiles};
use crate::run::{
    self, About, ArmDone, Assembled, Setup, Signals, Start, Target, Unserved, is_local, nobody_came,
};
use crate::scenario_file::{self, Asked, Loaded};
use crate::server::logs::KeptFile;
use crate::server::registry::{Registry, Server};
use crate::server::version::version;
use crate::server::{build, cpus, state};
use crate::store::hlog::Interval;
use crate::store::{self, Index, Kept, RESULTS, Utc};

/// Flags of `run`.
#[derive(Args, Clone, Debug)]
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
    /// Generator threads
    #[arg(long)]
    pub threads: Option<String>,
    /// A connection in so many carries kernel receive stamps; 0: none
    #[arg(long, value_name = "N")]
    pub stamp_sample: Option<String>,
    /// Source addresses to rotate over, or ranges such as 127.0.0.2-127.0.0.9
    #[arg(long = "source-ip", value_name = "IP", value_delimiter = ',')]
    pub source_ips: Vec<String>,
    /// Fresh starts
    #[arg(long, value_name = "N")]
    pub repeat: Option<String>,
    /// The run's folder; must not exist. With --repeat the parent of one folder a start
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
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

/// Runs, prints the result, writes the report.
///
/// # Errors
/// Whatever ends before anything was measured, with its exit code.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let loaded = load(args, &registry)?;
    let starts = loaded.scenario.repeat.max(1);
    if let Some(output) = args.output.as_deref().filter(|path| path.symlink_metadata().is_ok()) {
        let text = format!("{} exists already; -o names a folder that pushmark makes", output.display());
        return Err(Ending::error(Exit::Usage, text));
    }
    let server = match &loaded.server {
        Some(server) => Some(prepared(args, &registry, server, &loaded)?),
        None => None,
    };
    let cpus = Cpus::share_out(args, &loaded)?;
    let signals = Signals::listen()?;
    let mut progress = Progress::new(args.quiet);
    let mut exit = Exit::Pass;
    let mut files: Vec<RunFiles> = Vec::new();
    let mut last_page = None;
    for number in 1..=starts {
        if signals.stopped().is_some() {
            break;
        }
        let start = Start { number, of: starts };
        let assembled = one_start(&loaded, &registry, &cpus, &signals, start, &mut progress);
        let Assembled { mut run, windows, intervals, logs } = match assembled {
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
        run.environment.server.clone_from(&server);
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

/// A server that can be started: built where it was not; and what a run keeps of it. Done before
/// anything is pinned or listens to signals: a build has all CPUs, and Ctrl-C ends it.
fn prepared(
    args: &RunArgs,
    registry: &Registry,
    server: &Server,
    loaded: &Loaded,
) -> anyhow::Result<ServerRef> {
    let mut say = |text: &str| {
        if !args.quiet {
            note(text);
        }
    };
    build::ensure(registry, server, &mut say)?;
    let checked = state::checked(registry, server).is_some();
    if !checked {
        say(&format!("{0} has not passed its checks as it is now: pushmark check {0}", server.name));
    }
    Ok(ServerRef {
        name: server.name.clone(),
        version: version(registry, server),
        stands_for: server.stands_for.clone(),
        generation: server.generation.name().to_owned(),
        architecture: server.architecture.map(|a| a.name().to_owned()),
        family: server.family().to_owned(),
        flags: registry.flags(server, &loaded.scenario.target.flags),
        checked,
    })
}

/// Who runs where. Decided once: from then on this process is kept to its own half.
#[derive(Clone, Debug)]
struct Cpus {
    /// Of a started server; empty: anywhere.
    server: Vec<u32>,
    /// Of this process; empty: anywhere.
    generator: Vec<u32>,
    /// How many shards have a CPU each.
    threads: usize,
}

impl Cpus {
    fn share_out(args: &RunArgs, loaded: &Loaded) -> anyhow::Result<Cpus> {
        let started = loaded.server.is_some() || loaded.scenario.target.process.is_some();
        if args.no_pin || !started {
            let threads = cpus::allowed_cpus().map_or(1, |all| all.len());
            return Ok(Cpus { server: Vec::new(), generator: Vec::new(), threads });
        }
        let (server, generator) = cpus::halves_of_cpus()?;
        // This thread and the monitor are the generator's too: they keep off the server's cores.
        cpus::pin_current_thread(&generator)?;
        Ok(Cpus { server, threads: generator.len(), generator })
    }
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
    flag("--seed", "seed", &args.seed);
    flag("--threads", "threads", &args.threads);
    flag("--stamp-sample", "stamp_sample", &args.stamp_sample);
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
    for text in &args.sets {
        overrides.push(
            Override::set(text)
                .map_err(|error| usage(scenario_file::Report::new("command line", "", vec![*error])))?,
        );
    }
    let asked = Asked::argument(args.scenario.as_deref(), &transports);
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

fn one_start(
    loaded: &Loaded,
    registry: &Registry,
    cpus: &Cpus,
    signals: &Signals,
    start: Start,
    progress: &mut Progress,
) -> anyhow::Result<Assembled> {
    let started = Utc::now();
    let mut plan = loaded.plan(unique())?;
    let target = Target::new(loaded, registry)?;
    let same_host = target.is_started() || plan.arms.first().is_some_and(is_local);
    let machine = Machine::read(Path::new(RESULTS));
    rotate_sources(&mut plan, &machine, same_host);
    refuse(&plan, &machine, same_host)?;
    let Cpus { server: server_cpus, generator: generator_cpus, threads } = cpus.clone();
    let shards = loaded.scenario.threads.unwrap_or(threads as u32).max(1);
    let setup = Setup {
        target: &target,
        shards,
        server_cpus: server_cpus.clone(),
        generator_cpus: generator_cpus.clone(),
        signals,
        began_ns: Clock::now(),
    };
    let done = run::arms(&plan, &setup, start, progress)
        .map_err(|broken| Ending::error(broken.exit, broken.to_string()))?;
    reached(&done, &plan)?;
    let named = |cpus: Vec<u32>| (!cpus.is_empty()).then_some(cpus);
    let placement =
        Placement { server_cpus: named(server_cpus), generator_cpus: named(generator_cpus), same_host };
    let about = About {
        started,
        command: std::env::args().enumerate().map(|(n, word)| shown(n, &word)).collect::<Vec<_>>().join(" "),
        scenario: loaded.scenario.redacted_value(),
        plan: loaded.scenario.redacted_plan(&plan),
        text: Some(loaded.redacted_text()),
        environment: environment(placement, Default::default()),
        expressions: &loaded.scenario.expressions(),
        selftest: crate::selftest::last(),
    };
    Ok(run::assemble(&plan, about, done))
}

/// A word of the command line as a shell takes it; the program by its name alone.
fn shown(n: usize, word: &str) -> String {
    if n == 0 {
        return "pushmark".to_owned();
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A number no other run has: two runs' stamps must not be taken for each other.
fn unique() -> u64 {
    Clock::realtime() ^ u64::from(std::process::id()) << 40
}

/// One address has a port for each connection until the range is short.
fn rotate_sources(plan: &mut Plan, machine: &Machine, same_host: bool) {
    for arm in &mut plan.arms {
        let loopback = arm.subscribe.host.parse().ok().filter(|ip: &std::net::IpAddr| ip.is_loopback());
        if let (true, true, Some(ip)) = (same_host, arm.sources.is_empty(), loopback) {
            arm.sources = sources_for(arm.connections, machine.ports, ip);
        }
    }
}

fn refuse(plan: &Plan, machine: &Machine, same_host: bool) -> anyhow::Result<()> {
    let need = Need::of(plan, same_host);
    match preflight::refusal(&preflight::preflight(plan, machine, same_host), &need, machine) {
        Some(text) => Err(Ending::error(Exit::Refused, text.trim_end().to_owned())),
        None => Ok(()),
    }
}

/// A target that took nobody was not measured: what came back is said instead.
fn reached(done: &[ArmDone], plan: &Plan) -> anyhow::Result<()> {
    if done.is_empty()
        || done.iter().any(|d| d.arm.connections.opened > 0 || d.arm.verdict == VerdictState::Incomplete)
    {
        return Ok(());
    }
    let of = |one: &'_ ArmDone| plan.arms.iter().find(|arm| arm.transport == one.arm.transport);
    let unserved: Vec<Unserved<'_>> = done
        .iter()
        .filter_map(|d| {
            Some(Unserved { plan: of(d)?, failed: &d.arm.connections.failed, troubles: &d.troubles })
        })
        .collect();
    let text = nobody_came(&unserved);
    Err(Ending::error(Exit::Unreachable, text))
}

/// How a run ends the process.
fn exit_of(run: &Run) -> Exit {
    let verdict = match run.verdict.state {
        VerdictState::Invalid => Exit::Invalid,
        VerdictState::Incomplete => Exit::Incomplete,
        VerdictState::Valid | VerdictState::Suspect => Exit::Pass,
    };
    let crossed = run.thresholds.iter().any(|t| !t.ok);
    verdict.worst(if crossed { Exit::Threshold } else { Exit::Pass })
}

fn place(args: &RunArgs, starts: u32, id: &str) -> PathBuf {
    match &args.output {
        Some(output) if starts > 1 => output.join(id),
        Some(output) => output.clone(),
        None => Path::new(RESULTS).join(id),
    }
}

/// Keeps the newest run; its page shows all starts so far. Gives the page's path, or none where
/// no place took the run. What went wrong is said with `--quiet` too: it is no progress.
fn keep(files: &[RunFiles], intervals: &[Interval], logs: &[KeptFile], place: &Path) -> Option<String> {
    let newest = &files[files.len() - 1];
    // A page that cannot be drawn must not cost the run.
    let html = std::panic::catch_unwind(|| report::html(files)).ok();
    let (run, windows) = (&newest.run, &newest.windows);
    let kept = Kept { run, windows, intervals, logs, report_html: html.as_deref() };
    let saved = match store::save(&kept, &store::places(place)) {
        Ok(saved) => saved,
        Err(error) => {
            complain(&format!("{error:#}"));
            return None;
        }
    };
    if let Some(trouble) = &saved.trouble {
        complain(&format!("{}: {trouble:#}; kept in {}", place.display(), saved.folder.display()));
    }
    if let Some(results) = saved.folder.parent().filter(|p| p.ends_with(RESULTS)) {
        let indexed = Index::open(results).and_then(|mut index| index.insert(&newest.run, &saved.folder));
        if let Err(error) = indexed {
            complain(&format!("the index of runs could not be kept: {error:#}"));
        }
    }
    Some(saved.folder.join("report.html").display().to_string())
}

fn print_result(args: &RunArgs, files: &[RunFiles], page: Option<&str>) -> anyhow::Result<()> {
    let text = match args.format {
        Format::Text => report::text(files, super::report::style(&Screen::of_stdout(), page)),
        Format::Json if files.len() == 1 => serde_json::to_string_pretty(&files[0].run)? + "\n",
        Format::Json => {
            let runs: Vec<&Run> = files.iter().map(|f| &f.run).collect();
            serde_json::to_string_pretty(&runs)? + "\n"
        }
    };
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
