//! Pushmark's driver as it is, with full accounting; records are gathered on a thread of its
//! own, as `pushmark run` does.

use std::io;
use std::sync::mpsc::channel;
use std::thread;

use pushmark_load::run_shard;
use pushmark_model::histogram::Distribution;
use pushmark_model::plan::ShardPlan;
use pushmark_model::record::Record;
use serde::{Deserialize, Serialize};

/// What the driver's own accounts say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accounts {
    pub(crate) opened: u64,
    /// Failed or lost connections, by kind.
    pub(crate) failed: u64,
    pub(crate) lost: u64,
    pub(crate) troubles: Vec<String>,
    pub(crate) intended: u64,
    pub(crate) delivered: u64,
    pub(crate) late: u64,
    /// Whatever is neither: missing, unserved or excused.
    pub(crate) missing: i64,
    pub(crate) duplicate: u64,
    pub(crate) measure_messages: u64,
    /// Deliveries received by the end of the last whole second of measure.
    pub(crate) received_by_end: u64,
    pub(crate) wakeups: u64,
    pub(crate) read_lag_p99_us: i64,
    pub(crate) latency_p50_us: i64,
    pub(crate) latency_p99_us: i64,
    pub(crate) connect_max_us: i64,
    pub(crate) connect_p99_us: i64,
    /// Connections that were subscribed at the last full interval before the end.
    pub(crate) connected: u64,
}

/// Runs the plan to its end.
pub(crate) fn receive(plan: ShardPlan) -> io::Result<Accounts> {
    let (sender, records) = channel::<Box<Record>>();
    let (spare, spares) = channel::<Box<Record>>();
    let measure_end_s = plan.arm.phases.measure_end_ns() / 1_000_000_000;
    let gatherer = thread::spawn(move || {
        let mut total = Record::default();
        let (mut received_by_end, mut connected) = (0, 0);
        while let Ok(mut record) = records.recv() {
            total.merge(&record);
            if u64::from(record.second) < measure_end_s {
                received_by_end += record.counts.received;
            }
            if !record.last {
                connected = record.connected;
            }
            record.clear();
            let _ = spare.send(record);
        }
        accounts(&total, received_by_end, connected)
    });
    let mut sink = |record| {
        let _ = sender.send(record);
        spares.try_recv().unwrap_or_default()
    };
    let run = run_shard(plan, &mut || None, &mut sink);
    drop(sender);
    let accounts = gatherer.join().map_err(|_| io::Error::other("the gathering thread failed"))?;
    run.map(|()| accounts)
}

fn accounts(total: &Record, received_by_end: u64, connected: u64) -> Accounts {
    let c = &total.counts;
    let p99 = |d: &Distribution| d.quantile(0.99).unwrap_or(0);
    Accounts {
        opened: c.opened.max(0) as u64,
        failed: total.failed.values().sum(),
        lost: c.lost,
        troubles: total.troubles.clone(),
        intended: c.intended,
        delivered: c.delivered,
        late: c.late,
        missing: c.intended as i64 - c.delivered as i64 - c.late as i64,
        duplicate: c.duplicate,
        measure_messages: c.measure_messages,
        received_by_end,
        wakeups: c.wakeups,
        read_lag_p99_us: p99(&total.times.read_lag),
        latency_p50_us: total.times.latency.quantile(0.5).unwrap_or(0),
        latency_p99_us: p99(&total.times.latency),
        connect_max_us: total.times.connect_subscribed.extremes().map_or(0, |e| e.1),
        connect_p99_us: p99(&total.times.connect_subscribed),
        connected,
    }
}
