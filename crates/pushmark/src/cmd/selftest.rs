//! `pushmark selftest`: checks pushmark on this machine against known answers.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::Args;
use pushmark_model::poller::Poller;

use pushmark_console::exit::Exit;
use pushmark_console::output::print;
use pushmark_console::progress::screen::Screen;
use pushmark_run::run::Signals;
use pushmark_truth::selftest::{self, line, summary};
use pushmark_truth::{Bench, Check, FAMILIES, Family, Scale, State, Tally};

/// Flags of `selftest`.
#[derive(Args, Clone, Debug)]
pub struct SelftestArgs {
    /// Make every check at full scale, which takes about 20 minutes instead of one
    #[arg(long)]
    pub full: bool,
    /// Make only the checks of this name, at small scale without --full; the result is not kept
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Poller of the generator: epoll or io_uring; the result is kept only for epoll
    #[arg(long, value_name = "NAME", default_value = "epoll", value_parser = poller)]
    pub poller: Poller,
    /// Make N runs with random faults, sizes, rates and host noise instead of the checks, and compare
    /// the figures with the server's truth log; exit 1 if a wrong figure was trusted
    #[arg(long, value_name = "N", conflicts_with_all = ["full", "only", "poller"])]
    pub random: Option<u64>,
    /// First seed of --random; each run adds one
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "random")]
    pub seed: u64,
    /// Show no progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// Makes random runs one after the other. Prints a line for each wrong run, then the table.
fn random(args: &SelftestArgs, runs: u64) -> anyhow::Result<Exit> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let signals = Signals::listen()?;
    let mut bench = Bench::new(&program, Scale::Small, signals.clone())?;
    let mut tally = Tally::default();
    for seed in (args.seed..).take(runs as usize) {
        let outcome = match bench.random(seed) {
            Ok(outcome) => outcome,
            Err(_) if signals.stopped().is_some() => break,
            Err(error) => return Err(error),
        };
        tally.add(&outcome);
        let wrong: Vec<String> = outcome.wrong().collect();
        if !wrong.is_empty() {
            print(&format!("✕ --random 1 --seed {seed}: {}; {}\n", wrong.join("; "), outcome.what))?;
        } else if !args.quiet {
            let verdict = match outcome.valid {
                true => "valid".to_owned(),
                false => outcome.reasons.join(", "),
            };
            let also = outcome.different().collect::<Vec<_>>().join("; ");
            eprintln!("{seed} {}: {verdict} {also}", outcome.what);
        }
    }
    print(&format!("\n{}", tally.text()))?;
    match signals.stopped() {
        Some(exit) => Ok(exit),
        None => Ok(if tally.passed() { Exit::Pass } else { Exit::Internal }),
    }
}

/// Parses the name of a poller.
fn poller(name: &str) -> Result<Poller, String> {
    let all = [Poller::Epoll, Poller::IoUring];
    let found = all.into_iter().find(|poller| poller.name() == name);
    found.ok_or_else(|| format!("accepted: {}", all.map(Poller::name).join(", ")))
}

/// Makes the checks, prints them and keeps the result for later runs. Exits with 1 if one fails.
///
/// # Errors
/// Fails if a run could not be made.
pub fn run(args: &SelftestArgs) -> anyhow::Result<Exit> {
    if let Some(runs) = args.random {
        return random(args, runs);
    }
    let chosen = |family: &&Family| match &args.only {
        Some(name) => family.name == name,
        None => args.full || family.in_minute,
    };
    let families: Vec<&Family> = FAMILIES.iter().filter(chosen).collect();
    if families.is_empty() {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        bail!("--only {}: unknown check; accepted: {}", args.only.as_deref().unwrap_or(""), names.join(", "));
    }
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let scale = match (args.full, &args.only) {
        (true, _) => Scale::Full,
        (false, Some(_)) => Scale::Small,
        (false, None) => Scale::Minute,
    };
    let signals = Signals::listen()?;
    let mut bench = Bench::new(&program, scale, signals.clone())?.by(args.poller);
    let screen = Screen::of_stdout();
    let mut all: Vec<Check> = Vec::new();
    print(&selftest::head(&screen))?;
    for family in families {
        if !args.quiet {
            eprintln!("{} …", family.name);
        }
        let checks = match bench.check(family) {
            Ok(checks) => checks,
            Err(_) if signals.stopped().is_some() => {
                return Ok(signals.stopped().unwrap_or(Exit::Interrupted));
            }
            Err(error) => return Err(error),
        };
        for check in &checks {
            print(&line(check, &screen))?;
        }
        all.extend(checks);
    }
    print(&format!("\n{}\n", summary(&all)))?;
    if args.only.is_none() && args.poller == Poller::Epoll {
        selftest::keep(Path::new(pushmark_store::RESULTS), &all)?;
    }
    let passed = all.iter().all(|check| check.state == State::Passed);
    Ok(if passed { Exit::Pass } else { Exit::Internal })
}
