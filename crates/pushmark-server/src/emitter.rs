//! An emitter: a publisher inside the server, on an absolute schedule (CONTRACT 5).
//!
//! Publication n of a channel is due at start + phase + n × interval, whatever happened to the
//! ones before it. Nothing here knows the time or writes a byte.

use pushmark_model::stamp::{self, STAMP_LEN, Stamp};
use serde::Deserialize;

use crate::publication::MESSAGE_MAX;

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
    pub(crate) stamp: Stamp,
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

    /// Time between two publications on one channel.
    pub(crate) fn interval_us(&self) -> u64 {
        self.interval_us
    }

    /// When its next publication is due; `None` once it has done its work, or falls silent.
    pub(crate) fn due_us(&self, silent_after: u64) -> Option<u64> {
        (self.cycle < self.count.min(silent_after))
            .then(|| self.start_us + self.voices[self.voice].phase_us + self.cycle * self.interval_us)
    }

    /// Takes the publication that is due.
    pub(crate) fn tick(&mut self, due_us: u64) -> Tick {
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
