//! Counters of each thread, readable by all threads while the server runs.
//!
//! Each thread writes only its own counters, so an addition is a load and a store without a locked
//! instruction. `/stats` and the summary add them up.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters. Gauges go up and down; `…Max` keeps the highest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Connections accepted.
    Accepted,
    /// Connections open now (gauge).
    Open,
    /// Accepts that failed because of missing descriptors or memory.
    AcceptFailed,
    /// Requests answered, of all kinds.
    Requests,
    /// Requests that were invalid or refused.
    BadRequests,
    /// Answers to `/poll`.
    Polls,
    /// Answers to `/long-poll` with at least one message.
    LongPollAnswers,
    /// Answers to `/long-poll` because its hold had passed.
    LongPollTimeouts,
    /// Long polls held now (gauge).
    LongPoll,
    /// Streams open now (gauge).
    Stream,
    /// Event streams open now (gauge).
    Sse,
    /// WebSockets open now (gauge).
    WebSocket,
    /// Bayeux sessions over long polling that are subscribed now (gauge).
    Bayeux,
    /// Bayeux sessions over a WebSocket that are subscribed now (gauge).
    BayeuxWebSocket,
    /// Bayeux sessions now, subscribed or not (gauge).
    BayeuxSessions,
    /// Bayeux handshakes granted.
    BayeuxHandshakes,
    /// Bayeux connects received.
    BayeuxConnects,
    /// Bayeux messages of unknown clients.
    BayeuxUnknown,
    /// Bayeux sessions that expired without a connect.
    BayeuxExpired,
    /// Answers to a cursor older than the history.
    HistoryGaps,
    /// Publications refused because a bound was reached.
    PublishRefused,
    /// Deliveries written.
    Deliveries,
    /// Deliveries dropped from a full queue.
    Dropped,
    /// Subscribers disconnected because their queue was full.
    Disconnected,
    /// Most deliveries that waited in one queue.
    QueueDepthMax,
    /// Publications made by emitters.
    Emits,
    /// Ticks of emitters that were skipped.
    EmitsSkipped,
    /// Passes over the subscribers that wrote something.
    Passes,
    /// The sum of their durations, ns.
    PassNs,
    /// The longest duration, ns.
    PassNsMax,
    /// Requests with a `Host` that is not this server's.
    HostRefused,
    /// Requests from pages of another origin.
    OriginRefused,
    /// Changing requests or messages without the token.
    TokenRefused,
    /// Pauses of reading from connections that did not read their answers.
    Stalls,
    /// Answers to pings that were replaced by the next one.
    PongsSkipped,
    /// Requests and messages that were not complete in time.
    TooSlow,
    /// Connections that ended with an unread last answer.
    Untaken,
    /// Incomplete requests and messages that there was no room to keep.
    KeptFull,
    /// Times that all queues together reached their bound.
    QueuesFull,
    /// Latest messages of channels that were dropped because their total size exceeded the bound.
    StatesForgotten,
    /// Subscriptions refused because there are too many.
    SubscriptionsRefused,
    /// Connections refused by a fault.
    Refused,
    /// Connections ignored by a fault.
    HalfOpen,
    /// Connections reset by a fault.
    Reset,
}

const COUNTERS: usize = Counter::Reset as usize + 1;

/// Passes are counted by duration: below 2 µs, 4 µs, and so on. The last bucket takes the rest.
pub(crate) const PASS_BUCKETS: usize = 24;

/// One thread's counters, on separate cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counters {
    values: [AtomicU64; COUNTERS],
    passes: [AtomicU64; PASS_BUCKETS],
}

impl Counters {
    pub(crate) fn new() -> Counters {
        let zeroes = || array::from_fn(|_| AtomicU64::new(0));
        Counters { values: zeroes(), passes: array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Adds to a counter. Only the owning thread may call it.
    pub(crate) fn add(&self, counter: Counter, n: u64) {
        let value = &self.values[counter as usize];
        value.store(value.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Subtracts one from a gauge. Only the owning thread may call it.
    pub(crate) fn fall(&self, counter: Counter) {
        self.add(counter, u64::MAX);
    }

    /// Keeps the higher value. Only the owning thread may call it.
    pub(crate) fn raise(&self, counter: Counter, seen: u64) {
        let value = &self.values[counter as usize];
        if value.load(Relaxed) < seen {
            value.store(seen, Relaxed);
        }
    }

    /// Records the duration of a pass over the subscribers.
    pub(crate) fn pass_took(&self, ns: u64) {
        self.add(Counter::Passes, 1);
        self.add(Counter::PassNs, ns);
        self.raise(Counter::PassNsMax, ns);
        let bucket = ((ns / 1000).checked_ilog2().unwrap_or(0) as usize).min(PASS_BUCKETS - 1);
        let count = &self.passes[bucket];
        count.store(count.load(Relaxed) + 1, Relaxed);
    }

    pub(crate) fn value(&self, counter: Counter) -> u64 {
        self.values[counter as usize].load(Relaxed)
    }
}

/// Returns the sum of a counter over all threads.
pub(crate) fn sum<'a>(threads: impl IntoIterator<Item = &'a Counters>, counter: Counter) -> u64 {
    threads.into_iter().fold(0, |sum, counters| sum.wrapping_add(counters.value(counter)))
}

/// Returns the highest value of any thread.
pub(crate) fn max<'a>(threads: impl IntoIterator<Item = &'a Counters>, counter: Counter) -> u64 {
    threads.into_iter().map(|counters| counters.value(counter)).max().unwrap_or(0)
}

/// Returns the durations of passes over all threads: upper bound in µs (`None`: no bound) and count, without
/// empty buckets.
pub(crate) fn passes<'a>(
    threads: impl IntoIterator<Item = &'a Counters> + Clone,
) -> impl Iterator<Item = (Option<u64>, u64)> {
    (0..PASS_BUCKETS).filter_map(move |bucket| {
        let threads = threads.clone().into_iter();
        let count: u64 = threads.map(|counters| counters.passes[bucket].load(Relaxed)).sum();
        let bound_us = (bucket + 1 < PASS_BUCKETS).then(|| 2 << bucket);
        (count > 0).then_some((bound_us, count))
    })
}
