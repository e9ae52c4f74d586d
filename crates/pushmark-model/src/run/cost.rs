//! The cost of an arm: server, generator, network.

use serde::{Deserialize, Serialize};

use super::Latency;

/// The server's cost during measure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    /// CPU time of its process tree.
    pub cpu_us: u64,
    /// Length of the window of the CPU figures.
    pub window_us: u64,
    /// Highest RSS measured.
    pub rss_bytes_peak: u64,
    /// From the start of its process to its first good answer; absent if it was already running.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ready_us: Option<u64>,
    /// RSS before the crowd connected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_start: Option<u64>,
    /// Slope of RSS between crowd sizes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes_per_connection: Option<f64>,
    /// Slope of kernel memory, both ends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_bytes_per_connection: Option<f64>,
    /// PSS with the whole crowd connected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pss_bytes_full: Option<u64>,
    /// Highest number of threads measured.
    pub threads_max: u64,
    /// Wait time in run queues.
    pub run_queue_wait_us: u64,
    /// The heap of a JVM that logs its collections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub heap: Option<Heap>,
    /// How it ended, if it ended by itself: `signal 9`, `exit 1`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
    /// When its end was noticed, from the arm's start; absent if it was noticed at the very end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_us: Option<u64>,
}

/// The heap of a JVM, from its log of collections (`-Xlog:gc`), over its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// What was in use after the collection that pushmark forced in drain (`target.live_heap`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub live_bytes: Option<u64>,
    /// Its size after the last collection.
    pub size_bytes: u64,
    /// Number of collections; absent if the log was cut.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub collections: Option<u64>,
    /// Time in which it stood still for them; absent if the log was cut.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pause_us: Option<u64>,
    /// Bytes allocated before the last collection; absent if the log was cut.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub allocated_bytes: Option<u64>,
}

/// The generator's cost during measure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time of this process.
    pub cpu_us: u64,
    /// Length of the window.
    pub window_us: u64,
    /// Busiest shard thread, as a share of one core, 0–1.
    pub busiest_core: f64,
    /// Highest RSS measured.
    pub rss_bytes_peak: u64,
    /// Wait time of shard threads in run queues.
    pub run_queue_wait_us: u64,
    /// Time from the end of one wait to the start of the next: the length of a turn of the loop.
    pub loop_lag: Latency,
    /// Share of CPU stolen by the hypervisor in the window, 0–1.
    pub steal: f64,
    /// Shards (threads).
    pub shards: u32,
}

/// An agent on another machine, and its part of an arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentPart {
    /// Its name.
    pub name: String,
    /// Its machine.
    pub host: String,
    /// Its version of pushmark.
    pub version: String,
    /// CPUs that it may use.
    pub cpus: u32,
    /// How its machine's wall clock is kept, in words. No figure rests on it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub wall_clock: String,
    /// Its shards.
    pub shards: u32,
    /// Its clients.
    pub connections: u64,
    /// What it spent; the loop lag is told of all agents together.
    pub generator: Generator,
    /// Other programs on its machine.
    pub foreign: Foreign,
    /// How far its time may be from the coordinator's; absent: not known, because no probe came back or a clock was
    /// set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<AgentClock>,
    /// How late it began after the arm's start, by its own clock; absent: it was lost before it could say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started_late_us: Option<u64>,
    /// How it was lost; absent: it told everything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<String>,
}

/// The time of an agent minus that of its coordinator, both counted from the arm's start: over all of measure it was
/// within these bounds, which assume only that no datagram arrives before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentClock {
    /// At least, µs.
    pub low_us: f64,
    /// At most, µs.
    pub high_us: f64,
    /// Its monotonic clock minus the coordinator's, as it was taken to be when it was told the arm's start, µs. By as
    /// much as this was wrong, its time is off.
    #[serde(default)]
    pub offset_us: f64,
}

impl AgentClock {
    /// Returns how far the clocks of several machines may be apart, µs: a latency between two of them may be off by as
    /// much. `None`: there are not two, or one is not known.
    pub fn apart_us(clocks: &[Option<AgentClock>]) -> Option<f64> {
        let clocks: Option<Vec<AgentClock>> = clocks.iter().copied().collect();
        let clocks = clocks.filter(|clocks| clocks.len() > 1)?;
        let high_us = clocks.iter().map(|clock| clock.high_us).fold(f64::MIN, f64::max);
        let low_us = clocks.iter().map(|clock| clock.low_us).fold(f64::MAX, f64::min);
        Some((high_us - low_us).max(0.0))
    }
}

/// CPU use of programs outside the run, during measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Foreign {
    /// CPU they used, as a share of the CPUs available to server and generator, 0–1.
    pub cpu: f64,
    /// The programs that used most, with their cores: `cc 0.72, rustc 0.55 cores`; empty if none was notable.
    pub by: String,
}

/// Network traffic as the kernel counted it on the generator's sockets.
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
    /// WebSockets whose server agreed to compress its messages; absent: it was not offered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inflating: Option<u64>,
    /// Payload of their compressed messages, inflated, over the whole arm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inflated_bytes: Option<u64>,
    /// CPU time of the generator in which it was inflated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inflate_us: Option<u64>,
    /// Segments received (TCP_INFO at close).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_in: Option<u64>,
    /// Segments sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments_out: Option<u64>,
    /// Segments retransmitted, host-wide during the arm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// Connections dropped because the target's listen queue was full while the crowd connected; absent if
    /// its listener is not on this host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listener_drops: Option<u64>,
    /// Listen-queue overflows of any program on the host while the crowd connected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listen_overflows: Option<u64>,
    /// Sockets entering TIME_WAIT per second, host-wide.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_wait_per_s: Option<f64>,
}

/// The monitor of an arm, as the run keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MonitorPart {
    /// Its name.
    pub name: String,
    /// The name of its machine.
    pub host: String,
    /// Its version of pushmark.
    pub version: String,
    /// How its machine's wall clock is kept, in words. No figure rests on it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub wall_clock: String,
    /// It started the server.
    pub started: bool,
    /// How far its clock may be from where the arm's start was told it, µs; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<AgentClock>,
    /// How it was lost; absent: it told all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<String>,
}
