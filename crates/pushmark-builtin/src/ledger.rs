//! Records the actions of a thread: counters for `/stats`, and the truth log if enabled.

use std::sync::Arc;

use pushmark_net::{Clock, Nanos};

use crate::stats::{Counter, Counters};
use crate::truth::Truth;

/// One thread's records.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Written by this thread only; read for `/stats`.
    pub(crate) counters: Arc<Counters>,
    /// `None` if no truth log is requested.
    pub(crate) truth: Option<Truth>,
}

impl Ledger {
    pub(crate) fn count(&self, counter: Counter) {
        self.counters.add(counter, 1);
    }

    /// Returns the instant of the write that follows. Without a truth log the clock is not read.
    pub(crate) fn write_begins(&self) -> Nanos {
        if self.truth.is_some() { Clock::now() } else { 0 }
    }

    /// Records a complete delivery, in a write that began at `at_ns`.
    pub(crate) fn written(&mut self, cursor: u64, connection: u32, at_ns: Nanos) {
        self.count(Counter::Deliveries);
        if let Some(truth) = &mut self.truth {
            truth.written(cursor, connection, at_ns);
        }
    }

    /// Records a delivery that was dropped from a full queue.
    pub(crate) fn overflowed(&mut self, cursor: u64) {
        self.count(Counter::Dropped);
        self.note(cursor, |line| line.overflowed += 1);
    }

    /// Records the depth of a queue.
    pub(crate) fn queue_reached(&self, deliveries: usize) {
        self.counters.raise(Counter::QueueDepthMax, deliveries as u64);
    }

    /// Records something about a publication in the truth log.
    pub(crate) fn note(&mut self, cursor: u64, note: impl FnOnce(&mut crate::truth::Line)) {
        if let Some(truth) = &mut self.truth {
            truth.note(cursor, note);
        }
    }
}
