//! What sums cannot hold about single publications and single clients: which were not received by any client
//! of a shard, which were not published, and which clients lack deliveries. These entries join
//! the records of several shards.

use serde::{Deserialize, Serialize};

/// Most clients per shard that are reported one by one because they lack deliveries: 1 MiB.
const LACKING_MAX: usize = 65_536;

/// A publication of measure that no client of this shard had received by its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unheard {
    /// Channel.
    pub channel: u32,
    /// Sequence on it.
    pub sequence: u64,
    /// Subscriptions planned in this shard.
    pub planned: u32,
    /// Of them, those that were owed it.
    pub owed: u32,
}

/// A publication of measure that its publisher knows was not taken by the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTaken {
    /// Channel.
    pub channel: u32,
    /// Sequence on it.
    pub sequence: u64,
    /// How far it got.
    pub sent: Sent,
}

/// How far a publication got that was not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sent {
    /// It was never written.
    #[default]
    Never,
    /// It was written, and refused or never answered.
    InVain,
    /// It was written to a connection without answers that the target closed soon after. It was read if any
    /// client received it.
    InDoubt,
}

/// A client that lacks deliveries it was owed in measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacking {
    /// Its number in the plan.
    pub connection: u32,
    /// Deliveries it was owed: intended, and neither unserved nor excused nor superseded.
    pub owed: u32,
    /// Of them, those that never arrived.
    pub missing: u32,
    /// Deliveries that arrived.
    pub heard: u32,
}

/// The clients of a shard at its end, by what they lack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clients {
    /// The shard has ended and reported its clients.
    pub told: bool,
    /// Clients that were owed deliveries and received all of them.
    pub heard_all: u64,
    /// The other clients, one by one.
    pub lacking: Vec<Lacking>,
    /// Clients beyond the bound that received some of their deliveries.
    pub more_heard_some: u64,
    /// Clients beyond the bound that received none.
    pub more_heard_none: u64,
    /// Largest median latency of a subscription that received enough deliveries.
    pub p50_max_us: Option<i64>,
}

impl Clients {
    /// Counts one more client.
    pub fn count(&mut self, client: Lacking) {
        self.told = true;
        match client {
            Lacking { owed: 0, .. } => {}
            Lacking { missing: 0, .. } => self.heard_all += 1,
            _ if self.lacking.len() < LACKING_MAX => self.lacking.push(client),
            Lacking { heard: 0, .. } => self.more_heard_none += 1,
            _ => self.more_heard_some += 1,
        }
    }

    /// Adds the clients of another shard.
    pub fn add(&mut self, other: &Clients) {
        self.told |= other.told;
        self.heard_all += other.heard_all;
        self.lacking.extend_from_slice(&other.lacking);
        self.more_heard_some += other.more_heard_some;
        self.more_heard_none += other.more_heard_none;
        self.p50_max_us = self.p50_max_us.max(other.p50_max_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_beyond_the_bound_are_counted_all_the_same() {
        let of = |missing, heard| Lacking { connection: 1, owed: 10, missing, heard };
        let mut clients = Clients::default();
        clients.count(Lacking::default());
        clients.count(of(0, 10));
        (0..LACKING_MAX).for_each(|_| clients.count(of(1, 9)));
        clients.count(of(2, 8));
        clients.count(of(10, 0));
        assert_eq!((clients.heard_all, clients.lacking.len()), (1, LACKING_MAX));
        assert_eq!((clients.more_heard_some, clients.more_heard_none), (1, 1));
    }
}
