//! When repeated actions begin: polls, and publications on several channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When repeated actions begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Spread over the interval, drawn from the seed.
    Random,
    /// All at once.
    Aligned,
}
