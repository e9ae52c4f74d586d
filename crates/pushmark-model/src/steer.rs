//! What a running arm is told: the bounds of its measure phase, and its end.
//!
//! A shard is given its plan once. What only shows while the arm runs (a server has warmed up, a
//! flood has met its limit) reaches every shard as one of these, in order, and always before the
//! instant that it speaks of: no shard looks at another's state.

use serde::{Deserialize, Serialize};

/// An order to every shard of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steer {
    /// The measure phase has these bounds now, ns from the arm's start. A bound that has been
    /// crossed stays where it was; the other lies in the future, and never after its place in
    /// the plan. Publications go on as they are due: only what they count for is decided here.
    Measure {
        /// Its begin.
        from_ns: u64,
        /// Its end.
        until_ns: u64,
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
