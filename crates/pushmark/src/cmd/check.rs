//! `pushmark check`: whether a server keeps `servers/CONTRACT.md`, clause by clause.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::output::{Format, note, print};
use super::run::usage;
use crate::check::launch::RowLaunch;
use crate::check::{self, Finding, Launch as _, Options, Row, Subject, table};
use crate::exit::{Ending, Exit};
use crate::progress::screen::Screen;
use crate::run::Signals;
use crate::server::registry::{Emitter, Registry, Server};
use crate::server::{build, state};

/// Time a server that was checked has to end by itself.
const END_WITHIN: Duration = Duration::from_secs(3);

/// Flags of `check`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit: 0 every case that is offered passed, 99 a case failed (what was asked for did \
    not hold, as with a threshold), 2 a name or number that is none, 3 the server does not start or answer."
)]
pub struct CheckArgs {
    /// A server of `pushmark servers list`; it is started afresh, and stopped
    #[arg(value_name = "SERVER", required_unless_present = "contract")]
    pub target: Option<String>,
    /// A server that runs already and should keep the contract: http://HOST:PORT. It is left running
    #[arg(long, value_name = "URL")]
    pub contract: Option<String>,
    /// Only these: a case (6.2/3), a clause (6.2) or a section (6); may be given again
    #[arg(long, value_name = "NUMBER")]
    pub only: Vec<String>,
    /// What names, messages and packets are drawn from; another one each time, and printed
    #[arg(long)]
    pub seed: Option<u64>,
    /// What stdout is
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Only what failed, and the summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Folder of servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
}

/// Checks, prints, and remembers that a registered server passed.
///
/// # Errors
/// A name or a number that is none (2), a server that does not start or answer (3).
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let options = Options { only: args.only.clone(), seed: args.seed.unwrap_or_else(new_seed) };
    known_numbers(&options)?;
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let row = match &args.target {
        Some(name) => Some(find(&registry, name)?),
        None => None,
    };
    let signals = Signals::listen()?;
    let mut server = None;
    let subject = match (row, &args.contract) {
        (Some(row), running) => {
            let launch = RowLaunch::new(&registry, row)?;
            let address = match running {
                Some(url) => address_of(url)?,
                None => {
                    build::ensure(&registry, row, &mut |line| note(line))?;
                    let unreachable = |error| Ending::error(Exit::Unreachable, format!("{error:#}"));
                    let started = launch.launch().map_err(unreachable)?;
                    server.insert(started).address()
                }
            };
            subject_of(row, address, launch)
        }
        (None, running) => {
            let address = address_of(running.as_deref().unwrap_or_default())?;
            running_subject(address)
        }
    };
    let findings = show(args, &subject, &options, &signals)?;
    if let Some(server) = &mut server {
        server.terminate();
        // One that does not end is killed with its value.
        server.ended(END_WITHIN);
    }
    if let Some(stopped) = signals.stopped() {
        return Ok(stopped);
    }
    let passed = table::failed(&findings).next().is_none();
    if let (Some(row), None, true) = (row, &args.contract, options.only.is_empty()) {
        state::record_check(&registry, row, passed, &table::summary(&findings))?;
    }
    Ok(if passed { Exit::Pass } else { Exit::Threshold })
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
    let findings = check::check(subject, options, &nothing, &|| signals.stopped().is_some());
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
    for number in &options.only {
        if !check::cases().any(|case| case.is_meant_by(number)) {
            let mut clauses: Vec<&str> = check::cases().map(check::Case::clause).collect();
            clauses.dedup();
            let message =
                format!("--only {number}: no case has this number; there are {}", clauses.join(" "));
            return Err(Ending::error(Exit::Usage, message));
        }
    }
    Ok(())
}

fn find<'r>(registry: &'r Registry, name: &str) -> anyhow::Result<&'r Server> {
    let row = registry.find(name).ok_or_else(|| {
        let error = registry.unknown("SERVER", name);
        let advice: Vec<String> = std::iter::once(error.label()).chain(error.advice()).collect();
        Ending::error(Exit::Usage, format!("{error}: {}", advice.join("; ")))
    })?;
    if !row.contract {
        let message =
            format!("{name} does not keep the contract (contract = true), so there is nothing to check");
        return Err(Ending::error(Exit::Usage, message));
    }
    Ok(row)
}

fn address_of(url: &str) -> anyhow::Result<SocketAddr> {
    let authority = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let wrong = || Ending::error(Exit::Usage, format!("--contract {url}: http://HOST:PORT is accepted"));
    let authority = authority.filter(|authority| !authority.contains('/')).ok_or_else(wrong)?;
    let mut addresses: Vec<SocketAddr> = authority.to_socket_addrs().map_err(|_| wrong())?.collect();
    // IPv4 first where a name has both: local servers listen there more often.
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().ok_or_else(wrong)
}

fn subject_of(row: &Server, address: SocketAddr, launch: RowLaunch) -> Subject {
    Subject {
        name: row.name.clone(),
        address,
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
    }
}

/// A server nobody registered: everything is asked of it.
fn running_subject(address: SocketAddr) -> Subject {
    let all = pushmark_model::transport::Transport::ALL;
    Subject {
        name: format!("http://{address}"),
        address,
        transports: all.iter().map(|transport| transport.name().to_owned()).collect(),
        lacks: Vec::new(),
        row: None,
        launch: None,
    }
}

fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to be typed again.
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff)
}
