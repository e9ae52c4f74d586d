//! Emits, second by second: how long a publication took to reach its last receiver, and how many clients
//! received it. An entry belongs to the second of the due instant, so that a stalled server's gap stays in
//! its place. One entry a second, however many publications.

use std::collections::BTreeMap;
use std::io;

use pushmark_model::record::Broadcast;
use serde::{Deserialize, Serialize};

use pushmark_host::aside::Aside;

/// Seconds in memory, at most.
const HELD_MAX: usize = 256;

/// The watched publications that were due in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Emits {
    /// Publications.
    count: u64,
    /// Publications received by at least one client.
    heard: u64,
    /// Sum of their receivers.
    receivers: u64,
    /// Last received − sent, added up, µs.
    sum_us: i64,
    /// Longest; absent if no client received one.
    pub(crate) max_us: Option<i64>,
}

impl Emits {
    /// Mean last received − sent; absent if no client received one.
    pub(crate) fn mean_us(&self) -> Option<i64> {
        (self.heard > 0).then(|| self.sum_us / self.heard as i64)
    }

    /// Mean number of receivers of a publication; absent if none was watched.
    pub(crate) fn receivers(&self) -> Option<f64> {
        (self.count > 0).then(|| self.receivers as f64 / self.count as f64)
    }

    fn add(&mut self, other: &Emits) {
        self.count += other.count;
        self.heard += other.heard;
        self.receivers += other.receivers;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
    }
}

/// The emits of a run: the last minutes in memory, earlier ones in a file.
#[derive(Debug, Default)]
pub(super) struct EmitsBySecond {
    held: BTreeMap<u32, Emits>,
    aside: Aside<Vec<(u32, Emits)>>,
    heard: u64,
}

impl EmitsBySecond {
    pub(super) fn add(&mut self, whole: &Broadcast) {
        let mut emits = Emits { count: 1, receivers: whole.received.into(), ..Emits::default() };
        if whole.received > 0 {
            emits.heard = 1;
            emits.sum_us = whole.last_us - whole.sent_after_us;
            emits.max_us = Some(emits.sum_us);
        }
        self.heard += emits.heard;
        if !self.held.contains_key(&whole.due_second) && self.held.len() >= HELD_MAX {
            self.set_aside();
        }
        self.held.entry(whole.due_second).or_default().add(&emits);
    }

    /// Moves the older half to the file. A second that receives more later starts a new entry; the two are
    /// added at the end.
    fn set_aside(&mut self) {
        let Some((&middle, _)) = self.held.iter().nth(self.held.len() / 2) else { return };
        let younger = self.held.split_off(&middle);
        let older = std::mem::replace(&mut self.held, younger);
        let what = older.into_iter().collect();
        if self.aside.put(&what).is_err() {
            // If the file cannot be written, they stay in memory.
            self.held.extend(what);
        }
    }

    /// Returns everything: the arm is over.
    ///
    /// # Errors
    /// Fails if the file cannot be read; everything read until then is restored.
    pub(super) fn recall(&mut self) -> io::Result<()> {
        let EmitsBySecond { held, aside, .. } = self;
        aside.take(|older| {
            older.iter().for_each(|(second, emits)| held.entry(*second).or_default().add(emits))
        })
    }

    /// Publications that at least one client received.
    pub(super) fn heard(&self) -> u64 {
        self.heard
    }

    pub(super) fn of(&self, second: u32) -> Emits {
        self.held.get(&second).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_nobody_heard_lowers_the_receivers_and_has_no_duration() {
        let heard = Broadcast { received: 8, last_us: 9_000, sent_after_us: -1_000, ..Broadcast::default() };
        let silent = Broadcast { last_us: i64::MIN, ..Broadcast::default() };
        let mut all = EmitsBySecond::default();
        all.add(&heard);
        all.add(&silent);
        assert_eq!(all.heard(), 1);
        let emits = all.of(0);
        assert_eq!(
            (emits.max_us, emits.mean_us(), emits.receivers()),
            (Some(10_000), Some(10_000), Some(4.0))
        );
        assert_eq!((all.of(1).max_us, all.of(1).mean_us(), all.of(1).receivers()), (None, None, None));
    }
    #[test]
    fn an_hour_is_held_as_minutes_and_comes_back_whole() {
        let of = |second| Broadcast {
            received: 2,
            last_us: 1_000 + i64::from(second),
            due_second: second,
            ..Broadcast::default()
        };
        let mut all = EmitsBySecond::default();
        for second in 0..3_600 {
            all.add(&of(second));
            assert!(all.held.len() <= HELD_MAX);
        }
        // Completed an hour late.
        all.add(&of(7));
        assert_eq!(all.heard(), 3_601);
        all.recall().unwrap();
        for second in 0..3_600 {
            let count = if second == 7 { 2 } else { 1 };
            let emits = Emits {
                count,
                heard: count,
                receivers: 2 * count,
                sum_us: count as i64 * (1_000 + i64::from(second)),
                max_us: Some(1_000 + i64::from(second)),
            };
            assert_eq!(all.of(second), emits);
        }
    }
}
