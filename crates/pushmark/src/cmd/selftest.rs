//! `pushmark selftest`: the ruler held against known answers, on this machine.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::Args;
use pushmark_model::poller::Poller;

use super::output::print;
use crate::exit::Exit;
use crate::progress::screen::Screen;
use crate::run::Signals;
use crate::selftest::{self, line, summary};
use crate::truth::{Bench, Check, FAMILIES, Family, Scale, State};

/// Flags of `selftest`.
#[derive(Args, Clone, Debug)]
pub struct SelftestArgs {
    /// Every check at full scale: about 20 minutes instead of one
    #[arg(long)]
    pub full: bool,
    /// Only the checks of this name, small unless --full is given; their result is not kept
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Another poller in the generator: epoll or io_uring; the result is kept for epoll alone
    #[arg(long, value_name = "NAME", default_value = "epoll", value_parser = poller)]
    pub poller: Poller,
    /// No line on stderr for each group of checks
    #[arg(short, long)]
    pub quiet: bool,
}

/// The poller of a name.
fn poller(name: &str) -> Result<Poller, String> {
    let all = [Poller::Epoll, Poller::IoUring];
    let found = all.into_iter().find(|poller| poller.name() == name);
    found.ok_or_else(|| format!("there are {}", all.map(Poller::name).join(", ")))
}

/// Makes the checks, prints them, keeps the result beside later runs. Exit 1 where one fails.
///
/// # Errors
/// A run that could not be made.
pub fn run(args: &SelftestArgs) -> anyhow::Result<Exit> {
    let chosen = |family: &&Family| match &args.only {
        Some(name) => family.name == name,
        None => args.full || family.in_minute,
    };
    let families: Vec<&Family> = FAMILIES.iter().filter(chosen).collect();
    if families.is_empty() {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        bail!("--only {}: no such check; there are {}", args.only.as_deref().unwrap_or(""), names.join(", "));
    }
    let program = std::env::current_exe().context("the path of this program")?;
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
        selftest::keep(Path::new(crate::store::RESULTS), &all)?;
    }
    let passed = all.iter().all(|check| check.state == State::Passed);
    Ok(if passed { Exit::Pass } else { Exit::Internal })
}
