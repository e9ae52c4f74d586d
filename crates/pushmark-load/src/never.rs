//! The instant that stands for no instant: of a wait without a time-out, of a timer that is not set.

use pushmark_net::Nanos;

/// An instant that is never reached.
pub(crate) const NEVER: Nanos = Nanos::MAX;
