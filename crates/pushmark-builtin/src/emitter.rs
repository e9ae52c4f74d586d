//! An emitter: a publisher inside the server, on an absolute schedule (CONTRACT 5).
//!
//! Publication n of a channel is due at start + phase + n × interval, regardless of earlier ones. This code
//! reads no clock and writes no bytes.

use pushmark_model::stamp::{self, STAMP_LEN, Stamp};
use serde::Deserialize;

use crate::publication::MESSAGE_MAX;

/// The most channels of one emitter.
const CHANNELS_MAX: usize = 1 << 16;

/// The longest interval, µs: a day.
const INTERVAL_MAX_US: u64 = 86_400_000_000;

/// How far in the past a schedule may begin, µs. Its missed ticks are all published.
const PAST_MAX_US: u64 = 60_000_000;

/// The most publications that a schedule may have missed when it is set: a burst of about a second.
const MISSED_MAX: u64 = 1 << 16;

/// The most publications a second of all emitters together: one a µs, more than any host achieves.
pub(crate) const PER_SECOND_MAX: f64 = 1e6;

/// The most bytes a second of all emitters together. It exceeds what a host can copy, so that such a schedule
/// could only fall further behind.
pub(crate) const BYTES_PER_SECOND_MAX: f64 = 4.0 * (1u64 << 30) as f64;

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

/// A running emitter.
#[derive(Debug)]
pub(crate) struct Emitter {
    start_us: u64,
    interval_us: u64,
    size: usize,
    nonce: u32,
    publisher: u16,
    /// Publications on each channel after which it ends.
    count: u64,
    /// Its channels in the order of their phases.
    by_phase: Vec<EmitterChannel>,
    /// The next publication: its number on its channel, and its place in `by_phase`.
    cycle: u64,
    next: usize,
}

/// One channel of an emitter.
#[derive(Clone, Copy, Debug)]
struct EmitterChannel {
    phase_us: u64,
    channel: u32,
    /// The channel number in the stamp.
    index: u32,
}

/// A publication that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    /// The server's number of the channel.
    pub(crate) channel: u32,
    /// Payload size including the stamp, bytes.
    pub(crate) size: usize,
    /// The stamp without the instant of sending.
    pub(crate) stamp: Stamp,
}

impl Tick {
    /// Returns the payload. `sent_us` is read just before the first write of it.
    pub(crate) fn payload(&self, sent_us: u64) -> Box<[u8]> {
        let mut payload = vec![0; self.size].into_boxed_slice();
        stamp::write_payload(&Stamp { sent_us, ..self.stamp }, &mut payload);
        payload
    }
}

impl Emitter {
    /// Checks a document. `channels` are the server's numbers of its channels, in the document's order.
    ///
    /// # Errors
    /// The error, for the client that sent the document.
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
        let missed = now_us.saturating_sub(start_us) / spec.interval_us;
        let missed = missed.min(spec.count.unwrap_or(u64::MAX)).saturating_mul(n as u64);
        in_range("start_us: publications missed since", missed, 0, MISSED_MAX)?;
        let mut by_phase = Vec::with_capacity(n);
        for (i, &channel) in channels.iter().enumerate() {
            let phase_us = spec.phases_us.as_ref().map_or(0, |phases| phases[i]);
            let index = spec.channel_indexes.as_ref().map_or(i as u32, |indexes| indexes[i]);
            in_range("phases_us", phase_us, 0, spec.interval_us - 1)?;
            in_range("channel_indexes", index.into(), 0, u64::from(stamp::CHANNELS_MAX) - 1)?;
            by_phase.push(EmitterChannel { phase_us, channel, index });
        }
        by_phase.sort_by_key(|channel| channel.phase_us);
        Ok(Emitter {
            start_us,
            interval_us: spec.interval_us,
            size: spec.size,
            nonce: spec.nonce,
            publisher: spec.publisher,
            count: spec.count.unwrap_or(u64::MAX),
            by_phase,
            cycle: 0,
            next: 0,
        })
    }

    /// Returns publications and bytes a second, over all its channels.
    pub(crate) fn rates(&self) -> (f64, f64) {
        let per_second = self.by_phase.len() as f64 * 1e6 / self.interval_us as f64;
        (per_second, per_second * self.size as f64)
    }

    /// Returns when its schedule began.
    pub(crate) fn start_us(&self) -> u64 {
        self.start_us
    }

    /// Returns the time between two publications on one channel.
    pub(crate) fn interval_us(&self) -> u64 {
        self.interval_us
    }

    /// Returns when its next publication is due, or `None` once it has ended or falls silent.
    pub(crate) fn due_us(&self, silent_after: u64) -> Option<u64> {
        (self.cycle < self.count.min(silent_after))
            .then(|| self.start_us + self.by_phase[self.next].phase_us + self.cycle * self.interval_us)
    }

    /// Takes the publication that is due.
    pub(crate) fn tick(&mut self, due_us: u64) -> Tick {
        let channel = self.by_phase[self.next];
        let stamp = Stamp {
            nonce: self.nonce,
            publisher: self.publisher,
            channel: channel.index,
            sequence: self.cycle,
            due_us,
            sent_us: 0,
        };
        self.next += 1;
        if self.next == self.by_phase.len() {
            self.next = 0;
            self.cycle += 1;
        }
        Tick { channel: channel.channel, size: self.size, stamp }
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
