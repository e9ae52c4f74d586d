//! The timesync extension: a client's estimate of the server's clock.
//!
//! It computes the averages of CometD's clients over the last ten answers, in whole ms. They are far too
//! coarse for latencies and serve as a cross-check.

use crate::bayeux::ext::{TimeSyncReply, TimeSyncRequest};

/// The number of averaged answers.
const WINDOW: usize = 10;

/// The client's own estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSync {
    lags_ms: [i32; WINDOW],
    offsets_ms: [i64; WINDOW],
    /// Answers so far.
    pub answers: u32,
}

impl TimeSync {
    /// Returns the one-way network time.
    pub fn lag_ms(&self) -> i64 {
        self.average(self.lags_ms.map(i64::from))
    }

    /// Returns the server's clock minus the client's.
    pub fn offset_ms(&self) -> i64 {
        self.average(self.offsets_ms)
    }

    /// Returns the request fields for a handshake or a connect written now.
    pub(super) fn request(&self, now_ms: i64) -> TimeSyncRequest {
        TimeSyncRequest { tc: now_ms, l: self.lag_ms(), o: self.offset_ms() }
    }

    /// Takes an answer. An implausible answer is ignored.
    pub(super) fn answered(&mut self, reply: &TimeSyncReply, now_ms: i64) {
        let round_trip = i128::from(now_ms) - i128::from(reply.tc) - i128::from(reply.p);
        let Ok(lag) = i32::try_from(round_trip / 2) else { return };
        let offset = i128::from(reply.ts) - i128::from(reply.tc) - i128::from(lag);
        let Ok(offset) = i64::try_from(offset) else { return };
        let at = self.answers as usize % WINDOW;
        (self.lags_ms[at], self.offsets_ms[at]) = (lag, offset);
        self.answers = self.answers.saturating_add(1);
    }

    fn average(&self, values: [i64; WINDOW]) -> i64 {
        let known = WINDOW.min(self.answers as usize);
        let sum: i128 = values[..known].iter().map(|&value| i128::from(value)).sum();
        (sum / known.max(1) as i128) as i64
    }
}
