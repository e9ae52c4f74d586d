//! The timesync extension: what a client believes of the server's clock.
//!
//! The averages of CometD's clients, over the last ten answers, in whole ms. Far too coarse for
//! latencies; a cross-check.

use crate::bayeux::ext::{TimeSyncReply, TimeSyncRequest};

/// How many answers are averaged.
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
    /// One way's time on the network.
    pub fn lag_ms(&self) -> i64 {
        self.average(self.lags_ms.map(i64::from))
    }

    /// The server's clock less the client's.
    pub fn offset_ms(&self) -> i64 {
        self.average(self.offsets_ms)
    }

    /// What goes into a handshake or a connect that is written now.
    pub(super) fn request(&self, now_ms: i64) -> TimeSyncRequest {
        TimeSyncRequest { tc: now_ms, l: self.lag_ms(), o: self.offset_ms() }
    }

    /// An answer has come. One that is no answer to a request of ours says nothing.
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
