//! One arm from start to end: start the target, connect the crowd, measure, drain, stop everything.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use pushmark_model::plan::{ArmPlan, Half, Mode, ShardPlan};
use pushmark_model::run::{Arm, Connections, Generator, LastWords, Outcome, VerdictState, Wire};
use pushmark_model::steer::Steer;
use pushmark_net::Clock;

use super::flooding::{After, Flooding};
use super::steering::{ArmState, Steering};
use super::target::{Target, Up};
use super::unserved::{Unserved, is_down, nobody_came, nobody_comes};
use super::warming::Warming;
use super::watch::{Marks, Watch};
use super::{ArmDone, Signals, Start, alone, emitters, facts, hopeless};
use crate::agent::{Agent, PoolEvent, ShardPool};
use crate::gather::{self, Gathered};
use crate::verdict::{self, AgentLost, Facts};
use pushmark_console::exit::Exit;
use pushmark_console::progress::Progress;
use pushmark_host::monitor::figures::{self, CrowdPoint};
use pushmark_host::monitor::listener::Listener;
use pushmark_host::monitor::{Monitor, Watched};
use pushmark_host::server::cpus::allowed_cpus;
use pushmark_host::server::listeners::holder;
use pushmark_probes::Probes;
use pushmark_store::KeptFile;

/// Time between the last preparation and the arm's start: threads must be in their loops.
const LEAD_NS: u64 = 50_000_000;
/// Added for each client: several times the time to prepare one, because many shards may share a core.
const LEAD_PER_CLIENT_NS: u64 = 2_000;
/// A stop is announced this long in advance: shards check for orders at least every 50 ms, and all of them
/// must count the same publications.
const STOP_LEAD_NS: u64 = 250_000_000;
/// Time after its planned end after which an unfinished arm is aborted.
const OVERTIME_NS: u64 = 15_000_000_000;
/// Added for each client: several times the time to close a connection at both ends.
const OVERTIME_PER_CLIENT_NS: u64 = 100_000;

/// The setup that all arms of a run share.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The target.
    pub target: &'a Target,
    /// Shard threads.
    pub shards: u32,
    /// Processes that share the shards; 0: all are in this process.
    pub agents: u32,
    /// The program that an agent runs: pushmark.
    pub program: &'a Path,
    /// CPUs of a started server; empty: not pinned.
    pub server_cpus: Vec<u32>,
    /// CPUs of the generator; empty: not pinned.
    pub generator_cpus: Vec<u32>,
    /// Stop signals.
    pub signals: &'a Signals,
    /// When the run began, ns of the monotonic clock.
    pub began_ns: u64,
}

impl Setup<'_> {
    /// The CPUs of server and generator; if neither is pinned, all CPUs that this process may use.
    fn cpus(&self) -> Vec<u32> {
        let mut cpus = [&self.server_cpus[..], &self.generator_cpus].concat();
        if cpus.is_empty() {
            cpus = allowed_cpus().unwrap_or_default();
        }
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

/// The number of the arm, and the number of arms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) of: usize,
    pub(super) start: Start,
}

/// An arm that could not be measured, and the exit code for it.
#[derive(Debug)]
pub struct Broken {
    /// The exit code.
    pub exit: Exit,
    /// What happened.
    pub error: anyhow::Error,
    /// The connections of a transport that accepted no client: only this arm cannot be measured. Absent if
    /// the whole target cannot be measured.
    pub nobody: Option<Box<Connections>>,
}

impl Broken {
    fn new(exit: Exit, error: anyhow::Error) -> Broken {
        Broken { exit, error, nobody: None }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

pub(super) fn drive(
    asked: &ArmPlan,
    setup: &Setup<'_>,
    place: Place,
    progress: &mut Progress,
) -> Result<ArmDone, Broken> {
    // If a signal ended the start, the target was not unreachable.
    let unreachable = |error| Broken::new(setup.signals.stopped().unwrap_or(Exit::Unreachable), error);
    let internal = |error: anyhow::Error| Broken::new(Exit::Internal, error);
    // Its phases may be moved while it runs.
    let plan = &mut asked.clone();
    // Before the target, so that the browser's own startup work is over when the target starts.
    let mut probes =
        Probes::open(plan, &setup.generator_cpus).map_err(|error| Broken::new(Exit::Refused, error))?;
    let mut up = setup.target.bring_up(plan, &setup.server_cpus).map_err(unreachable)?;
    let agents = Agent::hire(setup.agents, setup.program).map_err(|e| internal(e.into()))?;
    let pids: Vec<i32> = agents.iter().map(Agent::pid).collect();
    let server = up.process.as_ref().map(|p| p.pid());
    let before = if server.is_none() { holder(up.subscribe_to) } else { None };
    let beside = before.into_iter().chain(probes.as_ref().and_then(Probes::pid)).collect();
    let watched = Watched { server, agents: pids, beside, cpus: setup.cpus() };
    let monitor = Monitor::start(watched, Clock::now).map_err(|e| internal(e.into()))?;
    let listener = Listener::of(up.subscribe_to);
    // If the process of a target on this host is unknown, its usage would count as that of other programs.
    let knows_server = server.or(before).is_some() || listener.is_none();

    // Rounded to whole µs, so that stamps and schedule agree on every bound.
    let start_ns = (Clock::now() + LEAD_NS + plan.connections * LEAD_PER_CLIENT_NS) / 1_000 * 1_000;
    let base = setup.target.emitters(up.port).filter(|_| emitter(plan));
    if let Some(base) = &base {
        emitters::set(base, plan, start_ns).map_err(unreachable)?;
    }
    let pool = ShardPool::start(shard_plans(plan, setup, &up, start_ns), &setup.generator_cpus, agents)
        .map_err(|e| internal(e.into()))?;
    if let Some(probes) = &mut probes {
        probes.subscribe(plan, up.subscribe_to, up.port, start_ns);
    }
    let mut gathered = Gathered::new(plan, setup.shards);
    let dropped = (listener.as_ref().and_then(Listener::drops), None);
    let mut marks = Marks { start: Some(monitor.mark_with_pss()), dropped, ..Marks::default() };
    let mut watch = Watch {
        transport: plan.transport,
        phases: plan.phases,
        place,
        start_ns,
        cleared: base.is_none(),
        listener,
        floods: plan.flood.is_some(),
        server_ended: None,
        server_ended_us: None,
    };
    let mut steering = Steering {
        warming: Warming::new(plan, start_ns),
        flooding: Flooding::new(plan, setup.target.stats_at(up.port)),
    };

    let mut agents_lost = Vec::new();
    let mut stopped = None;
    loop {
        match pool.next(watch.until_next(Clock::now())) {
            PoolEvent::Record(record) => {
                gathered.add(&record);
                for trouble in &record.troubles {
                    progress.trouble(&format!("{}: {trouble}", plan.transport));
                }
                watch.crowd_point(&record, &gathered, &monitor, &mut marks);
                pool.take_back(record);
            }
            PoolEvent::Lost(lost) => {
                gathered.lose(&lost.shards);
                let agent = AgentLost::new(lost.agent, lost.how, Clock::now().saturating_sub(start_ns), plan);
                progress.trouble(&format!("{}: {}", plan.transport, verdict::agent_lost(&agent)));
                agents_lost.push(agent);
            }
            PoolEvent::Nothing => {}
            PoolEvent::End => break,
        }
        let now_ns = Clock::now();
        watch.mark(now_ns, &monitor, &mut marks);
        watch.clear_emitters(now_ns, base.as_ref());
        watch.look_after(&mut up);
        if let Some(probes) = &mut probes {
            probes.turn(now_ns);
        }
        progress.update(now_ns, &watch.live(now_ns, &gathered));
        let sight = ArmState {
            elapsed_ns: now_ns.saturating_sub(start_ns),
            arm: plan,
            gathered: &gathered,
            sample: monitor.latest(),
            ended: watch.server_ended.is_some(),
            pid: up.process.as_ref().map(|p| p.pid()),
        };
        let order = steering.look(&sight).filter(|_| stopped.is_none());
        if let Some(order) = order {
            pool.tell(order);
            if let Steer::Measure { from_ns, until_ns } = order {
                plan.phases.measure(from_ns, until_ns);
                gathered.measure(from_ns, until_ns);
                watch.phases = plan.phases;
                if let Some(probes) = &mut probes {
                    probes.measure(plan, start_ns);
                }
            }
        }
        if stopped.is_none() && setup.signals.stopped().is_some() {
            stopped = setup.signals.stopped();
            marks.measured =
                marks.measured.take().or_else(|| marks.measure.is_some().then(|| monitor.mark_with_others()));
            pool.tell(Steer::StopAt { at_ns: now_ns.saturating_sub(start_ns) + STOP_LEAD_NS });
        }
        if nobody_comes(plan, &gathered) {
            pool.stop();
            let _ = pool.join();
            let total = gathered.total();
            let of = Unserved { plan, failed: &total.failed, troubles: &total.troubles };
            let text = nobody_came(&[of]) + &up.stop().0.map_or(String::new(), |words| told(&words));
            let nobody = (!is_down(&gathered)).then(|| Box::new(gathered.connections()));
            return Err(Broken { nobody, ..unreachable(anyhow::anyhow!(text)) });
        }
        let published_ns = now_ns.saturating_sub(start_ns + plan.phases.warmup_start_ns());
        let lives = stopped.is_none() && watch.server_ended.is_none();
        if let Some(why) = hopeless::why(plan, &gathered, published_ns, false).filter(|_| lives) {
            pool.stop();
            let _ = pool.join();
            up.stop();
            return Err(unreachable(anyhow::anyhow!(why)));
        }
        let overtime_ns = OVERTIME_NS + plan.connections * OVERTIME_PER_CLIENT_NS;
        if now_ns > start_ns + plan.phases.end_ns() + overtime_ns {
            return Err(internal(anyhow::anyhow!("the shards did not end in time")));
        }
    }
    if let Err(error) = gathered.close() {
        progress.trouble(&format!("{}: seconds that were set aside are lost: {error}", plan.transport));
    }
    let stopped_ns = stopped.map(|_| Clock::now());
    watch.look_after(&mut up);
    let lives = stopped.is_none() && watch.server_ended.is_none();
    if let Some(why) = hopeless::why(plan, &gathered, u64::MAX, true).filter(|_| lives) {
        let _ = pool.join();
        up.stop();
        return Err(unreachable(anyhow::anyhow!(why)));
    }
    pool.join().map_err(|e| internal(anyhow::anyhow!(e)))?;
    watch.crowd_came(&monitor, &mut marks);
    marks.end = Some(monitor.mark_with_pss());
    if let Some(probes) = &mut probes {
        probes.finish();
    }
    // The server's statistics, read before it is stopped.
    let says = setup.target.stats(up.port);
    let ingest = alone::measure(plan, setup.shards, &setup.generator_cpus, &up, &monitor, setup.signals)
        .map_err(internal)?;
    let ended = watch.server_ended.take();
    let (last_words, logs) = up.stop();
    // A server that ended at the last moment also ended by itself.
    let ended = ended.or_else(|| last_words.as_ref().filter(|w| w.by_itself).map(|w| w.how.clone()));
    let ours = monitor.ours();
    let (samples, whole) = monitor.stop();
    if let Err(error) = whole {
        progress.trouble(&format!("{}: readings that were set aside are lost: {error}", plan.transport));
    }
    let stopped_after_ns = stopped_ns.map(|at| at.saturating_sub(start_ns));

    let mut windows = gathered.windows();
    figures::fill_windows(&mut windows, &samples, start_ns);
    let mut arm = figures_of(plan, &gathered, (&marks, setup.generator_cpus.len()), says, ended.clone());
    arm.ingest = ingest;
    let cpus = setup.cpus().len();
    if let Some((from, to)) = marks.measure.as_ref().zip(marks.measured.as_ref()).filter(|_| knows_server) {
        arm.foreign = Some(figures::foreign(from, to, cpus, &ours));
    }
    if let Some(server) = &mut arm.server {
        server.ended_us = watch.server_ended_us;
        server.ready_us = up.ready_us;
    }
    arm.browser = probes.map(|probes| probes.figures(plan, &arm));
    arm.warmup = steering.warming.as_ref().map(|warming| warming.figures(plan, stopped_after_ns));
    if let Some(flooding) = steering.flooding {
        let after = After {
            plan,
            windows: &windows,
            samples: &samples,
            gathered: &gathered,
            last_words: last_words.as_ref(),
            logs: &logs,
            overflows: arm.wire.listener_drops.or(arm.wire.listen_overflows).unwrap_or(0),
            server_cpus: setup.server_cpus.len(),
            thread_each: setup.target.thread_each(),
            stopped_ns: stopped_after_ns,
        };
        arm.flood = Some(flooding.figures(&after));
    }
    let mut facts = facts::facts(plan, &marks, &gathered, stopped_after_ns, ended, arm.warmup.as_ref());
    facts.agents_lost = agents_lost;
    facts.stood_still = facts::stood_still(plan, &marks, start_ns);
    facts.displaced = facts::displaced(plan, &arm, &gathered, &facts);
    facts.server_wait = arm
        .server
        .as_ref()
        .zip(arm.foreign.as_ref())
        .and_then(|(server, foreign)| figures::server_wait(server, foreign, cpus));
    arm.outcome = verdict::outcome(&arm, &facts);
    arm.last_words =
        last_words.filter(|words| arm.outcome != Outcome::Held || words.hung || words.out_of_memory);
    let reasons = verdict::judge(&arm, &facts);
    arm.verdict = verdict::worst(&reasons);
    let intervals = gathered.intervals(Duration::from_nanos(start_ns.saturating_sub(setup.began_ns)));
    Ok(ArmDone {
        arm,
        windows,
        intervals,
        reasons,
        logs: logs_of(plan, logs),
        troubles: gathered.total().troubles.clone(),
    })
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

/// The files a server left, by the name of its arm.
fn logs_of(plan: &ArmPlan, logs: Vec<KeptFile>) -> Vec<KeptFile> {
    let named = |file: KeptFile| KeptFile { name: format!("{}.{}", plan.transport, file.name), ..file };
    logs.into_iter().map(named).collect()
}

fn shard_plans(plan: &ArmPlan, setup: &Setup<'_>, up: &Up, start_ns: u64) -> Vec<ShardPlan> {
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
            port: up.port,
        })
    };
    halves.into_iter().enumerate().flat_map(of).collect()
}

/// The figures of an arm, before it is judged.
fn figures_of(
    plan: &ArmPlan,
    gathered: &Gathered,
    (marks, cpus): (&Marks, usize),
    says: Option<serde_json::Value>,
    ended: Option<String>,
) -> Arm {
    let window = marks.measure.as_ref().zip(marks.measured.as_ref());
    let whole = marks.start.as_ref().zip(marks.end.as_ref());
    let mut wire: Wire = gathered.wire();
    if let Some((start, end)) = whole {
        wire.retransmits = Some(figures::tcp_trouble(start, end).0);
        wire.listen_overflows = marks.ramped.as_ref().map(|ramped| figures::tcp_trouble(start, ramped).1);
        wire.listener_drops =
            marks.dropped.0.as_ref().zip(marks.dropped.1.as_ref()).map(|(from, to)| to.since(from));
        wire.time_wait_per_s = Some(figures::time_wait_per_s(start, end));
    }
    let mut crowd = marks.crowd.clone();
    if let Some(start) = &marks.start
        && let Some(server) = start.sample.server
    {
        crowd.insert(
            0,
            CrowdPoint {
                connections: 0,
                server_rss_bytes: server.rss_bytes,
                kernel_memory_bytes: start.sample.kernel_memory_bytes,
            },
        );
    }
    let mut server = window.and_then(|(from, to)| figures::server(from, to, &crowd));
    if let Some(server) = &mut server {
        server.pss_bytes_full =
            marks.end.as_ref().and_then(|end| end.server_pss_bytes).or(server.pss_bytes_full);
        server.ended = ended;
    }
    let loop_lag = gathered.loop_lag();
    let generator = match window {
        Some((from, to)) => figures::generator(from, to, loop_lag, cpus),
        None => Generator { loop_lag, ..Generator::default() },
    };
    let kernel = marks.start.as_ref().zip(marks.measure.as_ref());
    let kernel =
        kernel.map(|(a, b)| b.sample.kernel_memory_bytes.saturating_sub(a.sample.kernel_memory_bytes));
    let due = gathered.total().counts.publications_due;
    let never = emitter(plan).then(|| says.as_ref().and_then(|stats| emitters::never_sent(stats, plan)));
    let unpublished = match never {
        None => gathered.total().counts.unpublished + gathered.never_made(),
        Some(Some(never)) => never.min(due),
        // The server no longer answers: possibly no publication without a receiver was published.
        Some(None) => due,
    };
    let emitted = never.map(|never| emitters::emitted(due, never, gathered.heard()));
    Arm {
        transport: plan.transport,
        target: plan.target.clone(),
        nonce: nonce(plan.nonce),
        outcome: Outcome::Held,
        verdict: VerdictState::Valid,
        error: None,
        observe: plan.publisher.is_none(),
        subscribed_by: gathered.total().subscribed_by.name().to_owned(),
        connections: gathered.connections(),
        connect: gathered.connect(),
        tls: gathered.tls(),
        delivery: gathered.delivery(unpublished),
        observed: gathered.observed(),
        poll: gathered.poll(),
        hybrid: gathered.hybrid(unpublished),
        long_poll: gathered.long_poll(),
        bayeux: gathered.bayeux(),
        published: gathered.published(emitted),
        server,
        generator,
        softirq_us: window.map(|(from, to)| figures::softirq_us(from, to)),
        kernel_memory_bytes: kernel,
        wire,
        phases: gather::phases(&plan.phases),
        server_says: says,
        foreign: None,
        ingest: None,
        last_words: None,
        browser: None,
        warmup: None,
        flood: None,
    }
}

fn emitter(plan: &ArmPlan) -> bool {
    plan.publisher.as_ref().is_some_and(|p| p.mode == Mode::Emitter)
}

/// Six base-36 digits, as in the stamp.
fn nonce(nonce: u32) -> String {
    let stamp =
        pushmark_model::stamp::Stamp { nonce, publisher: 0, channel: 0, sequence: 0, due_us: 0, sent_us: 0 };
    let mut bytes = [0; pushmark_model::stamp::STAMP_LEN];
    stamp.write(&mut bytes);
    String::from_utf8_lossy(&bytes[4..10]).into_owned()
}

/// An arm that could not be measured: it keeps its place in the run, with its error.
pub(super) fn failed(plan: &ArmPlan, broken: &Broken) -> ArmDone {
    let gathered = Gathered::new(plan, 1);
    let mut arm = figures_of(plan, &gathered, (&Marks::default(), 0), None, None);
    let lines: Vec<String> = broken.to_string().lines().map(|line| line.trim().to_owned()).collect();
    let error = lines.join("; ");
    arm.outcome = Outcome::Died;
    if let Some(connections) = &broken.nobody {
        (arm.connections, arm.outcome) = (Connections::clone(connections), Outcome::Degraded);
    }
    arm.error = Some(error.clone());
    let facts = Facts { broken_off: Some(error), ..Facts::default() };
    let reasons = verdict::judge(&arm, &facts);
    arm.verdict = verdict::worst(&reasons);
    ArmDone {
        arm,
        windows: Vec::new(),
        intervals: Vec::new(),
        reasons,
        logs: Vec::new(),
        troubles: vec![broken.to_string()],
    }
}
