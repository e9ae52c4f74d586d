//! One arm from start to end: target up, crowd in, measure, drain, everything down.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use pushmark_model::plan::{ArmPlan, Half, Mode, Reconnect, ShardPlan};
use pushmark_model::run::{Arm, Generator, LastWords, Outcome, VerdictState, WarmUp, WarmUpEnd, Wire};
use pushmark_model::steer::Steer;
use pushmark_net::Clock;

use super::flooding::{After, Flooding};
use super::steering::{Sight, Steering};
use super::target::{Target, Up};
use super::unserved::{Unserved, nobody_came};
use super::warming::Warming;
use super::watch::{Marks, Watch};
use super::{ArmDone, Signals, Start, alone, emitters};
use crate::agent::{Agent, Came, Crew};
use crate::exit::Exit;
use crate::gather::{self, Gathered};
use crate::monitor::Monitor;
use crate::monitor::figures::{self, CrowdPoint};
use crate::probes::Probes;
use crate::progress::Progress;
use crate::server::logs::KeptFile;
use crate::verdict::{self, Facts};

/// Time between the last preparation and the arm's start: threads must be in their loops.
const LEAD_NS: u64 = 50_000_000;
/// And what drawing up a client takes, several times over: many shards may share a core.
const LEAD_PER_CLIENT_NS: u64 = 2_000;
/// After its planned end an arm that does not finish is given up.
const OVERTIME_NS: u64 = 15_000_000_000;
/// And what closing a connection takes, at both ends, several times over.
const OVERTIME_PER_CLIENT_NS: u64 = 100_000;

/// What every arm of a run shares.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The target.
    pub target: &'a Target,
    /// Shard threads.
    pub shards: u32,
    /// Processes they are dealt to; 0: they are this one's.
    pub agents: u32,
    /// What an agent runs: pushmark.
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

/// Which arm of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) of: usize,
    pub(super) start: Start,
}

/// An arm that could not be measured, and how the process ends for it.
#[derive(Debug)]
pub struct Broken {
    /// The exit code.
    pub exit: Exit,
    /// What happened.
    pub error: anyhow::Error,
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
    let unreachable = |error| Broken { exit: Exit::Unreachable, error };
    let internal = |error: anyhow::Error| Broken { exit: Exit::Internal, error };
    // Its phases may be moved while it runs.
    let plan = &mut asked.clone();
    // Before the target: what the browser does as it starts is over when that comes up.
    let mut probes =
        Probes::open(plan, &setup.generator_cpus).map_err(|error| Broken { exit: Exit::Refused, error })?;
    let mut up = setup.target.bring_up(plan, &setup.server_cpus).map_err(unreachable)?;
    let agents = Agent::hire(setup.agents, setup.program).map_err(|e| internal(e.into()))?;
    let pids: Vec<i32> = agents.iter().map(Agent::pid).collect();
    let monitor = Monitor::start(up.process.as_ref().map(|p| p.pid()), &pids, Clock::now)
        .map_err(|e| internal(e.into()))?;

    // A whole µs, so that stamps and schedule agree on every bound.
    let start_ns = (Clock::now() + LEAD_NS + plan.connections * LEAD_PER_CLIENT_NS) / 1_000 * 1_000;
    let base = setup.target.emitters(up.port).filter(|_| emitter(plan));
    if let Some(base) = &base {
        emitters::set(base, plan, start_ns).map_err(unreachable)?;
    }
    let crew = Crew::start(shard_plans(plan, setup, &up, start_ns), &setup.generator_cpus, agents)
        .map_err(|e| internal(e.into()))?;
    if let Some(probes) = &mut probes {
        probes.subscribe(plan, up.subscribe_to, up.port, start_ns);
    }
    let mut gathered = Gathered::new(plan, setup.shards);
    let mut marks = Marks { start: Some(monitor.mark_with_pss()), ..Marks::default() };
    let mut watch = Watch {
        transport: plan.transport,
        phases: plan.phases,
        place,
        start_ns,
        cleared: base.is_none(),
        server_ended: None,
    };
    let mut steering = Steering {
        warming: Warming::new(plan, start_ns),
        flooding: Flooding::new(plan, setup.target.stats_at(up.port)),
    };

    let mut stopped = None;
    loop {
        match crew.next(watch.until_next(Clock::now())) {
            Came::Record(record) => {
                gathered.add(&record);
                for trouble in &record.troubles {
                    progress.trouble(&format!("{}: {trouble}", plan.transport));
                }
                watch.crowd_point(&record, &gathered, &monitor, &mut marks);
                crew.take_back(record);
            }
            Came::Nothing => {}
            Came::End => break,
        }
        let now_ns = Clock::now();
        watch.mark(now_ns, &monitor, &mut marks);
        watch.clear_emitters(now_ns, base.as_ref());
        watch.look_after(&mut up);
        if let Some(probes) = &mut probes {
            probes.turn(now_ns);
        }
        progress.update(now_ns, &watch.live(now_ns, &gathered));
        let sight = Sight {
            elapsed_ns: now_ns.saturating_sub(start_ns),
            arm: plan,
            gathered: &gathered,
            sample: monitor.latest(),
            ended: watch.server_ended.is_some(),
            pid: up.process.as_ref().map(|p| p.pid()),
        };
        let order = steering.look(&sight).filter(|_| stopped.is_none());
        if let Some(order) = order {
            crew.tell(order);
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
                marks.measured.take().or_else(|| marks.measure.is_some().then(|| monitor.mark()));
            crew.stop();
        }
        if nobody_comes(plan, &gathered, place) {
            crew.stop();
            let _ = crew.join();
            let total = gathered.total();
            let of = Unserved { plan, failed: &total.failed, troubles: &total.troubles };
            let text = nobody_came(&[of]) + &up.stop().0.map_or(String::new(), |words| told(&words));
            return Err(unreachable(anyhow::anyhow!(text)));
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
    crew.join().map_err(|e| internal(anyhow::anyhow!(e)))?;
    marks.end = Some(monitor.mark_with_pss());
    if let Some(probes) = &mut probes {
        probes.finish();
    }
    // Asked before it is stopped: its own word.
    let says = setup.target.stats(up.port);
    let ingest = alone::measure(plan, setup.shards, &setup.generator_cpus, &up, &monitor, setup.signals)
        .map_err(internal)?;
    let ended = watch.server_ended.take();
    let (last_words, logs) = up.stop();
    // One that ended in the last moment did so by itself as well.
    let ended = ended.or_else(|| last_words.as_ref().filter(|w| w.by_itself).map(|w| w.how.clone()));
    let (samples, whole) = monitor.stop();
    if let Err(error) = whole {
        progress.trouble(&format!("{}: readings that were set aside are lost: {error}", plan.transport));
    }
    let stopped_after_ns = stopped_ns.map(|at| at.saturating_sub(start_ns));

    let mut windows = gathered.windows();
    figures::fill_windows(&mut windows, &samples, start_ns);
    let mut arm = figures_of(plan, &gathered, (&marks, setup.generator_cpus.len()), says, ended.clone());
    arm.ingest = ingest;
    if let Some(server) = &mut arm.server {
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
            overflows: arm.wire.listen_overflows.unwrap_or(0),
            server_cpus: setup.server_cpus.len(),
            thread_each: setup.target.thread_each(),
            stopped_ns: stopped_after_ns,
        };
        arm.flood = Some(flooding.figures(&after));
    }
    let facts = facts(plan, &marks, &gathered, stopped_after_ns, ended, arm.warmup.as_ref());
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

/// The end of a server that nobody came to, where that explains it.
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

/// Every client has tried once, none will again, and none was let in: nothing is left to wait
/// for. A target that only refuses this transport may still be measured on its others.
fn nobody_comes(plan: &ArmPlan, gathered: &Gathered, place: Place) -> bool {
    let total = gathered.total();
    let failed: u64 = total.failed.values().sum();
    let down = |kind: &str| {
        matches!(kind, "refused" | "unreachable" | "timeout_connect" | "timeout_tls")
            || kind.starts_with("tls_")
    };
    let down = total.failed.keys().all(|kind| down(kind));
    total.counts.opened == 0
        && failed >= plan.connections
        && plan.reconnect == Reconnect::None
        && (place.of == 1 || down)
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
        let (retransmits, overflows) = figures::tcp_trouble(start, end);
        wire.retransmits = Some(retransmits);
        wire.listen_overflows = Some(overflows);
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
        None => gathered.total().counts.unpublished,
        Some(Some(never)) => never.min(due),
        // A server that says nothing any more: of what nobody heard, all may not have been published.
        Some(None) => due,
    };
    let emitted = never.map(|never| emitted(due, never, gathered.heard()));
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

/// Publications that an emitter made: by the server's own word, or, where it says nothing any more,
/// those that somebody heard. It may have made more; it has not made none.
fn emitted(due: u64, never: Option<u64>, heard: u64) -> u64 {
    never.map_or(heard.min(due), |never| due.saturating_sub(never))
}

fn facts(
    plan: &ArmPlan,
    marks: &Marks,
    gathered: &Gathered,
    stopped_after_ns: Option<u64>,
    ended: Option<String>,
    warmup: Option<&WarmUp>,
) -> Facts {
    let window = marks.measure.as_ref().zip(marks.measured.as_ref());
    let total = gathered.total();
    let failed = |kind: &str| {
        let of = |map: &std::collections::BTreeMap<String, u64>| map.get(kind).copied().unwrap_or(0);
        of(&total.failed) + of(&total.lost_by) + of(&total.publish_failed)
    };
    let measured_s = |at_ns: u64| at_ns.saturating_sub(plan.phases.measure_start_ns()) as f64 / 1e9;
    Facts {
        clock_step_ns: marks.end.as_ref().and_then(|end| end.clock.largest_step_ns),
        port_shortages: failed("no_port"),
        descriptor_shortages: failed("no_descriptor"),
        interrupted_after_s: stopped_after_ns.map(measured_s),
        server_ended: ended.is_some(),
        no_steady_state: warmup.is_some_and(|w| w.ended == WarmUpEnd::Max),
        worst_shard_wait: window.map(|(from, to)| figures::worst_shard_wait(from, to)),
        ..Facts::default()
    }
}

/// Six base-36 digits, as in the stamp.
fn nonce(nonce: u32) -> String {
    let stamp =
        pushmark_model::stamp::Stamp { nonce, publisher: 0, channel: 0, sequence: 0, due_us: 0, sent_us: 0 };
    let mut bytes = [0; pushmark_model::stamp::STAMP_LEN];
    stamp.write(&mut bytes);
    String::from_utf8_lossy(&bytes[4..10]).into_owned()
}

/// An arm that could not be measured: it keeps its place, with its error.
pub(super) fn failed(plan: &ArmPlan, broken: &Broken) -> ArmDone {
    let gathered = Gathered::new(plan, 1);
    let mut arm = figures_of(plan, &gathered, (&Marks::default(), 0), None, None);
    arm.error = Some(broken.to_string());
    arm.outcome = Outcome::Died;
    let facts = Facts { broken_off: Some(broken.to_string()), ..Facts::default() };
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

#[cfg(test)]
mod tests {
    use super::emitted;

    #[test]
    fn an_emitter_that_cannot_tell_made_what_was_heard() {
        assert_eq!(emitted(30, Some(2), 7), 28, "its own word");
        assert_eq!(emitted(30, None, 29), 29, "no word of it");
        assert_eq!(emitted(30, None, 0), 0, "and nothing heard");
    }
}
