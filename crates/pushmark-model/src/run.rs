//! `Run`: the kept result of one case, as `run.json` holds it (schema `pushmark.run/1`).
//!
//! Times are integer µs, sizes integer bytes. A number not measured is absent: every
//! field that can lack a measurement is an `Option` and is left out of the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::transport::Transport;

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.run/1";

/// The whole result of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// `<UTC time>-<name>-<short id>`, the name of its folder.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What every drawing was drawn from.
    pub seed: u64,
    /// The command that repeats this run.
    pub command: String,
    /// The version of pushmark that made it.
    pub pushmark_version: String,
    /// The scenario as resolved (what the user gave, flags applied).
    pub scenario: serde_json::Value,
    /// The scenario file's text as given; absent for a run without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scenario_text: Option<String>,
    /// The plan: every number filled in.
    pub plan: serde_json::Value,
    /// The machine and software it ran on.
    pub environment: Environment,
    /// The phases of an arm, relative to the arm's start.
    pub phases: Vec<Phase>,
    /// The worst verdict of the arms, all their reasons.
    pub verdict: Verdict,
    /// Each threshold on each arm.
    pub thresholds: Vec<Threshold>,
    /// One an arm, in display order.
    pub arms: Vec<Arm>,
    /// The last self-test on this machine, if one was stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selftest: Option<SelftestRef>,
}

/// When the ruler itself was last checked on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelftestRef {
    /// RFC 3339, UTC.
    pub at: String,
    /// Whether every truth test passed.
    pub passed: bool,
    /// Tests passed of all.
    pub summary: String,
}

/// What the run ran on. All fields as the system names them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// Logical CPUs online.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// CPUs the generator's threads were kept to; absent if not pinned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator_cpus: Option<Vec<u32>>,
    /// CPUs the server was kept to; absent if pushmark did not start it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cpus: Option<Vec<u32>>,
    /// Where CPU figures came from: `schedstat` or `cgroup`.
    pub cpu_accounting: String,
    /// Whether target and generator share this host.
    pub same_host: bool,
    /// Open files allowed to this process.
    pub open_files: u64,
    /// Ephemeral port range, inclusive.
    pub ephemeral_ports: (u16, u16),
    /// The reference server that was measured; absent for a target of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// Anything else worth keeping (kernel settings, versions), name to value.
    pub settings: BTreeMap<String, String>,
}

/// The reference server of a run, as its row had it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerRef {
    /// Its name.
    pub name: String,
    /// What its version command says; absent where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// Which version of which product it is, for people.
    pub stands_for: String,
    /// `original` or `present`.
    pub generation: String,
    /// How it serves many; absent where its row does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub architecture: Option<String>,
    /// Servers that share a descent.
    pub family: String,
    /// Its flags: the defaults of the row, and what the case set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flags: BTreeMap<String, String>,
    /// It had passed `pushmark check`, as it was when it was measured.
    pub checked: bool,
}

/// A phase: ramp, settle, warm-up, measure, drain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// `ramp`, `settle`, `warmup`, `measure`, `drain`.
    pub name: String,
    /// From the arm's start.
    pub start_us: u64,
    /// From the arm's start.
    pub end_us: u64,
}

/// Whether the figures can be believed, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictState {
    /// The figures are the server's.
    Valid,
    /// Some may be ours.
    Suspect,
    /// Stopped before the end; what is there was measured.
    Incomplete,
    /// They are not the server's.
    Invalid,
}

impl VerdictState {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            VerdictState::Valid => "valid",
            VerdictState::Suspect => "suspect",
            VerdictState::Incomplete => "incomplete",
            VerdictState::Invalid => "invalid",
        }
    }
}

/// A verdict and every reason for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst of the reasons.
    pub state: VerdictState,
    /// Worst first.
    pub reasons: Vec<Reason>,
}

/// One doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reason {
    /// Stable name: `generator_busy`, `read_lag`, …
    pub code: String,
    /// How bad.
    pub state: VerdictState,
    /// The arm it is said of; absent for the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arm: Option<Transport>,
    /// What was seen, with its bound.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// What to try.
    #[serde(rename = "try")]
    pub try_: String,
}

/// A threshold's outcome on one arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Threshold {
    /// As written: `delivery.p99 < 50ms`.
    pub expression: String,
    /// The arm.
    pub arm: Transport,
    /// The metric's value in its own unit (µs, bytes, count); absent if not measured, which fails.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<f64>,
    /// Whether it held.
    pub ok: bool,
}

/// What became of a server under an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Kept every connection and delivered everything.
    Held,
    /// Lost connections, or deliveries.
    Degraded,
    /// The server ended, or its publications did.
    Died,
}

impl Outcome {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Degraded => "degraded",
            Outcome::Died => "died",
        }
    }
}

/// One transport with its own crowd and a fresh server: all totals belong to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arm {
    /// How its clients heard.
    pub transport: Transport,
    /// The server's name or the target's URL.
    pub target: String,
    /// The nonce of its stamps, base 36.
    pub nonce: String,
    /// What became of the server.
    pub outcome: Outcome,
    /// Whether its figures can be believed.
    pub verdict: VerdictState,
    /// An error that ended it early; what was gathered is kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Nothing was published by us: `delivery` is absent, `observed` counts.
    pub observe: bool,
    /// Which subscription rule applied: `acknowledged`, `ready`, `head`, `settle`.
    pub subscribed_by: String,
    /// Connections asked, opened, failed.
    pub connections: Connections,
    /// Time from connect to first response byte.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect: Option<Connect>,
    /// What became of every intended delivery; absent in `observe`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery: Option<Delivery>,
    /// Messages and bytes of an observed target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub observed: Option<Observed>,
    /// Only for `poll`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub poll: Option<Poll>,
    /// Only where requests are held: `long-poll` and `bayeux`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub long_poll: Option<LongPoll>,
    /// Only for `bayeux` and `bayeux-websocket`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bayeux: Option<Bayeux>,
    /// Publications; absent in `observe`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<Published>,
    /// The server's cost; absent when its process is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<Server>,
    /// Our own cost.
    pub generator: Generator,
    /// CPU time in soft interrupts over all CPUs during measure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub softirq_us: Option<u64>,
    /// Kernel memory (slab and socket buffers, both ends) that the crowd added; absent if not seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_memory_bytes: Option<u64>,
    /// Bytes and segments.
    pub wire: Wire,
    /// Time of each phase of this arm as it was, from the arm's start.
    pub phases: Vec<Phase>,
    /// What the server says of itself (`/stats` at the end): its own word.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_says: Option<serde_json::Value>,
    /// The end of a started server that did not hold; absent where it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_words: Option<LastWords>,
}

/// How a server ended, and what it wrote last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWords {
    /// `exit 1`, `signal 9`, or what we had to do to it.
    pub how: String,
    /// It ended before it was told to.
    pub by_itself: bool,
    /// It did not end when it was told to, and was killed.
    pub hung: bool,
    /// It wanted for memory: its own word, or the kernel's.
    pub out_of_memory: bool,
    /// The last lines of its output.
    pub lines: Vec<String>,
}

/// Connections of an arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Planned.
    pub asked: u64,
    /// Subscribed at least once.
    pub opened: u64,
    /// Lost unasked after they were open.
    pub lost: u64,
    /// Made again after a loss.
    pub reconnected: u64,
    /// Attempts that failed before they were subscribed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Losses after subscribing, by kind.
    pub lost_by: BTreeMap<String, u64>,
}

/// Connect times, µs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connect {
    /// Connections that got a first response byte.
    pub count: u64,
    /// Median until the first response byte.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Slowest.
    pub max_us: u64,
    /// TCP handshake alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<Latency>,
    /// Until subscribed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subscribed: Option<Latency>,
    /// Until the first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_message: Option<Latency>,
}

/// What became of every intended delivery of the measure phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Delivery {
    /// Publications due × subscribers planned.
    pub intended: u64,
    /// intended − unserved − unpublished − excused − superseded.
    pub expected: u64,
    /// Arrived within the deadline.
    pub delivered: u64,
    /// Sent, subscriber subscribed, never seen.
    pub missing: u64,
    /// Arrived after due + deadline.
    pub late: u64,
    /// Never shown, but a newer one of the same channel was.
    pub superseded: u64,
    /// Inside an uncertainty window.
    pub excused: u64,
    /// Connection never made, or lost unasked.
    pub unserved: u64,
    /// Deliveries of publications that were due and never sent: publications × subscribers.
    pub unpublished: u64,
    /// Seen again on the same subscription.
    pub duplicate: u64,
    /// Below the highest seen on that subscription.
    pub out_of_order: u64,
    /// More than 64 behind the highest: cannot be told from a duplicate.
    pub beyond_window: u64,
    /// Stamped by another run.
    pub foreign: u64,
    /// Messages without a stamp.
    pub unstamped: u64,
    /// received − due.
    pub latency: Latency,
    /// received − sent.
    pub from_sent: Latency,
    /// How long deliveries lay in the kernel before we read them: the bound from wake-ups.
    pub read_lag: Latency,
    /// Read lag by kernel receive stamps on a sample of connections; absent when off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_lag_stamped: Option<Latency>,
    /// Kernel stamps that were not the last message of their read, and so not used.
    pub stamps_unused: u64,
    /// Spread of broadcasts heard by all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<Spread>,
    /// Time-weighted age of what a client holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub age_of_information: Option<AgeOfInformation>,
    /// Backlog (sent − received) grew through the window: percentiles are not the server's.
    pub unstable: bool,
    /// Growth of the backlog, deliveries a second; present when `unstable`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backlog_per_s: Option<f64>,
    /// Deliveries by due second and latency row.
    pub heat: Heat,
}

/// A latency distribution. Percentiles run over `expected` where a delivery can be missing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Values recorded.
    pub count: u64,
    /// Of them below 0 (shown, never clamped).
    pub negative: u64,
    /// Of them above one hour (recorded as one hour).
    pub over_1h: u64,
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_us: Option<i64>,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_us: Option<i64>,
    /// 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p90_us: Option<i64>,
    /// 99th percentile; needs ≥ 100 publications.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us: Option<i64>,
    /// 99.9th percentile; needs ≥ 1,000 publications.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p999_us: Option<i64>,
    /// The median falls among the missing: it is at least this.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_at_least_us: Option<i64>,
    /// The 90th percentile falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p90_at_least_us: Option<i64>,
    /// The 99th percentile falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_at_least_us: Option<i64>,
    /// The 99.9th percentile falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p999_at_least_us: Option<i64>,
    /// Largest recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_us: Option<i64>,
    /// Mean of the recorded, from the buckets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_us: Option<f64>,
    /// The same percentiles over what arrived alone; present where some did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivered_only: Option<Box<Latency>>,
    /// Values ≥ 0: base64 of a compressed HdrHistogram V2, µs. Empty text when there is none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub histogram: String,
    /// Magnitudes of values < 0, same form.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub histogram_negative: String,
}

/// Spread of a broadcast over its subscribers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Broadcasts heard by all and kept.
    pub broadcasts: u64,
    /// Broadcasts not heard by all: counted, not drawn.
    pub not_heard_by_all: u64,
    /// A seeded sample was kept, not each one.
    pub sampled: bool,
    /// First received − due.
    pub first: Latency,
    /// Median received − due.
    pub median: Latency,
    /// Last received − due.
    pub last: Latency,
}

/// Age of information: the time-weighted age of what a client holds (now − due of the newest held).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgeOfInformation {
    /// Time-weighted mean over all subscriptions.
    pub mean_us: f64,
    /// Time-weighted median.
    pub p50_us: i64,
    /// Time-weighted 99th percentile.
    pub p99_us: i64,
    /// Subscription-seconds observed.
    pub observed_s: f64,
}

/// Deliveries by second of due (columns) and by latency row (three a decade from 1 µs).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Heat {
    /// Second of measure of the first column.
    pub first_second: u32,
    /// One a second: counts by row. Row 0: ≤ 0 or < 1 µs; row r: [10^((r−1)/3), 10^(r/3)) µs.
    pub columns: Vec<Vec<u64>>,
}

/// Figures of an observed target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Observed {
    /// Messages during measure.
    pub messages: u64,
    /// Their payload bytes.
    pub payload_bytes: u64,
    /// Time between messages of one connection, µs.
    pub gap: Latency,
    /// Latency by the target's own timestamps (`[target.stamp]`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency: Option<Latency>,
}

/// Figures special to polling.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Poll {
    /// Polls sent during measure.
    pub requests: u64,
    /// Answers that showed nothing new (304 among them).
    pub redundant: u64,
    /// Of them answered 304.
    pub not_modified: u64,
    /// States of a channel that were never shown.
    pub skipped_states: u64,
    /// Polls whose predecessor was still unanswered when they were due.
    pub overruns: u64,
    /// Age of the state at each answer (the push-against-pull study's trip time).
    pub age_at_receipt: Latency,
}

/// Figures special to long polling.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LongPoll {
    /// Answers with news during measure.
    pub answers: u64,
    /// Answers without.
    pub timeouts: u64,
    /// Answers of both kinds a second.
    pub answers_per_s: f64,
    /// clients ÷ hold: what a closed loop can reach without news. A Bayeux server says itself how
    /// long it holds.
    pub ceiling_per_s: f64,
    /// Time-out answer − due time-out.
    pub hold_overshoot: Latency,
    /// How long a client was certainly deaf between answer and next request.
    pub deaf: Latency,
    /// How long an answer or request was in flight, at most.
    pub in_flight: Latency,
    /// Missing between two consecutive answers.
    pub missed_deaf: u64,
    /// Messages in an answer with news, mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_per_answer: Option<f64>,
    /// Receivers of a publication, mean (requests per emit cycle).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receivers_per_publication: Option<f64>,
    /// TCP connections made after the first of each client.
    pub new_connections: u64,
}

/// Figures special to Bayeux, over the whole arm where nothing else is said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bayeux {
    /// The server agreed to acknowledge in every session, so that it owes each message once and in
    /// order. Without it nothing is promised about order over two connections.
    pub order_promised: bool,
    /// Handshakes asked for: one a client, and one each time it had to begin anew.
    pub handshakes: u64,
    /// Messages refused because the server did not know the client (402).
    pub unknown_client: u64,
    /// Connects asked for during measure.
    pub connects: u64,
    /// Those answered without a message; absent over WebSocket, where messages come by themselves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connects_empty: Option<u64>,
    /// What the server advised.
    pub advice: BayeuxAdvice,
    /// Longest time that the server said it holds a connect.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold_advised_us: Option<u64>,
    /// Messages sent beside handshakes and connects: subscriptions, publications, farewells.
    pub commands: u64,
    /// Second connections made, for commands while a connect was held.
    pub second_connections: u64,
    /// Most of them open at once: the highest of one second, shards added.
    pub second_open_max: u64,
    /// Messages in an answer with news during measure, mean; absent over WebSocket.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_per_reply: Option<f64>,
}

/// The advice of a Bayeux server (Bayeux 1.0, section 3.6), by what it told to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BayeuxAdvice {
    /// Go on with connects.
    pub retry: u64,
    /// Begin anew with a handshake.
    pub handshake: u64,
    /// Do not come back.
    pub none: u64,
    /// Another session was taken to share the client's cookies: the server then holds nothing.
    pub multiple_clients: u64,
    /// Pauses made because an interval was advised.
    pub interval_obeyed: u64,
}

/// Publications of the measure phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Published {
    /// By the schedule.
    pub due: u64,
    /// Written.
    pub sent: u64,
    /// Not accepted by the target.
    pub failed: u64,
    /// Failures by kind.
    pub failed_by: BTreeMap<String, u64>,
    /// sent − due.
    pub lag: Latency,
    /// answered − sent (external mode).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accept: Option<Latency>,
    /// Publications that found no idle publisher connection and the pool full.
    pub pool_exhausted: u64,
    /// Publications a second asked for, over all channels.
    pub asked_per_s: f64,
    /// Publications a second achieved.
    pub achieved_per_s: f64,
}

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

/// One second of one arm: a line of `windows.csv`. By received instants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Generator RSS.
    pub generator_rss_bytes: Option<u64>,
    /// Run-queue wait of the generator.
    pub run_queue_wait_us: Option<u64>,
    /// Steal, all CPUs.
    pub steal_us: Option<u64>,
}
