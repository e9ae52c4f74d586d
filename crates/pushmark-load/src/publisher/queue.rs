//! What publishers over lines that stay open have in common, be a line a WebSocket or a process: each channel keeps to
//! one line, so that its order is kept; what cannot be written waits, until it is overdue; what is written together is
//! sent together.

use pushmark_model::record::Record;
use pushmark_net::Nanos;

use super::BACKLOG_MAX;
use super::outbox::Outbox;
use crate::job::Job;

/// Bytes gathered before they are written: about 50 small publications, with at most 20 µs between a stamp and its
/// write.
const GATHER_MAX: usize = 4 << 10;

/// The queue of all lines of a shard's publisher.
#[derive(Debug)]
pub(super) struct Queue {
    shards: u32,
    timeout_ns: Nanos,
    /// Lines that have gathered bytes.
    gathered: Vec<u32>,
    /// Waiting jobs, over all lines.
    waiting: usize,
}

impl Queue {
    pub(super) fn new(shards: u32, timeout_ns: Nanos) -> Queue {
        Queue { shards, timeout_ns, gathered: Vec::new(), waiting: 0 }
    }

    /// Returns the line of a channel. A shard has every n-th channel: they are distributed over its lines.
    pub(super) fn line_of(&self, channel: u32, lines: usize) -> usize {
        (channel / self.shards) as usize % lines
    }

    /// A publication is due, and its line takes nothing.
    pub(super) fn wait(&mut self, job: Job, outbox: &mut Outbox, record: &mut Record) {
        record.counts.pool_exhausted += u64::from(job.measured);
        if self.waiting >= BACKLOG_MAX {
            job.never_written(record, false);
        } else {
            self.waiting += 1;
            outbox.waiting.push_back(job);
        }
    }

    /// Returns the longest waiting publication of a line that takes one.
    pub(super) fn next(&mut self, outbox: &mut Outbox) -> Option<Job> {
        let job = outbox.waiting.pop_front()?;
        self.waiting -= 1;
        Some(job)
    }

    /// A publication was put behind `before` bytes of a line. Returns whether so much is gathered that it is sent now.
    pub(super) fn gathers(&mut self, at: usize, before: usize, outbox: &Outbox) -> bool {
        if before == 0 {
            self.gathered.push(at as u32);
        }
        outbox.out.len() >= GATHER_MAX
    }

    /// Returns a line that has gathered bytes, each once.
    pub(super) fn gathered(&mut self) -> Option<usize> {
        self.gathered.pop().map(|at| at as usize)
    }

    /// Gives up what waits too long on a line. `down`: the target is to blame.
    pub(super) fn expire(
        &mut self,
        outbox: &mut Outbox,
        now_ns: Nanos,
        (kind, down): (&str, bool),
        record: &mut Record,
    ) {
        let overdue = |job: &mut Job| job.due_ns + self.timeout_ns <= now_ns;
        while let Some(job) = outbox.waiting.pop_front_if(overdue) {
            self.waiting -= 1;
            job.never_written(record, down);
            record.publications_failed(kind, 1, job.measured);
        }
    }

    /// Nothing more is sent: what waits on a line is never published.
    pub(super) fn stop(&mut self, outbox: &mut Outbox, record: &mut Record) {
        self.waiting -= outbox.waiting.len();
        outbox.waiting.drain(..).for_each(|job| job.never_written(record, false));
    }
}
