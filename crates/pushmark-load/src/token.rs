//! Tokens: 64 bits that name the owner of an event or timer, and show whether it is still valid.

/// Largest generation: 28 bits.
pub(crate) const GENERATIONS: u32 = (1 << 28) - 1;

/// The owner of an event or timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A client's socket.
    Client,
    /// A client's second socket (Bayeux).
    Side,
    /// A publisher connection's socket.
    PoolConnection,
    /// Timer: the next poll, or the next attempt to connect.
    Next,
    /// Timer: a subscription without an answer is assumed to be established.
    Settle,
    /// Timer: a poll beside a push connection.
    Safety,
    /// The socket of a client's requests before its subscription.
    Errand,
    /// Timer: the n-th application heartbeat (at most eight per client).
    Every(u8),
}

const HEARTBEATS_MAX: u8 = 8;

/// Packs owner (4 bits), generation (28) and index (32).
pub(crate) fn pack(owner: Owner, generation: u32, index: u32) -> u64 {
    let owner = match owner {
        Owner::Client => 0,
        Owner::PoolConnection => 1,
        Owner::Next => 2,
        Owner::Settle => 3,
        Owner::Side => 4,
        Owner::Safety => 5,
        Owner::Errand => 6,
        Owner::Every(n) => 8 + u64::from(n.min(HEARTBEATS_MAX - 1)),
    };
    owner << 60 | u64::from(generation & GENERATIONS) << 32 | u64::from(index)
}

/// Unpacks what [`pack`] made.
pub(crate) fn unpack(token: u64) -> (Owner, u32, u32) {
    let owner = match token >> 60 {
        0 => Owner::Client,
        1 => Owner::PoolConnection,
        2 => Owner::Next,
        3 => Owner::Settle,
        4 => Owner::Side,
        5 => Owner::Safety,
        6 => Owner::Errand,
        n => Owner::Every((n & 7) as u8),
    };
    (owner, (token >> 32) as u32 & GENERATIONS, token as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for owner in [
            Owner::Client,
            Owner::Side,
            Owner::PoolConnection,
            Owner::Next,
            Owner::Settle,
            Owner::Safety,
            Owner::Every(0),
            Owner::Every(7),
        ] {
            assert_eq!(unpack(pack(owner, GENERATIONS, u32::MAX)), (owner, GENERATIONS, u32::MAX));
        }
    }
}
