//! How messages are written to subscribers: the bounds of queues, and when what waits may leave. They are the
//! same for all connections of a server.

use std::num::NonZeroUsize;

use pushmark_net::Nanos;

use crate::options::QueuePolicy;

/// Limits of the writing to one subscriber.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) queue_max: usize,
    pub(crate) queue_policy: QueuePolicy,
    /// `--slow-write`: bytes that may leave each millisecond.
    pub(crate) pace: Option<NonZeroUsize>,
    /// How long messages are collected; 0: not at all.
    pub(crate) batch_ns: Nanos,
}
