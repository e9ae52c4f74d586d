//! What a server says of its own answers.

use serde::{Deserialize, Serialize};

use super::Latency;

/// The documents with which a server answers instrumented requests (CONTRACT 7), received during measure. All
/// times are differences of two readings of the server's own clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Documents {
    /// Documents that were read.
    pub read: u64,
    /// Of them, those of a time-out.
    pub timeouts: u64,
    /// Lines that were no such document.
    pub unreadable: u64,
    /// From the beginning of an emit until the server reached this request.
    pub emit: Latency,
    /// The same of the last request of each emit: how long the emit lasted.
    pub emit_duration: Latency,
    /// From the arrival of a request to its answer.
    pub held: Latency,
    /// Mean number of requests that an event was emitted to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receivers: Option<f64>,
    /// Most requests that were registered at an answer.
    pub registered_max: u64,
}
