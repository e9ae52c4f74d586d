//! One second of an arm, as `windows.csv` holds it.

use serde::{Deserialize, Serialize};

/// One second of one arm: a line of `windows.csv`. By received instants, where nothing else is said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Transport of the arm.
    pub arm: String,
    /// Seconds from the arm's start.
    pub second: u32,
    /// Phase the second begins in.
    pub phase: String,
    /// Connections the ramp asks for by now.
    pub asked: u64,
    /// Connections subscribed at the end of the second.
    pub connected: u64,
    /// Connections that got a first byte of response by its end.
    pub established: u64,
    /// Connections lost unasked in this second.
    pub lost: u64,
    /// Connection attempts failed in this second.
    pub failed: u64,
    /// Publications due.
    pub due: u64,
    /// Publications sent.
    pub sent: u64,
    /// Deliveries received (all phases).
    pub delivered: u64,
    /// Requests sent by pollers and long pollers.
    pub requests: u64,
    /// Answers with news to requests that were held; absent where none are.
    pub answers: Option<u64>,
    /// Answers without.
    pub timeouts: Option<u64>,
    /// Longest emit of the measured publications due in this second: last received − sent; absent if nobody heard one.
    pub emit_duration_max_us: Option<i64>,
    /// Mean of their emits.
    pub emit_duration_mean_us: Option<i64>,
    /// How many heard each measured publication due in this second, on average: the requests an emit cycle.
    pub receivers_per_publication: Option<f64>,
    /// How many heard the last publication that was due by its end, in time: every channel's, on average a client.
    pub served: Option<u64>,
    /// Bytes in.
    pub bytes_in: u64,
    /// Bytes out.
    pub bytes_out: u64,
    /// p50 of received − due of deliveries received in this second; empty if none.
    pub p50_us: Option<i64>,
    /// p99.
    pub p99_us: Option<i64>,
    /// Largest.
    pub max_us: Option<i64>,
    /// p99 of read lag.
    pub read_lag_p99_us: Option<i64>,
    /// CPU of the server in this second.
    pub server_cpu_us: Option<u64>,
    /// CPU of the generator.
    pub generator_cpu_us: Option<u64>,
    /// CPU in soft interrupts, all CPUs.
    pub softirq_us: Option<u64>,
    /// Server RSS.
    pub server_rss_bytes: Option<u64>,
    /// Threads of the server.
    pub server_threads: Option<u64>,
    /// CPU of the whole host, ours and everybody's, by ticks of 10 ms.
    pub host_cpu_us: Option<u64>,
    /// Memory of the whole host that was lately used (`Active` of `/proc/meminfo`).
    pub host_active_bytes: Option<u64>,
    /// Generator RSS.
    pub generator_rss_bytes: Option<u64>,
    /// Run-queue wait of the generator.
    pub run_queue_wait_us: Option<u64>,
    /// Steal, all CPUs.
    pub steal_us: Option<u64>,
}
