//! `pushmark run`: runs a scenario, observes a URL, or compares every transport on this machine.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pushmark_model::run::RunFiles;
use pushmark_model::scenario::Override;

use super::asking::AskingArgs;
use super::measuring::MeasuringArgs;
use super::mistakes::usage;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{complain, print};
use pushmark_console::progress::Progress;
use pushmark_host::server::registry::Registry;
use pushmark_run::fitted::starts_here;
use pushmark_run::run::{Assembled, Signals, Start};
use pushmark_run::scenario_file::Loaded;
use pushmark_run::session::{Asking, Cpus, Session, prepare};
use pushmark_run::tally::Tally;
use pushmark_store::{self as store, Draft, RESULTS};

/// Flags of `run`.
#[derive(Args, Clone, Debug, Default)]
pub struct RunArgs {
    /// A scenario file, or a URL to observe; default: compare every transport on this machine
    #[arg(value_name = "SCENARIO.toml | URL")]
    pub scenario: Option<String>,
    /// Flags that set keys of the scenario
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Number of usable fresh starts; at most twice as many are made
    #[arg(long, value_name = "N")]
    pub repeat: Option<String>,
    /// Folder of the run; must not exist. With --repeat it holds one folder per start
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Flags of every command that measures
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    /// The flags, keys and values of `pushmark flood`
    #[arg(skip)]
    pub flood: Option<Vec<(&'static str, &'static str, String)>>,
}

/// Runs the scenario, prints the result and writes the report.
///
/// # Errors
/// Fails if the run ends before anything was measured. The error has the exit code.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.measuring.servers.as_deref()).map_err(usage)?;
    let loaded = load(args, &registry)?;
    let starts = loaded.scenario.repeat.max(1);
    if let Some(output) = args.output.as_deref().filter(|path| path.symlink_metadata().is_ok()) {
        let text = format!("-o {}: this path already exists; name a new folder", output.display());
        return Err(Ending::error(Exit::Usage, text));
    }
    can_keep(args, starts)?;
    let machines = args.measuring.machines.claim(loaded.scenario.agents)?;
    let machines = machines.as_ref();
    let say = |text: &str| args.measuring.say(text);
    let server = loaded.server.as_ref();
    let server = server.map(|server| prepare(&registry, server, &loaded, machines, say)).transpose()?;
    args.measuring.look_at_host();
    let cpus = Cpus::share_out(starts_here(&loaded, machines), args.measuring.no_pin)?;
    let signals = Signals::listen()?;
    let session =
        Session { registry: &registry, cpus: &cpus, signals: &signals, pages: super::pages::PAGES, machines };
    let mut progress = Progress::new(args.measuring.quiet);
    let mut exit = Exit::Pass;
    let mut files: Vec<RunFiles> = Vec::new();
    let mut last_page = None;
    let mut tally = Tally::new(starts);
    while tally.wants_more() && signals.stopped().is_none() {
        let number = tally.made() + 1;
        let start = Start { number, of: starts.max(number) };
        let asking = Asking { start, server: server.clone(), case: None };
        let assembled = session.measure(&loaded, asking, &mut progress);
        let Assembled { run, windows, intervals, logs } = match assembled {
            Ok(assembled) => assembled,
            Err(error) if files.is_empty() => return Err(error),
            // The earlier starts were measured and are shown.
            Err(error) => {
                progress.finish();
                complain(&format!("start {number} of {starts}: {error:#}"));
                exit = exit.worst(Exit::Incomplete);
                break;
            }
        };
        tally.take(&run);
        files.push(RunFiles { run, windows });
        let place = place(args, starts, &files[files.len() - 1].run.id);
        progress.finish();
        last_page = session.keep(&files, &intervals, &logs, &place);
        if last_page.is_none() {
            // The run was not kept, so the exit code must not report success.
            exit = exit.worst(Exit::Internal);
        }
    }
    progress.finish();
    if let Some(said) = tally.words() {
        complain(&said);
    }
    exit = files.iter().fold(exit, |exit, one| exit.worst(tally.exit_of(&one.run)));
    exit = exit.worst(signals.stopped().unwrap_or(Exit::Pass));
    print_result(args, &files, last_page.as_deref())?;
    Ok(exit)
}

/// Checks that the run can be kept, before minutes of measuring are spent. A folder given with `-o` must
/// be writable. Without `-o` there is a fallback folder.
fn can_keep(args: &RunArgs, starts: u32) -> anyhow::Result<()> {
    let place = place(args, starts, &format!("tried-{}", std::process::id()));
    if args.output.is_some() {
        return pushmark_console::output::can_keep(&place);
    }
    match Draft::try_out(&place) {
        Ok(()) => Ok(()),
        Err(error) => {
            let spare = store::places(&place);
            let instead = spare.get(1).and_then(|place| place.parent());
            let instead = instead.map_or("nowhere".to_owned(), |folder| folder.display().to_string());
            complain(&format!("{error:#}; the run will be kept in {instead}"));
            Ok(())
        }
    }
}

fn load(args: &RunArgs, registry: &Registry) -> anyhow::Result<Loaded> {
    let mut more: Vec<Override> = Vec::new();
    more.extend(args.repeat.as_ref().map(|value| Override::flag("--repeat", "repeat", value)));
    let scenario = args.scenario.as_deref();
    if let Some(flood) = &args.flood {
        more.extend(flood.iter().map(|(flag, key, value)| Override::flag(flag, key, value)));
        let loaded = args.asking.load(scenario, &more, registry)?;
        if loaded.scenario.flood.is_some() {
            return Ok(loaded);
        }
        // A scenario without a flood gets the default one.
        let rate = pushmark_model::scenario::Flood::default().rate.to_string();
        more.push(Override::flag("flood", "flood.rate", &rate));
    }
    args.asking.load(scenario, &more, registry)
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
