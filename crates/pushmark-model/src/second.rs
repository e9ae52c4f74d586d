//! The figures of one second of an arm, and the parts of a long run that are not kept in memory.

use serde::{Deserialize, Serialize};

use crate::record::Record;

/// The figures of one second, over all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// Connections subscribed at its end.
    pub connected: u64,
    /// Most second connections open at once in it.
    pub second_open_max: u64,
    /// Connections lost in it.
    pub lost: u64,
    /// Connection attempts that failed in it.
    pub failed: u64,
    /// Of them, those that failed because the generator had no port or descriptor left.
    pub failed_ours: u64,
    /// Connections that received their first byte of response in it.
    pub established: u64,
    /// Median time from the due instant to that byte, µs.
    pub answer_p50_us: Option<i64>,
    /// Publications due.
    pub due: u64,
    /// Publications sent.
    pub sent: u64,
    /// Deliveries received.
    pub received: u64,
    /// Answers to held requests: with new messages, and without.
    pub answered: (u64, u64),
    /// Requests of pollers.
    pub requests: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Median, p99 and maximum of received − due, µs.
    pub latency_us: Option<(i64, i64, i64)>,
    /// p99 of the read lag, µs.
    pub read_lag_p99_us: Option<i64>,
    /// The latencies received in it: a compressed HdrHistogram V2; empty if there are none.
    pub histogram: Vec<u8>,
}

impl Second {
    /// Sums the figures of a second's records.
    pub fn of(window: &Record) -> Second {
        let latency = &window.times.window_latency;
        Second {
            connected: window.connected,
            second_open_max: window.second_open_max,
            lost: window.counts.lost,
            failed: window.failed.values().sum(),
            failed_ours: ["no_port", "no_descriptor"]
                .iter()
                .filter_map(|kind| window.failed.get(*kind))
                .sum(),
            established: window.times.connect.count(),
            answer_p50_us: window.times.connect.quantile(0.5),
            due: window.counts.publications_due_all,
            sent: window.counts.published_all,
            received: window.counts.received,
            answered: (window.counts.answers_all, window.counts.timeouts_all),
            requests: window.counts.requests,
            bytes_in: window.counts.bytes_in,
            bytes_out: window.counts.bytes_out,
            latency_us: latency.quantile(0.5).map(|p50| {
                let high = latency.extremes().map_or(p50, |e| e.1);
                (p50, latency.quantile(0.99).unwrap_or(p50), high)
            }),
            read_lag_p99_us: window.times.read_lag.quantile(0.99),
            histogram: latency.compressed(),
        }
    }
}

/// A part of a run's sum that was stored elsewhere, to be added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetAside {
    /// A second, by its number from the arm's start.
    Second(u32, Box<Second>),
    /// Deliveries by (second of measure in which they were due, latency row), to be added.
    Heat(Vec<((u32, u8), u64)>),
}
