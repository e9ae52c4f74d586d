//! Records of all shards added up: the figures of an arm.
//!
//! Uses no clock and no socket; the caller adds the monitor's readings of server and generator.

mod age;
mod arm;
mod clients;
mod emits;
mod lost;
mod pull;
mod seconds;
mod spread;
mod stability;
#[cfg(test)]
pub(crate) mod testing;
mod untaken;

use std::collections::BTreeMap;
use std::io;

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::Record;
pub use pushmark_model::second::Second;

pub use arm::phases;
use seconds::Seconds;
pub use stability::Stability;

/// The sum so far. Its size does not grow with messages or seconds: older seconds are set aside in a file.
#[derive(Debug)]
pub struct Gathered {
    plan: ArmPlan,
    total: Record,
    seconds: Seconds,
    // Windows of one second of several shards are merged before they are summarised.
    open: BTreeMap<u32, (Record, u32)>,
    spread: spread::Spreads,
    untaken: untaken::Untaken,
    shards: u32,
    finished: u32,
    lost: lost::LostShards,
    /// The halves of a crowd of which one part is pushed to and one part polls.
    halves: Option<Box<pull::Halves>>,
}

impl Gathered {
    /// Creates an empty sum for an arm with this number of shards.
    pub fn new(plan: &ArmPlan, shards: u32) -> Gathered {
        let mut planned = vec![0; plan.subscriptions.channels as usize];
        for connection in 0..plan.connections {
            for channel in plan.channels_of(connection) {
                planned[channel as usize] += 1;
            }
        }
        Gathered {
            spread: spread::Spreads::new(planned.clone()),
            untaken: untaken::Untaken::new(plan, planned, shards),
            plan: plan.clone(),
            total: Record::default(),
            seconds: Seconds::default(),
            open: BTreeMap::new(),
            // Both halves have the same number of shards.
            shards: shards * plan.halves().len() as u32,
            finished: 0,
            lost: lost::LostShards::default(),
            halves: pull::Halves::of(plan, shards),
        }
    }

    /// Adds a record. Returns the second it completed, if it did.
    pub fn add(&mut self, record: &Record) -> Option<u32> {
        if let Some(halves) = &mut self.halves {
            halves.add(record);
        }
        self.spread.add(&record.broadcasts);
        self.untaken.add(record);
        self.total.counts.add(&record.counts);
        self.total.times.add(&record.times);
        let mut rest = Record {
            failed: record.failed.clone(),
            lost_by: record.lost_by.clone(),
            publish_failed: record.publish_failed.clone(),
            publish_failed_measure: record.publish_failed_measure.clone(),
            heat: record.heat.clone(),
            troubles: record.troubles.clone(),
            subscribed_by: record.subscribed_by,
            hold_advised_ms: record.hold_advised_ms,
            registered_max: record.registered_max,
            clients: record.clients.clone(),
            words: record.words.clone(),
            ..Record::default()
        };
        rest.troubles.truncate(pushmark_model::record::TROUBLES_MAX);
        self.total.merge(&rest);
        self.seconds.cool(&mut self.total.heat);
        self.finished += u32::from(record.last);
        self.lost.seen(record);

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
        if *shards < self.lost.expected(self.shards, record.second) {
            return None;
        }
        let (window, _) = self.open.remove(&record.second).expect("just added to");
        self.seconds.insert(record.second, Second::of(&window));
        Some(record.second)
    }

    /// Marks shards as lost. Deliveries still owed to their clients are excused.
    pub fn lose(&mut self, shards: &[u32]) {
        if let Some(halves) = &mut self.halves {
            halves.lose(shards);
        }
        for &shard in shards.iter().filter(|shard| !self.lost.has_ended(**shard)) {
            self.untaken.lose(&self.subscriptions_of(shard));
        }
        self.lost.lose(shards, &self.plan, self.shards);
        // Seconds that waited for them are now complete.
        let lost = &self.lost;
        let whole = |(second, (_, shards)): &(&u32, &mut (Record, u32))| {
            *shards >= lost.expected(self.shards, **second)
        };
        let seconds: Vec<u32> = self.open.iter_mut().filter(whole).map(|(second, _)| *second).collect();
        for second in seconds {
            if let Some((window, _)) = self.open.remove(&second) {
                self.seconds.insert(second, Second::of(&window));
            }
        }
    }

    /// Subscriptions of each channel that a shard holds.
    fn subscriptions_of(&self, shard: u32) -> Vec<u32> {
        let halves = self.plan.halves();
        let (half, _) = &halves[(shard * halves.len() as u32 / self.shards) as usize];
        let mut subscriptions = vec![0; self.plan.subscriptions.channels as usize];
        for connection in self.plan.connections_of(shard, self.shards, *half) {
            for channel in self.plan.channels_of(connection) {
                subscriptions[channel as usize] += 1;
            }
        }
        subscriptions
    }

    /// Ends the input: seconds that a shard slept through are summarised from the other shards, and data set
    /// aside is restored. Figures are available from here on.
    ///
    /// # Errors
    /// Fails if data set aside cannot be read again, in whole or in part: those seconds are absent.
    pub fn close(&mut self) -> io::Result<()> {
        for (second, (window, _)) in std::mem::take(&mut self.open) {
            self.seconds.insert(second, Second::of(&window));
        }
        self.seconds.recall(&mut self.total.heat)?;
        self.spread.close()?;
        self.halves.as_mut().map_or(Ok(()), |halves| halves.close())
    }

    /// Changes the bounds of the measure phase.
    pub fn measure(&mut self, from_ns: u64, until_ns: u64) {
        self.plan.phases.measure(from_ns, until_ns);
    }

    /// Every shard has handed over its last record.
    pub fn is_complete(&self) -> bool {
        self.finished == self.shards
    }

    /// Watched publications of the measure phase that at least one client received.
    pub fn heard(&self) -> u64 {
        self.spread.heard()
    }

    /// The fates of the publications due in a second.
    pub(super) fn emits(&self, second: u32) -> emits::Emits {
        self.spread.emits(second)
    }

    /// Publications of measure that were lost with the shards that were to make them.
    pub fn never_made(&self) -> u64 {
        self.lost.unpublished()
    }

    /// The seconds of the arm; only the last ones while records still arrive.
    pub fn seconds(&self) -> &BTreeMap<u32, Second> {
        self.seconds.held()
    }

    /// The sum of all records.
    pub fn total(&self) -> &Record {
        &self.total
    }
}
