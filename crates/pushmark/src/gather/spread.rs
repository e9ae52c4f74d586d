//! Broadcasts of all shards joined: when the first, the median and the last subscriber heard.

use std::collections::HashMap;
use std::io;

use pushmark_model::histogram::Distribution;
use pushmark_model::plan::ArmPlan;
use pushmark_model::record::{Broadcast, sketch_value};
use pushmark_model::run::Spread;

use super::emits::{Emits, EmitsBySecond};

/// Broadcasts that wait for another shard's part; beyond it the oldest are given up.
const WAITING_MAX: usize = 65_536;

#[derive(Debug)]
pub(super) struct Spreads {
    /// Subscribers of each channel in the whole arm.
    planned: Vec<u32>,
    waiting: HashMap<(u32, u64), Broadcast>,
    first: Distribution,
    median: Distribution,
    last: Distribution,
    broadcasts: u64,
    not_heard_by_all: u64,
    sampled: bool,
    emits: EmitsBySecond,
}

impl Spreads {
    pub(super) fn new(plan: &ArmPlan) -> Spreads {
        let mut planned = vec![0; plan.subscriptions.channels as usize];
        for connection in 0..plan.connections {
            for channel in plan.channels_of(connection) {
                planned[channel as usize] += 1;
            }
        }
        Spreads {
            planned,
            waiting: HashMap::new(),
            first: Distribution::default(),
            median: Distribution::default(),
            last: Distribution::default(),
            broadcasts: 0,
            not_heard_by_all: 0,
            sampled: false,
            emits: EmitsBySecond::default(),
        }
    }

    /// Adds the parts of one record.
    pub(super) fn add(&mut self, parts: &[Broadcast]) {
        for part in parts {
            let planned = self.planned[part.channel as usize];
            if part.planned == planned {
                self.complete(part);
                continue;
            }
            let key = (part.channel, part.sequence);
            let whole = match self.waiting.get_mut(&key) {
                Some(whole) => {
                    join(whole, part);
                    whole.planned == planned
                }
                None => {
                    if self.waiting.len() < WAITING_MAX {
                        self.waiting.insert(key, part.clone());
                    }
                    false
                }
            };
            if whole {
                let whole = self.waiting.remove(&key).expect("just joined");
                self.complete(&whole);
            }
        }
    }

    fn complete(&mut self, whole: &Broadcast) {
        self.emits.add(whole);
        // One subscriber has no spread.
        if whole.planned < 2 {
            return;
        }
        self.sampled |= whole.sampled;
        if whole.received < whole.planned {
            self.not_heard_by_all += 1;
            return;
        }
        self.broadcasts += 1;
        record(&mut self.first, whole.first_us);
        record(&mut self.last, whole.last_us);
        record(&mut self.median, median(whole));
    }

    /// No more comes: what was set aside comes back.
    ///
    /// # Errors
    /// It cannot be read again, in whole or in part.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.emits.recall()
    }

    /// Watched publications that somebody heard.
    pub(super) fn heard(&self) -> u64 {
        self.emits.heard()
    }

    /// Of the publications due in a second.
    pub(super) fn emits(&self, second: u32) -> Emits {
        self.emits.of(second)
    }

    /// The figures; `None` where no broadcast was watched.
    pub(super) fn summary(&self) -> Option<Spread> {
        (self.broadcasts + self.not_heard_by_all > 0).then(|| Spread {
            broadcasts: self.broadcasts,
            not_heard_by_all: self.not_heard_by_all,
            sampled: self.sampled,
            first: self.first.summary(self.broadcasts, self.broadcasts, 0),
            median: self.median.summary(self.broadcasts, self.broadcasts, 0),
            last: self.last.summary(self.broadcasts, self.broadcasts, 0),
        })
    }
}

fn record(into: &mut Distribution, value_us: i64) {
    match u64::try_from(value_us) {
        Ok(value_us) => into.record_us(value_us),
        Err(_) => into.record_negative_us(value_us.unsigned_abs()),
    }
}

fn join(whole: &mut Broadcast, part: &Broadcast) {
    whole.planned += part.planned;
    whole.received += part.received;
    whole.first_us = whole.first_us.min(part.first_us);
    whole.last_us = whole.last_us.max(part.last_us);
    // Heard in either part: the stamp says the same in both.
    if part.received > 0 {
        whole.sent_after_us = part.sent_after_us;
    }
    whole.sampled |= part.sampled;
    whole.sketch.extend_from_slice(&part.sketch);
    whole.sketch.sort_unstable();
}

/// The median from the sketch, kept within first and last.
fn median(whole: &Broadcast) -> i64 {
    let mut left = whole.received.div_ceil(2);
    for &(bin, n) in &whole.sketch {
        if left <= n {
            return sketch_value(bin).clamp(whole.first_us, whole.last_us);
        }
        left -= n;
    }
    whole.last_us
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::record::sketch_bin;

    fn spreads(planned: u32) -> Spreads {
        Spreads {
            planned: vec![planned],
            waiting: HashMap::new(),
            first: Default::default(),
            median: Default::default(),
            last: Default::default(),
            broadcasts: 0,
            not_heard_by_all: 0,
            sampled: false,
            emits: Default::default(),
        }
    }

    fn part(latencies_us: &[i64], planned: u32) -> Broadcast {
        let mut bins: Vec<_> = latencies_us.iter().map(|&l| (sketch_bin(l), 1)).collect();
        bins.sort_unstable();
        Broadcast {
            channel: 0,
            sequence: 9,
            due_second: 4,
            sent_after_us: 3,
            planned,
            received: latencies_us.len() as u32,
            first_us: *latencies_us.iter().min().unwrap(),
            last_us: *latencies_us.iter().max().unwrap(),
            sketch: bins,
            sampled: false,
        }
    }

    #[test]
    fn parts_of_two_shards_make_one_broadcast() {
        let mut s = spreads(4);
        s.add(&[part(&[10, 20], 2)]);
        assert!(s.summary().is_none());
        s.add(&[part(&[5, 100], 2)]);
        let summary = s.summary().unwrap();
        assert_eq!(
            (summary.broadcasts, summary.first.p50_us, summary.median.p50_us, summary.last.p50_us),
            (1, Some(5), Some(10), Some(100))
        );
    }

    #[test]
    fn a_broadcast_not_heard_by_all_is_only_counted() {
        let mut s = spreads(3);
        s.add(&[part(&[1, 2], 3)]);
        let summary = s.summary().unwrap();
        assert_eq!((summary.broadcasts, summary.not_heard_by_all), (0, 1));
    }

    #[test]
    fn an_emit_lasts_from_sent_to_the_last_that_heard_in_any_shard() {
        let mut s = spreads(5);
        s.add(&[part(&[10, 20], 2), part(&[5, 103], 3)]);
        let emits = s.emits(4);
        assert_eq!((emits.max_us, emits.mean_us(), emits.receivers()), (Some(100), Some(100), Some(4.0)));
        assert_eq!(s.emits(5), Emits::default());
    }
}
