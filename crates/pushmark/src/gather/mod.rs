//! Records of all shards added up: the figures of an arm.
//!
//! Knows no clock and no socket; what the monitor saw of server and generator is added by the
//! caller.

mod age;
mod arm;
mod emits;
mod pull;
mod seconds;
mod spread;
mod stability;

use std::collections::BTreeMap;
use std::io;

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::Record;
pub use pushmark_model::second::Second;

pub use arm::phases;
use seconds::Seconds;
pub use stability::Stability;

/// The sum so far. Its size grows neither with the messages nor with the seconds: older ones are set
/// aside in a file.
#[derive(Debug)]
pub struct Gathered {
    plan: ArmPlan,
    total: Record,
    seconds: Seconds,
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
            seconds: Seconds::default(),
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
        self.seconds.cool(&mut self.total.heat);
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

    /// No more comes: seconds that a shard slept through are summarised from the others, and what was
    /// set aside comes back. Figures are asked for from here on.
    ///
    /// # Errors
    /// What was set aside cannot be read again, in whole or in part: those seconds are absent.
    pub fn close(&mut self) -> io::Result<()> {
        for (second, (window, _)) in std::mem::take(&mut self.open) {
            self.seconds.insert(second, Second::of(&window));
        }
        self.seconds.recall(&mut self.total.heat)?;
        self.spread.close()?;
        self.halves.as_mut().map_or(Ok(()), |halves| halves.close())
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

    /// Second by second: the last ones while records still come.
    pub fn seconds(&self) -> &BTreeMap<u32, Second> {
        self.seconds.held()
    }

    /// The sum of all records.
    pub fn total(&self) -> &Record {
        &self.total
    }
}
