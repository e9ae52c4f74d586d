//! One second of an arm, as written to `windows.csv`.

use serde::{Deserialize, Serialize};

/// One second of one arm: a line of `windows.csv`. Counted by received instant unless stated otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Transport of the arm.
    pub arm: String,
    /// Seconds from the arm's start.
    pub second: u32,
    /// Phase in which the second begins.
    pub phase: String,
    /// Connections due by now, by the ramp.
    pub asked: u64,
    /// Connections subscribed at the end of the second.
    pub connected: u64,
    /// Connections that received a first byte of response by the end of the second.
    pub established: u64,
    /// Connections lost unexpectedly in this second.
    pub lost: u64,
    /// Connection attempts that failed in this second.
    pub failed: u64,
    /// Publications due.
    pub due: u64,
    /// Publications sent.
    pub sent: u64,
    /// Deliveries received (all phases).
    pub delivered: u64,
    /// Requests sent by pollers and long pollers.
    pub requests: u64,
    /// Answers with new messages to held requests; absent if no requests are held.
    pub answers: Option<u64>,
    /// Answers without a new message.
    pub timeouts: Option<u64>,
    /// Longest emit of the measured publications due in this second: last received − sent; absent if none was
    /// received.
    pub emit_duration_max_us: Option<i64>,
    /// Mean emit of these publications.
    pub emit_duration_mean_us: Option<i64>,
    /// Mean number of receivers of the measured publications due in this second: the requests per emit cycle.
    pub receivers_per_publication: Option<f64>,
    /// Clients that received the latest publications due by its end, in time: mean receivers × channels ÷
    /// channels per client.
    pub served: Option<u64>,
    /// Bytes in.
    pub bytes_in: u64,
    /// Bytes out.
    pub bytes_out: u64,
    /// p50 of received − due of the deliveries received in this second; empty if there are none.
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
    /// CPU of the whole host, all programs included, by ticks of 10 ms.
    pub host_cpu_us: Option<u64>,
    /// Memory of the whole host in use: `MemTotal` − `MemAvailable` of `/proc/meminfo`.
    pub host_used_bytes: Option<u64>,
    /// Generator RSS.
    pub generator_rss_bytes: Option<u64>,
    /// Run-queue wait of the generator.
    pub run_queue_wait_us: Option<u64>,
    /// Steal, all CPUs.
    pub steal_us: Option<u64>,
}

/// The unit of a column of `windows.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUnit {
    /// A number of things.
    Count,
    /// Bytes received or sent in the second.
    Bytes,
    /// Memory at the end of the second, in bytes.
    Memory,
    /// A latency or duration, in µs.
    Time,
    /// CPU time spent in the second, in µs: a million is one core.
    Cpu,
}

/// A column of `windows.csv`, with its title for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowColumn {
    /// Its name in the file's header line.
    pub name: &'static str,
    /// Its title, without the unit.
    pub title: &'static str,
    /// Its unit.
    pub unit: ColumnUnit,
}

impl WindowColumn {
    /// Every numeric column, in the file's order.
    pub const ALL: &[WindowColumn] = {
        use ColumnUnit::{Bytes, Count, Cpu, Memory, Time};
        const fn of(name: &'static str, title: &'static str, unit: ColumnUnit) -> WindowColumn {
            WindowColumn { name, title, unit }
        }
        &[
            of("second", "second of the arm", Count),
            of("asked", "connections asked for", Count),
            of("connected", "connections subscribed", Count),
            of("established", "connections that got a first byte", Count),
            of("lost", "connections lost", Count),
            of("failed", "connection attempts that failed", Count),
            of("due", "publications due", Count),
            of("sent", "publications sent", Count),
            of("delivered", "deliveries", Count),
            of("requests", "requests", Count),
            of("answers", "answers with news", Count),
            of("timeouts", "answers without news", Count),
            of("emit_duration_max_us", "longest emit of a second", Time),
            of("emit_duration_mean_us", "mean emit of a second", Time),
            of("receivers_per_publication", "receivers of a publication", Count),
            of("served", "clients that heard the last publication in time", Count),
            of("bytes_in", "received from the server", Bytes),
            of("bytes_out", "sent to the server", Bytes),
            of("p50_us", "median received − due", Time),
            of("p99_us", "p99 of received − due", Time),
            of("max_us", "largest received − due", Time),
            of("read_lag_p99_us", "p99 of read lag", Time),
            of("server_cpu_us", "CPU of the server", Cpu),
            of("generator_cpu_us", "CPU of the generator", Cpu),
            of("softirq_us", "CPU in soft interrupts", Cpu),
            of("server_rss_bytes", "resident memory of the server", Memory),
            of("server_threads", "threads of the server", Count),
            of("host_cpu_us", "CPU of the whole host", Cpu),
            of("host_used_bytes", "memory in use on the whole host", Memory),
            of("generator_rss_bytes", "resident memory of the generator", Memory),
            of("run_queue_wait_us", "run-queue wait of the generator", Time),
            of("steal_us", "CPU stolen by other guests", Cpu),
        ]
    };

    /// Returns the column with this name.
    pub fn find(name: &str) -> Option<&'static WindowColumn> {
        WindowColumn::ALL.iter().find(|column| column.name == name)
    }

    /// Returns the column's value in a second; `None` if it was not measured.
    pub fn value(&self, window: &Window) -> Option<f64> {
        serde_json::to_value(window).ok()?.get(self.name)?.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_column_of_numbers_in_the_order_of_the_file() {
        let text = serde_json::to_string(&Window::default()).unwrap();
        let place = |name: &str| text.find(&format!("\"{name}\":"));
        let places: Vec<Option<usize>> = WindowColumn::ALL.iter().map(|c| place(c.name)).collect();
        assert!(places.iter().all(Option::is_some), "a column that the file has not: {places:?}");
        assert!(places.is_sorted(), "{places:?}");
        let words = ["arm", "phase"];
        assert_eq!(text.matches("\":").count(), WindowColumn::ALL.len() + words.len());
    }
}
