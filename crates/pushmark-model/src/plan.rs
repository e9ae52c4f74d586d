//! `Plan`: a case with every number filled in and the seed fixed; `ShardPlan`: one thread's share.
//!
//! Nothing here is a default any more. An agent gets the plan and its exact fraction and
//! needs nothing else: whatever is drawn is computed from the seed.

mod phases;
mod publishing;
mod shard;
mod subscribe;
mod tls;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};
use crate::flood::FloodPlan;
use crate::hybrid::Hybrid;
pub use crate::hybrid::{Half, Sides};
use crate::poller::Poller;
use crate::refresh::Adaptive;
use crate::schedule::{Arrivals, Ramp, Schedule};
use crate::steady::SteadyPlan;
use crate::template::ClientFields;
use crate::transport::Transport;
pub use phases::Phases;
pub use publishing::{Mode, Over, Publish, PublisherPlan, Size};
pub use shard::ShardPlan;
pub use subscribe::{Answer, Bayeux, Cursor, Every, Subscribe};
pub use tls::Tls;

/// The schema of a plan.
pub const SCHEMA: &str = "pushmark.plan/1";

/// A case, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub name: String,
    /// What the scenario shows.
    pub analysis: String,
    /// Where all draws come from.
    pub seed: u64,
    /// The arms in the order they run (drawn).
    pub arms: Vec<ArmPlan>,
}

/// One transport with its own crowd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmPlan {
    /// How its clients hear.
    pub transport: Transport,
    /// The name of the server, or the target's origin.
    pub target: String,
    /// Nonce of its stamps.
    pub nonce: u32,
    /// Seed of everything drawn in this arm (the same for all arms: crowds are alike).
    pub seed: u64,
    /// Where and how a client subscribes.
    pub subscribe: Subscribe,
    /// Where publications go; absent for emitters, peers and observed targets.
    pub publish: Option<Publish>,
    /// How TLS is met; absent where nothing goes over it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
    /// Size of the crowd.
    pub connections: u64,
    /// Real browser clients beside it.
    #[serde(default)]
    pub browsers: u32,
    /// How it arrives.
    pub ramp: Ramp,
    /// The phases, from the arm's start. Where warm-up is detected, and in a flood, the longest.
    pub phases: Phases,
    /// Warm-up ends with a steady state; absent: after its time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady: Option<SteadyPlan>,
    /// The crowd is a flood, which ends where the server's limit is met.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flood: Option<FloodPlan>,
    /// A delivery later than this after due is late.
    pub deadline_ns: u64,
    /// How pollers poll.
    pub poll: PollPlan,
    /// Who of the crowd pulls, where the others push.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hybrid: Option<Hybrid>,
    /// Longest a long poll is held.
    pub hold_ns: u64,
    /// Whether a connection carries more than one answer.
    pub keep_alive: bool,
    /// TCP connect.
    pub connect_timeout_ns: u64,
    /// From connected to the response head, where the transport answers at once.
    pub handshake_timeout_ns: u64,
    /// Longest silence of a subscribed connection; absent: none.
    pub idle_timeout_ns: Option<u64>,
    /// What a lost client does.
    pub reconnect: Reconnect,
    /// Who hears what.
    pub subscriptions: Subscriptions,
    /// What is published; absent for observed targets.
    pub publisher: Option<PublisherPlan>,
    /// A connection in so many carries kernel receive stamps; 0: none.
    pub stamp_sample: u32,
    /// How long arrivals are left to gather before they are read; 0: not at all.
    #[serde(default)]
    pub batch_ns: u64,
    /// How the generator's threads wait and read.
    #[serde(default)]
    pub poller: Poller,
    /// Source addresses to rotate over; empty: the system's choice.
    pub sources: Vec<IpAddr>,
    /// Channels whose newest value replaces older ones: skipped ones are superseded, not missing.
    pub latest_value: bool,
    /// Per-client identities. Not written into results: they may be secrets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clients: Option<ClientFields>,
    /// A target's own timestamps (`[target.stamp]`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_stamp: Option<TargetStamp>,
}

/// How pollers poll.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollPlan {
    /// Grid of due instants.
    pub interval_ns: u64,
    /// Each gap is drawn uniform on [1 − jitter, 1 + jitter] × interval; 0: fixed.
    pub jitter: f64,
    /// The closed variant: the interval starts at the answer.
    pub after_answer: bool,
    /// First polls are spread over the interval by the seed; else all at once.
    pub random_phase: bool,
    /// Send If-None-Match.
    pub conditional: bool,
    /// The interval follows the news.
    pub adaptive: Option<Adaptive>,
}

/// What a lost client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reconnect {
    /// Stays away.
    None,
    /// Comes back after a delay drawn from 0 to min(max, base × 2ⁿ).
    FullJitter {
        /// First bound.
        base_ns: u64,
        /// Largest bound.
        max_ns: u64,
    },
}

/// Who hears what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscriptions {
    /// M: channels of the arm, named `c0` … or by `names`.
    pub channels: u32,
    /// K: channels of a connection, drawn from the seed.
    pub per_connection: u32,
    /// Rooms of this size instead: connection i sits in room i ÷ size; a room is a channel.
    pub room_size: Option<u32>,
    /// Channel names of a foreign target; empty: `c0`, `c1`, ….
    pub names: Vec<String>,
}

/// A target's own timestamps in its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetStamp {
    /// JSON pointer to the timestamp.
    pub json: String,
    /// How many ns one unit is (`ms`: 1,000,000), Unix epoch.
    pub unit_ns: u64,
}

impl ArmPlan {
    /// What the shards drive: the arm, or its two halves in turn, where each client is of one.
    pub fn halves(&self) -> Vec<(Option<Half>, ArmPlan)> {
        match &self.hybrid {
            Some(hybrid) if hybrid.sides.splits() => {
                let pull =
                    ArmPlan { transport: Transport::Poll, subscribe: hybrid.poll.clone(), ..self.clone() };
                vec![(Some(Half::Push), self.clone()), (Some(Half::Pull), pull)]
            }
            _ => vec![(None, self.clone())],
        }
    }

    /// The channels of a connection, ascending.
    pub fn channels_of(&self, connection: u64) -> Vec<u32> {
        let s = &self.subscriptions;
        match s.room_size {
            // Rooms fill in order of arrival; shards are dealt, so no room sits on one shard.
            Some(size) => vec![(connection / u64::from(size)) as u32],
            None if s.per_connection >= s.channels => (0..s.channels).collect(),
            None => {
                Draw::new(self.seed, Purpose::Subscriptions, connection).choose(s.per_connection, s.channels)
            }
        }
    }

    /// Most second connections that clients may have open at once: all of them where each polls
    /// beside its push connection. Bayeux peers publish over theirs
    /// while their first holds a connect: a share of the crowd, so that it does not need twice the
    /// descriptors; who finds none waits.
    pub fn second_connections_max(&self) -> u64 {
        let peers = self.publisher.as_ref().is_some_and(|p| p.mode == Mode::Peer);
        let polls_besides = self.hybrid.as_ref().is_some_and(|h| h.sides.safety_ns().is_some());
        match self.transport {
            _ if polls_besides => self.connections,
            Transport::Bayeux if peers => (self.connections / 8).max(64).min(self.connections),
            _ => 0,
        }
    }

    /// The name of a channel.
    pub fn channel_name(&self, channel: u32) -> String {
        self.subscriptions.names.get(channel as usize).cloned().unwrap_or_else(|| format!("c{channel}"))
    }

    /// The schedule of a channel; times are ns from the arm's start.
    ///
    /// # Panics
    /// If nothing is published in this arm.
    pub fn schedule(&self, channel: u32) -> Schedule {
        let publisher = self.publisher.as_ref().expect("an arm that publishes");
        // A server counts its emitters' intervals in whole µs: so does its schedule here.
        let interval_ns = match publisher.mode {
            Mode::Emitter => (publisher.interval_ns / 1_000.0).floor() * 1_000.0,
            _ => publisher.interval_ns,
        };
        Schedule::new(
            publisher.arrivals,
            interval_ns,
            (self.phases.warmup_start_ns(), self.phases.measure_end_ns()),
            self.channel_phase_ns(channel),
            publisher.count,
            self.seed,
            channel,
        )
    }

    /// The seeded delay of a channel's first publication, in whole µs as stamps are.
    pub fn channel_phase_ns(&self, channel: u32) -> u64 {
        match &self.publisher {
            Some(p) if !p.aligned && p.arrivals == Arrivals::Constant => {
                (Draw::new(self.seed, Purpose::ChannelPhase, u64::from(channel)).unit() * p.interval_ns)
                    as u64
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::schedule::RampStep;
    use crate::template::Template;

    pub(crate) fn arm() -> ArmPlan {
        ArmPlan {
            transport: Transport::Sse,
            target: "builtin".into(),
            nonce: 1,
            seed: 42,
            subscribe: Subscribe {
                host: "127.0.0.1".into(),
                port: None,
                tls: false,
                path: Template::parse("/sse?channel={channels}").unwrap(),
                headers: vec![],
                subprotocol: String::new(),
                after_open: vec![],
                ready: None,
                every: vec![],
                answer: vec![],
                cursor: Cursor::None,
                cookies: false,
                resumes: false,
                peer: None,
                bayeux: None,
            },
            publish: None,
            tls: None,
            connections: 100,
            browsers: 0,
            ramp: Ramp { steps: vec![RampStep { to: 100, over_ns: 1_000 }] },
            phases: Phases { ramp_ns: 1, settle_ns: 2, warmup_ns: 3, measure_ns: 4, drain_ns: 5 },
            steady: None,
            flood: None,
            deadline_ns: 5,
            poll: PollPlan {
                interval_ns: 1_000_000_000,
                jitter: 0.0,
                after_answer: false,
                random_phase: true,
                conditional: false,
                adaptive: None,
            },
            hybrid: None,
            hold_ns: 1,
            keep_alive: true,
            connect_timeout_ns: 1,
            handshake_timeout_ns: 1,
            idle_timeout_ns: None,
            reconnect: Reconnect::None,
            subscriptions: Subscriptions { channels: 50, per_connection: 3, room_size: None, names: vec![] },
            publisher: None,
            stamp_sample: 64,
            batch_ns: 0,
            poller: Poller::default(),
            sources: vec![],
            latest_value: false,
            clients: None,
            target_stamp: None,
        }
    }

    #[test]
    fn a_connection_hears_k_distinct_channels() {
        for connection in 0..100 {
            let channels = arm().channels_of(connection);
            assert_eq!(channels.len(), 3);
            assert!(channels.windows(2).all(|w| w[0] < w[1]) && channels[2] < 50);
        }
    }

    #[test]
    fn rooms_hold_their_size() {
        let mut arm = arm();
        arm.subscriptions.room_size = Some(20);
        let mut people = [0; 5];
        (0..100).for_each(|c| people[arm.channels_of(c)[0] as usize] += 1);
        assert_eq!(people, [20; 5]);
    }

    #[test]
    fn drawn_sizes_stay_in_bounds_and_repeat() {
        let size = Size::Uniform(48, 60);
        let sizes: Vec<_> = (0..500).map(|n| size.of(1, 2, n)).collect();
        assert!(sizes.iter().all(|s| (48..=60).contains(s)) && sizes.contains(&48) && sizes.contains(&60));
        assert_eq!(sizes, (0..500).map(|n| size.of(1, 2, n)).collect::<Vec<_>>());
    }

    #[test]
    fn only_peers_over_long_polling_need_second_connections() {
        let peers = PublisherPlan {
            mode: Mode::Peer,
            interval_ns: 1e9,
            arrivals: Arrivals::Constant,
            aligned: false,
            connections: 64,
            size: Size::Fixed(128),
            check: false,
            count: None,
            timeout_ns: 1,
            alone_ns: None,
        };
        let of = |transport, connections, publisher: Option<PublisherPlan>| {
            ArmPlan { transport, connections, publisher, ..arm() }.second_connections_max()
        };
        assert_eq!(of(Transport::Bayeux, 8_000, Some(peers.clone())), 1_000);
        assert_eq!(of(Transport::Bayeux, 100, Some(peers.clone())), 64);
        assert_eq!(of(Transport::Bayeux, 10, Some(peers.clone())), 10);
        assert_eq!(of(Transport::BayeuxWebSocket, 8_000, Some(peers.clone())), 0);
        let outside = PublisherPlan { mode: Mode::External, ..peers };
        assert_eq!(of(Transport::Bayeux, 8_000, Some(outside)), 0);
        assert_eq!(of(Transport::Bayeux, 8_000, None), 0);
    }
}
