//! `pushmark check`: checks that a server keeps each clause of `servers/CONTRACT.md`, and that any other
//! target does what its transports promise.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use clap::Args;
use pushmark_model::scenario::TargetUrl;
use pushmark_model::transport::Transport;

use super::mistakes::usage;
use super::secure::TlsArgs;
use super::servers::flags_of;
use pushmark_check::launch::RowLaunch;
use pushmark_check::{
    self as check, Endpoint, Finding, Instance, Launch as _, Options, Row, Subject, Verdict, table,
};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, note, print};
use pushmark_console::progress::screen::Screen;
use pushmark_console::redact;
use pushmark_host::server::process::Process;
use pushmark_host::server::registry::{Emitter, Registry, Server};
use pushmark_host::server::{build, state};
use pushmark_run::run::Signals;
use pushmark_run::scenario_file::{self, Loaded};
use pushmark_run::target::Target;

/// Time in which a checked server must end by itself.
const END_WITHIN: Duration = Duration::from_secs(3);

/// Flags of `check`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit: 0 every offered case passed, 99 a case failed, 2 a name or number is unknown, \
    3 the server does not start or answer."
)]
pub struct CheckArgs {
    /// A server of `pushmark servers list`, which is started; or a scenario file, whose target is checked
    /// for what its transports promise
    #[arg(value_name = "SERVER|SCENARIO.toml", required_unless_present = "contract")]
    pub target: Option<String>,
    /// A running server that should keep the contract: http://HOST:PORT or https://HOST:PORT; it is not
    /// stopped
    #[arg(long, value_name = "URL")]
    pub contract: Option<String>,
    /// Make only these checks: a case (6.2/3), a clause (6.2), a section (6), or for a target without the
    /// contract a transport (sse); repeatable
    #[arg(long, value_name = "NUMBER")]
    pub only: Vec<String>,
    /// Seed of names, messages and packets; default: a new one each time, which is printed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Set a flag of the server, such as heap=1g
    #[arg(long = "flag", value_name = "NAME=VALUE")]
    pub flags: Vec<String>,
    /// TLS flags
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Show only failed cases and the summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Folder that holds servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
}

/// Checks the target, prints the result and records it for a registered server.
///
/// # Errors
/// Fails if a name or number is unknown (2), or the server does not start or answer (3).
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let options = Options { only: args.only.clone(), seed: args.seed.unwrap_or_else(new_seed) };
    known_numbers(&options)?;
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let signals = Signals::listen_to_end()?;
    let asked = Asked::of(args, &registry)?;
    let (subject, running) = match &asked {
        Asked::Running(url) => (running_subject(url, way_of(url, args, &registry)?), Running::Before),
        Asked::Row(row) => start(&registry, row, args)?,
        Asked::Foreign(loaded) => start_foreign(&registry, loaded)?,
    };
    if let Err(error) = subject.try_out() {
        return Err(Ending::error(Exit::Unreachable, format!("{} {error:#}", subject.name)));
    }
    let findings = show(args, &subject, &options, &signals)?;
    running.end();
    if let Some(stopped) = signals.stopped() {
        return Ok(stopped);
    }
    let passed = table::failed(&findings).next().is_none();
    // A partial check, or a check with other flags than in runs, is not recorded.
    let is_all = options.only.is_empty() && args.flags.is_empty();
    if let (Asked::Row(row), None, true) = (&asked, &args.contract, is_all) {
        state::record_check(&registry, row, passed, &table::summary(&findings))?;
    }
    Ok(if passed { Exit::Pass } else { Exit::Threshold })
}

/// The target that the command line names.
enum Asked<'r> {
    /// A server of the registry with the contract.
    Row(&'r Server),
    /// A target described by URL templates.
    Foreign(Box<Loaded>),
    /// A running server that should keep the contract.
    Running(&'r str),
}

impl<'r> Asked<'r> {
    fn of(args: &'r CheckArgs, registry: &'r Registry) -> anyhow::Result<Asked<'r>> {
        let Some(name) = &args.target else {
            return Ok(Asked::Running(args.contract.as_deref().unwrap_or_default()));
        };
        if name.contains("://") {
            let message = format!(
                "{name}: a URL does not define how to publish; use --contract http://HOST:PORT for a server \
                 that keeps the contract, or a scenario file with [target.subscribe] and [target.publish]"
            );
            return Err(Ending::error(Exit::Usage, message));
        }
        let row = registry.find(name);
        let overrides = args.tls.overrides("target.tls");
        if let Some(row) = row.filter(|row| row.contract) {
            if args.contract.is_none() && !overrides.is_empty() {
                // Servers of the registry have no TLS, so loading the scenario reports the usual error.
                scenario_file::load(&scenario_file::Asked::Server(name), &overrides, registry)
                    .map_err(usage)?;
            }
            return Ok(Asked::Row(row));
        }
        let is_file = Path::new(name).extension().is_some_and(|ending| ending == "toml");
        let target = match (row, is_file) {
            (Some(_), _) => scenario_file::Asked::Server(name),
            (None, true) => scenario_file::Asked::File(Path::new(name)),
            (None, false) => return Err(unknown(registry, name)),
        };
        let loaded = scenario_file::load(&target, &overrides, registry).map_err(usage)?;
        // If the scenario names a server, the check uses that server.
        match loaded.server.as_ref().and_then(|server| registry.find(&server.name)) {
            Some(row) if row.contract => Ok(Asked::Row(row)),
            _ => Ok(Asked::Foreign(Box::new(loaded))),
        }
    }
}

/// The process that was started for the check and ends with it.
pub(super) enum Running {
    /// It was running before the check.
    Before,
    Server(Box<dyn Instance>),
    Process(Option<Box<Process>>),
}

impl Running {
    pub(super) fn end(self) {
        match self {
            Running::Before => {}
            // A server that does not end in time is killed on drop.
            Running::Server(mut server) => {
                server.terminate();
                server.ended(END_WITHIN);
            }
            Running::Process(process) => drop(process.map(|mut process| process.stop())),
        }
    }
}

fn unreachable(error: anyhow::Error) -> anyhow::Error {
    // An error with an exit code keeps it.
    if error.is::<Ending>() { error } else { Ending::error(Exit::Unreachable, format!("{error:#}")) }
}

fn start(registry: &Registry, row: &Server, args: &CheckArgs) -> anyhow::Result<(Subject, Running)> {
    let launch = RowLaunch::new(registry, row, flags_of(registry, row, &args.flags)?)?;
    if let Some(url) = &args.contract {
        return Ok((subject_of(row, way_of(url, args, registry)?, launch), Running::Before));
    }
    build::ensure(registry, row, &mut |line| note(line))?;
    let server = launch.launch().map_err(unreachable)?;
    Ok((subject_of(row, server.address().into(), launch), Running::Server(server)))
}

pub(super) fn start_foreign(registry: &Registry, loaded: &Loaded) -> anyhow::Result<(Subject, Running)> {
    let plan = &loaded.plan;
    let target = Target::new(loaded, registry)?;
    let first = plan.arms.first().context("a scenario has a transport")?;
    if let Some(row) = &loaded.server {
        build::ensure(registry, row, &mut |line| note(line))?;
    }
    let up = target.bring_up(first, &[]).map_err(unreachable)?;
    let name = if loaded.scenario.name.is_empty() { target.name() } else { &loaded.scenario.name };
    let lacks = loaded.server.as_ref().map_or(&[][..], |server| &server.lacks);
    let subject = Subject::foreign(name, plan, up.port, lacks).map_err(unreachable)?;
    Ok((subject, Running::Process(up.process.map(Box::new))))
}

fn show(
    args: &CheckArgs,
    subject: &Subject,
    options: &Options,
    signals: &Signals,
) -> anyhow::Result<Vec<Finding>> {
    let screen = Screen::of_stdout();
    let started = Instant::now();
    let nothing = |_: &Finding| {};
    let mut findings = check::check(subject, options, &nothing, &|| signals.stopped().is_some());
    for finding in &mut findings {
        match &mut finding.verdict {
            Verdict::Pass => {}
            Verdict::NotOffered(why) => *why = redact::text(why),
            Verdict::Fail { sent, came } => {
                sent.iter_mut().for_each(|line| *line = redact::text(line));
                *came = redact::text(came);
            }
        }
    }
    if args.format == Format::Json {
        print(&format!("{:#}\n", table::document(&subject.name, options.seed, &findings)))?;
        return Ok(findings);
    }
    for finding in findings.iter().filter(|finding| !args.quiet || table::is_failed(finding)) {
        print(&table::lines(finding, &screen))?;
    }
    let (seed, took) = (options.seed, started.elapsed().as_secs_f64());
    print(&format!(
        "\n{}: {}, in {took:.1} s with --seed {seed}\n",
        subject.name,
        table::summary(&findings)
    ))?;
    Ok(findings)
}

fn known_numbers(options: &Options) -> anyhow::Result<()> {
    let all = || check::cases().chain(check::foreign_cases());
    for number in &options.only {
        if !all().any(|case| case.is_meant_by(number)) {
            let mut clauses: Vec<&str> = all().map(check::Case::clause).collect();
            clauses.dedup();
            let message =
                format!("--only {number}: no case has this number; known clauses: {}", clauses.join(" "));
            return Err(Ending::error(Exit::Usage, message));
        }
    }
    Ok(())
}

fn unknown(registry: &Registry, name: &str) -> anyhow::Error {
    let error = registry.unknown("SERVER", name);
    let advice: Vec<String> = std::iter::once(error.label()).chain(error.advice()).collect();
    Ending::error(Exit::Usage, format!("{error}: {}; or a scenario file, NAME.toml", advice.join("; ")))
}

/// Returns the way to a running server. Its URL has no path. TLS works as for a scenario's target.
fn way_of(url: &str, args: &CheckArgs, registry: &Registry) -> anyhow::Result<Endpoint> {
    let wrong = || {
        let text = format!("--contract {url}: expected http://HOST:PORT or https://HOST:PORT");
        Ending::error(Exit::Usage, text)
    };
    let parts = TargetUrl::parse(url, false).ok().filter(|parts| parts.path.source() == "/");
    let (parts, port) = parts.and_then(|parts| parts.port.map(|port| (parts, port))).ok_or_else(wrong)?;
    let overrides = args.tls.overrides("target.tls");
    let tls = if parts.tls || !overrides.is_empty() {
        let asked = scenario_file::Asked::Url { url, transports: &[Transport::Sse] };
        Some(scenario_file::load(&asked, &overrides, registry).map_err(usage)?.tls())
    } else {
        None
    };
    Endpoint::new(&parts.host, port, tls.as_ref()).map_err(|_| wrong())
}

fn subject_of(row: &Server, endpoint: Endpoint, launch: RowLaunch) -> Subject {
    Subject {
        name: row.name.clone(),
        endpoint,
        transports: row.transports.iter().map(|transport| transport.name().to_owned()).collect(),
        lacks: row.lacks.clone(),
        row: Some(Row {
            clock: row.clock.clone(),
            grain_us: row.grain_us,
            emitter: row.emitter.map(|emitter| match emitter {
                Emitter::Absolute => "absolute".to_owned(),
                Emitter::SelfArmed => "self".to_owned(),
            }),
            nodelay: row.nodelay,
        }),
        launch: Some(Box::new(launch)),
        foreign: None,
    }
}

/// Returns the subject of an unregistered server. Every case applies to it.
fn running_subject(url: &str, endpoint: Endpoint) -> Subject {
    let all = Transport::ALL;
    Subject {
        name: url.trim_end_matches('/').to_owned(),
        endpoint,
        transports: all.iter().map(|transport| transport.name().to_owned()).collect(),
        lacks: Vec::new(),
        row: None,
        launch: None,
        foreign: None,
    }
}

fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // A short seed is easy to type again.
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff)
}
