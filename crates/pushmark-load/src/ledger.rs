//! Publications under observation: each has a line from its due instant until its deadline.
//!
//! A line holds two facts that sums do not show: how a broadcast spread (first, median, last), and
//! whether any client received it. A publication that no shard received, and that its publisher knows to
//! be refused or never sent, was not lost on the way. The reports of the shards are joined by publication
//! when records are added up.

use std::collections::{BTreeSet, VecDeque};

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::record::{Broadcast, Record, Unheard};
use pushmark_net::Nanos;

/// Most publications with a line. Further ones are counted as unwatched.
const OPEN_MAX: usize = 65_536;
/// Most publications with a sketch of their spread. From half of it on, only a seeded 1 in [`SAMPLE`]
/// gets one.
const SKETCHES_MAX: usize = 4_096;
const SAMPLE: u64 = 16;
/// Most broadcasts in a record: 512 a second are more than a percentile needs.
const BROADCASTS_MAX: usize = 512;
/// Most publications that a record lists as received by no client. More than this a second means that the
/// target is gone.
const UNHEARD_MAX: usize = 65_536;
/// Most publications remembered as not received by their deadline, in case they arrive later.
const SILENT_MAX: usize = 65_536;
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
    /// Publications that no client had received by their deadline.
    silent: BTreeSet<(u32, u32)>,
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
            silent: BTreeSet::new(),
            deadline_ns,
            seed,
            start_ns,
        }
    }

    /// Begins to watch a publication, with the numbers of planned and of established subscriptions.
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

    /// Counts a delivery that arrived for the first time on its subscription: its latency, and the bin of
    /// the latency in the sketch. Returns whether its publication has a line.
    #[inline]
    pub(crate) fn received(
        &mut self,
        channel: u32,
        sequence: u32,
        sent_after_us: i64,
        (latency_us, bin): (i64, u16),
    ) -> bool {
        let Some(line) = self.line(channel, sequence) else { return false };
        line.received += 1;
        // Every subscriber receives the same bytes, so any receipt shows when the publication was sent.
        line.sent_after_us = sent_after_us;
        line.first_us = line.first_us.min(latency_us);
        line.last_us = line.last_us.max(latency_us);
        if let Some(sketch) = &mut line.sketch {
            sketch[usize::from(bin).min(BINS - 1)] += 1;
        }
        true
    }

    #[inline]
    fn line(&mut self, channel: u32, sequence: u32) -> Option<&mut Line> {
        let lines = &mut self.lines[channel as usize];
        // The lines of a channel almost never have gaps.
        let guess = sequence.wrapping_sub(lines.front()?.sequence) as usize;
        let at = match lines.get(guess) {
            Some(line) if line.sequence == sequence => guess,
            _ => lines.binary_search_by_key(&sequence, |line| line.sequence).ok()?,
        };
        lines.get_mut(at)
    }

    /// A delivery arrived after its publication's line was closed. If no client had received the
    /// publication by then, the record lists it as received late.
    #[cold]
    pub(crate) fn heard_late(&mut self, channel: u32, sequence: u32, record: &mut Record) {
        if self.silent.remove(&(channel, sequence)) {
            record.heard_late.push((channel, sequence.into()));
        }
    }

    /// One more subscription turns out to be owed the publications [from, to) of a channel.
    pub(crate) fn owe(&mut self, channel: u32, from: u32, to: u32) {
        let lines = &mut self.lines[channel as usize];
        let first = lines.partition_point(|line| line.sequence < from);
        lines.iter_mut().skip(first).take_while(|line| line.sequence < to).for_each(|line| line.live += 1);
    }

    /// Returns the oldest publication of a channel that is still watched.
    pub(crate) fn oldest(&self, channel: u32) -> Option<u32> {
        self.lines[channel as usize].front().map(|line| line.sequence)
    }

    /// The run was stopped: records the spread of what is still watched, and lists nothing as not
    /// received.
    pub(crate) fn give_up(&mut self, record: &mut Record) {
        while let Some((at_ns, channel)) = self.closing.pop_front() {
            let line = self.lines[channel as usize].pop_front().expect("one line for each closing");
            self.show(channel, line, at_ns - self.deadline_ns, record);
        }
    }

    /// Closes the lines whose deadline has passed.
    pub(crate) fn close_due(&mut self, now_ns: Nanos, record: &mut Record) {
        while self.closing.front().is_some_and(|&(at_ns, _)| at_ns < now_ns) {
            let (at_ns, channel) = self.closing.pop_front().expect("looked at");
            let line = self.lines[channel as usize].pop_front().expect("one line for each closing");
            self.close(channel, line, at_ns - self.deadline_ns, record);
        }
    }

    fn close(&mut self, channel: u32, line: Line, due_ns: Nanos, record: &mut Record) {
        if line.received == 0 {
            if record.unheard.len() < UNHEARD_MAX {
                let (sequence, planned, owed) = (line.sequence.into(), line.planned, line.live);
                record.unheard.push(Unheard { channel, sequence, planned, owed });
            } else {
                record.counts.unwatched += 1;
            }
            self.silent.insert((channel, line.sequence));
            if self.silent.len() > SILENT_MAX {
                self.silent.pop_first();
            }
        }
        self.show(channel, line, due_ns, record);
    }

    /// Adds the spread of a publication to the record, if it has a sketch.
    fn show(&mut self, channel: u32, line: Line, due_ns: Nanos, record: &mut Record) {
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
