//! The loop of a suite: makes every start of every case in the drawn order, each against a fresh server on
//! a quiet host, and keeps each run at once. A case that cannot be measured is kept with its reason.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use pushmark_model::run::RunFiles;
use pushmark_model::run::{CaseRef, ServerRef, VerdictState};
use pushmark_net::Clock;

use super::Loaded;
use super::folder::{Folder, is_interrupted};
use super::order::{Turn, turns};
use super::plan_text::START_S;
use crate::agent::Machines;
use crate::fitted::starts_here;
use crate::pages::Pages;
use crate::run::{Assembled, Signals, Start};
use crate::session::{Asking, Cpus, Session, exit_of, prepare};
use crate::verdict;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::can_keep;
use pushmark_console::progress::{Head, Progress};
use pushmark_host::quiet;
use pushmark_host::server::registry::Registry;
use pushmark_store::{RESULTS, Utc, run_id};

/// Share of the time between two renderings of the page that a rendering may take.
const PAGE_SHARE: f64 = 0.05;

/// The options of `run` in addition to the suite.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The suite's folder; absent: a new one under the results.
    pub output: Option<&'a Path>,
    /// Whether to continue with the runs in it.
    pub resume: bool,
    /// Starts of each case to make now; absent: as many as the folder asks for.
    pub repeat: Option<u32>,
    /// Time after which no case may still run; absent: until all are done.
    pub time: Option<Duration>,
    /// Server and generator share all CPUs.
    pub no_pin: bool,
    /// No progress.
    pub quiet: bool,
    /// The requested cases.
    pub chosen: &'a [bool],
    /// How results are drawn.
    pub pages: Pages,
    /// Agents on other machines; absent: this machine makes the load.
    pub machines: Option<&'a Machines>,
}

/// The result of the loop.
#[derive(Debug)]
pub struct Done {
    /// The suite's folder.
    pub folder: PathBuf,
    /// Its complete runs, including those of earlier sittings.
    pub files: Vec<RunFiles>,
    /// How the process ends.
    pub exit: Exit,
}

/// Runs the missing turns.
///
/// # Errors
/// Fails before anything is measured if the folder cannot be used, or if this machine can hold no case.
pub fn run(
    loaded: &mut Loaded,
    asked: &Asked<'_>,
    registry: &Registry,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Done> {
    let began = Instant::now();
    let mut folder = open(loaded, asked, say)?;
    let todo = todo(loaded, asked, &folder)?;
    if folder.done.is_empty() {
        say(&format!("{}: {}", loaded.suite.name, folder.path.display()));
    } else {
        say(&format!("{} runs of the suite are done; {} remain", folder.done.len(), todo.len()));
    }
    let servers = Servers::prepare(loaded, (registry, asked.machines), &todo, say);
    let started = todo.iter().any(|turn| starts_here(&loaded.scenarios[turn.case], asked.machines));
    if let Some(text) = (!asked.quiet).then(|| quiet::before_a_run(verdict::foreign_cpu_from())).flatten() {
        say(&text);
    }
    let cpus = Cpus::share_out(started, asked.no_pin)?;
    let signals = Signals::listen()?;
    let session =
        Session { registry, cpus: &cpus, signals: &signals, pages: asked.pages, machines: asked.machines };
    let mut going = Going {
        loaded,
        session: &session,
        servers: &servers,
        progress: Progress::new(asked.quiet),
        folder: &mut folder,
        overheads: Vec::new(),
        drawn: Instant::now(),
        drawing: Duration::ZERO,
    };
    let (mut exit, left) = going.through(todo, asked.time.map(|time| began + time))?;
    going.progress.finish();
    going.draw_page();
    if left > 0 {
        say(&format!("{left} starts did not fit into --for: --resume makes them"));
    }
    let files = folder.files();
    exit = files.iter().fold(exit, |exit, one| exit.worst(exit_of(&one.run)));
    exit = exit.worst(signals.stopped().unwrap_or(Exit::Pass));
    Ok(Done { folder: folder.path.clone(), files, exit })
}

/// The folder: a new one, or the one that is resumed.
fn open(loaded: &mut Loaded, asked: &Asked<'_>, say: &mut dyn FnMut(&str)) -> anyhow::Result<Folder> {
    let place = match asked.output {
        Some(output) => output.to_owned(),
        None => Path::new(RESULTS).join(run_id(Utc::now(), &loaded.suite.name)),
    };
    let is_there = place.symlink_metadata().is_ok();
    if is_there && !asked.resume {
        let text = format!(
            "-o {}: this folder already exists; name a new folder, or continue in it with --resume",
            place.display()
        );
        return Err(Ending::error(Exit::Usage, text));
    }
    if !is_there {
        can_keep(&place)?;
        return Folder::begin(&place, &loaded.suite);
    }
    can_keep(&place.join(format!("tried-{}", std::process::id())))?;
    let wanted = loaded.suite.repeat;
    let (folder, unusable) = Folder::resume(&place, &mut loaded.suite)?;
    unusable.iter().for_each(|text| say(text));
    if loaded.suite.repeat > wanted && asked.repeat.is_none() {
        say(&format!("each case keeps its {} starts, not {wanted}", loaded.suite.repeat));
    }
    Ok(folder)
}

/// The requested turns that this machine can hold and that are not done, in order.
fn todo(loaded: &Loaded, asked: &Asked<'_>, folder: &Folder) -> anyhow::Result<Vec<Turn>> {
    let suite = &loaded.suite;
    let wanted = |turn: &Turn| {
        let asked_for = asked.chosen[turn.case] && asked.repeat.is_none_or(|most| turn.repeat <= most);
        asked_for && !folder.done.contains_key(turn)
    };
    let all = turns(suite.cases.len(), suite.repeat, loaded.order, suite.seed);
    let missing: Vec<Turn> = all.into_iter().filter(wanted).collect();
    let todo: Vec<Turn> =
        missing.iter().copied().filter(|turn| suite.cases[turn.case].refused.is_none()).collect();
    match (missing.first(), todo.is_empty() && folder.done.is_empty()) {
        (Some(first), true) => {
            let case = &suite.cases[first.case];
            let why = case.refused.as_deref().unwrap_or_default();
            let text = format!("this machine refuses every selected case\n  {}: {why}", case.id);
            Err(Ending::error(Exit::Refused, text))
        }
        _ => Ok(todo),
    }
}

/// The servers with their flags: each is built and asked for its version before anything is measured. A
/// server that cannot be built fails only its own cases.
struct Servers(BTreeMap<(String, String), Result<ServerRef, String>>);

impl Servers {
    fn prepare(
        loaded: &Loaded,
        (registry, machines): (&Registry, Option<&Machines>),
        todo: &[Turn],
        say: &mut dyn FnMut(&str),
    ) -> Servers {
        let mut known = BTreeMap::new();
        for turn in todo {
            let scenario = &loaded.scenarios[turn.case];
            let Some(server) = &scenario.server else { continue };
            known.entry(Servers::key(scenario)).or_insert_with(|| {
                prepare(registry, server, scenario, machines, &mut *say).map_err(|error| {
                    say(&format!("{error:#}"));
                    format!("{error:#}")
                })
            });
        }
        Servers(known)
    }

    fn key(scenario: &crate::scenario_file::Loaded) -> (String, String) {
        let target = &scenario.scenario.target;
        (target.server.clone().unwrap_or_default(), format!("{:?}", target.flags))
    }

    /// The server of a case; absent for the user's own target.
    fn of(&self, scenario: &crate::scenario_file::Loaded) -> anyhow::Result<Option<ServerRef>> {
        match self.0.get(&Servers::key(scenario)) {
            None => Ok(None),
            Some(Ok(server)) => Ok(Some(server.clone())),
            Some(Err(why)) => Err(Ending::error(Exit::Unreachable, why.clone())),
        }
    }
}

/// A running suite.
struct Going<'g> {
    loaded: &'g Loaded,
    session: &'g Session<'g>,
    servers: &'g Servers,
    progress: Progress,
    folder: &'g mut Folder,
    // The time that starts took beyond their plans, s.
    overheads: Vec<f64>,
    drawn: Instant,
    drawing: Duration,
}

impl Going<'_> {
    /// Makes the starts in their order, without those that would not end by `until`. Also returns how many
    /// those were.
    fn through(&mut self, mut todo: Vec<Turn>, until: Option<Instant>) -> anyhow::Result<(Exit, usize)> {
        let mut left = 0;
        loop {
            if let Some(until) = until {
                let before = todo.len();
                todo.retain(|turn| Instant::now() + self.takes(turn) <= until);
                left += before - todo.len();
            }
            let Some(&turn) = todo.first() else { break };
            self.progress.head(self.head(&todo));
            todo.remove(0);
            let quiet = self.cool_down();
            if self.session.signals.stopped().is_some() {
                break;
            }
            let began = Instant::now();
            let (mut assembled, failed) = self.start(turn)?;
            if failed && self.session.signals.stopped().is_some() {
                // Stopped while its server started: there is no result.
                break;
            }
            if let Some(busy) = quiet.busy {
                let settings = &mut assembled.run.environment.settings;
                settings.insert("cooldown_s".to_owned(), format!("{:.1}", quiet.waited.as_secs_f64()));
                settings.insert("cooldown_busy".to_owned(), format!("{busy:.3}"));
            }
            if assembled.run.arms.is_empty() {
                // Stopped before anything began: there is nothing to keep.
                break;
            }
            let took_s = (began.elapsed() + quiet.waited).as_secs_f64();
            if !failed && !is_interrupted(&assembled.run) {
                self.overheads.push((took_s - self.loaded.suite.cases[turn.case].planned_s).max(0.0));
            }
            if !self.keep(turn, assembled) {
                // The run was not kept: the exit code must not report success, and the suite must stop.
                return Ok((Exit::Internal, left));
            }
            self.draw_page_if_cheap();
        }
        Ok((Exit::Pass, left))
    }

    /// The time that a start takes: its plan, and what earlier starts took beyond theirs.
    fn takes(&self, turn: &Turn) -> Duration {
        Duration::from_secs_f64(self.loaded.suite.cases[turn.case].planned_s + self.overhead_s())
    }

    /// Mean time beyond the plan, s.
    fn overhead_s(&self) -> f64 {
        match self.overheads.len() {
            0 => START_S,
            n => self.overheads.iter().sum::<f64>() / n as f64,
        }
    }

    fn cool_down(&mut self) -> quiet::Quiet {
        let signals = self.session.signals;
        let stop = || signals.stopped().is_some();
        let progress = &mut self.progress;
        let cooldown = &self.loaded.cooldown;
        let quiet = quiet::wait(
            cooldown,
            |time| quiet::busy_share(time, stop),
            stop,
            |waited, busy| {
                let text = format!("cooling down {} s, {:.0} % busy", waited.as_secs(), busy * 100.0);
                progress.waiting(Clock::now(), &text);
            },
        );
        if let (Some(busy), false, false) = (quiet.busy, quiet.reached, stop()) {
            let text = "the host does not become quiet between cases";
            let seen = format!("{text}: {:.0} % busy after {}", busy * 100.0, cooldown.max);
            progress.trouble(&seen);
        }
        quiet
    }

    /// Makes one start. Returns its run and whether it failed.
    fn start(&mut self, turn: Turn) -> anyhow::Result<(Assembled, bool)> {
        let (loaded, session) = (self.loaded, self.session);
        let scenario = &loaded.scenarios[turn.case];
        let suite = &loaded.suite;
        let start = Start { number: turn.repeat, of: suite.repeat };
        let case = &suite.cases[turn.case];
        let case = CaseRef {
            suite: suite.name.clone(),
            id: case.id.clone(),
            axes: case.axes.clone(),
            repeat: turn.repeat,
            scale: suite.scale,
            scale_time: suite.scale_time,
        };
        let asking = |server| Asking { start, server, case: Some(case.clone()) };
        let measured = match self.servers.of(scenario) {
            Err(error) => Err(error),
            Ok(server) => {
                let progress = &mut self.progress;
                let asking = asking(server);
                caught(|| session.measure(scenario, asking, progress))
            }
        };
        match measured {
            Ok(assembled) => Ok((assembled, false)),
            Err(error) => {
                let server = self.servers.of(scenario).ok().flatten();
                let failed = session.failed(scenario, asking(server), &error);
                failed.map(|failed| (failed, true)).with_context(|| format!("after {error:#}"))
            }
        }
    }

    /// Keeps a run in the suite's folder. Returns false if that fails.
    fn keep(&mut self, turn: Turn, assembled: Assembled) -> bool {
        let Assembled { run, windows, intervals, logs } = assembled;
        let files = RunFiles { run, windows };
        let place = self.folder.path.join(&files.run.id);
        let kept = self.session.keep_run(std::slice::from_ref(&files), &intervals, &logs, &place);
        let here = kept.is_some_and(|folder| folder == place);
        if here {
            // Reported only after it is kept, so that readers can rely on it.
            let case = &self.loaded.suite.cases[turn.case].id;
            self.progress.case_ended(case, &files.run);
            self.folder.kept(&self.loaded.suite, turn, &files.run);
        }
        here
    }

    /// Returns the progress of the suite. The remaining time is that of the plan plus the overrun so far.
    fn head(&self, rest: &[Turn]) -> Head {
        let planned_s: f64 = rest.iter().map(|turn| self.loaded.suite.cases[turn.case].planned_s).sum();
        let states: Vec<VerdictState> = self.folder.done.values().map(|whole| whole.state).collect();
        let count = |state| states.iter().filter(|s| **s == state).count();
        let next = rest.first().map(|turn| self.loaded.suite.cases[turn.case].id.clone());
        Head {
            done: self.folder.done.len(),
            of: self.folder.done.len() + rest.len(),
            verdicts: [
                VerdictState::Valid,
                VerdictState::Suspect,
                VerdictState::Incomplete,
                VerdictState::Invalid,
            ]
            .map(|state| (state, count(state))),
            left_s: planned_s + rest.len() as f64 * self.overhead_s(),
            case: next.unwrap_or_default(),
        }
    }

    /// Draws the page if that takes a small share of the time since it was last drawn.
    fn draw_page_if_cheap(&mut self) {
        if self.drawing.as_secs_f64() <= self.drawn.elapsed().as_secs_f64() * PAGE_SHARE {
            self.draw_page();
        }
    }

    /// Renders the page. If that fails, the suite continues.
    fn draw_page(&mut self) {
        let began = Instant::now();
        let files = self.folder.files();
        let (suite, draw) = (&self.loaded.suite, self.session.pages.suite);
        if let Ok(html) = catch_unwind(|| draw(suite, &files))
            && let Err(error) = self.folder.write("report.html", html.as_bytes())
        {
            self.progress.trouble(&format!("{error:#}"));
        }
        (self.drawn, self.drawing) = (Instant::now(), began.elapsed());
    }
}

/// Returns the measurement or its error: a failure of pushmark ends only its case.
fn caught<T>(measure: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    catch_unwind(AssertUnwindSafe(measure))
        .unwrap_or_else(|panic| Err(anyhow::anyhow!("pushmark itself failed: {}", words(&*panic))))
}

/// Returns the message of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn a_panic_is_the_reason_of_its_case() {
        let why = |measure: fn() -> anyhow::Result<u8>| caught(measure).map_err(|error| error.to_string());
        assert_eq!(why(|| Ok(1)), Ok(1));
        assert_eq!(
            why(|| panic!("shard {} lost", 3)),
            Err("pushmark itself failed: shard 3 lost".to_owned())
        );
        assert_eq!(why(|| panic!("no shard")), Err("pushmark itself failed: no shard".to_owned()));
        assert_eq!(why(|| Err(anyhow::anyhow!("the server's"))), Err("the server's".to_owned()));
    }
}
