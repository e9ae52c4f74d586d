//! The connections of an arm: how many there were, and how they ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Connections of an arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Planned.
    pub asked: u64,
    /// Subscribed at least once.
    pub opened: u64,
    /// Lost unexpectedly after they were open.
    pub lost: u64,
    /// Ended in order, as the scenario says that answers do (`ends = true`).
    #[serde(default)]
    pub ended: u64,
    /// Reconnected after a loss or an end.
    pub reconnected: u64,
    /// Of those opened: assumed subscriptions for which no response head had arrived when the arm ended.
    #[serde(default)]
    pub assumed_silent: u64,
    /// Times that reading of a connection stopped, because the target did not read what it was sent (answers,
    /// pongs).
    #[serde(default)]
    pub held_back: u64,
    /// Attempts that failed before subscribing, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Losses after subscribing, by kind.
    pub lost_by: BTreeMap<String, u64>,
    /// How failed attempts ended, in the transport's words: `HTTP 403`, `connection refused`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub failed_with: BTreeMap<String, u64>,
    /// How lost connections ended, in the transport's words: `4401 token expired` (WebSocket code and
    /// reason), `reset`, `end of stream`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub lost_with: BTreeMap<String, u64>,
    /// The last data received on one of those that failed or were lost; absent if nothing was received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_said: Option<LastSaid>,
}

/// The last data received by a client whose connection ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSaid {
    /// How it ended, one of `failed_with` or `lost_with`.
    pub how: String,
    /// The beginning of the last data, escaped.
    pub said: String,
}
