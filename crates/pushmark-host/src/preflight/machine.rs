//! The resources of this machine, read at run time.

use std::fs;
use std::path::{Path, PathBuf};

use procfs::{Current, LoadAverage, Meminfo};
use pushmark_net::limits;

use super::cgroup;
use super::precision::{self, Precision};
use crate::monitor::HostUse;
use crate::server::paths::in_path;

/// Facts of a machine. A fact that cannot be read is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Open files: the limit in force, and the limit it can be raised to without privilege.
    pub open_files: (u64, u64),
    /// Open files of the whole system still free.
    pub file_table_left: Option<u64>,
    /// Ephemeral ports, both ends included.
    pub ports: (u16, u16),
    /// Seconds that a port stays in use after its connection: to other machines, and on loopback.
    pub time_wait_s: (f64, f64),
    /// Maximum number of connections in a listen queue.
    pub somaxconn: Option<u64>,
    /// Maximum number of half-open connections.
    pub syn_backlog: Option<u64>,
    /// TCP memory: pressure and maximum, bytes.
    pub tcp_memory_bytes: Option<(u64, u64)>,
    /// Available memory, bytes, within the limit of a container.
    pub memory_bytes: u64,
    /// CPUs online that this process may use.
    pub cpus: u32,
    /// CPUs that a container's quota allows, if it is less.
    pub cpu_quota: Option<f64>,
    /// Mean number of runnable threads over the last minute.
    pub load_1m: f64,
    /// Share of CPU time stolen while precision was measured; absent if it was not.
    pub steal: Option<f64>,
    /// Timer precision; absent if it was not measured.
    pub precision: Option<Precision>,
    /// The kernel's clock source: `tsc`.
    pub clock_source: Option<String>,
    /// Connection tracking: entries now, and the maximum; absent if it is not loaded.
    pub conntrack: Option<(u64, u64)>,
    /// Free space for results, bytes.
    pub disk_free_bytes: Option<u64>,
    /// CPU frequency governor.
    pub governor: Option<String>,
    /// The server over which several machines work together, if it is here.
    pub nats_server: Option<PathBuf>,
}

impl Machine {
    /// Reads everything that needs no wait.
    pub fn read(results: &Path) -> Machine {
        let limits = cgroup::limits();
        let available = Meminfo::current().ok().and_then(|m| m.mem_available).unwrap_or(0);
        let page = procfs::page_size();
        Machine {
            open_files: limits::open_files(),
            file_table_left: file_table_left(),
            ports: limits::ephemeral_ports().unwrap_or((32_768, 60_999)),
            time_wait_s: time_wait_s(),
            somaxconn: number("/proc/sys/net/core/somaxconn"),
            syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
            tcp_memory_bytes: numbers("/proc/sys/net/ipv4/tcp_mem")
                .filter(|pages| pages.len() == 3)
                .map(|pages| (pages[1].saturating_mul(page), pages[2].saturating_mul(page))),
            memory_bytes: limits.memory_left_bytes.map_or(available, |left| left.min(available)),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            cpu_quota: limits.cpus,
            load_1m: LoadAverage::current().map_or(0.0, |load| f64::from(load.one)),
            steal: None,
            precision: None,
            clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            conntrack: number("/proc/sys/net/netfilter/nf_conntrack_count")
                .zip(number("/proc/sys/net/netfilter/nf_conntrack_max")),
            disk_free_bytes: disk_free(results),
            governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            nats_server: in_path("nats-server"),
        }
    }

    /// [`Machine::read`], plus precision and steal, which take 0.3 s to measure.
    pub fn measured(results: &Path) -> Machine {
        let mut machine = Machine::read(results);
        let (before, before_ns) = (HostUse::read(), pushmark_net::Clock::now());
        machine.precision = precision::measure().ok();
        let (after, after_ns) = (HostUse::read(), pushmark_net::Clock::now());
        let all_ns = (after_ns - before_ns) as f64 * after.softirq_ns_by_cpu.len().max(1) as f64;
        machine.steal = Some(after.steal_ns.saturating_sub(before.steal_ns) as f64 / all_ns.max(1.0));
        machine
    }
}

/// Returns how long TIME_WAIT blocks a port for the same target. The kernel's source defines 60 s.
/// `tcp_tw_reuse` (2: on loopback only) reduces it to `tcp_tw_reuse_delay`.
fn time_wait_s() -> (f64, f64) {
    let reuse = number("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or(0);
    let delay_s = number("/proc/sys/net/ipv4/tcp_tw_reuse_delay").unwrap_or(1_000) as f64 / 1_000.0;
    match reuse {
        0 => (60.0, 60.0),
        1 => (delay_s, delay_s),
        _ => (60.0, delay_s),
    }
}

/// Reads `/proc/sys/fs/file-nr`: allocated, free of them, maximum.
fn file_table_left() -> Option<u64> {
    let numbers = numbers("/proc/sys/fs/file-nr").filter(|n| n.len() == 3)?;
    Some(numbers[2].saturating_sub(numbers[0]))
}

/// Reads the free space of the nearest existing folder, because the results folder may not exist yet.
fn disk_free(results: &Path) -> Option<u64> {
    let absolute = std::path::absolute(results).ok()?;
    let folder = absolute.ancestors().find(|folder| folder.is_dir())?;
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn number(path: &str) -> Option<u64> {
    text(path)?.parse().ok()
}

fn numbers(path: &str) -> Option<Vec<u64>> {
    text(path)?.split_whitespace().map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_read() {
        let machine = Machine::measured(Path::new("no/such/results"));
        assert!(machine.open_files.0 > 0 && machine.ports.0 < machine.ports.1);
        assert!(machine.memory_bytes > 0 && machine.cpus > 0 && machine.disk_free_bytes.is_some());
        assert!(machine.precision.is_some() && machine.steal.is_some());
    }
}
