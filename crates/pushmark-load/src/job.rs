//! One publication that is due, and how it is counted if the target does not take it.
//!
//! The publisher sends it over connections of its own. A client sends it over its own connection, if the
//! clients publish.

use pushmark_model::record::{NotTaken, Record, Sent};
use pushmark_net::Nanos;

/// Most publications that a record lists as not taken. Further ones are only counted.
const NOT_TAKEN_MAX: usize = 65_536;

/// A publication that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) channel: u32,
    pub(crate) sequence: u64,
    pub(crate) due_ns: Nanos,
    /// Due in the measure phase.
    pub(crate) measured: bool,
}

impl Job {
    /// Counts a publication that is never written: because the target cannot be reached (`no_target`), or
    /// for a reason in the generator.
    pub(crate) fn never_written(&self, record: &mut Record, no_target: bool) {
        if self.measured {
            record.counts.unpublished += 1;
            record.counts.unreachable += u64::from(no_target);
            self.not_taken(record, Sent::Never);
        }
    }

    /// Lists a publication that the target did not take.
    pub(crate) fn not_taken(&self, record: &mut Record, sent: Sent) {
        if record.not_taken.len() < NOT_TAKEN_MAX {
            record.not_taken.push(NotTaken { channel: self.channel, sequence: self.sequence, sent });
        }
    }
}
