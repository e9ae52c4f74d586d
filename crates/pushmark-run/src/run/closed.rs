//! An arm that has ended: what is left of it becomes figures, and the figures are judged.

use std::time::Duration;

use pushmark_host::monitor::{Sample, figures};
use pushmark_host::server::heap;
use pushmark_model::monitor::ServerSeen;
use pushmark_model::plan::ArmPlan;
use pushmark_model::run::{Arm, Ingest, LastWords, Outcome, Window};
use pushmark_probes::Probes;
use pushmark_store::KeptFile;

use super::figures::figures_of;
use super::flooding::After;
use super::machines::{self, Agents};
use super::setup::Setup;
use super::steering::Steering;
use super::{ArmDone, beside, facts};
use crate::agent::{Spent, WatchDone};
use crate::gather::Gathered;
use crate::marks::Marks;
use crate::verdict::{self, AgentLost, Facts};

/// What is left of an arm.
pub(super) struct Closed<'a> {
    pub(super) plan: ArmPlan,
    pub(super) setup: &'a Setup<'a>,
    pub(super) start_ns: u64,
    /// Since its start, if a signal stopped it.
    pub(super) stopped_after_ns: Option<u64>,
    pub(super) gathered: Gathered,
    pub(super) marks: Marks,
    pub(super) samples: Vec<Sample>,
    /// Processes of the generator and of the server.
    pub(super) ours: Vec<i32>,
    pub(super) knows_server: bool,
    /// What the server says of itself.
    pub(super) says: Option<serde_json::Value>,
    /// What its feed alone cost.
    pub(super) ingest: Option<Ingest>,
    /// How the server ended by itself, and when, from the arm's start.
    pub(super) ended: Option<String>,
    pub(super) ended_us: Option<u64>,
    pub(super) ready_us: Option<u64>,
    pub(super) last_words: Option<LastWords>,
    pub(super) logs: Vec<KeptFile>,
    /// What the monitor beside the server saw, if it is on another machine.
    pub(super) beside: Option<WatchDone>,
    pub(super) probes: Option<Probes>,
    pub(super) steering: Steering,
    pub(super) agents_lost: Vec<AgentLost>,
    pub(super) spent: Vec<Spent>,
}

impl Closed<'_> {
    /// Makes the figures, and judges them.
    pub(super) fn judged(mut self) -> ArmDone {
        let mut windows = self.gathered.windows();
        figures::fill_windows(&mut windows, &self.samples, self.start_ns);
        if self.setup.crew.machines().is_some() {
            machines::without_ours(&mut windows);
        }
        let seen = self.take_seen(&mut windows);
        let arm = self.arm(&windows, seen);
        let facts = self.facts(&arm);
        self.done(arm, &facts, windows)
    }

    /// What the monitor saw: its files join the logs, its seconds the windows.
    fn take_seen(&mut self, windows: &mut [Window]) -> Option<Box<ServerSeen>> {
        let done = self.beside.as_mut()?;
        self.logs.append(&mut done.logs);
        done.part.clock = beside::clock(self.setup.monitor?, &self.plan, self.start_ns);
        let seen = done.seen.take()?;
        beside::fill_windows(windows, &seen.seconds);
        Some(seen)
    }

    /// The arm with all its figures.
    fn arm(&mut self, windows: &[Window], seen: Option<Box<ServerSeen>>) -> Arm {
        let (says, ingest) = (self.says.take(), self.ingest.take());
        let (probes, flooding) = (self.probes.take(), self.steering.flooding.take());
        let Closed { plan, setup, gathered, marks, .. } = &*self;
        let cpus = (marks, setup.generator_cpus.len());
        let mut arm = figures_of(plan, gathered, cpus, says, self.ended.clone());
        arm.ingest = ingest;
        let window = marks.measure.as_ref().zip(marks.measured.as_ref()).filter(|_| self.knows_server);
        arm.foreign = window.map(|(from, to)| figures::foreign(from, to, setup.cpus().len(), &self.ours));
        if let Some(server) = &mut arm.server {
            server.ended_us = self.ended_us;
            server.ready_us = self.ready_us;
            server.heap = heap::read(&self.logs);
        }
        if let Some(agents) = self.agents() {
            machines::add(&mut arm, &agents);
        }
        if let Some(done) = &self.beside {
            beside::add(&mut arm, gathered, done.part.clone(), seen.map(|seen| *seen));
        }
        arm.browser = probes.map(|probes| probes.figures(plan, &arm));
        let warming = self.steering.warming.as_ref();
        arm.warmup = warming.map(|warming| warming.figures(plan, self.stopped_after_ns));
        if let Some(flooding) = flooding {
            let after = After {
                plan,
                windows,
                samples: &self.samples,
                gathered,
                last_words: self.last_words.as_ref(),
                logs: &self.logs,
                overflows: arm.wire.listener_drops.or(arm.wire.listen_overflows).unwrap_or(0),
                server_cpus: setup.server_cpus.len(),
                thread_each: setup.target.thread_each(),
                stopped_ns: self.stopped_after_ns,
            };
            arm.flood = Some(flooding.figures(&after));
        }
        arm
    }

    /// The agents on other machines, if they made the load.
    fn agents(&self) -> Option<Agents<'_>> {
        Some(Agents {
            machines: self.setup.crew.machines()?,
            plan: &self.plan,
            shards: self.setup.shards,
            start_ns: self.start_ns,
            spent: &self.spent,
            lost: &self.agents_lost,
        })
    }

    /// What the verdict must know beside the figures.
    fn facts(&mut self, arm: &Arm) -> Facts {
        let Closed { plan, setup, gathered, marks, .. } = &*self;
        let ended = self.ended.clone();
        let mut facts =
            facts::facts(plan, marks, gathered, self.stopped_after_ns, ended, arm.warmup.as_ref());
        facts.stood_still = facts::stood_still(plan, marks, self.start_ns);
        facts.displaced = facts::displaced(plan, arm, gathered, &facts);
        let both = arm.server.as_ref().zip(arm.foreign.as_ref());
        facts.server_wait =
            both.and_then(|(server, foreign)| figures::server_wait(server, foreign, setup.cpus().len()));
        if let Some(agents) = self.agents() {
            machines::judge(&mut facts, &agents);
        }
        if let Some(done) = &self.beside {
            beside::judge(&mut facts, done, plan);
        }
        facts.agents_lost = std::mem::take(&mut self.agents_lost);
        facts
    }

    fn done(self, mut arm: Arm, facts: &Facts, windows: Vec<Window>) -> ArmDone {
        let Closed { plan, setup, start_ns, gathered, last_words, logs, .. } = self;
        arm.outcome = verdict::outcome(&arm, facts);
        arm.last_words =
            last_words.filter(|words| arm.outcome != Outcome::Held || words.hung || words.out_of_memory);
        let reasons = verdict::judge(&arm, facts);
        arm.verdict = verdict::worst(&reasons);
        let intervals = gathered.intervals(Duration::from_nanos(start_ns.saturating_sub(setup.began_ns)));
        ArmDone {
            arm,
            windows,
            intervals,
            reasons,
            logs: logs_of(&plan, logs),
            troubles: gathered.total().troubles.clone(),
        }
    }
}

/// The files a server left, by the name of its arm.
fn logs_of(plan: &ArmPlan, logs: Vec<KeptFile>) -> Vec<KeptFile> {
    let named = |file: KeptFile| KeptFile { name: format!("{}.{}", plan.transport, file.name), ..file };
    logs.into_iter().map(named).collect()
}
