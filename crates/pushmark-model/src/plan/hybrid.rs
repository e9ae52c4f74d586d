//! A crowd that pushes and polls: which clients hold a push connection, and which poll.
//!
//! *Push or pull* and *push and pull* are the two methods of Bhide, Deolasee and others (IEEE Transactions on
//! Computers 51(6), 2002): a server that serves some clients by push and the others by pull, and clients that
//! also pull beside their push connection.

use serde::{Deserialize, Serialize};

use super::Subscribe;

/// The part of an arm that polls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hybrid {
    /// Which clients poll.
    pub sides: Sides,
    /// How they poll, on the same host and port as the push connections.
    pub poll: Subscribe,
}

/// Which clients poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sides {
    /// Push or pull: this many clients poll, spread evenly over the order of arrival.
    Share(u64),
    /// Push or pull: this many clients arrive first and hold a push connection, the others poll.
    First(u64),
    /// Push and pull: each client polls beside its push connection.
    Both {
        /// Time between its polls.
        interval_ns: u64,
    },
}

/// One of the two halves of a crowd that pushes or pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// The clients that hold a push connection.
    Push,
    /// The clients that poll.
    Pull,
}

impl Sides {
    /// Returns the half of a client: `Pull` if it only polls.
    pub fn half_of(&self, connection: u64, connections: u64) -> Half {
        let pulls = match *self {
            Sides::Share(pulling) => {
                let so_far = |n: u64| u128::from(n) * u128::from(pulling) / u128::from(connections.max(1));
                so_far(connection + 1) > so_far(connection)
            }
            Sides::First(pushed) => connection >= pushed,
            Sides::Both { .. } => false,
        };
        if pulls { Half::Pull } else { Half::Push }
    }

    /// Returns the number of clients of a half.
    pub fn clients(&self, half: Half, connections: u64) -> u64 {
        let pulling = match *self {
            Sides::Share(pulling) => pulling.min(connections),
            Sides::First(pushed) => connections.saturating_sub(pushed),
            Sides::Both { .. } => 0,
        };
        match half {
            Half::Push => connections - pulling,
            Half::Pull => pulling,
        }
    }

    /// Whether each client belongs to one half only.
    pub fn splits(&self) -> bool {
        !matches!(self, Sides::Both { .. })
    }

    /// Returns the time between polls of a client that also has a push connection.
    pub fn safety_ns(&self) -> Option<u64> {
        match *self {
            Sides::Both { interval_ns } => Some(interval_ns),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_one_half_and_the_numbers_agree() {
        for connections in [1, 2, 7, 100, 1_001] {
            for sides in [Sides::Share(connections / 3), Sides::First(connections / 2)] {
                for half in [Half::Push, Half::Pull] {
                    let counted = (0..connections).filter(|c| sides.half_of(*c, connections) == half);
                    assert_eq!(counted.count() as u64, sides.clients(half, connections), "{sides:?}");
                }
            }
        }
    }

    #[test]
    fn a_share_is_spread_over_the_order_of_arrival_and_a_limit_is_not() {
        let pulls =
            |sides: Sides| -> Vec<u64> { (0..8).filter(|c| sides.half_of(*c, 8) == Half::Pull).collect() };
        assert_eq!(pulls(Sides::Share(4)), [1, 3, 5, 7]);
        assert_eq!(pulls(Sides::Share(2)), [3, 7]);
        assert_eq!(pulls(Sides::First(6)), [6, 7]);
        assert!(pulls(Sides::Both { interval_ns: 1 }).is_empty());
    }
}
