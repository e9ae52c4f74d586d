//! Broadcasts that all clients receive, as one shard saw them.

use serde::{Deserialize, Serialize};

/// One broadcast as one shard saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// Channel.
    pub channel: u32,
    /// Sequence on it.
    pub sequence: u64,
    /// Whole seconds from the arm's start to its due instant.
    pub due_second: u32,
    /// sent − due, µs, by its stamp; 0 if no client received it.
    pub sent_after_us: i64,
    /// Subscriptions planned in this shard.
    pub planned: u32,
    /// Deliveries seen.
    pub received: u32,
    /// Smallest received − due, µs.
    pub first_us: i64,
    /// Largest.
    pub last_us: i64,
    /// Counts by [`sketch_bin`], sparse, ascending.
    pub sketch: Vec<(u16, u32)>,
    /// Whether only a sample of broadcasts was watched when this one was due.
    pub sampled: bool,
}

/// Returns the bin of a latency in a broadcast's sketch: 32 bins per doubling, so within 3.2 %.
pub fn sketch_bin(latency_us: i64) -> u16 {
    let value = latency_us.max(0) as u64;
    if value < 32 {
        return value as u16;
    }
    let exponent = 63 - value.leading_zeros();
    let mantissa = (value >> (exponent - 5)) & 31;
    ((exponent - 4) * 32) as u16 + mantissa as u16
}

/// Returns the middle of a bin, µs.
pub fn sketch_value(bin: u16) -> i64 {
    if bin < 32 {
        return i64::from(bin);
    }
    let exponent = u32::from(bin) / 32 + 4;
    let width = 1u64 << (exponent - 5);
    ((32 + u64::from(bin) % 32) * width + width / 2) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sketch_is_within_three_percent(value in 0i64..4_000_000_000) {
            let back = sketch_value(sketch_bin(value));
            prop_assert!((back - value).abs() as f64 <= value as f64 * 0.032 + 0.5, "{value} {back}");
        }
    }
}
