//! The fates of an arm's deliveries, and their latencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decode::Decode;
use crate::histogram::Distribution;
use crate::latency::Latency;

/// The fates of all intended deliveries of the measure phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Delivery {
    /// Publications due × planned subscribers.
    pub intended: u64,
    /// intended − unserved − unpublished − excused − superseded.
    pub expected: u64,
    /// Arrived within the deadline.
    pub delivered: u64,
    /// Sent while the client was subscribed, and never received.
    pub missing: u64,
    /// Received after due + deadline.
    pub late: u64,
    /// Never received, because a newer publication of the same channel replaced it.
    pub superseded: u64,
    /// Due while it is not known whether the client was subscribed, or the publication failed.
    pub excused: u64,
    /// The client was not connected: the connection was never made, or was lost unexpectedly.
    pub unserved: u64,
    /// Deliveries of publications that were due and never sent: publications × subscribers.
    pub unpublished: u64,
    /// Received again on the same subscription.
    pub duplicate: u64,
    /// Sequence below the highest one received on that subscription.
    pub out_of_order: u64,
    /// Older than the history that a subscription keeps, so it cannot be distinguished from a duplicate.
    pub beyond_window: u64,
    /// Stamped by another run.
    pub foreign: u64,
    /// Messages without a stamp that are long enough to hold one.
    pub unstamped: u64,
    /// The encoding in which the target delivers publications, which pushmark undid; absent: no encoding.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decoded: Option<Decode>,
    /// Messages whose content differs from the published content; absent if content is not checked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub corrupt: Option<u64>,
    /// received − due.
    pub latency: Latency,
    /// received − sent.
    pub from_sent: Latency,
    /// received − due over all receipts, repeated ones included (the push-against-pull study's trip time);
    /// for polls, the age of the state at each answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trip: Option<Latency>,
    /// Upper bound of the time that deliveries waited in the kernel before they were read, from wake-ups.
    pub read_lag: Latency,
    /// Read lag from kernel receive stamps, on a sample of connections; absent if stamps are off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_lag_stamped: Option<Latency>,
    /// Kernel receive instant − due, on the same sample: latency without the generator's queueing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency_stamped: Option<Latency>,
    /// received − due of deliveries that one machine of several published and received: no uncertainty of clocks is
    /// in it; absent if one machine did all, or the target or its clients published.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loopback_share: Option<Latency>,
    /// Deliveries whose kernel stamp was not used, because they were not the last message of their read.
    pub stamps_unused: u64,
    /// Spread of the broadcasts that all subscribers received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<Spread>,
    /// Time-weighted age of the newest message that a client has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub age_of_information: Option<AgeOfInformation>,
    /// Losses by client; absent if no shard reported them (it ended early).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clients: Option<Clients>,
    /// Absences and gaps that subscriptions discarded because they had too many at once. Later receipts that
    /// belong to a discarded one may be counted wrongly.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub forgotten: u64,
    /// Fates in excess of the intended deliveries, and negative fates: a fault in the accounts, which makes
    /// the arm invalid.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub imbalance: u64,
    /// The backlog (sent − received) grew through the window: the percentiles are not the server's.
    pub unstable: bool,
    /// Growth of the backlog, deliveries per second; present if `unstable`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backlog_per_s: Option<f64>,
    /// Deliveries by second of due and latency row.
    pub heat: Heat,
}

impl Delivery {
    /// Returns the share of intended deliveries that arrived no later than `limit_us` after due. `None` if
    /// nothing was intended, or if the distribution was not kept.
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

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Clients by how much they received of the deliveries they were owed. A client is owed the deliveries that
/// were intended for it and that are not unserved, unpublished, excused or superseded. Clients that were owed
/// nothing are not counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clients {
    /// Clients that were owed at least one delivery.
    pub owed: u64,
    /// Of them, those that received all of it, late deliveries included.
    pub heard_all: u64,
    /// Of them, those that received a part.
    pub heard_some: u64,
    /// Of them, those that received nothing.
    pub heard_none: u64,
    /// Largest number of deliveries that a single client lacks.
    pub missing_max: u64,
    /// Largest median latency of one client on one channel, accurate to about 10 %; absent if no client
    /// received enough deliveries on a channel (32).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_max_us: Option<i64>,
}

/// Spread of a broadcast over its subscribers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Broadcasts that all subscribers received and that were kept.
    pub broadcasts: u64,
    /// Broadcasts that not all subscribers received: counted, but not part of the distributions.
    pub not_heard_by_all: u64,
    /// Broadcasts for which a shard's part is missing (the shard watched others): not part of the
    /// distributions.
    #[serde(default)]
    pub incomplete: u64,
    /// Only a seeded sample of the broadcasts was kept.
    pub sampled: bool,
    /// First received − due.
    pub first: Latency,
    /// Median received − due.
    pub median: Latency,
    /// Last received − due.
    pub last: Latency,
}

/// Age of information: now − due of the newest message that a client has, averaged over time.
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
    /// Second of measure that the first column covers.
    pub first_second: u32,
    /// One column per second: counts by row. Row 0: ≤ 0 or < 1 µs; row r: [10^((r−1)/3), 10^(r/3)) µs.
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
    /// The server itself published: late or missing publications are its fault, not the generator's.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub emitter: bool,
    /// Due by the schedule.
    pub due: u64,
    /// Written.
    pub sent: u64,
    /// Not accepted by the target.
    pub failed: u64,
    /// Failures by kind, including publications that were never written.
    pub failed_by: BTreeMap<String, u64>,
    /// The first trouble of publishing in words, of any phase: an answer, or the last output of a command.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_trouble: Option<String>,
    /// sent − due.
    pub lag: Latency,
    /// The part of it that is not the target's: without the wait for the target's answer to what the same peer
    /// sent before. Absent where publications wait for no answer, or queue for a pool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own_lag: Option<Latency>,
    /// answered − sent (external mode).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accept: Option<Latency>,
    /// Due and never written, because the target could not be reached, or because it had disconnected the
    /// peer whose turn it was: the target's fault, not the generator's.
    #[serde(default)]
    pub unreachable: u64,
    /// Publisher WebSockets that the target closed and that were reconnected. A publication that was written
    /// just before such a close, and that no client received, has failed.
    #[serde(default)]
    pub reconnected: u64,
    /// Messages by which the target of a publisher WebSocket refused publications, as the scenario tells them
    /// (`refused`). Which publications these were, they do not say.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub refusals: u64,
    /// Due in measure and not sent in it, because the target had not answered what the same peer sent before:
    /// backpressure, not the generator's delay.
    #[serde(default)]
    pub backpressured: u64,
    /// Publications that found no idle publisher connection while the pool was full.
    pub pool_exhausted: u64,
    /// Publications per second that the scenario asks for, over all channels.
    pub asked_per_s: f64,
    /// Publications per second achieved.
    pub achieved_per_s: f64,
}
