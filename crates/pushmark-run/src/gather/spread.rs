//! Joins broadcasts of all shards: when the first, the median and the last subscriber received them.

use std::collections::{HashMap, VecDeque};
use std::io;

use pushmark_model::histogram::Distribution;
use pushmark_model::record::{Broadcast, sketch_value};
use pushmark_model::run::Spread;

use super::emits::{Emits, EmitsBySecond};

/// Broadcasts that wait for another shard's part; beyond this number the oldest are dropped: that shard
/// watched other broadcasts.
const WAITING_MAX: usize = 65_536;

#[derive(Debug)]
pub(super) struct Spreads {
    /// Subscribers of each channel in the whole arm.
    planned: Vec<u32>,
    waiting: HashMap<(u32, u64), Broadcast>,
    /// In the order of their first parts; some complete ones are still listed.
    order: VecDeque<(u32, u64)>,
    incomplete: u64,
    first: Distribution,
    median: Distribution,
    last: Distribution,
    broadcasts: u64,
    not_heard_by_all: u64,
    sampled: bool,
    emits: EmitsBySecond,
}

impl Spreads {
    /// Creates it with the number of subscribers of each channel in the whole arm.
    pub(super) fn new(planned: Vec<u32>) -> Spreads {
        Spreads {
            planned,
            waiting: HashMap::new(),
            order: VecDeque::new(),
            incomplete: 0,
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
                    self.waiting.insert(key, part.clone());
                    self.order.push_back(key);
                    self.give_up();
                    false
                }
            };
            if whole {
                let whole = self.waiting.remove(&key).expect("just joined");
                self.complete(&whole);
            }
        }
    }

    /// Drops the oldest if too many wait.
    fn give_up(&mut self) {
        while self.order.len() > WAITING_MAX {
            let oldest = self.order.pop_front().and_then(|key| self.waiting.remove(&key));
            self.incomplete += u64::from(oldest.is_some());
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

    /// Ends the input and restores the data set aside.
    ///
    /// # Errors
    /// Fails if that data cannot be read again, in whole or in part.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.emits.recall()
    }

    /// Watched publications that at least one client received.
    pub(super) fn heard(&self) -> u64 {
        self.emits.heard()
    }

    /// The emits of the publications due in a second.
    pub(super) fn emits(&self, second: u32) -> Emits {
        self.emits.of(second)
    }

    /// Returns the figures; `None` if no broadcast was watched.
    pub(super) fn summary(&self) -> Option<Spread> {
        (self.broadcasts + self.not_heard_by_all + self.incomplete > 0).then(|| Spread {
            broadcasts: self.broadcasts,
            not_heard_by_all: self.not_heard_by_all,
            incomplete: self.incomplete + self.waiting.len() as u64,
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
    // Received in either part: the stamp is the same in both.
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
        Spreads::new(vec![planned])
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

    #[test]
    fn orphans_give_way_and_the_figures_go_on() {
        let mut s = spreads(4);
        let of = |sequence| Broadcast { sequence, ..part(&[10, 20], 2) };
        let orphans = WAITING_MAX as u64 + 3;
        (0..orphans).for_each(|n| s.add(&[of(n)]));
        assert_eq!((s.waiting.len(), s.incomplete), (WAITING_MAX, 3));
        s.add(&[of(orphans), of(orphans)]);
        let summary = s.summary().unwrap();
        assert_eq!((summary.broadcasts, summary.incomplete), (1, 4 + WAITING_MAX as u64 - 1));
        assert_eq!(s.order.len(), WAITING_MAX);
    }
}
