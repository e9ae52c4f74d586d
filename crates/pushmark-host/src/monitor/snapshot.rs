//! The monitor's readings: a light one every second, a full one on demand.

use serde::{Deserialize, Serialize};

use super::clock_watch::ClockWatch;
use super::host::HostUse;
use super::others::Others;
use super::process::{ProcessUse, ThreadUse};
use super::pulse::Stall;

/// One reading. CPU, waits, softirq and steal count up: windows are differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When, on the monitor's monotonic clock.
    pub t_ns: u64,
    /// The server's process tree; absent when its process is not known. After its end it
    /// keeps its CPU and shows no threads.
    pub server: Option<ProcessUse>,
    /// This process and its agents.
    pub generator: ProcessUse,
    /// Time in soft interrupts, all CPUs.
    pub softirq_ns: u64,
    /// Time stolen by the hypervisor, all CPUs.
    pub steal_ns: u64,
    /// Slab and TCP buffers now.
    pub kernel_memory_bytes: u64,
    /// Time not idle, all CPUs; absent if the system does not report it.
    pub host_busy_ns: Option<u64>,
    /// Memory of the host that is in use.
    pub host_used_bytes: Option<u64>,
    /// Time of tasks on the CPUs that the run has, interrupts and steal left out.
    pub tasks_ns: u64,
    /// Time that those CPUs were idle.
    pub idle_ns: u64,
    /// CPU of the run's other processes: a browser, or a target that was already running.
    pub beside_ns: u64,
    /// REALTIME − MONOTONIC.
    pub clock_offset_ns: i64,
}

/// A full reading: the difference of two is the cost of a window.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The light part.
    pub sample: Sample,
    /// The threads of this process and its agents (`shard-0`, `monitor`, …).
    pub threads: Vec<ThreadUse>,
    /// The host.
    pub host: HostUse,
    /// The use of every process so far; only on demand.
    pub(crate) others: Others,
    /// The server's proportional memory; only when asked for.
    pub server_pss_bytes: Option<u64>,
    /// Extremes since the monitor started.
    pub peaks: Peaks,
    /// Clock steps since the monitor started.
    pub clock: ClockWatch,
    /// The stalls of this process since then.
    pub stalls: Vec<Stall>,
}

/// Largest values seen since the monitor started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// RSS of the server's tree.
    pub server_rss_bytes: u64,
    /// Threads of the server's tree.
    pub server_threads: u64,
    /// RSS of this process and its agents.
    pub generator_rss_bytes: u64,
}

impl Peaks {
    /// Widens them by a reading.
    pub(super) fn seen(&mut self, sample: &Sample) {
        let server = sample.server.unwrap_or_default();
        self.server_rss_bytes = self.server_rss_bytes.max(server.rss_bytes);
        self.server_threads = self.server_threads.max(server.threads);
        self.generator_rss_bytes = self.generator_rss_bytes.max(sample.generator.rss_bytes);
    }
}
