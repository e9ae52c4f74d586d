//! `[subscriptions]`: which clients subscribe to which channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which clients subscribe to which channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubscriptionsSpec {
    /// M: number of channels of the arm. Default: the number of `names`, or 1; with `rooms`, the number of rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// K: number of channels of each connection, drawn from the seed. Default: 1.
    pub per_connection: u32,
    /// Rooms instead of `channels`: each connection is in one room, and each room is a channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rooms: Option<Rooms>,
    /// Names of the channels. Default: c0, c1, ….
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The newest value of a channel replaces older ones: a skipped value is superseded, not missing. Default: false.
    pub latest_value: bool,
}

impl Default for SubscriptionsSpec {
    fn default() -> SubscriptionsSpec {
        SubscriptionsSpec {
            channels: None,
            per_connection: 1,
            rooms: None,
            names: Vec::new(),
            latest_value: false,
        }
    }
}

impl SubscriptionsSpec {
    /// Returns the number of channels of an arm with this number of connections.
    pub fn channels_of(&self, connections: u64) -> u64 {
        match (&self.rooms, self.channels) {
            (Some(rooms), _) => connections.div_ceil(u64::from(rooms.size.max(1))),
            (None, Some(channels)) => u64::from(channels),
            (None, None) => self.names.len().max(1) as u64,
        }
    }
}

/// Rooms of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rooms {
    /// Number of connections of a room; the last room may have fewer.
    pub size: u32,
}
