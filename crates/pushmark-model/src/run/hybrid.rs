//! Figures of a crowd that pushes and polls.

use serde::{Deserialize, Serialize};

use super::{Connections, Delivery};
use crate::transport::Transport;

/// Figures of a crowd that pushes and polls; its arm has the sum.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hybrid {
    /// Push or pull: the clients with push connections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub push: Option<HybridHalf>,
    /// Push or pull: the clients that poll.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pull: Option<HybridHalf>,
    /// Push and pull: the polls beside the push connections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub safety: Option<SafetyPolls>,
}

/// One half of a crowd that pushes or pulls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HybridHalf {
    /// How it received.
    pub transport: Transport,
    /// Its connections.
    pub connections: Connections,
    /// The fates of its deliveries.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery: Option<Delivery>,
    /// Read by it during measure.
    pub measure_bytes_in: u64,
    /// Written by it during measure.
    pub measure_bytes_out: u64,
}

/// Polls of clients that also hold a push connection. States count by their due instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SafetyPolls {
    /// Polls sent during measure.
    pub requests: u64,
    /// States that a poll showed before the push did.
    pub found: u64,
    /// Of them, those that the push delivered later.
    pub overtaken: u64,
    /// Of them, those that the push never delivered: lost by the push and repaired by the poll.
    pub repaired: u64,
    /// Polls without an answer.
    pub failed: u64,
}
