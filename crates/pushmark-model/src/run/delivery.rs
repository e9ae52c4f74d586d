//! What became of the deliveries of an arm, and when they arrived.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Distribution;

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
    /// Messages whose content is not what was published; absent where that is not checked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub corrupt: Option<u64>,
    /// received − due.
    pub latency: Latency,
    /// received − sent.
    pub from_sent: Latency,
    /// received − due of all receipts, repetitions too (the push-against-pull study's trip time); for
    /// a poll the age of the state at every answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trip: Option<Latency>,
    /// How long deliveries lay in the kernel before we read them: the bound from wake-ups.
    pub read_lag: Latency,
    /// Read lag by kernel receive stamps on a sample of connections; absent when off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_lag_stamped: Option<Latency>,
    /// Kernel receive instant − due, on the same sample: latency without our own queueing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency_stamped: Option<Latency>,
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

impl Delivery {
    /// The share of intended deliveries that arrived no later than this after due. `None` where
    /// nothing was intended, or the distribution was not kept.
    pub fn share_within(&self, limit_us: u64) -> Option<f64> {
        if self.intended == 0 {
            return None;
        }
        let Latency { histogram, histogram_negative, over_1h, .. } = &self.latency;
        let arrived = Distribution::decode(histogram, histogram_negative, *over_1h)?;
        (arrived.count() == self.latency.count)
            .then(|| arrived.count_at_most(limit_us) as f64 / self.intended as f64)
    }
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

/// Publications of the measure phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Published {
    /// Made by the server itself: what is late or lacking is its doing, not the generator's.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub emitter: bool,
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
    /// Due and never written, because the target could not be connected to, or had lost the peer whose
    /// turn it was: its doing, not the generator's.
    #[serde(default)]
    pub unreachable: u64,
    /// Publications that found no idle publisher connection and the pool full.
    pub pool_exhausted: u64,
    /// Publications a second asked for, over all channels.
    pub asked_per_s: f64,
    /// Publications a second achieved.
    pub achieved_per_s: f64,
}
