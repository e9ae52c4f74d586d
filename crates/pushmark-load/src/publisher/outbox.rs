//! What waits for one connection of a publisher: publications that are due, and bytes that are put together
//! and not yet written.

use std::collections::VecDeque;

use pushmark_model::record::{Record, Sent};
use pushmark_net::Nanos;

use super::fail;
use crate::job::Job;

/// If a target ends a connection, it may not have read what was written within this time before the end.
/// At most the latest [`DOUBT_MAX`] publications are in doubt.
const DOUBT_NS: Nanos = 1_000_000_000;
const DOUBT_MAX: usize = 4_096;

/// The waiting publications and bytes of a connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Whole frames; the first may be partly written.
    pub(super) out: Vec<u8>,
    /// The length of each frame, and its publication if it holds one.
    frames: VecDeque<(usize, Option<Job>)>,
    /// Publications that were put into bytes lately, and when.
    recent: VecDeque<(Nanos, Job)>,
    /// The connection took less than it was given.
    pub(super) full: bool,
    /// Due, and not yet put into bytes.
    pub(super) waiting: VecDeque<Job>,
}

impl Outbox {
    /// The bytes behind `from` are a frame without a publication.
    pub(super) fn framed(&mut self, from: usize) {
        self.frames.push_back((self.out.len() - from, None));
    }

    /// The bytes behind `from` are a publication, stamped at `sent_ns`.
    pub(super) fn published(&mut self, from: usize, job: Job, sent_ns: Nanos) {
        self.frames.push_back((self.out.len() - from, Some(job)));
        let old = |(then_ns, _): &(Nanos, Job)| *then_ns + DOUBT_NS < sent_ns;
        while self.recent.len() >= DOUBT_MAX || self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
        self.recent.push_back((sent_ns, job));
    }

    /// Bytes of frames without a publication.
    pub(super) fn answers(&self) -> usize {
        self.frames.iter().filter(|(_, publication)| publication.is_none()).map(|(length, _)| length).sum()
    }

    /// Removes bytes that were written. Returns whether all were.
    pub(super) fn took(&mut self, written: usize) -> bool {
        if written == self.out.len() {
            self.out.clear();
            self.frames.clear();
            return true;
        }
        self.out.drain(..written);
        let mut left = written;
        while let Some((length, _)) = self.frames.front_mut() {
            if left < *length {
                *length -= left;
                break;
            }
            left -= *length;
            self.frames.pop_front();
        }
        false
    }

    /// The connection is gone. Publications that were not written have failed, those written just before are
    /// in doubt. Those that are not yet put into bytes wait for the next connection.
    pub(super) fn lost(&mut self, kind: &str, what: &str, record: &mut Record) {
        let unwritten = self.frames.iter().filter(|(_, publication)| publication.is_some()).count();
        let written = self.recent.len().saturating_sub(unwritten);
        for (_, job) in self.recent.drain(..).take(written).filter(|(_, job)| job.measured) {
            job.not_taken(record, Sent::InDoubt);
        }
        for job in self.frames.drain(..).filter_map(|(_, publication)| publication) {
            fail(record, job, kind, what);
        }
        self.out.clear();
        self.full = false;
    }
}
