//! Distributions of times.

use serde::{Deserialize, Serialize};

use super::sums::sums;
use crate::histogram::Distribution;

sums! {
    /// Distributions of times.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Times {
        /// received − due, measure.
        latency: Distribution,
        /// The same of publications that this shard's machine has sent, measure; only where others send some too.
        loopback_share: Distribution,
        /// received − sent, measure.
        from_sent: Distribution,
        /// Upper bound of the time that a delivery waited unread, measure.
        read_lag: Distribution,
        /// The same from kernel stamps, on the sample.
        read_lag_stamped: Distribution,
        /// Due to the kernel's receive instant, on the sample, measure.
        latency_stamped: Distribution,
        /// Ages at the start of holding a state (measure), for the time-weighted age.
        age_start: Distribution,
        /// Ages at the end of holding a state.
        age_end: Distribution,
        /// Due instant of a connection to its TCP handshake's end.
        connect_tcp: Distribution,
        /// … to its TLS handshake's end.
        connect_tls: Distribution,
        /// … to its first response byte.
        connect: Distribution,
        /// … to its subscription.
        connect_subscribed: Distribution,
        /// … to its first message.
        connect_first_message: Distribution,
        /// Length of a turn of the loop, measure.
        turn: Distribution,
        /// sent − due of publications, measure.
        publish_lag: Distribution,
        /// The part of it that is not the target's: sent − the later of due and the instant at which the target
        /// had answered what the peer sent before; peers over long polling, measure.
        publish_own_lag: Distribution,
        /// answered − sent, measure.
        publish_accept: Distribution,
        /// Age of the state at each poll answer, measure.
        age_at_receipt: Distribution,
        /// received − due of repeated receipts, measure; not for polls.
        again: Distribution,
        /// Time-out answer − due time-out.
        hold_overshoot: Distribution,
        /// Answer received to next request written.
        deaf: Distribution,
        /// Message sent to next request written.
        in_flight: Distribution,
        /// Time between messages of a connection (observe).
        gap: Distribution,
        /// Latency by the target's own timestamps.
        target_latency: Distribution,
        /// By the server's clock, from the beginning of an emit to this request; measure.
        document_emit: Distribution,
        /// The same of the last request of each emit: how long the emit lasted.
        document_emit_duration: Distribution,
        /// By the server's clock, from the arrival of a request to its answer; measure.
        document_held: Distribution,
        /// Latency of deliveries received in this interval, all phases: for the line in `windows.csv`.
        window_latency: Distribution,
    }
}
