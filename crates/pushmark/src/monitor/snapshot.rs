//! What the monitor hands out: a light reading every second, a full one on demand.

use serde::{Deserialize, Serialize};

use super::clock_watch::ClockWatch;
use super::host::HostUse;
use super::process::{ProcessUse, ThreadUse};

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
    /// Time not idle, all CPUs; absent where the system does not tell.
    pub host_busy_ns: Option<u64>,
    /// Memory of the host that was lately used.
    pub host_active_bytes: Option<u64>,
    /// REALTIME − MONOTONIC.
    pub clock_offset_ns: i64,
}

/// A full reading: the difference of two says what a window cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The light part.
    pub sample: Sample,
    /// The threads of this process and its agents (`shard-0`, `monitor`, …).
    pub threads: Vec<ThreadUse>,
    /// The host.
    pub host: HostUse,
    /// The server's proportional memory; only when asked for.
    pub server_pss_bytes: Option<u64>,
    /// Extremes since the monitor started.
    pub peaks: Peaks,
    /// Clock steps since the monitor started.
    pub clock: ClockWatch,
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
