//! What the monitor beside a server on another machine adds to the figures of an arm, and to its doubts.

use pushmark_host::monitor::figures::slope;
use pushmark_model::monitor::ServerSeen;
use pushmark_model::plan::ArmPlan;
use pushmark_model::run::{AgentClock, Arm, MonitorPart, Window};

use super::figures::emitter;
use super::machines::clock_of;
use crate::agent::{Machines, WatchDone};
use crate::gather::Gathered;
use crate::seen;
use crate::verdict::Facts;

/// How far the monitor's idea of the arm's time may be from ours.
pub(super) fn clock(machines: &Machines, plan: &ArmPlan, start_ns: u64) -> Option<AgentClock> {
    let used_ns = machines.monitor_used_ns()?;
    clock_of(plan, start_ns, used_ns, |at_ns| machines.monitor_offset(at_ns))
}

/// Fills in what the server and its machine used, second by second.
pub(super) fn fill_windows(windows: &mut [Window], seen: &[Window]) {
    for window in windows {
        let Some(second) = seen.iter().find(|other| other.second == window.second) else { continue };
        window.server_cpu_us = second.server_cpu_us;
        window.server_rss_bytes = second.server_rss_bytes;
        window.server_threads = second.server_threads;
        window.softirq_us = second.softirq_us;
        window.host_cpu_us = second.host_cpu_us;
        window.host_used_bytes = second.host_used_bytes;
        window.steal_us = second.steal_us;
    }
}

/// Adds what was seen to the figures.
pub(super) fn add(arm: &mut Arm, gathered: &Gathered, part: MonitorPart, seen: Option<ServerSeen>) {
    arm.monitor = Some(part);
    let Some(mut seen) = seen else { return };
    let by_crowd = |bytes: fn(&(u32, u64, u64)) -> u64| {
        let point =
            |point: &(u32, u64, u64)| Some((gathered.seconds().get(&point.0)?.connected, bytes(point)));
        slope(&seen.growth.iter().filter_map(point).collect::<Vec<_>>())
    };
    let (kernel, rss) = (by_crowd(|point| point.1), by_crowd(|point| point.2));
    if let Some(server) = &mut seen.server {
        (server.kernel_bytes_per_connection, server.rss_bytes_per_connection) = (kernel, rss);
    }
    // The busier of the machines counts: each adds to the latencies.
    let both = arm.foreign.take().into_iter().chain(seen.foreign.take());
    arm.foreign = both.max_by(|a, b| a.cpu.total_cmp(&b.cpu));
    seen::put(arm, seen);
}

/// Adds what the verdict must know.
pub(super) fn judge(facts: &mut Facts, done: &WatchDone, plan: &ArmPlan) {
    facts.monitor_lost = done.part.lost.clone();
    facts.server_wait = done.server_wait.or(facts.server_wait);
    // The stamps of a server that publishes by itself are by its machine's clock.
    if emitter(plan) {
        match done.part.clock {
            None => facts.clocks_unknown = true,
            Some(clock) => {
                let width_ns = ((clock.high_us - clock.low_us).max(0.0) * 1e3) as u64;
                facts.clock_bound_ns = Some(facts.clock_bound_ns.unwrap_or(0) + width_ns);
            }
        }
    }
}
