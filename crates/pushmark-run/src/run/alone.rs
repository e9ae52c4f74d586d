//! The feed alone (`publisher.alone`): once the crowd has left, the same warm server receives the same
//! publications at the same rate, without subscribers. The cost of that is the feed's part of the server's
//! cost under the crowd.

use std::time::Duration;

use pushmark_model::plan::{ArmPlan, Mode, Phases, ShardPlan};
use pushmark_model::run::Ingest;
use pushmark_model::schedule::Ramp;
use pushmark_net::Clock;

use super::Signals;
use crate::agent::{PoolEvent, ShardPool};
use crate::gather::Gathered;
use crate::target::Up;
use pushmark_host::monitor::{Monitor, figures};

/// Time in which the crowd's connections end and the feed's are opened.
const SETTLE_NS: u64 = 500_000_000;
/// How long the feed runs before it is measured.
const WARMUP_NS: u64 = 500_000_000;
const DRAIN_NS: u64 = 200_000_000;
const LEAD_NS: u64 = 50_000_000;
const TICK_NS: u64 = 200_000_000;

/// The arm without its crowd; `None` if the scenario does not ask for it.
fn without_crowd(plan: &ArmPlan) -> Option<ArmPlan> {
    let mut publisher = plan.publisher.clone().filter(|p| p.mode == Mode::External)?;
    let measure_ns = publisher.alone_ns?;
    publisher.count = None;
    Some(ArmPlan {
        connections: 0,
        ramp: Ramp::constant(0, 1.0),
        phases: Phases {
            ramp_ns: 0,
            settle_ns: SETTLE_NS,
            warmup_ns: WARMUP_NS,
            measure_ns,
            drain_ns: DRAIN_NS,
        },
        deadline_ns: DRAIN_NS,
        publisher: Some(publisher),
        ..plan.clone()
    })
}

/// Publishes to a server whose crowd has left. Returns `None` if the scenario does not ask for it, the run
/// was stopped, nothing could be published, or the server's process is not known.
pub(super) fn measure(
    plan: &ArmPlan,
    shards: u32,
    cpus: &[u32],
    up: &Up,
    monitor: &Monitor,
    signals: &Signals,
) -> anyhow::Result<Option<Ingest>> {
    let Some(arm) = without_crowd(plan) else { return Ok(None) };
    if signals.stopped().is_some() {
        return Ok(None);
    }
    let start_ns = (Clock::now() + LEAD_NS) / 1_000 * 1_000;
    let shard = |shard| ShardPlan {
        arm: arm.clone(),
        shard,
        shards,
        start_ns,
        subscribe_to: up.subscribe_to,
        half: None,
        publish_to: up.publish_to,
        before_to: up.before_to.clone(),
        port: up.port,
        clock_ahead_us: 0,
        machine_shards: Vec::new(),
    };
    let pool = ShardPool::start((0..shards).map(shard).collect(), cpus, Vec::new(), |_| 0)?;
    let mut gathered = Gathered::new(&arm, shards);
    let window = [arm.phases.measure_start_ns(), arm.phases.measure_end_ns()].map(|at| start_ns + at);
    let mut marks = Vec::new();
    loop {
        let now_ns = Clock::now();
        if let Some(&at_ns) = window.get(marks.len())
            && now_ns >= at_ns
        {
            marks.push(monitor.mark());
        }
        let next_ns = window.get(marks.len()).map_or(TICK_NS, |&at_ns| at_ns.saturating_sub(now_ns));
        match pool.next(Duration::from_nanos(next_ns.min(TICK_NS))) {
            PoolEvent::Record(record) => {
                gathered.add(&record);
                pool.take_back(record);
            }
            PoolEvent::Nothing | PoolEvent::Spent(_) | PoolEvent::Silent(_) | PoolEvent::Lost(_) => {}
            PoolEvent::End => break,
        }
        if signals.stopped().is_some() {
            pool.stop();
        }
    }
    pool.join().map_err(anyhow::Error::msg)?;
    let [from, to] = &marks[..] else { return Ok(None) };
    let counts = &gathered.total().counts;
    let published = counts.published.saturating_sub(counts.publish_failed);
    let server = figures::server(from, to, &[]).filter(|_| published > 0 && signals.stopped().is_none());
    Ok(server.map(|server| Ingest {
        published,
        server_cpu_us: server.cpu_us,
        generator_cpu_us: figures::generator(from, to, Default::default(), cpus.len()).cpu_us,
        window_us: server.window_us,
    }))
}
