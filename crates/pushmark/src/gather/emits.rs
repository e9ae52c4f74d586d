//! Emits, second by second: how long a publication took to reach the last who heard it, and how
//! many heard it. By the second of its due instant, so that a stalled server's gap stays where it
//! belongs. One entry a second, whatever was published.

use std::collections::BTreeMap;

use pushmark_model::record::Broadcast;

/// The watched publications that were due in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Emits {
    /// Publications.
    count: u64,
    /// Of them heard by anybody.
    heard: u64,
    /// Who heard them, added up.
    receivers: u64,
    /// Last received − sent, added up, µs.
    sum_us: i64,
    /// Longest; absent if nobody heard one.
    pub(crate) max_us: Option<i64>,
}

impl Emits {
    /// Mean last received − sent; absent if nobody heard one.
    pub(crate) fn mean_us(&self) -> Option<i64> {
        (self.heard > 0).then(|| self.sum_us / self.heard as i64)
    }

    /// Mean number that heard a publication; absent if none was watched.
    pub(crate) fn receivers(&self) -> Option<f64> {
        (self.count > 0).then(|| self.receivers as f64 / self.count as f64)
    }
}

/// Those of a run.
#[derive(Debug, Default)]
pub(super) struct EmitsBySecond(BTreeMap<u32, Emits>);

impl EmitsBySecond {
    pub(super) fn add(&mut self, whole: &Broadcast) {
        let emits = self.0.entry(whole.due_second).or_default();
        emits.count += 1;
        emits.receivers += u64::from(whole.received);
        if whole.received > 0 {
            let lasted_us = whole.last_us - whole.sent_after_us;
            emits.heard += 1;
            emits.sum_us += lasted_us;
            emits.max_us = Some(emits.max_us.map_or(lasted_us, |longest| longest.max(lasted_us)));
        }
    }

    /// Publications that somebody heard.
    pub(super) fn heard(&self) -> u64 {
        self.0.values().map(|emits| emits.heard).sum()
    }

    pub(super) fn of(&self, second: u32) -> Emits {
        self.0.get(&second).copied().unwrap_or_default()
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
}
