//! From readings to the figures of a run: differences, shares, slopes. Pure.

use std::collections::BTreeMap;

use pushmark_model::run::{Foreign, Generator, Latency, Server, Window};

use super::others;
use super::process::ThreadUse;
use super::snapshot::{Sample, Snapshot};

/// Prefix of the names of load threads.
const SHARD: &str = "shard-";
/// A smaller difference between crowds shows nothing about one connection: pages are 4 KiB.
const CROWD_SPAN_MIN: u64 = 50;

/// Memory at one size of the crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrowdPoint {
    /// Connections open.
    pub connections: u64,
    /// RSS of the server.
    pub server_rss_bytes: u64,
    /// Slab and TCP buffers of the host.
    pub kernel_memory_bytes: u64,
}

/// Returns the server's cost between two snapshots; `None` if it was not watched. `crowd` holds readings
/// while the crowd grew, the empty one first.
pub fn server(start: &Snapshot, end: &Snapshot, crowd: &[CrowdPoint]) -> Option<Server> {
    let (before, after) = (start.sample.server?, end.sample.server?);
    let per_connection = |bytes: fn(&CrowdPoint) -> u64| {
        slope(&crowd.iter().map(|p| (p.connections, bytes(p))).collect::<Vec<_>>())
    };
    Some(Server {
        cpu_us: micros(before.cpu_ns, after.cpu_ns),
        window_us: micros(start.sample.t_ns, end.sample.t_ns),
        rss_bytes_peak: end.peaks.server_rss_bytes,
        ready_us: None,
        rss_bytes_start: crowd.first().map(|p| p.server_rss_bytes),
        rss_bytes_per_connection: per_connection(|p| p.server_rss_bytes),
        kernel_bytes_per_connection: per_connection(|p| p.kernel_memory_bytes),
        pss_bytes_full: start.server_pss_bytes.or(end.server_pss_bytes),
        threads_max: end.peaks.server_threads,
        run_queue_wait_us: micros(before.run_queue_wait_ns, after.run_queue_wait_ns),
        ended: None,
        ended_us: None,
        heap: None,
    })
}

/// Returns the generator's cost between two snapshots. The shards measured the loop lag. Shards are assigned
/// to `cpus` CPUs in turn; 0: not pinned.
pub fn generator(start: &Snapshot, end: &Snapshot, loop_lag: Latency, cpus: usize) -> Generator {
    let window_ns = end.sample.t_ns.saturating_sub(start.sample.t_ns);
    let shards = shards(start, end);
    let online = end.host.softirq_ns_by_cpu.len().max(1) as u64;
    Generator {
        cpu_us: micros(start.sample.generator.cpu_ns, end.sample.generator.cpu_ns),
        window_us: window_ns / 1_000,
        busiest_core: share(busiest_core_ns(&shards, cpus), window_ns),
        rss_bytes_peak: end.peaks.generator_rss_bytes,
        run_queue_wait_us: shards.iter().map(|s| s.wait_ns).sum::<u64>() / 1_000,
        loop_lag,
        steal: share(end.sample.steal_ns.saturating_sub(start.sample.steal_ns), window_ns * online),
        shards: shards.len() as u32,
    }
}

/// The longest any one shard waited for a core, as a share of the window.
pub fn worst_shard_wait(start: &Snapshot, end: &Snapshot) -> f64 {
    let window_ns = end.sample.t_ns.saturating_sub(start.sample.t_ns);
    share(shards(start, end).iter().map(|s| s.wait_ns).max().unwrap_or(0), window_ns)
}

/// Returns the use of the run's CPUs by other programs between two snapshots. Interrupts are left out because
/// they contain the kernel's work for the run. `cpus`: the number of the run's CPUs; `ours`: the root
/// processes of the run.
///
/// The kernel counts the time of tasks by ticks: work that a timer begins at the same distance from the tick each
/// time, as that of an open model, is counted at every tick or at none. Idle time is exact, so other programs can
/// have no more than what it leaves.
pub fn foreign(start: &Snapshot, end: &Snapshot, cpus: usize, ours: &[i32]) -> Foreign {
    let window_ns = end.sample.t_ns.saturating_sub(start.sample.t_ns);
    let cpus = if cpus == 0 { end.host.tasks_ns_by_cpu.len() } else { cpus }.max(1) as u64;
    let own_ns = |s: &Sample| s.generator.cpu_ns + s.server.map_or(0, |server| server.cpu_ns) + s.beside_ns;
    let ours_ns = own_ns(&end.sample).saturating_sub(own_ns(&start.sample));
    let idle_ns = end.sample.idle_ns.saturating_sub(start.sample.idle_ns);
    let tasks_ns = end.sample.tasks_ns.saturating_sub(start.sample.tasks_ns);
    let all_ns = tasks_ns.min((window_ns * cpus).saturating_sub(idle_ns));
    let by = end.others.busiest_since(&start.others, ours, window_ns);
    Foreign { cpu: share(all_ns.saturating_sub(ours_ns), window_ns * cpus).min(1.0), by: others::named(&by) }
}

/// Of the time in which the server wanted to run, returns the share that it waited because other programs
/// used its cores; `None` if it never wanted to run. A server of many threads also waits for its own threads,
/// so other programs are charged in proportion to their part of the CPU use.
pub fn server_wait(server: &Server, foreign: &Foreign, cpus: usize) -> Option<f64> {
    let wanted_us = server.cpu_us + server.run_queue_wait_us;
    let foreign_us = foreign.cpu * server.window_us as f64 * cpus.max(1) as f64;
    let used_us = foreign_us + server.cpu_us as f64;
    (wanted_us > 0 && used_us > 0.0)
        .then(|| server.run_queue_wait_us as f64 / wanted_us as f64 * (foreign_us / used_us))
}

/// The CPU use of a shard thread in a window.
struct ShardUse {
    number: usize,
    cpu_ns: u64,
    wait_ns: u64,
}

/// Each shard thread that lived through the window.
fn shards(start: &Snapshot, end: &Snapshot) -> Vec<ShardUse> {
    let shard = |after: &ThreadUse| {
        let number = after.name.strip_prefix(SHARD)?.parse().ok()?;
        let before = start.threads.iter().find(|t| t.tid == after.tid)?;
        let since = |of: fn(&ThreadUse) -> u64| of(after).saturating_sub(of(before));
        Some(ShardUse { number, cpu_ns: since(|t| t.cpu_ns), wait_ns: since(|t| t.run_queue_wait_ns) })
    };
    end.threads.iter().filter_map(shard).collect()
}

/// The busiest core: the sum of the shards that share it. Without pinning, the busiest shard.
fn busiest_core_ns(shards: &[ShardUse], cpus: usize) -> u64 {
    let mut cores = BTreeMap::<usize, u64>::new();
    for shard in shards {
        let core = if cpus == 0 { shard.number } else { shard.number % cpus };
        *cores.entry(core).or_default() += shard.cpu_ns;
    }
    cores.into_values().max().unwrap_or(0)
}

/// Soft-interrupt time over all CPUs between two snapshots, µs.
pub fn softirq_us(start: &Snapshot, end: &Snapshot) -> u64 {
    micros(start.sample.softirq_ns, end.sample.softirq_ns)
}

/// Sockets that entered TIME_WAIT a second between two snapshots, host-wide.
pub fn time_wait_per_s(start: &Snapshot, end: &Snapshot) -> f64 {
    let entered = end.host.tcp.time_wait_entered_since(&start.host.tcp);
    let window_ns = end.sample.t_ns.saturating_sub(start.sample.t_ns);
    share(entered * 1_000_000_000, window_ns)
}

/// `(retransmits, listen overflows)` between two snapshots, host-wide.
pub fn tcp_trouble(start: &Snapshot, end: &Snapshot) -> (u64, u64) {
    let (before, after) = (&start.host.tcp, &end.host.tcp);
    (
        after.retransmits.saturating_sub(before.retransmits),
        after.listen_overflows.saturating_sub(before.listen_overflows),
    )
}

/// Returns the bytes that one more connection adds, by least squares over `(connections, bytes)`; `None` if
/// the crowd sizes do not differ enough.
pub fn slope(points: &[(u64, u64)]) -> Option<f64> {
    let low = points.iter().map(|p| p.0).min()?;
    let high = points.iter().map(|p| p.0).max()?;
    if high - low < CROWD_SPAN_MIN {
        return None;
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0 as f64).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1 as f64).sum::<f64>() / n;
    let covariance: f64 = points.iter().map(|p| (p.0 as f64 - mean_x) * (p.1 as f64 - mean_y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 as f64 - mean_x).powi(2)).sum();
    Some(covariance / variance)
}

/// Fills the cost columns of one arm's windows. Samples do not fall on the arm's seconds, so
/// counters are interpolated at both ends of each; a second not covered stays empty.
pub fn fill_windows(windows: &mut [Window], samples: &[Sample], arm_start_ns: u64) {
    for window in windows {
        let from_ns = arm_start_ns + u64::from(window.second) * 1_000_000_000;
        let to_ns = from_ns + 1_000_000_000;
        let counted = |value: fn(&Sample) -> Option<u64>| {
            let (from, to) = (at(samples, from_ns, value)?, at(samples, to_ns, value)?);
            Some(((to - from) / 1_000.0).max(0.0).round() as u64)
        };
        window.server_cpu_us = counted(|s| s.server.map(|p| p.cpu_ns));
        window.generator_cpu_us = counted(|s| Some(s.generator.cpu_ns));
        window.softirq_us = counted(|s| Some(s.softirq_ns));
        window.run_queue_wait_us = counted(|s| Some(s.generator.run_queue_wait_ns));
        window.steal_us = counted(|s| Some(s.steal_ns));
        window.host_cpu_us = counted(|s| s.host_busy_ns);
        let last = samples.iter().rev().find(|s| s.t_ns <= to_ns && s.t_ns + 2_000_000_000 > to_ns);
        window.server_rss_bytes = last.and_then(|s| s.server).map(|p| p.rss_bytes);
        window.host_used_bytes = last.and_then(|s| s.host_used_bytes);
        window.server_threads = last.and_then(|s| s.server).map(|p| p.threads);
        window.generator_rss_bytes = last.map(|s| s.generator.rss_bytes);
    }
}

/// CPU of the server's tree between two instants, µs; `None` if the samples do not cover them.
pub fn server_cpu_us(samples: &[Sample], from_ns: u64, to_ns: u64) -> Option<f64> {
    let cpu_ns = |at_ns| at(samples, at_ns, |s| s.server.map(|p| p.cpu_ns));
    Some((cpu_ns(to_ns)? - cpu_ns(from_ns)?) / 1_000.0)
}

/// A counter at an instant between two samples.
fn at(samples: &[Sample], t_ns: u64, value: fn(&Sample) -> Option<u64>) -> Option<f64> {
    let next = samples.partition_point(|s| s.t_ns < t_ns);
    let after = samples.get(next)?;
    if after.t_ns == t_ns {
        return value(after).map(|v| v as f64);
    }
    let before = samples.get(next.checked_sub(1)?)?;
    let along = (t_ns - before.t_ns) as f64 / (after.t_ns - before.t_ns) as f64;
    let (low, high) = (value(before)? as f64, value(after)? as f64);
    Some(low + (high - low) * along)
}

fn micros(from_ns: u64, to_ns: u64) -> u64 {
    to_ns.saturating_sub(from_ns) / 1_000
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::process::{ProcessUse, ThreadUse};

    const S: u64 = 1_000_000_000;

    fn snapshot(t_ns: u64, shard_cpu_ns: &[u64]) -> Snapshot {
        let mut s = Snapshot::default();
        s.sample.t_ns = t_ns;
        s.host.softirq_ns_by_cpu = vec![0; 2];
        s.threads = shard_cpu_ns
            .iter()
            .enumerate()
            .map(|(i, &cpu_ns)| ThreadUse {
                tid: i as i32,
                name: format!("shard-{i}"),
                cpu_ns,
                run_queue_wait_ns: cpu_ns / 10,
            })
            .collect();
        s.threads.push(ThreadUse { tid: 99, name: "monitor".into(), cpu_ns: t_ns * 9, run_queue_wait_ns: 0 });
        s
    }

    #[test]
    fn the_busiest_shard_is_a_share_of_one_core() {
        let (start, mut end) = (snapshot(10 * S, &[S, S]), snapshot(20 * S, &[3 * S, 9 * S]));
        end.sample.steal_ns = S;
        let figures = generator(&start, &end, Latency::default(), 2);
        assert_eq!((figures.busiest_core, figures.shards, figures.window_us), (0.8, 2, 10_000_000));
        assert_eq!(figures.run_queue_wait_us, 1_000_000);
        assert_eq!(figures.steal, 0.05);
        assert_eq!(worst_shard_wait(&start, &end), 0.08);
    }

    #[test]
    fn shards_that_share_a_core_fill_it_together() {
        let (start, end) = (snapshot(10 * S, &[0; 4]), snapshot(20 * S, &[3 * S, S, 4 * S, S]));
        let busiest = |cpus| generator(&start, &end, Latency::default(), cpus).busiest_core;
        assert_eq!((busiest(1), busiest(2), busiest(4), busiest(0)), (0.9, 0.7, 0.4, 0.4));
    }

    #[test]
    fn what_is_neither_servers_nor_ours_is_foreign() {
        let (start, mut end) = (snapshot(10 * S, &[0]), snapshot(20 * S, &[S]));
        let used = |cpu_ns| ProcessUse { cpu_ns, ..ProcessUse::default() };
        end.sample.tasks_ns = 9 * S;
        end.sample.generator = used(2 * S);
        end.sample.server = Some(used(3 * S));
        end.sample.beside_ns = S / 2;
        end.host.tasks_ns_by_cpu = vec![0; 4];
        // 9 − 5.5 of 2 × 10 s, of 4 × 10 s.
        assert_eq!(foreign(&start, &end, 2, &[]).cpu, 0.175);
        assert_eq!(foreign(&start, &end, 0, &[]).cpu, 0.0875);
        end.sample.tasks_ns = 5 * S;
        assert_eq!(foreign(&start, &end, 2, &[]).cpu, 0.0, "ticks tell less than threads");
        (end.sample.tasks_ns, end.sample.idle_ns) = (9 * S, 14 * S);
        assert_eq!(
            foreign(&start, &end, 2, &[]).cpu,
            0.025,
            "the CPUs were busy for 6 s, whatever the ticks tell"
        );
    }

    #[test]
    fn a_server_waits_for_others_by_their_part() {
        let server = |cpu_us, wait_us| Server {
            cpu_us,
            run_queue_wait_us: wait_us,
            window_us: 10_000_000,
            ..Server::default()
        };
        let others = |cpu| Foreign { cpu, ..Foreign::default() };
        // Alone on a full core its threads wait only for each other.
        assert_eq!(server_wait(&server(10_000_000, 30_000_000), &others(0.0), 2), Some(0.0));
        // Other programs use as much as the server: half of its wait is charged to them.
        assert_eq!(server_wait(&server(5_000_000, 5_000_000), &others(0.25), 2), Some(0.25));
        assert_eq!(server_wait(&server(0, 0), &others(0.5), 2), None);
    }

    #[test]
    fn a_server_not_watched_has_no_cost() {
        assert!(server(&snapshot(0, &[]), &snapshot(S, &[]), &[]).is_none());
    }

    #[test]
    fn the_servers_cost_is_the_difference_of_the_window() {
        let (mut start, mut end) = (snapshot(S, &[]), snapshot(2 * S, &[]));
        let used = |cpu_ns| Some(ProcessUse { cpu_ns, ..ProcessUse::default() });
        (start.sample.server, end.sample.server) = (used(700_000), used(1_700_999));
        let point = |n: u64| CrowdPoint {
            connections: n,
            server_rss_bytes: 9_000 + n * 2_048,
            kernel_memory_bytes: 500 + n * 4_096,
        };
        let figures = server(&start, &end, &[point(0), point(500), point(1_000)]).unwrap();
        assert_eq!((figures.cpu_us, figures.window_us), (1_000, 1_000_000));
        assert_eq!(figures.rss_bytes_start, Some(9_000));
        assert!((figures.rss_bytes_per_connection.unwrap() - 2_048.0).abs() < 1e-6);
        assert!((figures.kernel_bytes_per_connection.unwrap() - 4_096.0).abs() < 1e-6);
    }

    #[test]
    fn a_slope_needs_two_crowd_sizes() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(1_000, 5), (1_000, 9)]), None);
        assert_eq!(slope(&[(0, 0), (49, 4_900)]), None);
        assert_eq!(slope(&[(0, 100), (50, 5_100)]), Some(100.0));
    }

    #[test]
    fn a_window_gets_what_was_used_in_its_second() {
        let samples: Vec<Sample> = (0..4)
            .map(|i| Sample {
                t_ns: i * S + S / 2,
                softirq_ns: i * i * 1_000_000,
                host_busy_ns: Some(i * 400_000_000),
                host_used_bytes: Some(i * 4_096),
                generator: ProcessUse { cpu_ns: i * 100_000_000, ..ProcessUse::default() },
                ..Sample::default()
            })
            .collect();
        let mut windows: Vec<Window> = (0..3).map(|second| Window { second, ..Window::default() }).collect();
        fill_windows(&mut windows, &samples, S);
        let cpu: Vec<_> = windows.iter().map(|w| w.generator_cpu_us).collect();
        assert_eq!(cpu, [Some(100_000), Some(100_000), None], "the last second is not covered");
        assert_eq!(windows[0].softirq_us, Some(2_000));
        assert_eq!((windows[1].host_cpu_us, windows[1].host_used_bytes), (Some(400_000), Some(8_192)));
        assert_eq!(windows[0].server_cpu_us, None);
    }
}
