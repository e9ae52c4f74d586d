//! An arm while it runs: what was started for it, and the turns of the loop that takes its records, watches the
//! server, gives orders to the shards and notices when it is over or makes no sense to go on.

use std::collections::BTreeSet;

use pushmark_console::exit::Exit;
use pushmark_console::progress::{Live, Progress};
use pushmark_host::monitor::listener::Listener;
use pushmark_host::monitor::{Monitor, Watched};
use pushmark_host::server::heap::Collection;
use pushmark_host::server::http::Control;
use pushmark_host::server::listeners::holder;
use pushmark_model::monitor::Watch as WatchAsked;
use pushmark_model::plan::{ArmPlan, Half, ShardPlan};
use pushmark_model::run::LastWords;
use pushmark_model::steer::Steer;
use pushmark_net::Clock;
use pushmark_probes::Probes;

use super::arm_state::ArmState;
use super::closed::Closed;
use super::figures::emitter;
use super::flooding::Flooding;
use super::setup::{Broken, Place, Setup};
use super::steering::Steering;
use super::unserved::{Unserved, is_down, nobody_came, nobody_comes};
use super::warming::Warming;
use super::watch::Watch;
use super::{alone, emitters, hopeless};
use crate::agent::{Machines, PoolEvent, ServerWatch, ShardPool, Spent};
use crate::gather::Gathered;
use crate::marks::{Marking, Marks};
use crate::target::{Started, Up};
use crate::verdict::{self, AgentLost};

/// Time between the last preparation and the arm's start: threads must be in their loops.
const LEAD_NS: u64 = 50_000_000;
/// Added for each client: several times the time to prepare one, because many shards may share a core.
const LEAD_PER_CLIENT_NS: u64 = 2_000;
/// A stop is announced this long in advance: shards check for orders at least every 50 ms, and all of them
/// must count the same publications.
const STOP_LEAD_NS: u64 = 250_000_000;
/// The same for agents on other machines: an order may have to be given twice.
const BUS_LEAD_NS: u64 = 2_000_000_000;
/// Time after its planned end after which an unfinished arm is aborted.
const OVERTIME_NS: u64 = 15_000_000_000;
/// Added for each client: several times the time to close a connection at both ends.
const OVERTIME_PER_CLIENT_NS: u64 = 100_000;

/// An arm that runs.
pub(super) struct Driven<'a> {
    /// The plan. An order may move its phases while it runs.
    plan: ArmPlan,
    setup: &'a Setup<'a>,
    /// When it began, ns of the monotonic clock.
    start_ns: u64,
    probes: Option<Probes>,
    up: Up,
    /// Where the target's emitters are set, if it publishes by itself.
    emitters: Option<Control>,
    monitor: Monitor,
    /// The monitor beside the server, if it is on another machine.
    beside: Option<ServerWatch>,
    /// Whether the target's CPU use is told from that of other programs.
    knows_server: bool,
    pool: ShardPool,
    gathered: Gathered,
    marks: Marks,
    watch: Watch,
    steering: Steering,
    /// The collection of the target's heap in drain.
    collection: Option<Collection>,
    agents_lost: Vec<AgentLost>,
    /// The positions of agents of which nothing is heard.
    away: BTreeSet<usize>,
    /// What agents on other machines spent.
    spent: Vec<Spent>,
    /// The signal that stopped it.
    stopped: Option<Exit>,
}

/// What a turn of the loop comes to.
pub(super) enum Turn {
    /// The next one follows.
    Next,
    /// Every shard has ended.
    End,
    /// The arm cannot be measured.
    GiveUp(GiveUp),
}

/// Why an arm is given up.
pub(super) enum GiveUp {
    /// No client was accepted.
    NobodyCame,
    /// The target answers in a way that makes measuring pointless.
    Hopeless(String),
    /// The shards go on long after their planned end.
    Overdue,
}

impl<'a> Driven<'a> {
    /// Starts the target, the watchers and the shards.
    ///
    /// # Errors
    /// Fails if the target or a browser cannot be started, or a process of the generator.
    pub(super) fn start(asked: &ArmPlan, setup: &'a Setup<'a>, place: Place) -> Result<Driven<'a>, Broken> {
        let plan = asked.clone();
        let unreachable = |error| Broken::unreachable(setup.signals, error);
        // Before the target, so that the browser's own startup work is over when the target starts.
        let mut probes = Probes::open(&plan, &setup.generator_cpus).map_err(Broken::refused)?;
        let beside = setup.monitor.map_or(Ok(None), Machines::watch).map_err(unreachable)?;
        let mut beside = beside;
        let started = started(setup, &mut beside, plan.subscribe.port).map_err(unreachable)?;
        let up = Up::of(started, &plan).map_err(unreachable)?;
        let agents = setup.crew.hire().map_err(Broken::internal)?;
        let pids: Vec<i32> = agents.iter().filter_map(|agent| agent.pid()).collect();
        let server = up.process.as_ref().map(|p| p.pid());
        let here = server.is_none() && beside.is_none();
        let before = if here { holder(up.subscribe_to) } else { None };
        let others = before.into_iter().chain(probes.as_ref().and_then(Probes::pid)).collect();
        let watched = Watched { server, agents: pids, beside: others, cpus: setup.cpus() };
        let monitor = Monitor::start(watched, Clock::now).map_err(Broken::internal)?;
        let listener = if beside.is_none() { Listener::of(up.subscribe_to) } else { None };
        // If the process of a target on this host is unknown, its usage would count as that of other
        // programs.
        let knows_server = server.or(before).is_some() || listener.is_none();

        // Rounded to whole µs, so that stamps and schedule agree on every bound.
        let lead_ns = setup.machines().map_or(LEAD_NS, Machines::lead_ns);
        let start_ns = (Clock::now() + lead_ns + plan.connections * LEAD_PER_CLIENT_NS) / 1_000 * 1_000;
        let emitters = setup.target.emitters(up.port).filter(|_| emitter(&plan));
        if let Some(base) = &emitters {
            // By the clock of its machine.
            let ahead_us = beside.as_ref().map_or(0, ServerWatch::ahead_us);
            let theirs_ns = start_ns.saturating_add_signed(ahead_us * 1_000);
            emitters::set(base, &plan, theirs_ns).map_err(unreachable)?;
        }
        if let Some(beside) = &mut beside {
            let (phases, floods) = (plan.phases, plan.flood.is_some());
            let watch = WatchAsked { start_ns, phases, floods, at: up.subscribe_to };
            beside.begin(watch).map_err(unreachable)?;
        }
        // A server that publishes by itself writes stamps by its own clock.
        let stamps = beside.as_ref().filter(|_| emitter(&plan)).map_or(0, ServerWatch::ahead_us);
        let shards = shard_plans(&plan, setup, &up, (start_ns, -stamps));
        let agent_of = |shard| setup.crew.agent_of(shard, setup.shards);
        let pool = ShardPool::start(shards, &setup.generator_cpus, agents, agent_of);
        let pool = pool.map_err(|error| match setup.crew.machines() {
            // Another machine does not do it.
            Some(_) => Broken::refused(error.into()),
            None => Broken::internal(error),
        })?;
        if let Some(probes) = &mut probes {
            probes.subscribe(&plan, up.subscribe_to, up.port, start_ns);
        }
        let dropped = (listener.as_ref().and_then(Listener::drops), None);
        let watch = Watch {
            transport: plan.transport,
            place,
            cleared: emitters.is_none(),
            marking: Marking { start_ns, phases: plan.phases, floods: plan.flood.is_some(), listener },
            server_ended: None,
            server_ended_us: None,
        };
        let steering = Steering {
            warming: Warming::new(&plan, start_ns),
            flooding: Flooding::new(&plan, setup.target.stats_at(up.port)),
        };
        Ok(Driven {
            gathered: Gathered::new(&plan, setup.shards),
            marks: Marks { start: Some(monitor.mark_with_pss()), dropped, ..Marks::default() },
            plan,
            setup,
            start_ns,
            probes,
            up,
            emitters,
            monitor,
            beside,
            knows_server,
            pool,
            watch,
            steering,
            collection: None,
            agents_lost: Vec::new(),
            away: BTreeSet::new(),
            spent: Vec::new(),
            stopped: None,
        })
    }

    /// Waits for the next event or the next instant that is marked, and handles it.
    pub(super) fn turn(&mut self, progress: &mut Progress) -> Turn {
        if !self.take_event(progress) {
            return Turn::End;
        }
        let now_ns = Clock::now();
        self.look_around(now_ns, progress);
        self.steer(now_ns);
        self.obey_signals(now_ns);
        self.reason_to_give_up(now_ns).map_or(Turn::Next, Turn::GiveUp)
    }

    /// Takes a record or the loss of an agent. Returns false when every shard has ended.
    fn take_event(&mut self, progress: &mut Progress) -> bool {
        let transport = self.plan.transport;
        match self.pool.next(self.watch.marking.until_next(Clock::now())) {
            PoolEvent::Record(record) => {
                self.gathered.add(&record);
                for trouble in &record.troubles {
                    progress.trouble(&format!("{transport}: {trouble}"));
                }
                self.watch.crowd_point(&record, &self.gathered, &self.monitor, &mut self.marks);
                self.pool.take_back(record);
            }
            PoolEvent::Lost(lost) => {
                self.gathered.lose(&lost.shards);
                self.away.insert(lost.agent.0 - 1);
                let elapsed_ns = Clock::now().saturating_sub(self.start_ns);
                let agent = AgentLost::new(lost.agent, lost.how, elapsed_ns, &self.plan);
                progress.trouble(&format!("{transport}: {}", verdict::agent_lost(&agent)));
                self.agents_lost.push(agent);
            }
            PoolEvent::Spent(spent) => self.spent.push(*spent),
            PoolEvent::Silent(silence) => {
                match silence.over {
                    true => self.away.remove(&silence.agent),
                    false => self.away.insert(silence.agent),
                };
                progress.trouble(&format!("{transport}: {}", silence.text));
            }
            PoolEvent::Nothing => {}
            PoolEvent::End => return false,
        }
        true
    }

    /// Takes the snapshots that are due, and watches the server and the browsers.
    fn look_around(&mut self, now_ns: u64, progress: &mut Progress) {
        self.watch.marking.mark(now_ns, &self.monitor, &mut self.marks);
        self.watch.clear_emitters(now_ns, self.emitters.as_ref());
        self.watch.look_after(&mut self.up);
        if let Some(beside) = &mut self.beside {
            for text in beside.news() {
                progress.trouble(&format!("{}: {text}", self.plan.transport));
            }
            self.watch.ended_there(beside.server_ended());
        }
        self.collect(now_ns);
        if let Some(probes) = &mut self.probes {
            probes.turn(now_ns);
        }
        let of = self.setup.crew.machines().map(|machines| machines.cards().count() as u32);
        let agents = of.map(|of| (of - self.away.len() as u32, of));
        progress.update(now_ns, &Live { agents, ..self.watch.live(now_ns, &self.gathered) });
    }

    /// Collects the target's heap in the middle of drain, while the crowd is connected, if that is asked for.
    fn collect(&mut self, now_ns: u64) {
        let phases = self.plan.phases;
        let middle_ns = self.start_ns + phases.measure_end_ns() + phases.drain_ns / 2;
        if self.setup.target.live_heap() && self.collection.is_none() && now_ns >= middle_ns {
            let pid = self.up.process.as_ref().map(|process| process.pid());
            // Without a collection there is no figure of it.
            self.collection = pid.and_then(|pid| Collection::start(pid).ok());
        }
    }

    /// Ends the warm-up or the flood when it is time.
    fn steer(&mut self, now_ns: u64) {
        let state = ArmState {
            elapsed_ns: now_ns.saturating_sub(self.start_ns),
            arm: &self.plan,
            gathered: &self.gathered,
            sample: self.monitor.latest(),
            ended: self.watch.server_ended.is_some(),
            pid: self.up.process.as_ref().map(|p| p.pid()),
        };
        let Some(order) = self.steering.look(&state).filter(|_| self.stopped.is_none()) else { return };
        self.pool.tell(order);
        if let Steer::Measure { from_ns, until_ns } = order {
            self.plan.phases.measure(from_ns, until_ns);
            self.gathered.measure(from_ns, until_ns);
            self.watch.marking.phases = self.plan.phases;
            if let Some(beside) = &self.beside {
                beside.steer(order);
            }
            if let Some(probes) = &mut self.probes {
                probes.measure(&self.plan, self.start_ns);
            }
        }
    }

    /// Stops the shards when a signal has arrived.
    fn obey_signals(&mut self, now_ns: u64) {
        if self.stopped.is_some() || self.setup.signals.stopped().is_none() {
            return;
        }
        self.stopped = self.setup.signals.stopped();
        if self.marks.measured.is_none() && self.marks.measure.is_some() {
            self.marks.measured = Some(self.monitor.mark_with_others());
        }
        let lead_ns = if self.setup.crew.machines().is_some() { BUS_LEAD_NS } else { STOP_LEAD_NS };
        self.pool.tell(Steer::StopAt { at_ns: now_ns.saturating_sub(self.start_ns) + lead_ns });
    }

    fn reason_to_give_up(&self, now_ns: u64) -> Option<GiveUp> {
        if nobody_comes(&self.plan, &self.gathered) {
            return Some(GiveUp::NobodyCame);
        }
        let published_ns = now_ns.saturating_sub(self.start_ns + self.plan.phases.warmup_start_ns());
        if let Some(why) = self.hopeless(published_ns, false) {
            return Some(GiveUp::Hopeless(why));
        }
        let overtime_ns = OVERTIME_NS + self.plan.connections * OVERTIME_PER_CLIENT_NS;
        let overdue = now_ns > self.start_ns + self.plan.phases.end_ns() + overtime_ns;
        overdue.then_some(GiveUp::Overdue)
    }

    /// Why a target that lives cannot be measured.
    fn hopeless(&self, published_ns: u64, at_end: bool) -> Option<String> {
        let lives = self.stopped.is_none() && self.watch.server_ended.is_none();
        hopeless::why(&self.plan, &self.gathered, published_ns, at_end).filter(|_| lives)
    }

    /// Stops everything, and says why there is no figure.
    pub(super) fn give_up(self, why: GiveUp) -> Broken {
        let Driven { plan, setup, mut up, pool, gathered, beside, .. } = self;
        let unreachable = |text: String| Broken::unreachable(setup.signals, anyhow::anyhow!(text));
        let why = match why {
            GiveUp::Overdue => {
                return Broken::internal(anyhow::anyhow!("the shards did not end in time"));
            }
            other => other,
        };
        pool.stop();
        let _ = pool.join();
        let words = match beside {
            Some(beside) => beside.finish().seen.and_then(|seen| seen.last_words),
            None => up.stop().0,
        };
        match why {
            GiveUp::Hopeless(why) => unreachable(why),
            _ => {
                let total = gathered.total();
                let of = Unserved { plan: &plan, failed: &total.failed, troubles: &total.troubles };
                let text = nobody_came(&[of]) + &words.map_or(String::new(), |words| told(&words));
                let nobody = (!is_down(&gathered)).then(|| Box::new(gathered.connections()));
                Broken { nobody, ..unreachable(text) }
            }
        }
    }

    /// Takes what is only there while the target lives, then stops it.
    ///
    /// # Errors
    /// Fails if nothing was measured in a way that the target itself explains, or if a shard failed.
    pub(super) fn close(mut self, progress: &mut Progress) -> Result<Closed<'a>, Broken> {
        let transport = self.plan.transport;
        if let Err(error) = self.gathered.close() {
            progress.trouble(&format!("{transport}: seconds that were set aside are lost: {error}"));
        }
        let stopped_ns = self.stopped.map(|_| Clock::now());
        self.watch.look_after(&mut self.up);
        if let Some(why) = self.hopeless(u64::MAX, true) {
            return Err(self.give_up(GiveUp::Hopeless(why)));
        }
        if let Some(collection) = self.collection.take() {
            collection.finish();
        }
        let Driven { plan, setup, start_ns, mut probes, mut up, monitor, beside, pool, .. } = self;
        let (mut marks, mut watch) = (self.marks, self.watch);
        pool.join().map_err(|e| Broken::internal(anyhow::anyhow!(e)))?;
        watch.marking.crowd_came(&monitor, &mut marks);
        marks.end = Some(monitor.mark_with_pss());
        if let Some(probes) = &mut probes {
            probes.finish();
        }
        // The server's statistics, read before it is stopped.
        let says = setup.target.stats(up.port);
        // Other machines may not be where this one could publish from.
        let ingest = match setup.machines() {
            Some(_) => None,
            None => alone::measure(&plan, setup.shards, &setup.generator_cpus, &up, &monitor, setup.signals)
                .map_err(Broken::internal)?,
        };
        let ended = watch.server_ended.take();
        let beside = beside.map(ServerWatch::finish);
        let (last_words, logs) = match beside {
            Some(ref done) => (done.seen.as_ref().and_then(|seen| seen.last_words.clone()), Vec::new()),
            None => up.stop(),
        };
        // A server that ended at the last moment also ended by itself.
        let ended = ended.or_else(|| last_words.as_ref().filter(|w| w.by_itself).map(|w| w.how.clone()));
        let ours = monitor.ours();
        let (samples, whole) = monitor.stop();
        if let Err(error) = whole {
            progress.trouble(&format!("{transport}: readings that were set aside are lost: {error}"));
        }
        Ok(Closed {
            plan,
            setup,
            start_ns,
            stopped_after_ns: stopped_ns.map(|at| at.saturating_sub(start_ns)),
            gathered: self.gathered,
            marks,
            samples,
            ours,
            knows_server: self.knows_server,
            says,
            ingest,
            ended,
            ended_us: watch.server_ended_us,
            ready_us: up.ready_us,
            last_words,
            logs,
            beside,
            probes,
            steering: self.steering,
            agents_lost: self.agents_lost,
            spent: self.spent,
        })
    }
}

/// How a server without clients ended, if that explains why no client connected.
fn told(words: &LastWords) -> String {
    if !(words.by_itself || words.hung || words.out_of_memory) {
        return String::new();
    }
    let memory = if words.out_of_memory { ", out of memory" } else { "" };
    let lines: String = words.lines.iter().map(|line| format!("\n  | {line}")).collect();
    format!("\nits server: {}{memory}{lines}", words.how)
}

/// Starts the server if there is one to start: by the monitor on its machine, or here.
fn started(
    setup: &Setup<'_>,
    beside: &mut Option<ServerWatch>,
    serves: Option<u16>,
) -> anyhow::Result<Started> {
    match (setup.target.order(), beside) {
        (None, _) => setup.target.start(serves, &setup.server_cpus),
        (Some(serve), Some(beside)) => {
            let (port, ready_us) = beside.serve(serve, &|| setup.signals.stopped().is_some())?;
            Ok(Started { process: None, port, ready_us: Some(ready_us) })
        }
        (Some(serve), None) => anyhow::bail!("no monitor starts {}", serve.name),
    }
}

fn shard_plans(
    plan: &ArmPlan,
    setup: &Setup<'_>,
    up: &Up,
    (start_ns, clock_ahead_us): (u64, i64),
) -> Vec<ShardPlan> {
    let halves = plan.halves();
    let shards = setup.shards * halves.len() as u32;
    let of = |(at, (half, arm)): (usize, (Option<Half>, ArmPlan))| {
        (0..setup.shards).map(move |shard| ShardPlan {
            arm: arm.clone(),
            shard: at as u32 * setup.shards + shard,
            shards,
            start_ns,
            subscribe_to: up.subscribe_to,
            half,
            publish_to: up.publish_to,
            before_to: up.before_to.clone(),
            port: up.port,
            clock_ahead_us,
            machine_shards: Vec::new(),
        })
    };
    halves.into_iter().enumerate().flat_map(of).collect()
}
