//! The parts that all measuring commands share: preparing a server, assigning CPUs, making one start of a
//! case, and keeping its run.

mod ending;
mod spooled;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pushmark_model::plan::Plan;
use pushmark_model::run::{CaseRef, RunFiles, ServerRef, VerdictState};
use pushmark_model::units::Nanos;
use pushmark_net::Clock;

use crate::agent::{Crew, Machines};
use crate::fitted::Fitted;
use crate::pages::Pages;
use crate::run::{self, About, ArmDone, Assembled, Setup, Signals, Start, Unserved, is_local, nobody_came};
use crate::scenario_file::Loaded;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::complain;
use pushmark_console::progress::Progress;
use pushmark_host::environment::{Placement, environment};
use pushmark_host::preflight::Machine;
use pushmark_host::server::registry::{Registry, Server};
use pushmark_host::server::version::version;
use pushmark_host::server::{build, cpus, state};
use pushmark_store::KeptFile;
use pushmark_store::hlog::Interval;
use pushmark_store::{self as store, Kept, RESULTS, Utc, run_id};

pub use ending::exit_of;

/// Builds a server if needed, and returns what a run records about it; one that a monitor starts is built there. Call it before CPUs are pinned and
/// signals are handled, so that a build has all CPUs and Ctrl-C ends it.
///
/// # Errors
/// Fails if the build fails. The error has the exit code.
pub fn prepare(
    registry: &Registry,
    server: &Server,
    loaded: &Loaded,
    machines: Option<&Machines>,
    mut say: impl FnMut(&str),
) -> anyhow::Result<ServerRef> {
    let (version, checked) = match machines.and_then(|machines| machines.offer(loaded)) {
        Some(offer) => (offer.version.clone(), offer.checked),
        None => {
            build::ensure(registry, server, &mut say)?;
            // The built-in server is checked with every change of this program.
            let built_in = server.is_this_program() && server.build.is_empty();
            (version(registry, server), built_in || state::checked(registry, server).is_some())
        }
    };
    if !checked {
        say(&format!(
            "{0} is not checked on this machine in its current state; check it with: pushmark check {0}",
            server.name
        ));
    }
    Ok(ServerRef {
        name: server.name.clone(),
        version,
        stands_for: server.stands_for.clone(),
        generation: server.generation.name().to_owned(),
        architecture: server.architecture.map(|a| a.name().to_owned()),
        family: server.family().to_owned(),
        flags: registry.flags(server, &loaded.scenario.target.flags),
        checked,
    })
}

/// The assignment of CPUs. It is made once, and pins this process to its half.
#[derive(Clone, Debug)]
pub struct Cpus {
    /// CPUs of a started server; empty: all.
    server: Vec<u32>,
    /// CPUs of this process; empty: all.
    generator: Vec<u32>,
    /// Number of shards that have a CPU each.
    threads: usize,
}

impl Cpus {
    /// Assigns half of the CPUs to a server that is `started` by pushmark. Without such a server, or with
    /// `--no-pin`, all CPUs are shared.
    ///
    /// # Errors
    /// Fails if the kernel cannot pin this thread.
    pub fn share_out(started: bool, no_pin: bool) -> anyhow::Result<Cpus> {
        if no_pin || !started {
            let threads = cpus::allowed_cpus().map_or(1, |all| all.len());
            return Ok(Cpus { server: Vec::new(), generator: Vec::new(), threads });
        }
        let (server, generator) = cpus::halves_of_cpus()?;
        // This thread and the monitor belong to the generator, so they stay off the server's cores.
        cpus::pin_current_thread(&generator)?;
        Ok(Cpus { server, threads: generator.len(), generator })
    }
}

/// State that all starts of a command share.
#[derive(Debug)]
pub struct Session<'a> {
    /// The reference servers.
    pub registry: &'a Registry,
    /// The assignment of CPUs.
    pub cpus: &'a Cpus,
    /// Stop signals.
    pub signals: &'a Signals,
    /// How results are drawn.
    pub pages: Pages,
    /// Agents on other machines; absent: this machine makes the load.
    pub machines: Option<&'a Machines>,
}

/// One start of a case, and what is kept in addition to its figures.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The number of the start, and of all starts.
    pub start: Start,
    /// The server from [`prepare`]; absent for the user's own target.
    pub server: Option<ServerRef>,
    /// The cell of a suite; absent outside one.
    pub case: Option<CaseRef>,
}

impl Session<'_> {
    /// Makes a new plan of a scenario, runs every arm against a fresh server, and assembles the run.
    ///
    /// # Errors
    /// Fails if this machine cannot hold the plan, or the target does not start or accepts no client. The
    /// error has the exit code.
    pub fn measure(
        &self,
        loaded: &Loaded,
        asking: Asking,
        progress: &mut Progress,
    ) -> anyhow::Result<Assembled> {
        let started = Utc::now();
        let machine = Machine::read(Path::new(RESULTS));
        let fitted = Fitted::new(loaded, self.registry, &machine, self.machines)?;
        if let Some(why) = &fitted.without_ring {
            progress.note(&format!("using epoll instead of io_uring: {why}"));
        }
        if let Some(text) = fitted.refusal(&machine, self.machines) {
            return Err(Ending::error(Exit::Refused, text));
        }
        let monitored = |machines: &&Machines| machines.watches(loaded, fitted.need.target);
        let monitored = |machines| monitored(&machines).map(|watches| watches.then_some(machines));
        let monitor = self.machines.map_or(Ok(None), monitored);
        let monitor = monitor.map_err(|error| Ending::error(Exit::Refused, format!("{error:#}")))?;
        let Fitted { plan, target, need, .. } = fitted;
        let plan = plan.of_run(unique());
        let asked = loaded.scenario.load.drain;
        for arm in plan.arms.iter().filter(|arm| arm.phases.drain_ns > asked.0 && arm.flood.is_none()) {
            let (lasts, gap) = (Nanos(arm.phases.drain_ns), Nanos(arm.longest_gap_ns().unwrap_or(0)));
            let transport = arm.transport;
            progress.note(&format!(
                "{transport}: drain lasts {lasts} instead of {asked}: polls of a client are up to {gap} apart"
            ));
        }
        pushmark_probes::ready(&plan)?;
        let Cpus { server: server_cpus, generator: generator_cpus, threads } = self.cpus.clone();
        let agents = loaded.scenario.agents;
        let program = std::env::current_exe().context("the path of this program")?;
        let asked = loaded.scenario.threads.map_or(threads as u64, u64::from);
        let shards = asked.max(need.shards(machine.open_files.1)).max(u64::from(agents)) as u32;
        let (crew, shards) = match self.machines.filter(|machines| machines.make_load()) {
            Some(machines) => (Crew::Machines(machines), machines.threads()),
            None => (Crew::of(agents, &program), shards),
        };
        if let Some(machines) = self.machines {
            let thresholds = ending::thresholds(&loaded.scenario, &plan, asking.case.is_some());
            let cell = (asking.server.clone(), asking.case.clone());
            machines.keep_with_records(spooled::text_of(loaded, &plan, cell, started, &thresholds));
        }
        let setup = Setup {
            target: &target,
            shards,
            crew,
            monitor,
            server_cpus: server_cpus.clone(),
            generator_cpus: generator_cpus.clone(),
            signals: self.signals,
            began_ns: Clock::now(),
        };
        let done = run::arms(&plan, &setup, asking.start, progress)
            .map_err(|broken| Ending::error(broken.exit, broken.to_string()))?;
        reached(&done, &plan)?;
        Ok(self.together(loaded, &plan, asking, done, (started, need.same_host)))
    }

    /// Makes a run of a case that could not be measured. Every arm contains the error.
    pub fn failed(
        &self,
        loaded: &Loaded,
        asking: Asking,
        error: &anyhow::Error,
    ) -> anyhow::Result<Assembled> {
        let plan = loaded.plan.of_run(unique());
        let same_host = loaded.server.is_some() || plan.arms.first().is_some_and(is_local);
        let done = run::failed(&plan, Ending::exit_of(error), &format!("{error:#}"));
        Ok(self.together(loaded, &plan, asking, done, (Utc::now(), same_host)))
    }

    fn together(
        &self,
        loaded: &Loaded,
        plan: &Plan,
        asking: Asking,
        done: Vec<ArmDone>,
        (started, same_host): (Utc, bool),
    ) -> Assembled {
        let named = |cpus: &[u32]| (!cpus.is_empty()).then(|| cpus.to_vec());
        let server_cpus = named(&self.cpus.server);
        let placement = Placement { server_cpus, generator_cpus: named(&self.cpus.generator), same_host };
        let machine = environment(placement, Default::default());
        let calibration = store::last_calibration(&machine);
        let about = About {
            started,
            command: command_line(),
            scenario: loaded.scenario.redacted_value(),
            plan: loaded.scenario.redacted_plan(plan),
            text: Some(loaded.redacted_text()),
            environment: machine,
            expressions: &ending::thresholds(&loaded.scenario, plan, asking.case.is_some()),
            selftest: store::last_selftest(),
            calibration,
        };
        let mut assembled = run::assemble(plan, about, done);
        assembled.run.environment.server = asking.server;
        if let Some(case) = &asking.case {
            // The first study named its folders in this way: time, server, type, clients, duration.
            let measured_s = plan.arms.first().map_or(0.0, |arm| arm.phases.measure_ns as f64 / 1e9);
            assembled.run.id = run_id(started, &format!("{}-{measured_s}s", case.id));
        }
        assembled.run.case = asking.case;
        assembled
    }
}

/// Returns the command that repeats this run.
pub(crate) fn command_line() -> String {
    std::env::args().enumerate().map(|(n, word)| shown(n, &word)).collect::<Vec<_>>().join(" ")
}

/// Quotes an argument of the command line for a shell. The program is shown by its name only.
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

/// Returns a number that no other run has, so that stamps of two runs differ.
fn unique() -> u64 {
    Clock::realtime() ^ u64::from(std::process::id()) << 40
}

/// Fails if a target accepted no client, because nothing was measured. The error has the target's answer.
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

impl Session<'_> {
    /// Keeps the newest run. Its page shows all starts so far. Returns the path of the page, or `None` if no
    /// folder could keep the run. Errors are printed with `--quiet` too.
    pub fn keep(
        &self,
        files: &[RunFiles],
        intervals: &[Interval],
        logs: &[KeptFile],
        place: &Path,
    ) -> Option<String> {
        let folder = self.keep_run(files, intervals, logs, place)?;
        Some(folder.join("report.html").display().to_string())
    }

    /// Does the same as [`Session::keep`], and returns the folder of the run.
    pub fn keep_run(
        &self,
        files: &[RunFiles],
        intervals: &[Interval],
        logs: &[KeptFile],
        place: &Path,
    ) -> Option<PathBuf> {
        let newest = &files[files.len() - 1];
        let draw = self.pages.runs;
        // A page that cannot be drawn must not cost the run.
        let html = std::panic::catch_unwind(|| draw(files)).ok();
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
        Some(saved.folder)
    }
}
