//! The keys of `[load]` for clients that pull: adaptive intervals, and hybrids of push and pull.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_or_table::FromText;
use crate::plan::Sides;
use crate::refresh;
use crate::units::Nanos;

/// How a poll interval adapts to the rate of change: `"ttr"`, `"halving"`, or a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// The rule. Default: ttr.
    pub rule: AdaptiveRule,
    /// Shortest interval. Default: 1s.
    pub min: Nanos,
    /// Longest interval. Default: 60s.
    pub max: Nanos,
    /// `ttr`: w, the weight of the latest change against earlier ones; 0 to 1. Default: 0.5.
    pub weight: f64,
    /// `ttr`: a, the weight of the shortest interval so far against the learned one; 0 to 1. Default: 0.5.
    pub caution: f64,
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        Adaptive {
            rule: AdaptiveRule::Ttr,
            min: Nanos(1_000_000_000),
            max: Nanos(60_000_000_000),
            weight: 0.5,
            caution: 0.5,
        }
    }
}

impl FromText for Adaptive {
    const ACCEPTED: &'static str =
        "\"ttr\", \"halving\", or a table such as { rule = \"ttr\", min = \"1s\", max = \"60s\" }";
    fn from_text(text: &str) -> Option<Adaptive> {
        let rule = match text {
            "ttr" => AdaptiveRule::Ttr,
            "halving" => AdaptiveRule::Halving,
            _ => return None,
        };
        Some(Adaptive { rule, ..Adaptive::default() })
    }
}

/// The rule by which an interval adapts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdaptiveRule {
    /// The adaptive time to refresh of the literature.
    Ttr,
    /// Halved after an answer with a new message, doubled after one without.
    Halving,
}

impl Adaptive {
    pub(super) fn plan(&self) -> refresh::Adaptive {
        let rule = match self.rule {
            AdaptiveRule::Ttr => refresh::Rule::Ttr { weight: self.weight, caution: self.caution },
            AdaptiveRule::Halving => refresh::Rule::Halving,
        };
        refresh::Adaptive { rule, min_ns: self.min.0, max_ns: self.max.0 }
    }
}

/// A crowd that uses push and pull: one of the three keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HybridSpec {
    /// Push or pull: this share of the clients polls, the others hold a push connection; between 0 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_share: Option<f64>,
    /// Push or pull: this number of clients hold a push connection, and later clients poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_max: Option<u64>,
    /// Push and pull: each client holds a push connection, and also polls at this interval over a second connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_poll: Option<Nanos>,
}

impl HybridSpec {
    /// Returns the clients that use push and those that pull.
    pub(super) fn sides(&self, connections: u64) -> Sides {
        match (self.pull_share, self.push_max, self.safety_poll) {
            (Some(share), ..) => Sides::Share((share * connections as f64).round() as u64),
            (None, Some(max), _) => Sides::First(max),
            (None, None, safety) => Sides::Both { interval_ns: safety.map_or(1, |s| s.0) },
        }
    }
}
