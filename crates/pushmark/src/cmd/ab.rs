//! `pushmark ab`: measures two scenarios, or one scenario with two values, in turn and compares them.

use std::path::{Path, PathBuf};

use clap::Args;
use pushmark_model::scenario::Override;

use super::asking::{AskingArgs, set};
use super::compare::{JudgingArgs, judged};
use super::measuring::MeasuringArgs;
use super::mistakes::usage;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, can_keep, print};
use pushmark_console::progress::Progress;
use pushmark_console::redact;
use pushmark_host::server::registry::Registry;
use pushmark_run::compare::Set;
use pushmark_run::fitted::starts_here;
use pushmark_run::run::Signals;
use pushmark_run::session::{Cpus, Session, prepare};
use pushmark_run::sitting::{Side, Table};
use pushmark_store::{RESULTS, Utc, run_id};

/// The default number of starts of each side. Four blocks of A B B A can be arranged in 1,296 ways,
/// which is enough to show a difference among 32 tests.
const STARTS: u32 = 8;

/// Flags of `ab`.
#[derive(Args, Clone, Debug)]
pub struct AbArgs {
    /// The baseline: a scenario file, or a URL to observe
    #[arg(value_name = "A")]
    pub a: String,
    /// The candidate: a scenario file or a URL; default: A, with the keys of --set-b
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// Set any key of A's scenario only
    #[arg(long = "set-a", value_name = "KEY=VALUE")]
    pub sets_a: Vec<String>,
    /// Set any key of B's scenario only, such as target.server=NAME
    #[arg(long = "set-b", value_name = "KEY=VALUE")]
    pub sets_b: Vec<String>,
    /// Usable starts of each side; default: `repeat` of A's scenario if it is above 1, else 8. At most
    /// twice this number are made
    #[arg(long, value_name = "N", visible_alias = "repeat")]
    pub starts: Option<u32>,
    /// Folder of the results; must not exist, unless --resume is given
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Continue the measurement in -o, after an interruption or for more starts
    #[arg(long, requires = "output")]
    pub resume: bool,
    /// The metric and conditions of the comparison
    #[command(flatten)]
    pub judging: JudgingArgs,
    /// Flags that set keys of both scenarios
    #[command(flatten)]
    pub asking: AskingArgs,
    /// Flags of every command that measures
    #[command(flatten)]
    pub measuring: MeasuringArgs,
}

/// Measures both scenarios in turn, keeps every run and prints the comparison.
///
/// # Errors
/// Fails if the measurement ends before both sides were measured. The error has the exit code.
pub fn run(args: &AbArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    if args.asking.one_line.save.is_some() {
        return Err(Ending::error(
            Exit::Usage,
            "--save writes one scenario, and ab has two; use it with run or try",
        ));
    }
    let judging = args.judging.read()?;
    let registry = Registry::load(args.measuring.servers.as_deref()).map_err(usage)?;
    let b = args.b.as_deref().unwrap_or(&args.a);
    let mut sides = [side(args, &args.a, &args.sets_a, &registry)?, side(args, b, &args.sets_b, &registry)?];
    let wanted = match (args.starts, sides[0].loaded.scenario.repeat) {
        (Some(0), _) => return Err(Ending::error(Exit::Usage, "--starts 0: expected at least 1")),
        (Some(starts), _) => starts,
        (None, repeat) if repeat > 1 => repeat,
        (None, _) => STARTS,
    };
    let table = table(args, &sides)?;
    let machines = args.measuring.machines.claim(0)?;
    let machines = machines.as_ref();
    let say = |text: &str| args.measuring.say(text);
    for side in &mut sides {
        if let Some(server) = &side.loaded.server {
            side.server = Some(prepare(&registry, server, &side.loaded, machines, say)?);
        }
    }
    let started = sides.iter().any(|side| starts_here(&side.loaded, machines));
    let cpus = Cpus::share_out(started, args.measuring.no_pin)?;
    let signals = Signals::listen()?;
    let session =
        Session { registry: &registry, cpus: &cpus, signals: &signals, pages: super::pages::PAGES, machines };
    let mut progress = Progress::new(args.measuring.quiet);
    let (table, folder) = table;
    let done = table.fill(&sides, wanted, &session, &mut progress)?;
    let [a, b] = done.runs;
    if a.is_empty() || b.is_empty() {
        // The measurement was stopped before both sides had a start.
        return Ok(done.exit);
    }
    let sets = [Set::new(&sides[0].given, a)?, Set::new(&sides[1].given, b)?];
    let (mut text, judged) = judged(&sets[0], &sets[1], &judging, args.measuring.format)?;
    if args.measuring.format == Format::Text {
        text += &format!("\n  runs     {}\n", folder.display());
    }
    print(&text)?;
    Ok(done.exit.worst(judged))
}

fn side(args: &AbArgs, scenario: &str, sets: &[String], registry: &Registry) -> anyhow::Result<Side> {
    let overrides: Vec<Override> = sets.iter().map(|text| set(text)).collect::<Result<_, _>>()?;
    let loaded = args.asking.load(Some(scenario), &overrides, registry)?;
    let given =
        std::iter::once(scenario.to_owned()).chain(sets.iter().cloned()).collect::<Vec<_>>().join(" ");
    // A `--set` may contain a credential. Loading the scenario made it known to `redact`.
    Ok(Side { given: redact::text(&given), loaded, server: None })
}

/// Returns the table and its folder: a new folder, or the one to resume.
fn table(args: &AbArgs, sides: &[Side; 2]) -> anyhow::Result<(Table, PathBuf)> {
    let id = run_id(Utc::now(), &format!("ab-{}", sides[0].loaded.scenario.name));
    let folder = args.output.clone().unwrap_or_else(|| Path::new(RESULTS).join(&id));
    let is_there = folder.symlink_metadata().is_ok();
    if is_there && args.resume {
        let table = Table::resume(&folder, sides)?;
        can_keep(&folder.join(format!("tried-{}", std::process::id())))?;
        return Ok((table, folder));
    }
    if is_there {
        let text = format!(
            "-o {}: this folder already exists; name a new folder, or continue in it with --resume",
            folder.display()
        );
        return Err(Ending::error(Exit::Usage, text));
    }
    if args.output.is_some() {
        can_keep(&folder)?;
    }
    Ok((Table::new(&folder, id), folder))
}
