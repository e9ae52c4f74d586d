//! The bench: runs the scenarios of the checks and keeps their results.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, bail};
use pushmark_model::histogram::Distribution;
use pushmark_model::poller::Poller;
use pushmark_model::run::RunFiles;
use pushmark_model::run::{Arm, Delivery, Latency, Published, Run};
use pushmark_model::suite::Cooldown;
use pushmark_model::units;
use pushmark_net::Clock;

use super::log::TruthLog;
use super::scenario::Ask;
use super::{Check, Family, Scale, State};
use pushmark_console::progress::Progress;
use pushmark_host::environment::{Placement, environment};
use pushmark_host::quiet;
use pushmark_host::server::cpus;
use pushmark_host::server::registry::Registry;
use pushmark_run::agent::Crew;
use pushmark_run::run::{self, About, Setup, Signals, Start};
use pushmark_run::scenario_file::{self, Asked};
use pushmark_run::target::Target;
use pushmark_store::Utc;

/// Repeats of a check of times whose run was disturbed.
const REPEATS_MAX: u32 = 7;
/// Longest wait before a repeat until the host is idle.
const CALM: Cooldown = Cooldown { quiet: 0.1, max: units::Nanos(10_000_000_000) };

/// Runs scenarios and keeps the checks.
#[derive(Debug)]
pub struct Bench {
    pub(super) program: PathBuf,
    pub(super) scale: Scale,
    folder: PathBuf,
    signals: Signals,
    registry: Registry,
    poller: Poller,
    runs: u32,
    checks: Vec<Check>,
    /// Arms whose fates did not add up.
    unequal: Vec<String>,
}

/// The result of one run.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) files: RunFiles,
    truth: Option<TruthLog>,
}

/// The result of one attempt at a check of times.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    /// Why its runs are not valid, and which disturbances their own figures show. A failed check with an
    /// excuse does not count.
    pub(super) excuses: Vec<String>,
    pub(super) checks: Vec<Check>,
}

impl Bench {
    /// A bench whose servers are started from `program`, the `pushmark` executable. A stop signal ends the
    /// current run and the bench.
    ///
    /// # Errors
    /// Fails if the temporary folder cannot be written.
    pub fn new(program: &Path, scale: Scale, signals: Signals) -> anyhow::Result<Bench> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pushmark-truth-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // Left by a killed process with the same process id.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Bench {
            program: program.to_owned(),
            scale,
            folder,
            signals,
            registry: Registry::embedded(),
            poller: Poller::Epoll,
            runs: 0,
            checks: Vec::new(),
            unequal: Vec::new(),
        })
    }

    /// The same bench with another poller in its generators.
    pub fn by(mut self, poller: Poller) -> Bench {
        self.poller = poller;
        self
    }

    /// Makes the checks of a family and one more: in every run the fates must add up.
    ///
    /// # Errors
    /// Fails if a run cannot be made.
    pub fn check(&mut self, family: &Family) -> anyhow::Result<Vec<Check>> {
        let runs_before = self.runs;
        (family.run)(self).with_context(|| format!("the checks of {}", family.name))?;
        let arms = self.runs - runs_before;
        let unequal = std::mem::take(&mut self.unequal);
        let got = if unequal.is_empty() { "the sum in each".to_owned() } else { unequal.join("; ") };
        let name = format!("{}: fates of {arms} runs", family.name);
        self.keep(Check::holds(name, "intended is the sum", got, unequal.is_empty()));
        Ok(std::mem::take(&mut self.checks))
    }

    pub(super) fn keep(&mut self, check: Check) {
        self.checks.push(check);
    }

    /// A path in this bench's folder that no other run has.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{:03}-{name}", self.runs))
    }

    /// Writes a scenario to a file. Returns the path of the file and the path of the server's truth log.
    pub(super) fn write(&mut self, ask: &Ask) -> anyhow::Result<(PathBuf, PathBuf)> {
        if self.signals.stopped().is_some() {
            bail!("stopped by a signal");
        }
        self.runs += 1;
        let (scenario, truth) = (self.path("scenario.toml"), self.path("truth.csv"));
        let text = ask.text(&self.program.display().to_string(), &truth.display().to_string());
        let poller = ask.poller().unwrap_or(self.poller);
        std::fs::write(&scenario, format!("poller = \"{}\"\n{text}", poller.name()))?;
        Ok((scenario, truth))
    }

    /// Runs a scenario of one arm as `pushmark run` does.
    pub(super) fn run(&mut self, ask: &Ask) -> anyhow::Result<Measured> {
        let (path, truth) = self.write(ask)?;
        let before = cpus::allowed_cpus()?;
        let ran = self.run_file(&path);
        cpus::pin_current_thread(&before)?;
        let files = ran?;
        let truth = if truth.exists() { Some(TruthLog::read(&truth)?) } else { None };
        let measured = Measured { files, truth };
        self.add_up(&measured.files.run)?;
        Ok(measured)
    }

    fn run_file(&self, path: &Path) -> anyhow::Result<RunFiles> {
        let loaded = scenario_file::load(&Asked::File(path), &[], &self.registry)?;
        let plan = loaded.plan.of_run(Clock::realtime());
        let target = Target::with_program(&loaded, &self.registry, &self.program)?;
        let (server_cpus, generator_cpus) = match target.is_started() {
            true => cpus::halves_of_cpus()?,
            false => (Vec::new(), Vec::new()),
        };
        if !generator_cpus.is_empty() {
            cpus::pin_current_thread(&generator_cpus)?;
        }
        let named = |cpus: &[u32]| (!cpus.is_empty()).then(|| cpus.to_vec());
        let placement = Placement {
            server_cpus: named(&server_cpus),
            generator_cpus: named(&generator_cpus),
            same_host: true,
        };
        let shards = loaded.scenario.threads.unwrap_or(generator_cpus.len() as u32).max(1);
        let setup = Setup {
            target: &target,
            shards,
            monitor: None,
            crew: Crew::of(loaded.scenario.agents, &self.program),
            server_cpus,
            generator_cpus,
            signals: &self.signals,
            began_ns: Clock::now(),
        };
        let started = Utc::now();
        let start = Start { number: 1, of: 1 };
        let done = run::arms(&plan, &setup, start, &mut Progress::new(true))
            .map_err(|broken| broken.error.context("a run of a check"))?;
        if self.signals.stopped().is_some() {
            bail!("stopped by a signal");
        }
        let about = About {
            started,
            command: "pushmark selftest".to_owned(),
            scenario: loaded.scenario.redacted_value(),
            plan: loaded.scenario.redacted_plan(&plan),
            text: None,
            environment: environment(placement, Default::default()),
            expressions: &loaded.scenario.expressions(),
            selftest: None,
            calibration: None,
        };
        let assembled = run::assemble(&plan, about, done);
        Ok(RunFiles { run: assembled.run, windows: assembled.windows })
    }

    /// Checks that the fates add up, which must hold in every run.
    pub(super) fn add_up(&mut self, run: &Run) -> anyhow::Result<()> {
        for arm in &run.arms {
            let d = arm.delivery.as_ref().context("a run that publishes")?;
            let told =
                d.delivered + d.late + d.missing + d.superseded + d.excused + d.unserved + d.unpublished;
            let expected = d.intended - d.unserved - d.unpublished - d.excused - d.superseded;
            if told != d.intended || expected != d.expected || d.intended == 0 {
                let seen = format!("run {}: {told} of {}", self.runs, d.intended);
                self.unequal.push(seen);
            }
        }
        Ok(())
    }

    /// Makes a check of times. Repeats a failed check if its runs were not valid or were disturbed. A
    /// disturbance excuses a failure; a success needs no excuse.
    pub(super) fn timed(
        &mut self,
        mut attempt: impl FnMut(&mut Bench) -> anyhow::Result<Attempt>,
    ) -> anyhow::Result<()> {
        let mut repeats = 0;
        loop {
            let mut tried = attempt(self)?;
            let failed = tried.checks.iter().any(|check| check.state == State::Failed);
            let excused = failed && !tried.excuses.is_empty();
            if excused && repeats < REPEATS_MAX {
                repeats += 1;
                self.wait_for_quiet();
                continue;
            }
            tried.excuses.dedup();
            for check in &mut tried.checks {
                check.repeats = repeats;
                if excused && check.state == State::Failed {
                    check.state = State::Undecided;
                    check.got += &format!(" (disturbed: {})", tried.excuses.join(", "));
                }
            }
            self.checks.append(&mut tried.checks);
            return Ok(());
        }
    }

    /// Waits for the disturbance of the last attempt to end.
    fn wait_for_quiet(&self) {
        let stop = || self.signals.stopped().is_some();
        quiet::wait(&CALM, |time| quiet::busy_share(time, stop), stop, |_, _| {});
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Attempt {
    /// Adds the verdict reasons of another run to the excuses of this attempt.
    pub(super) fn of(&mut self, measured: &Measured) {
        self.of_all_but(measured, &[]);
    }

    /// Like `of`, without the reasons that do not affect the comparison.
    pub(super) fn of_all_but(&mut self, measured: &Measured, passed_over: &[&str]) {
        for reason in &measured.files.run.verdict.reasons {
            if !passed_over.contains(&reason.code.as_str()) && !self.excuses.contains(&reason.code) {
                self.excuses.push(reason.code.clone());
            }
        }
    }
}

impl Measured {
    pub(super) fn arm(&self) -> &Arm {
        &self.files.run.arms[0]
    }

    pub(super) fn delivery(&self) -> &Delivery {
        self.arm().delivery.as_ref().expect("looked at when the fates were added up")
    }

    pub(super) fn published(&self) -> &Published {
        self.arm().published.as_ref().expect("something is published in every check")
    }

    pub(super) fn truth(&self) -> anyhow::Result<&TruthLog> {
        self.truth.as_ref().context("the server left no truth log")
    }

    /// Whether a reason of the verdict has this code.
    pub(super) fn doubted(&self, code: &str) -> bool {
        self.files.run.verdict.reasons.iter().any(|reason| reason.code == code)
    }
}

/// Decodes a distribution of the run.
pub(super) fn distribution(latency: &Latency) -> anyhow::Result<Distribution> {
    Distribution::decode(&latency.histogram, &latency.histogram_negative, latency.over_1h)
        .context("the run's histogram cannot be read")
}
