//! `[subscriptions]`: which clients subscribe to which channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::limits::{CONNECTIONS_MAX, at_least_one, at_most};
use crate::stamp::CHANNELS_MAX;

/// Maximum number of channels of a connection: their names alone make a request of some hundred KiB.
const PER_CONNECTION_MAX: u64 = 65_536;

/// Maximum number of subscriptions of an arm, at 60 bytes each.
const SUBSCRIPTIONS_MAX: u64 = 200_000_000;

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

/// Reports mistakes in the keys of the subscriptions.
pub(super) fn check(s: &SubscriptionsSpec, connections: u64, errors: &mut Vec<ScenarioError>) {
    let channels = s.channels_of(connections);
    at_least_one("subscriptions.per_connection", u64::from(s.per_connection), errors);
    if let Some(rooms) = s.rooms {
        at_least_one("subscriptions.rooms.size", u64::from(rooms.size), errors);
        if s.per_connection > 1 {
            errors.push(
                ScenarioError::at("subscriptions.per_connection", "a connection has only one room")
                    .found(s.per_connection)
                    .accepted("1 with `rooms`")
                    .help("for several channels a connection, set `channels` instead of `rooms`"),
            );
        }
        if let Some(given) = s.channels
            && u64::from(given) != channels
        {
            errors.push(
                ScenarioError::at(
                    "subscriptions.channels",
                    format!("{connections} connections in rooms of {} fill {channels} channels", rooms.size),
                )
                .found(given)
                .accepted("no `channels` beside `rooms`"),
            );
        }
    } else if let Some(given) = s.channels {
        at_least_one("subscriptions.channels", u64::from(given), errors);
    }
    if channels > u64::from(CHANNELS_MAX) {
        let key = if s.rooms.is_some() { "subscriptions.rooms.size" } else { "subscriptions.channels" };
        errors.push(
            ScenarioError::at(key, "a stamp cannot identify this many channels")
                .found(format!("{channels} channels"))
                .accepted(format!("at most {CHANNELS_MAX}")),
        );
    }
    if s.rooms.is_none() && u64::from(s.per_connection) > channels.max(1) {
        errors.push(
            ScenarioError::at(
                "subscriptions.per_connection",
                format!("a connection cannot subscribe to {} of {channels} channels", s.per_connection),
            )
            .found(s.per_connection)
            .accepted(format!("1 to subscriptions.channels, {channels}")),
        );
    }
    let per_connection = u64::from(s.per_connection);
    at_most("subscriptions.per_connection", per_connection, PER_CONNECTION_MAX, errors);
    if per_connection <= PER_CONNECTION_MAX
        && per_connection * connections.min(CONNECTIONS_MAX) > SUBSCRIPTIONS_MAX
    {
        errors.push(
            ScenarioError::at(
                "subscriptions.per_connection",
                format!(
                    "{connections} connections to {per_connection} channels each are too many subscriptions"
                ),
            )
            .found(format!("{} subscriptions", per_connection * connections))
            .accepted(format!("at most {SUBSCRIPTIONS_MAX} (connections × per_connection)")),
        );
    }
    names(s, channels, errors);
}

fn names(s: &SubscriptionsSpec, channels: u64, errors: &mut Vec<ScenarioError>) {
    if !s.names.is_empty() && s.names.len() as u64 != channels {
        errors.push(
            ScenarioError::at("subscriptions.names", format!("{channels} channels need {channels} names"))
                .found(format!("{} names", s.names.len()))
                .accepted("one name a channel, or no names"),
        );
    }
    let mut seen = std::collections::HashSet::new();
    for (i, name) in s.names.iter().enumerate() {
        let key = format!("subscriptions.names[{i}]");
        if !seen.insert(name) {
            errors.push(
                ScenarioError::at(key, format!("two channels are called {name:?}"))
                    .found(format!("{name:?} again"))
                    .accepted("each name once"),
            );
        } else if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
        {
            errors.push(
                ScenarioError::at(key, "this cannot be a channel's name")
                    .found(format!("{name:?}"))
                    .accepted("a text without blanks and commas")
                    .help("names go into URLs as they are: write them percent-encoded where needed"),
            );
        }
    }
}
