//! `pushmark suite`: runs a matrix of scenarios.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use pushmark_model::scenario::{Override, nearest};
use pushmark_model::suite::Scale;
use pushmark_model::units::Nanos;

use super::measuring::MeasuringArgs;
use super::mistakes::usage;
use super::report::shown_suite;
use super::secure::TlsArgs;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, print};
use pushmark_console::progress::screen::Screen;
use pushmark_host::server::registry::Registry;
use pushmark_run::suite::{self, AskedSuite, Glob, Loaded, SuiteSettings};

/// Flags of `suite`.
#[derive(Args, Clone, Debug)]
pub struct SuiteArgs {
    /// A suite file; default: a five-minute tour
    #[arg(value_name = "SUITE.toml")]
    pub suite: Option<PathBuf>,
    /// Folder of the suite; must not exist, unless --resume is given
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Continue the suite in this folder, or begin it if the folder is new
    #[arg(long, requires = "output")]
    pub resume: bool,
    /// Run only the cases whose id matches, such as 'node-*-1000'; repeatable
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Reduce crowds and the number of cycles to this share; intervals, holds, rates and timeouts stay
    #[arg(long, value_name = "F")]
    pub scale: Option<String>,
    /// Reduce only the number of cycles to this share
    #[arg(long, value_name = "F")]
    pub scale_time: Option<String>,
    /// Number of fresh starts of each case
    #[arg(long, value_name = "N")]
    pub repeat: Option<String>,
    /// Begin no case that would not end within this time, such as 150m; --resume makes the others later
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Seed of the order and of all random choices
    #[arg(long)]
    pub seed: Option<String>,
    /// List the cases, their times and what this machine refuses, without running them
    #[arg(long)]
    pub dry_run: bool,
    /// Flags of every command that measures
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    /// TLS flags
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Reads the suite, and runs it or lists its cases.
///
/// # Errors
/// Fails if the suite ends before anything was measured. The error has the exit code.
pub fn run(args: &SuiteArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.measuring.servers.as_deref()).map_err(usage)?;
    let wishes = wishes(args)?;
    let asked = args.suite.as_deref().map_or(AskedSuite::Quick, AskedSuite::File);
    // A dry run asks for no machine.
    let machines = if args.dry_run { None } else { args.measuring.machines.claim(0)? };
    let machines = machines.as_ref();
    let mut loaded = suite::load(asked, &wishes, &registry, machines).map_err(usage)?;
    let chosen = chosen(&args.only, &loaded)?;
    if args.dry_run {
        return plan(args, &loaded, &chosen);
    }
    let asked = suite::Asked {
        output: args.output.as_deref(),
        resume: args.resume,
        repeat: args.repeat.as_ref().map(|_| loaded.suite.repeat),
        time: args.time.map(|time| Duration::from_nanos(time.0)),
        no_pin: args.measuring.no_pin,
        quiet: args.measuring.quiet,
        chosen: &chosen,
        pages: super::pages::PAGES,
        machines,
    };
    let done = suite::run(&mut loaded, &asked, &registry, &mut |text| args.measuring.say(text))?;
    let places = (&*done.folder, &*done.folder.join("report.html"));
    let text = shown_suite(&loaded.suite, &done.files, args.measuring.format, places)?;
    print(&text).context("the result could not be printed; it is kept on disk")?;
    Ok(done.exit)
}

/// Prints the cases that would run.
fn plan(args: &SuiteArgs, loaded: &Loaded, chosen: &[bool]) -> anyhow::Result<Exit> {
    let text = match args.measuring.format {
        Format::Text => {
            let there = args.output.as_ref().filter(|place| args.resume && place.is_dir());
            let done = match there {
                Some(place) => suite::starts_done(place, &loaded.suite)?,
                None => vec![0; loaded.suite.cases.len()],
            };
            suite::plan_text(loaded, chosen, &done, &Screen::of_stdout())
        }
        Format::Json => {
            let mut suite = loaded.suite.clone();
            let mut asked = chosen.iter();
            suite.cases.retain(|_| asked.next().is_some_and(|asked| *asked));
            serde_json::to_string_pretty(&suite)? + "\n"
        }
    };
    print(&text)?;
    Ok(Exit::Pass)
}

fn wishes(args: &SuiteArgs) -> anyhow::Result<SuiteSettings> {
    let mut overrides = Vec::new();
    for (flag, key, value) in [("--seed", "seed", &args.seed), ("--repeat", "repeat", &args.repeat)] {
        overrides.extend(value.as_ref().map(|value| Override::flag(flag, key, value)));
    }
    overrides.extend(args.tls.overrides("scenario.target.tls"));
    let share = |flag: &str, given: &Option<String>| match given {
        None => Ok(1.0),
        Some(text) => Scale::share(text).ok_or_else(|| {
            let text = format!("{flag} {text}: expected a share above 0 to 1, such as 0.1 or 10%");
            Ending::error(Exit::Usage, text)
        }),
    };
    let scale = Scale { all: share("--scale", &args.scale)?, time: share("--scale-time", &args.scale_time)? };
    Ok(SuiteSettings { overrides, scale })
}

/// Returns the cases that `--only` selects, or all cases without it.
fn chosen(only: &[String], loaded: &Loaded) -> anyhow::Result<Vec<bool>> {
    let ids: Vec<&str> = loaded.suite.cases.iter().map(|case| case.id.as_str()).collect();
    let globs: Vec<Glob<'_>> = only.iter().map(|text| Glob::new(text)).collect();
    for glob in &globs {
        if !ids.iter().any(|id| glob.matches(id)) {
            let near = nearest(glob.text(), ids.iter().copied());
            let hint = near.map_or(format!("an example is {}", ids[0]), |id| format!("did you mean {id}?"));
            let text = format!(
                "--only {}: none of the {} cases of {} matches; {hint} (* matches any text, ? one character)",
                glob.text(),
                ids.len(),
                loaded.suite.name
            );
            return Err(Ending::error(Exit::Usage, text));
        }
    }
    Ok(ids.iter().map(|id| globs.is_empty() || globs.iter().any(|glob| glob.matches(id))).collect())
}
