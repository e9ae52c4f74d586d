//! What an arm cost: the server, the generator, the wire.

use serde::{Deserialize, Serialize};

use super::Latency;

/// The server's cost during measure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// CPU of its process tree.
    pub cpu_us: u64,
    /// Length of the window the CPU figures cover.
    pub window_us: u64,
    /// Highest RSS seen.
    pub rss_bytes_peak: u64,
    /// From the start of its process to its first good answer; absent where it ran already.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ready_us: Option<u64>,
    /// RSS before the crowd came.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_start: Option<u64>,
    /// Slope of RSS between crowd sizes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_per_connection: Option<f64>,
    /// Slope of kernel memory, both ends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_bytes_per_connection: Option<f64>,
    /// PSS with the crowd whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pss_bytes_full: Option<u64>,
    /// Most threads seen.
    pub threads_max: u64,
    /// Wait in run queues.
    pub run_queue_wait_us: u64,
    /// How it ended if it ended by itself: `signal 9`, `exit 1`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
}

/// Our own cost during measure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Generator {
    /// CPU of this process.
    pub cpu_us: u64,
    /// Length of the window.
    pub window_us: u64,
    /// Busiest shard thread, share of one core, 0–1.
    pub busiest_core: f64,
    /// Highest RSS seen.
    pub rss_bytes_peak: u64,
    /// Wait of shard threads in run queues.
    pub run_queue_wait_us: u64,
    /// Time from the end of one wait to the next: how long a turn of the loop took.
    pub loop_lag: Latency,
    /// Share of CPU stolen by the hypervisor over the window, 0–1.
    pub steal: f64,
    /// Shards (threads).
    pub shards: u32,
}

/// The wire as the kernel counted it on our sockets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Wire {
    /// Bytes read from subscriber connections over the whole arm.
    pub bytes_in: u64,
    /// Bytes written to them.
    pub bytes_out: u64,
    /// Bytes read during measure.
    pub measure_bytes_in: u64,
    /// Bytes written during measure.
    pub measure_bytes_out: u64,
    /// Segments received (TCP_INFO at close).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_in: Option<u64>,
    /// Segments sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_out: Option<u64>,
    /// Segments retransmitted, host-wide during the arm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// Listen-queue overflows, host-wide during the arm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listen_overflows: Option<u64>,
    /// Sockets entering TIME_WAIT a second, host-wide.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_wait_per_s: Option<f64>,
}
