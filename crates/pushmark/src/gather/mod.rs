//! Records of all shards added up: the figures of an arm.
//!
//! Knows no clock and no socket; what the monitor saw of server and generator is added by the
//! caller.

mod age;
mod arm;
mod emits;
mod pull;
mod spread;
mod stability;

use std::collections::BTreeMap;

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::Record;

pub use arm::phases;
pub use stability::Stability;

/// What one second brought, over all shards.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// Connections subscribed at its end.
    pub connected: u64,
    /// Second connections open at once in it, at most.
    pub second_open_max: u64,
    /// Lost in it.
    pub lost: u64,
    /// Attempts failed in it.
    pub failed: u64,
    /// Of them for want of a port or a descriptor of ours.
    pub failed_ours: u64,
    /// Connections that got their first byte of response in it.
    pub established: u64,
    /// Median of the time from their due instants to it, µs.
    pub answer_p50_us: Option<i64>,
    /// Publications due.
    pub due: u64,
    /// Publications sent.
    pub sent: u64,
    /// Deliveries received.
    pub received: u64,
    /// Answers with news to requests that were held, and without.
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
    /// The latencies received in it: a compressed HdrHistogram V2; empty if there were none.
    pub histogram: Vec<u8>,
}

/// The sum so far. Its size is bounded by the number of seconds, not of messages.
#[derive(Debug)]
pub struct Gathered {
    plan: ArmPlan,
    total: Record,
    seconds: BTreeMap<u32, Second>,
    // Windows of one second of several shards are merged before they are summarised.
    open: BTreeMap<u32, (Record, u32)>,
    spread: spread::Spreads,
    shards: u32,
    finished: u32,
    /// Of a crowd that pushes or pulls.
    halves: Option<Box<pull::Halves>>,
}

impl Gathered {
    /// Nothing yet, of an arm driven by so many shards.
    pub fn new(plan: &ArmPlan, shards: u32) -> Gathered {
        Gathered {
            spread: spread::Spreads::new(plan),
            plan: plan.clone(),
            total: Record::default(),
            seconds: BTreeMap::new(),
            open: BTreeMap::new(),
            // A half has as many shards as the other.
            shards: shards * plan.halves().len() as u32,
            finished: 0,
            halves: pull::Halves::of(plan, shards),
        }
    }

    /// Adds a record. Returns the second it completed, if it did.
    pub fn add(&mut self, record: &Record) -> Option<u32> {
        if let Some(halves) = &mut self.halves {
            halves.add(record);
        }
        self.spread.add(&record.broadcasts);
        self.total.counts.add(&record.counts);
        self.total.times.add(&record.times);
        let mut rest = Record {
            failed: record.failed.clone(),
            lost_by: record.lost_by.clone(),
            publish_failed: record.publish_failed.clone(),
            heat: record.heat.clone(),
            troubles: record.troubles.clone(),
            subscribed_by: record.subscribed_by,
            hold_advised_ms: record.hold_advised_ms,
            ..Record::default()
        };
        rest.troubles.truncate(pushmark_model::record::TROUBLES_MAX);
        self.total.merge(&rest);
        self.finished += u32::from(record.last);

        let (window, shards) = self.open.entry(record.second).or_default();
        window.counts.add(&record.counts);
        window.times.window_latency.merge(&record.times.window_latency);
        window.times.read_lag.merge(&record.times.read_lag);
        window.times.connect.merge(&record.times.connect);
        window.connected += record.connected;
        window.second_open_max += record.second_open_max;
        for (kind, n) in &record.failed {
            *window.failed.entry(kind.clone()).or_default() += n;
        }
        *shards += 1;
        if *shards < self.shards {
            return None;
        }
        let (window, _) = self.open.remove(&record.second).expect("just added to");
        self.seconds.insert(record.second, Second::of(&window));
        Some(record.second)
    }

    /// No more comes: seconds that a shard slept through are summarised from the others.
    pub fn close(&mut self) {
        for (second, (window, _)) in std::mem::take(&mut self.open) {
            self.seconds.insert(second, Second::of(&window));
        }
    }

    /// The measure phase has other bounds.
    pub fn measure(&mut self, from_ns: u64, until_ns: u64) {
        self.plan.phases.measure(from_ns, until_ns);
    }

    /// Every shard has handed over its last record.
    pub fn is_complete(&self) -> bool {
        self.finished == self.shards
    }

    /// Publications of the measure phase that somebody heard, of those that were watched one by one.
    pub fn heard(&self) -> u64 {
        self.spread.heard()
    }

    /// What became of the publications due in a second.
    pub(super) fn emits(&self, second: u32) -> emits::Emits {
        self.spread.emits(second)
    }

    /// Second by second.
    pub fn seconds(&self) -> &BTreeMap<u32, Second> {
        &self.seconds
    }

    /// The sum of all records.
    pub fn total(&self) -> &Record {
        &self.total
    }
}

impl Second {
    fn of(window: &Record) -> Second {
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
