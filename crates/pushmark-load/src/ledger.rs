//! Publications under observation: from due until their deadline each has a line here.
//!
//! A line tells two things that sums cannot: how far a broadcast spread (first, median, last),
//! and whether anybody heard it at all, which separates what was never published from what was
//! lost on the way.

use std::collections::VecDeque;

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::record::{Broadcast, Record, sketch_bin};
use pushmark_net::Nanos;

/// Most publications with a line; beyond it they are counted as unwatched.
const OPEN_MAX: usize = 65_536;
/// Most with a sketch of their spread; beyond it a seeded 1 in [`SAMPLE`] keeps one.
const SKETCHES_MAX: usize = 4_096;
const SAMPLE: u64 = 16;
/// Most broadcasts a record carries: 512 a second are more than a percentile needs.
const BROADCASTS_MAX: usize = 512;
/// Bins up to one hour.
const BINS: usize = 896;

type Sketch = Box<[u32]>;

#[derive(Debug)]
struct Line {
    sequence: u32,
    planned: u32,
    live: u32,
    received: u32,
    sent_after_us: i64,
    first_us: i64,
    last_us: i64,
    sketch: Option<Sketch>,
    sampled: bool,
}

/// The lines of all channels.
#[derive(Debug)]
pub(crate) struct Ledger {
    lines: Vec<VecDeque<Line>>,
    // Publications come due in order, so their deadlines do too.
    closing: VecDeque<(Nanos, u32)>,
    spare: Vec<Sketch>,
    sketches: usize,
    deadline_ns: Nanos,
    seed: u64,
    start_ns: Nanos,
}

impl Ledger {
    pub(crate) fn new(channels: usize, deadline_ns: Nanos, seed: u64, start_ns: Nanos) -> Ledger {
        Ledger {
            lines: (0..channels).map(|_| VecDeque::new()).collect(),
            closing: VecDeque::new(),
            spare: Vec::new(),
            sketches: 0,
            deadline_ns,
            seed,
            start_ns,
        }
    }

    /// Begins to watch a publication with so many subscriptions planned and standing.
    pub(crate) fn open(
        &mut self,
        channel: u32,
        sequence: u32,
        due_ns: Nanos,
        planned: u32,
        live: u32,
        record: &mut Record,
    ) {
        if self.closing.len() >= OPEN_MAX {
            record.counts.unwatched += 1;
            return;
        }
        let crowded = self.sketches >= SKETCHES_MAX / 2;
        let chosen = || {
            Draw::new(self.seed, Purpose::SpreadSample, u64::from(channel) << 32 | u64::from(sequence))
                .below(SAMPLE)
                == 0
        };
        let keeps = planned > 0 && (!crowded || (self.sketches < SKETCHES_MAX && chosen()));
        let sketch = keeps.then(|| self.spare.pop().unwrap_or_else(|| vec![0; BINS].into_boxed_slice()));
        self.sketches += usize::from(keeps);
        self.lines[channel as usize].push_back(Line {
            sequence,
            planned,
            live,
            received: 0,
            sent_after_us: 0,
            first_us: i64::MAX,
            last_us: i64::MIN,
            sketch,
            sampled: crowded,
        });
        self.closing.push_back((due_ns + self.deadline_ns, channel));
    }

    /// A delivery arrived, for the first time on its subscription.
    #[inline]
    pub(crate) fn received(
        &mut self,
        channel: u32,
        sequence: u32,
        due_ns: Nanos,
        sent_ns: Nanos,
        received_ns: Nanos,
    ) {
        let lines = &mut self.lines[channel as usize];
        let Some(front) = lines.front() else { return };
        // Lines of a channel are almost always without gaps.
        let guess = sequence.wrapping_sub(front.sequence) as usize;
        let at = match lines.get(guess) {
            Some(line) if line.sequence == sequence => guess,
            _ => match lines.binary_search_by_key(&sequence, |line| line.sequence) {
                Ok(at) => at,
                Err(_) => return,
            },
        };
        let line = &mut lines[at];
        let latency_us = (received_ns as i64 - due_ns as i64).div_euclid(1_000);
        line.received += 1;
        // Every subscriber gets the same bytes, so any receipt tells when it was sent.
        line.sent_after_us = (sent_ns as i64 - due_ns as i64).div_euclid(1_000);
        line.first_us = line.first_us.min(latency_us);
        line.last_us = line.last_us.max(latency_us);
        if let Some(sketch) = &mut line.sketch {
            sketch[usize::from(sketch_bin(latency_us)).min(BINS - 1)] += 1;
        }
    }

    /// Ends the lines whose deadline has passed.
    pub(crate) fn close_due(&mut self, now_ns: Nanos, record: &mut Record) {
        while self.closing.front().is_some_and(|&(at_ns, _)| at_ns < now_ns) {
            let (at_ns, channel) = self.closing.pop_front().expect("looked at");
            let line = self.lines[channel as usize].pop_front().expect("one line for each closing");
            self.close(channel, line, at_ns - self.deadline_ns, record);
        }
    }

    fn close(&mut self, channel: u32, line: Line, due_ns: Nanos, record: &mut Record) {
        if line.received == 0 {
            record.counts.silent += u64::from(line.live);
        }
        let Some(mut sketch) = line.sketch else { return };
        self.sketches -= 1;
        if record.broadcasts.len() < BROADCASTS_MAX {
            let bins = sketch.iter().enumerate().filter(|(_, n)| **n > 0);
            record.broadcasts.push(Broadcast {
                channel,
                sequence: u64::from(line.sequence),
                due_second: (due_ns.saturating_sub(self.start_ns) / 1_000_000_000) as u32,
                sent_after_us: line.sent_after_us,
                planned: line.planned,
                received: line.received,
                first_us: line.first_us,
                last_us: line.last_us,
                sketch: bins.map(|(bin, &n)| (bin as u16, n)).collect(),
                sampled: line.sampled,
            });
        }
        sketch.fill(0);
        self.spare.push(sketch);
    }
}
