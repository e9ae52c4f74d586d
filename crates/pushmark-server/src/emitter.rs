//! Named emitters: publishers inside the server, each on an absolute schedule.
//!
//! Publication n of a channel is due at start + phase + n × interval, whatever happened to the
//! ones before it. Nothing here knows the time or writes a byte: [`Emitters::take_due`] is told
//! the one and gives back ticks to be written by the caller.

use std::collections::BTreeMap;

use pushmark_model::stamp::{self, STAMP_LEN, Stamp};
use serde::Deserialize;

use crate::publication::MESSAGE_MAX;

/// Most emitters at once.
pub(crate) const EMITTERS_MAX: usize = 256;

/// Most channels of one emitter.
const CHANNELS_MAX: usize = 1 << 16;

/// Longest interval, µs: a day.
const INTERVAL_MAX_US: u64 = 86_400_000_000;

/// How far in the past a schedule may begin, µs: its missed ticks are all published.
const PAST_MAX_US: u64 = 60_000_000;

/// The document of `PUT /emitters/NAME` (CONTRACT 5.2).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmitterSpec {
    interval_us: u64,
    size: usize,
    pub(crate) channels: Vec<String>,
    nonce: u32,
    #[serde(default)]
    publisher: u16,
    start_us: Option<u64>,
    count: Option<u64>,
    channel_indexes: Option<Vec<u32>>,
    phases_us: Option<Vec<u64>>,
}

/// One emitter at work.
#[derive(Debug)]
pub(crate) struct Emitter {
    start_us: u64,
    interval_us: u64,
    size: usize,
    nonce: u32,
    publisher: u16,
    /// Publications on each channel after which it has done its work.
    count: u64,
    /// Its channels in the order of their phases.
    voices: Vec<Voice>,
    /// The next publication: number on its channel, and which voice.
    cycle: u64,
    voice: usize,
}

/// One channel of an emitter.
#[derive(Clone, Copy, Debug)]
struct Voice {
    phase_us: u64,
    channel: u32,
    /// What the stamp calls the channel.
    index: u32,
}

/// A publication that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    /// The channel, as the server numbers it.
    pub(crate) channel: u32,
    /// Payload size with its stamp, bytes.
    pub(crate) size: usize,
    /// Everything but the instant of sending.
    stamp: Stamp,
}

impl Tick {
    /// The bytes to publish; `sent_us` is taken just before the first of their writes.
    pub(crate) fn payload(&self, sent_us: u64) -> Box<[u8]> {
        let mut payload = vec![0; self.size].into_boxed_slice();
        stamp::write_payload(&Stamp { sent_us, ..self.stamp }, &mut payload);
        payload
    }
}

impl Emitter {
    /// Checks a document; `channels` are the server's numbers of its channels, in its order.
    ///
    /// # Errors
    /// What is wrong with it, to be told to whoever sent it.
    pub(crate) fn new(spec: &EmitterSpec, channels: &[u32], now_us: u64) -> Result<Emitter, String> {
        let n = spec.channels.len();
        in_range("interval_us", spec.interval_us, 1, INTERVAL_MAX_US)?;
        in_range("size", spec.size as u64, STAMP_LEN as u64, MESSAGE_MAX as u64)?;
        in_range("channels", n as u64, 1, CHANNELS_MAX as u64)?;
        in_range("nonce", spec.nonce.into(), 0, u64::from(stamp::NONCES) - 1)?;
        in_range("publisher", spec.publisher.into(), 0, 36 * 36 - 1)?;
        same_length("channel_indexes", spec.channel_indexes.as_deref(), n)?;
        same_length("phases_us", spec.phases_us.as_deref(), n)?;
        let start_us = spec.start_us.unwrap_or(now_us);
        in_range("start_us", start_us, now_us.saturating_sub(PAST_MAX_US), now_us + INTERVAL_MAX_US)?;
        let mut voices = Vec::with_capacity(n);
        for (i, &channel) in channels.iter().enumerate() {
            let phase_us = spec.phases_us.as_ref().map_or(0, |phases| phases[i]);
            let index = spec.channel_indexes.as_ref().map_or(i as u32, |indexes| indexes[i]);
            in_range("phases_us", phase_us, 0, spec.interval_us - 1)?;
            in_range("channel_indexes", index.into(), 0, u64::from(stamp::CHANNELS_MAX) - 1)?;
            voices.push(Voice { phase_us, channel, index });
        }
        voices.sort_by_key(|voice| voice.phase_us);
        Ok(Emitter {
            start_us,
            interval_us: spec.interval_us,
            size: spec.size,
            nonce: spec.nonce,
            publisher: spec.publisher,
            count: spec.count.unwrap_or(u64::MAX),
            voices,
            cycle: 0,
            voice: 0,
        })
    }

    /// When its schedule began.
    pub(crate) fn start_us(&self) -> u64 {
        self.start_us
    }

    /// When its next publication is due; `None` once it has done its work.
    fn due_us(&self, silent_after: u64) -> Option<u64> {
        (self.cycle < self.count.min(silent_after))
            .then(|| self.start_us + self.voices[self.voice].phase_us + self.cycle * self.interval_us)
    }

    fn tick(&mut self, due_us: u64) -> Tick {
        let voice = self.voices[self.voice];
        let stamp = Stamp {
            nonce: self.nonce,
            publisher: self.publisher,
            channel: voice.index,
            sequence: self.cycle,
            due_us,
            sent_us: 0,
        };
        self.voice += 1;
        if self.voice == self.voices.len() {
            self.voice = 0;
            self.cycle += 1;
        }
        Tick { channel: voice.channel, size: self.size, stamp }
    }
}

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

    /// Sets an emitter, or changes it: its schedule and its sequences begin anew. Whether
    /// there was one of that name; `None` where there is no room for another.
    pub(crate) fn set(&mut self, name: &str, emitter: Emitter) -> Option<bool> {
        if self.by_name.len() >= EMITTERS_MAX && !self.by_name.contains_key(name) {
            return None;
        }
        Some(self.by_name.insert(name.to_owned(), emitter).is_some())
    }

    /// Clears one emitter; whether there was one.
    pub(crate) fn clear(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    /// Clears all; how many there were.
    pub(crate) fn clear_all(&mut self) -> usize {
        std::mem::take(&mut self.by_name).len()
    }

    /// Emitters that are set, silent ones among them.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// When the next publication of any is due.
    pub(crate) fn next_due_us(&self) -> Option<u64> {
        let silent_after = self.silent_after.unwrap_or(u64::MAX);
        self.by_name.values().filter_map(|emitter| emitter.due_us(silent_after)).min()
    }

    /// Gives up to `max` ticks due by `now_us`, in the order of their dues. With `skip_late`
    /// those more than one interval behind are passed over; they keep their sequence numbers.
    /// Gives how many were.
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
            let late = skip_late && now_us - due_us > emitter.interval_us;
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

fn in_range(key: &str, found: u64, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&found) {
        return Ok(());
    }
    Err(format!("{key}: found {found}, accepted: {low} to {high}"))
}

fn same_length<T>(key: &str, list: Option<&[T]>, channels: usize) -> Result<(), String> {
    match list {
        Some(list) if list.len() != channels => {
            Err(format!("{key}: found {} values for {channels} channels", list.len()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emitters(documents: &[&str], silent_after: Option<u64>) -> Emitters {
        let mut emitters = Emitters::new(silent_after);
        for (n, document) in documents.iter().enumerate() {
            let spec: EmitterSpec = serde_json::from_str(document).unwrap();
            let channels: Vec<u32> = (0..spec.channels.len() as u32).map(|i| 10 * n as u32 + i).collect();
            emitters.set(&format!("e{n}"), Emitter::new(&spec, &channels, 1_000).unwrap());
        }
        emitters
    }

    /// Runs to `until_us`, looking every `step_us`; gives (channel, sequence, due) and skips.
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
            // However late it is looked at, the dues are the same.
            let (ticks, skipped) = run(&mut emitters(&[TWO_CHANNELS], None), 1_220, step_us, false);
            let seen = ticks.len().min(expected.len());
            assert_eq!((&ticks[..], skipped), (&expected[..seen], 0), "every {step_us} us");
        }
    }

    #[test]
    fn late_ticks_are_skipped_when_asked_and_keep_their_numbers() {
        let one = r#"{"interval_us":100,"size":48,"channels":["a"],"nonce":1}"#;
        // Looked at 1,000 then 1,450: 1,100 to 1,300 are more than an interval behind.
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
