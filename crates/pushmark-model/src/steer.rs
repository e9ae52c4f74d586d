//! Orders to a running arm: the bounds of its measure phase, and its end.
//!
//! A shard receives its plan once. Decisions made while the arm runs (a server has warmed up, a flood has
//! reached its limit) reach every shard as one of these orders, in order, and always before the instant they
//! name: no shard depends on the state of another.

use serde::{Deserialize, Serialize};

/// An order to every shard of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steer {
    /// Sets the bounds of the measure phase, ns from the arm's start. A bound that has passed does not
    /// change; the other is in the future, and never later than in the plan. The schedule of publications
    /// does not change, only the phase in which they count.
    Measure {
        /// Its start.
        from_ns: u64,
        /// Its end.
        until_ns: u64,
    },
    /// Publications due from this instant on do not count, and the arm ends then, ns from its start. The
    /// instant is in the future, so that all shards count the same publications.
    StopAt {
        /// The instant.
        at_ns: u64,
    },
    /// The arm ends now.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_small_message() {
        let order = Steer::Measure { from_ns: 7, until_ns: 9 };
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(text, r#"{"measure":{"from_ns":7,"until_ns":9}}"#);
        assert_eq!(serde_json::from_str::<Steer>(&text).unwrap(), order);
    }
}
