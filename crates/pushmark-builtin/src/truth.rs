//! The truth log: a record of what the server did, to compare measurements with.
//!
//! Each thread keeps its log in memory while the server runs. The logs are merged and written as CSV when it
//! stops. It is off by default, because it costs a clock reading for each write and 16 bytes for each
//! delivery.

use std::io::{self, Write};
use std::net::SocketAddr;

use pushmark_net::{Clock, Nanos};

use crate::publication::Publication;

/// The most publications with a separate line. Later ones are only counted.
const PUBLICATIONS_MAX: usize = 1 << 20;

/// The most deliveries with a recorded instant, over all threads. Later ones are only counted.
const DELIVERIES_MAX: usize = 4_000_000;

/// The fate of one publication.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    channel: u32,
    /// Sequence, due and sent of its stamp.
    stamp: Option<(u64, u64, u64)>,
    /// Subscriptions at the time of delivery, including held long polls.
    pub(crate) subscribers: u64,
    /// Deliveries written, including the second of a duplicate.
    pub(crate) written: u64,
    /// Deliveries dropped by a fault.
    pub(crate) dropped: u64,
    /// Deliveries made twice by a fault.
    pub(crate) duplicated: u64,
    /// Deliveries made after their successor by a fault.
    pub(crate) swapped: u64,
    /// Deliveries made without their end by a fault.
    pub(crate) truncated: u64,
    /// Deliveries dropped from a full queue.
    pub(crate) overflowed: u64,
    /// Held long polls, which received it.
    pub(crate) listening: u64,
    /// Long polls with a cursor, between two requests.
    pub(crate) in_flight: u64,
    /// Long polls without a cursor, between two requests. They missed it.
    pub(crate) deaf: u64,
    /// Deliveries made with another first byte by a fault.
    pub(crate) corrupted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    at_us: u64,
    done_us: u64,
    /// Index of the publication's line.
    line: u32,
    connection: u32,
}

/// One thread's log.
#[derive(Debug)]
pub(crate) struct Truth {
    /// By cursor − 1, because every thread sees every publication.
    lines: Vec<Line>,
    deliveries: Vec<Written>,
    deliveries_max: usize,
    connections: Vec<(u32, SocketAddr, &'static str)>,
    publications_unrecorded: u64,
    deliveries_unrecorded: u64,
}

impl Truth {
    /// Makes an empty log for one of `threads` threads.
    pub(crate) fn new(threads: usize) -> Truth {
        Truth {
            lines: Vec::new(),
            deliveries: Vec::new(),
            deliveries_max: DELIVERIES_MAX / threads.max(1),
            connections: Vec::new(),
            publications_unrecorded: 0,
            deliveries_unrecorded: 0,
        }
    }

    /// Opens the line of a publication before its delivery.
    pub(crate) fn publication(&mut self, publication: &Publication, note: impl FnOnce(&mut Line)) {
        debug_assert_eq!(
            publication.cursor,
            (self.lines.len() as u64 + self.publications_unrecorded) + 1,
            "every thread sees every publication, in order"
        );
        if self.lines.len() >= PUBLICATIONS_MAX {
            self.publications_unrecorded += 1;
            return;
        }
        let stamp = publication.stamp.map(|s| (s.sequence, s.due_us, s.sent_us));
        let mut line = Line { channel: publication.channel, stamp, ..Line::default() };
        note(&mut line);
        self.lines.push(line);
    }

    /// Changes the line of a publication.
    pub(crate) fn note(&mut self, cursor: u64, note: impl FnOnce(&mut Line)) {
        if let Some(line) = self.lines.get_mut(cursor as usize - 1) {
            note(line);
        }
    }

    /// Records a delivery that was handed to the kernel in a write that began at `at_ns` and has ended now.
    pub(crate) fn written(&mut self, cursor: u64, connection: u32, at_ns: Nanos) {
        self.note(cursor, |line| line.written += 1);
        if self.deliveries.len() >= self.deliveries_max || cursor as usize > self.lines.len() {
            self.deliveries_unrecorded += 1;
            return;
        }
        let line = (cursor - 1) as u32;
        let done_us = Clock::now() / 1000;
        self.deliveries.push(Written { at_us: at_ns / 1000, done_us, line, connection });
    }

    /// Records the first subscription of a connection.
    pub(crate) fn connection(&mut self, ordinal: u32, peer: SocketAddr, transport: &'static str) {
        // One line each. Connections are bounded by descriptors, but a long run may have many.
        if self.connections.len() < PUBLICATIONS_MAX {
            self.connections.push((ordinal, peer, transport));
        }
    }

    /// Merges another thread's log of the same run.
    pub(crate) fn merge(&mut self, other: Truth) {
        for (index, theirs) in other.lines.into_iter().enumerate() {
            let Some(line) = self.lines.get_mut(index) else {
                self.lines.push(theirs);
                continue;
            };
            line.subscribers += theirs.subscribers;
            line.written += theirs.written;
            line.dropped += theirs.dropped;
            line.duplicated += theirs.duplicated;
            line.swapped += theirs.swapped;
            line.truncated += theirs.truncated;
            line.overflowed += theirs.overflowed;
            line.listening += theirs.listening;
            line.in_flight += theirs.in_flight;
            line.deaf += theirs.deaf;
            line.corrupted += theirs.corrupted;
        }
        self.deliveries.extend(other.deliveries);
        self.connections.extend(other.connections);
        self.publications_unrecorded = self.publications_unrecorded.max(other.publications_unrecorded);
        self.deliveries_unrecorded += other.deliveries_unrecorded;
    }

    /// Writes the log: a comment line with the columns of each kind of line, then the lines.
    pub(crate) fn write(&mut self, channels: &[&str], out: &mut impl Write) -> io::Result<()> {
        self.deliveries.sort_unstable_by_key(|written| (written.line, written.at_us));
        self.connections.sort_unstable_by_key(|&(ordinal, ..)| ordinal);
        writeln!(
            out,
            "# pushmark.truth/1; instants in us of CLOCK_MONOTONIC; a field is empty where the payload has no stamp"
        )?;
        writeln!(
            out,
            "# publication,cursor,channel,sequence,due_us,sent_us,subscribers,written,dropped,duplicated,swapped,truncated,overflowed,listening,in_flight,deaf,corrupted"
        )?;
        writeln!(out, "# connection,ordinal,peer,transport")?;
        writeln!(out, "# delivery,channel,sequence,connection,write_us,written_us")?;
        writeln!(out, "# total,name,count")?;
        for (index, line) in self.lines.iter().enumerate() {
            let (sequence, due_us, sent_us) = stamp_fields(line);
            writeln!(
                out,
                "publication,{},{},{sequence},{due_us},{sent_us},{},{},{},{},{},{},{},{},{},{},{}",
                index + 1,
                name(channels, line),
                line.subscribers,
                line.written,
                line.dropped,
                line.duplicated,
                line.swapped,
                line.truncated,
                line.overflowed,
                line.listening,
                line.in_flight,
                line.deaf,
                line.corrupted,
            )?;
        }
        for (ordinal, peer, transport) in &self.connections {
            writeln!(out, "connection,{ordinal},{peer},{transport}")?;
        }
        for written in &self.deliveries {
            let line = &self.lines[written.line as usize];
            let (sequence, ..) = stamp_fields(line);
            let channel = name(channels, line);
            let Written { connection, at_us, done_us, .. } = written;
            writeln!(out, "delivery,{channel},{sequence},{connection},{at_us},{done_us}")?;
        }
        let total = |field: fn(&Line) -> u64| self.lines.iter().map(field).sum::<u64>();
        for (name, count) in [
            ("publications", self.lines.len() as u64),
            ("publications_unrecorded", self.publications_unrecorded),
            ("deliveries_unrecorded", self.deliveries_unrecorded),
            ("written", total(|line| line.written)),
            ("dropped", total(|line| line.dropped)),
            ("duplicated", total(|line| line.duplicated)),
            ("swapped", total(|line| line.swapped)),
            ("truncated", total(|line| line.truncated)),
            ("corrupted", total(|line| line.corrupted)),
            ("overflowed", total(|line| line.overflowed)),
            ("missed_deaf", total(|line| line.deaf)),
        ] {
            writeln!(out, "total,{name},{count}")?;
        }
        out.flush()
    }
}

fn name<'a>(channels: &[&'a str], line: &Line) -> &'a str {
    channels.get(line.channel as usize).copied().unwrap_or("")
}

fn stamp_fields(line: &Line) -> (String, String, String) {
    match line.stamp {
        Some((sequence, due_us, sent_us)) => (sequence.to_string(), due_us.to_string(), sent_us.to_string()),
        None => Default::default(),
    }
}
