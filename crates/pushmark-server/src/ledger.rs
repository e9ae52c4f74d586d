//! Where a thread notes what it did: counters for `/stats`, and the truth log where one is kept.

use std::sync::Arc;

use pushmark_net::{Clock, Nanos};

use crate::stats::{Counter, Counters};
use crate::truth::Truth;

/// One thread's books.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Read by whoever answers `/stats`; written by this thread only.
    pub(crate) counters: Arc<Counters>,
    /// `None` where no truth log is asked for.
    pub(crate) truth: Option<Truth>,
}

impl Ledger {
    pub(crate) fn count(&self, counter: Counter) {
        self.counters.add(counter, 1);
    }

    /// The instant to note for the write that follows. Not asked for without a truth log.
    pub(crate) fn write_begins(&self) -> Nanos {
        if self.truth.is_some() { Clock::now() } else { 0 }
    }

    /// A delivery went out whole, in a write that began at `at_ns`.
    pub(crate) fn written(&mut self, cursor: u64, connection: u32, at_ns: Nanos) {
        self.count(Counter::Deliveries);
        if let Some(truth) = &mut self.truth {
            truth.written(cursor, connection, at_ns);
        }
    }

    /// A delivery gave way to a newer one in a full queue.
    pub(crate) fn overflowed(&mut self, cursor: u64) {
        self.count(Counter::Dropped);
        self.note(cursor, |line| line.overflowed += 1);
    }

    /// So many deliveries wait in one queue.
    pub(crate) fn queue_reached(&self, deliveries: usize) {
        self.counters.raise(Counter::QueueDepthMax, deliveries as u64);
    }

    /// Notes something of a publication in the truth log.
    pub(crate) fn note(&mut self, cursor: u64, note: impl FnOnce(&mut crate::truth::Line)) {
        if let Some(truth) = &mut self.truth {
            truth.note(cursor, note);
        }
    }
}
