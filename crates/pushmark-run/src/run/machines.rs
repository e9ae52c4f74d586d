//! The agents of an arm that run on other machines: their part in its figures, and what they add to its doubts.

use pushmark_cluster::clock::Interval;
use pushmark_model::plan::ArmPlan;
use pushmark_model::run::{AgentClock, AgentPart, Arm, Window};

use crate::agent::{Machines, Spent};
use crate::verdict::{AgentLost, Facts, StoodStill};

/// What is known of the agents when an arm has ended.
pub(super) struct Agents<'a> {
    pub(super) machines: &'a Machines,
    pub(super) plan: &'a ArmPlan,
    pub(super) shards: u32,
    /// When the arm began, on our clock.
    pub(super) start_ns: u64,
    pub(super) spent: &'a [Spent],
    pub(super) lost: &'a [AgentLost],
}

/// Adds the agents to the figures. The arm's generator is all of them together.
pub(super) fn add(arm: &mut Arm, agents: &Agents<'_>) {
    let parts: Vec<AgentPart> = (0..agents.machines.cards().count()).map(|at| part(at, agents)).collect();
    let sum = |of: fn(&AgentPart) -> u64| parts.iter().map(of).sum::<u64>();
    let most = |of: fn(&AgentPart) -> f64| parts.iter().map(of).fold(0.0, f64::max);
    arm.generator.cpu_us = sum(|part| part.generator.cpu_us);
    arm.generator.window_us = parts.iter().map(|part| part.generator.window_us).max().unwrap_or(0);
    arm.generator.busiest_core = most(|part| part.generator.busiest_core);
    arm.generator.rss_bytes_peak = sum(|part| part.generator.rss_bytes_peak);
    arm.generator.run_queue_wait_us = sum(|part| part.generator.run_queue_wait_us);
    arm.generator.steal = most(|part| part.generator.steal);
    arm.generator.shards = parts.iter().map(|part| part.shards).sum();
    // The worst of them counts: each adds to the latencies of its own clients.
    let worst = parts.iter().map(|part| &part.foreign).max_by(|a, b| a.cpu.total_cmp(&b.cpu));
    arm.foreign = worst.cloned();
    arm.agents = parts;
}

fn part(at: usize, agents: &Agents<'_>) -> AgentPart {
    let Agents { machines, plan, .. } = *agents;
    let card = machines.cards().nth(at).expect("as many cards as parts");
    let shards: Vec<u32> = (0..agents.shards).filter(|shard| machines.agent_of(*shard) == at).collect();
    let connections = |shard: &u32| plan.share_of(*shard, agents.shards, None);
    let cost = agents.spent.iter().find(|spent| spent.agent == at).map(|spent| &spent.cost);
    let number = at + 1;
    let lost = agents.lost.iter().find(|lost| lost.agent.0 == number);
    AgentPart {
        name: card.name.clone(),
        host: card.host.clone(),
        version: card.version.clone(),
        cpus: card.cpus,
        wall_clock: card.wall_clock.clone(),
        shards: shards.len() as u32,
        connections: shards.iter().map(connections).sum(),
        generator: cost.map(|cost| cost.generator.clone()).unwrap_or_default(),
        foreign: cost.map(|cost| cost.foreign.clone()).unwrap_or_default(),
        clock: clock(at, agents),
        started_late_us: cost.map(|cost| cost.started_late_ns / 1_000),
        lost: lost.map(|lost| lost.how.clone()),
    }
}

/// Removes what this machine spent, second by second: it made no load.
pub(super) fn without_ours(windows: &mut [Window]) {
    for window in windows {
        window.generator_cpu_us = None;
        window.generator_rss_bytes = None;
        window.run_queue_wait_us = None;
    }
}

/// How far an agent's idea of the arm's time may be from ours.
fn clock(at: usize, agents: &Agents<'_>) -> Option<AgentClock> {
    let Agents { machines, plan, start_ns, .. } = *agents;
    clock_of(plan, start_ns, machines.used_ns(at)?, |at_ns| machines.offset(at, at_ns))
}

/// How far a machine's idea of the arm's time may be from ours, over all seconds of measure. `used_ns`: the offset of
/// its clock by which its start was told; `offset`: what is known of it at an instant of ours.
pub(super) fn clock_of(
    plan: &ArmPlan,
    start_ns: u64,
    used_ns: f64,
    offset: impl Fn(u64) -> Option<Interval>,
) -> Option<AgentClock> {
    let phases = plan.phases;
    let (from_ns, to_ns) = (phases.measure_start_ns(), phases.measure_end_ns());
    let mut bounds: Option<(f64, f64)> = None;
    let mut at_ns = from_ns;
    while at_ns <= to_ns {
        let interval = offset(start_ns + at_ns)?;
        let (low, high) = (interval.low_ns - used_ns, interval.high_ns - used_ns);
        bounds = Some(bounds.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
        at_ns += 1_000_000_000;
    }
    let (low_ns, high_ns) = bounds?;
    Some(AgentClock { low_us: low_ns / 1e3, high_us: high_ns / 1e3, offset_us: used_ns / 1e3 })
}

/// Adds what the verdict must know of the agents.
pub(super) fn judge(facts: &mut Facts, agents: &Agents<'_>) {
    let costs = || agents.spent.iter().map(|spent| &spent.cost);
    let waits = costs().map(|cost| cost.worst_shard_wait).fold(0.0, f64::max);
    facts.worst_shard_wait = Some(waits);
    facts.clock_step_ns =
        costs().filter_map(|cost| cost.clock_step_ns).max_by_key(|step| step.unsigned_abs());
    let phases = agents.plan.phases;
    let (from_ns, to_ns) = (phases.measure_start_ns() as i64, phases.measure_end_ns() as i64);
    let still = |&(began_ns, length_ns): &(i64, u64)| {
        let ended_ns = began_ns + length_ns as i64;
        let measured_ns = ended_ns.min(to_ns) - began_ns.max(from_ns);
        (ended_ns > 0 && began_ns < to_ns).then_some(StoodStill {
            began_s: (began_ns - from_ns) as f64 / 1e9,
            length_s: length_ns as f64 / 1e9,
            measured: measured_ns.max(0) as f64 / (to_ns - from_ns).max(1) as f64,
        })
    };
    facts.stood_still = costs().flat_map(|cost| cost.stalls.iter().filter_map(still)).collect();
    // One agent publishes and hears by one clock.
    let count = agents.machines.cards().count();
    if count > 1 {
        let clocks: Vec<Option<AgentClock>> = (0..count).map(|at| clock(at, agents)).collect();
        let apart_us = AgentClock::apart_us(&clocks);
        facts.clocks_unknown = apart_us.is_none();
        facts.clock_bound_ns = apart_us.map(|us| (us * 1e3) as u64);
        let late = costs().map(|cost| cost.started_late_ns).max().unwrap_or(0);
        facts.start_spread_ns = Some(late + facts.clock_bound_ns.unwrap_or(0));
    }
}
