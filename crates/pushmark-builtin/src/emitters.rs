//! All named emitters of a server.
//!
//! [`Emitters::take_due`] receives the time and returns ticks. The caller writes them after it has released
//! the lock on the emitters.

use std::collections::BTreeMap;

use crate::emitter::{BYTES_PER_SECOND_MAX, Emitter, PER_SECOND_MAX, Tick};
use crate::request::Refusal;

/// The most emitters at once.
pub(crate) const EMITTERS_MAX: usize = 256;

/// All emitters of a server.
#[derive(Debug, Default)]
pub(crate) struct Emitters {
    by_name: BTreeMap<String, Emitter>,
    /// `--stop-emitters-after`: publications on each channel before silence.
    silent_after: Option<u64>,
}

impl Emitters {
    pub(crate) fn new(silent_after: Option<u64>) -> Emitters {
        Emitters { by_name: BTreeMap::new(), silent_after }
    }

    /// Checks that an emitter can be set: there is room for its name, and all emitters together stay below
    /// what a host can publish.
    pub(crate) fn accept(&self, name: &str, emitter: &Emitter) -> Result<(), Refusal> {
        if self.by_name.len() >= EMITTERS_MAX && !self.by_name.contains_key(name) {
            return Err(Refusal::new(503, format!("there are {EMITTERS_MAX} emitters already")));
        }
        let others = self.by_name.iter().filter(|(other, _)| *other != name).map(|(_, other)| other);
        let rates = others.chain([emitter]).map(Emitter::rates);
        let (each, bytes) = rates.fold((0.0, 0.0), |sum, rates| (sum.0 + rates.0, sum.1 + rates.1));
        for (found, max, what) in
            [(each, PER_SECOND_MAX, "publications"), (bytes, BYTES_PER_SECOND_MAX, "bytes")]
        {
            if found > max {
                let why = format!(
                    "channels / interval_us: found {found:.0} {what} a second over all emitters, accepted: up to {max:.0}"
                );
                return Err(Refusal::new(400, why));
            }
        }
        Ok(())
    }

    /// Sets or replaces an emitter: its schedule and its sequences start again. Returns whether one of that
    /// name existed.
    pub(crate) fn set(&mut self, name: &str, emitter: Emitter) -> bool {
        self.by_name.insert(name.to_owned(), emitter).is_some()
    }

    /// Clears one emitter. Returns whether it existed.
    pub(crate) fn clear(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    /// Clears all emitters. Returns their number.
    pub(crate) fn clear_all(&mut self) -> usize {
        std::mem::take(&mut self.by_name).len()
    }

    /// Returns the number of emitters, including silent ones.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns when the next publication of any emitter is due.
    pub(crate) fn next_due_us(&self) -> Option<u64> {
        let silent_after = self.silent_after.unwrap_or(u64::MAX);
        self.by_name.values().filter_map(|emitter| emitter.due_us(silent_after)).min()
    }

    /// Takes up to `max` ticks due by `now_us`, in order of their due instants. With `skip_late`, ticks more
    /// than one interval behind are skipped; they keep their sequence numbers. Returns the number of skipped
    /// ticks.
    pub(crate) fn take_due(
        &mut self,
        now_us: u64,
        skip_late: bool,
        max: usize,
        ticks: &mut Vec<Tick>,
    ) -> u64 {
        let silent_after = self.silent_after.unwrap_or(u64::MAX);
        let mut skipped = 0;
        while ticks.len() < max {
            let next = self
                .by_name
                .values_mut()
                .filter_map(|emitter| Some((emitter.due_us(silent_after)?, emitter)))
                .min_by_key(|(due_us, _)| *due_us);
            let Some((due_us, emitter)) = next.filter(|(due_us, _)| *due_us <= now_us) else {
                break;
            };
            let late = skip_late && now_us - due_us > emitter.interval_us();
            let tick = emitter.tick(due_us);
            if late {
                skipped += 1;
            } else {
                ticks.push(tick);
            }
        }
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emitter::EmitterSpec;

    fn emitters(documents: &[&str], silent_after: Option<u64>) -> Emitters {
        let mut emitters = Emitters::new(silent_after);
        for (n, document) in documents.iter().enumerate() {
            let spec: EmitterSpec = serde_json::from_str(document).unwrap();
            let channels: Vec<u32> = (0..spec.channels.len() as u32).map(|i| 10 * n as u32 + i).collect();
            emitters.set(&format!("e{n}"), Emitter::new(&spec, &channels, 1_000).unwrap());
        }
        emitters
    }

    /// Runs to `until_us` in steps of `step_us`. Returns (channel, sequence, due) and the number of skipped
    /// ticks.
    fn run(
        emitters: &mut Emitters,
        until_us: u64,
        step_us: u64,
        skip_late: bool,
    ) -> (Vec<(u32, u64, u64)>, u64) {
        let (mut ticks, mut skipped) = (Vec::new(), 0);
        let mut now_us = 1_000;
        while now_us <= until_us {
            skipped += emitters.take_due(now_us, skip_late, usize::MAX, &mut ticks);
            now_us += step_us;
        }
        (ticks.iter().map(|t| (t.channel, t.stamp.sequence, t.stamp.due_us)).collect(), skipped)
    }

    const TWO_CHANNELS: &str =
        r#"{"interval_us":100,"size":48,"channels":["a","b"],"nonce":1,"phases_us":[30,10]}"#;

    #[test]
    fn publications_are_due_on_the_absolute_schedule() {
        let expected = [(1, 0, 1_010), (0, 0, 1_030), (1, 1, 1_110), (0, 1, 1_130), (1, 2, 1_210)];
        for step_us in [1, 7, 300] {
            // The due instants do not depend on how late they are polled.
            let (ticks, skipped) = run(&mut emitters(&[TWO_CHANNELS], None), 1_220, step_us, false);
            let seen = ticks.len().min(expected.len());
            assert_eq!((&ticks[..], skipped), (&expected[..seen], 0), "every {step_us} us");
        }
    }

    #[test]
    fn late_ticks_are_skipped_when_asked_and_keep_their_numbers() {
        let one = r#"{"interval_us":100,"size":48,"channels":["a"],"nonce":1}"#;
        // Polled at 1,000 and then at 1,450: 1,100 to 1,300 are more than an interval behind.
        let (ticks, skipped) = run(&mut emitters(&[one], None), 1_450, 450, true);
        assert_eq!((ticks, skipped), (vec![(0, 0, 1_000), (0, 4, 1_400)], 3));
    }

    #[test]
    fn emitters_interleave_by_due() {
        let fast = r#"{"interval_us":100,"size":48,"channels":["a"],"nonce":1,"count":3}"#;
        let slow = r#"{"interval_us":250,"size":48,"channels":["b"],"nonce":1,"start_us":1050}"#;
        let (ticks, _) = run(&mut emitters(&[fast, slow], None), 1_400, 400, false);
        let order: Vec<_> = ticks.iter().map(|t| t.2).collect();
        assert_eq!(order, [1_000, 1_050, 1_100, 1_200, 1_300]);
    }

    #[test]
    fn a_silenced_emitter_stays_set() {
        let mut silenced = emitters(&[TWO_CHANNELS], Some(2));
        let (ticks, _) = run(&mut silenced, 5_000, 10, false);
        assert_eq!((ticks.len(), silenced.len(), silenced.next_due_us()), (4, 1, None));
    }

    #[test]
    fn a_payload_ends_with_its_stamp() {
        let mut ticks = Vec::new();
        emitters(&[TWO_CHANNELS], None).take_due(1_010, false, 1, &mut ticks);
        let stamp = crate::publication::stamp_of(&ticks[0].payload(1_017)).unwrap();
        assert_eq!((stamp.channel, stamp.due_us, stamp.sent_us), (1, 1_010, 1_017));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_is_accepted() {
        let refusal = |changes: &str| {
            let document = format!(r#"{{"interval_us":100,"size":48,"channels":["a"],"nonce":1{changes}}}"#);
            let spec: EmitterSpec = serde_json::from_str(&document).unwrap();
            Emitter::new(&spec, &[0], 1_000).unwrap_err()
        };
        assert_eq!(refusal(r#","phases_us":[100]"#), "phases_us: found 100, accepted: 0 to 99");
        assert_eq!(refusal(r#","channel_indexes":[1,2]"#), "channel_indexes: found 2 values for 1 channels");
        assert!(serde_json::from_str::<EmitterSpec>(r#"{"every":1}"#).is_err());
    }
}
