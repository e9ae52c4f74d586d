//! One thread's share of an arm.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::ArmPlan;
use super::{Half, Mode};
use crate::draw::{Draw, Purpose};

/// One thread's share of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardPlan {
    /// The whole arm.
    pub arm: ArmPlan,
    /// This shard's number.
    pub shard: u32,
    /// Number of shards.
    pub shards: u32,
    /// The arm's start, ns of the shared monotonic clock.
    pub start_ns: u64,
    /// Where subscribers connect (resolved before the run).
    pub subscribe_to: SocketAddr,
    /// The half of a crowd that pushes or pulls; absent: the whole crowd.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub half: Option<Half>,
    /// Where publications are sent.
    pub publish_to: Option<SocketAddr>,
    /// Where the requests before the subscription are sent, one address each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub before_to: Vec<SocketAddr>,
    /// The port of a started server, for templates.
    pub port: u16,
    /// How far the clock of this machine is ahead of that by which stamps are written, µs; 0 where the run was
    /// started.
    #[serde(default)]
    pub clock_ahead_us: i64,
    /// All shards on this machine, if others are on another; empty: all are here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub machine_shards: Vec<u32>,
}

impl ShardPlan {
    /// Returns the connections of this shard, ascending.
    pub fn connections(&self) -> Vec<u64> {
        self.arm.connections_of(self.shard, self.shards, self.half)
    }

    /// Whether a channel is published from outside the target, by this machine, while others publish other channels.
    pub fn machine_publishes(&self, channel: u32) -> bool {
        let external = self.arm.publisher.as_ref().is_some_and(|publisher| publisher.mode == Mode::External);
        external && self.machine_shards.contains(&(channel % self.shards))
    }

    /// Whether this shard publishes a channel.
    pub fn publishes(&self, channel: u32) -> bool {
        channel % self.shards == self.shard
    }
}

impl ArmPlan {
    /// Returns the connections of one of `shards` shards, ascending. The crowd is dealt by the seed, so that
    /// neither order of arrival nor rooms line up with threads. Every connection is in exactly one shard.
    pub fn connections_of(&self, shard: u32, shards: u32, half: Option<Half>) -> Vec<u64> {
        let all = 0..self.connections;
        // Both halves have the same number of shards.
        let (mut order, shards): (Vec<u64>, u32) = match (half, &self.hybrid) {
            (Some(half), Some(hybrid)) => {
                let is_of = |n: &u64| hybrid.sides.half_of(*n, self.connections) == half;
                (all.filter(is_of).collect(), shards / 2)
            }
            _ => (all.collect(), shards),
        };
        if shards == 1 {
            return order;
        }
        Draw::new(self.seed, Purpose::Shard, 0).shuffle(&mut order);
        let mut its: Vec<u64> =
            order.into_iter().skip((shard % shards) as usize).step_by(shards as usize).collect();
        its.sort_unstable();
        its
    }

    /// Returns how many connections [`ArmPlan::connections_of`] gives a shard, without dealing them: a coordinator
    /// asks for all of its agents.
    pub fn share_of(&self, shard: u32, shards: u32, half: Option<Half>) -> u64 {
        let (all, shards) = match (half, &self.hybrid) {
            (Some(half), Some(hybrid)) => {
                let is_of = |n: &u64| hybrid.sides.half_of(*n, self.connections) == half;
                ((0..self.connections).filter(is_of).count() as u64, shards / 2)
            }
            _ => (self.connections, shards),
        };
        all.saturating_sub(u64::from(shard % shards)).div_ceil(u64::from(shards))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::arm;

    fn shard(shard: u32, shards: u32) -> ShardPlan {
        let address = "127.0.0.1:1".parse().unwrap();
        ShardPlan {
            arm: arm(),
            shard,
            shards,
            start_ns: 0,
            subscribe_to: address,
            half: None,
            publish_to: None,
            before_to: Vec::new(),
            port: 1,
            clock_ahead_us: 0,
            machine_shards: Vec::new(),
        }
    }

    #[test]
    fn a_share_is_counted_as_it_is_dealt() {
        for connections in [0, 1, 5, 6, 7, 100, 1_001] {
            let arm = ArmPlan { connections, ..arm() };
            for shards in 1..9 {
                for shard in 0..shards {
                    let dealt = arm.connections_of(shard, shards, None).len() as u64;
                    assert_eq!(
                        arm.share_of(shard, shards, None),
                        dealt,
                        "{connections}: {shard} of {shards}"
                    );
                }
            }
        }
    }

    #[test]
    fn shards_share_the_crowd_exactly() {
        for shards in [1, 2, 3, 7] {
            let mut all: Vec<u64> = (0..shards).flat_map(|s| shard(s, shards).connections()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
        }
    }
}
