//! `Plan`: a case with every number filled in and the seed fixed; `ShardPlan`: one thread's share.
//!
//! All defaults are resolved here. An agent receives the plan and its exact share of the crowd and needs
//! nothing else: it computes every random draw from the seed.

mod before;
mod capture;
mod hybrid;
mod phases;
mod publishing;
mod shard;
mod spooled;
mod steps;
mod subscribe;
mod tls;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::decode::Decode;
use crate::draw::{Draw, Purpose};
use crate::flood::FloodPlan;
use crate::poller::Poller;
use crate::refresh::Adaptive;
use crate::schedule::{Arrivals, Ramp, Schedule};
use crate::secret::SecretValues;
use crate::stamp::NONCES;
use crate::steady::SteadyPlan;
use crate::template::ClientFields;
use crate::transport::Transport;

/// Fewest connections with receive stamps in a small crowd: one or two would not be representative of the
/// order in which connections are read.
const STAMPED_AT_LEAST: u64 = 16;
pub use before::Before;
pub use capture::{Capture, From, Pattern};
pub use hybrid::{Half, Hybrid, Sides};
pub use phases::Phases;
pub use publishing::{CommandPlan, Mode, Over, Publish, PublisherPlan, Size};
pub use shard::ShardPlan;
pub use steps::{Since, Step, Until, Wait};
pub use subscribe::{Answer, Bayeux, Cursor, Deflate, Every, Respond, Subscribe};
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
    /// Seed of all random draws.
    pub seed: u64,
    /// The arms in the order they run (a random order).
    pub arms: Vec<ArmPlan>,
}

impl Plan {
    /// Returns the plan of one run, `run` being a number that no other run has: each arm gets a nonce for its
    /// stamps, drawn from the seed and this number. All nonces of a run differ.
    #[must_use]
    pub fn of_run(&self, run: u64) -> Plan {
        let mut plan = self.clone();
        let run_seed = Draw::new(self.seed, Purpose::Nonce, run).next_u64();
        let mut taken = Vec::new();
        for arm in &mut plan.arms {
            let mut draw = Draw::new(run_seed, Purpose::Nonce, arm.transport as u64);
            arm.nonce = loop {
                let nonce = draw.below(u64::from(NONCES)) as u32;
                if !taken.contains(&nonce) {
                    break nonce;
                }
            };
            taken.push(arm.nonce);
        }
        plan
    }
}

/// One transport with its own crowd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmPlan {
    /// How its clients receive.
    pub transport: Transport,
    /// The name of the server, or the target's origin.
    pub target: String,
    /// Nonce of its stamps; 0 before [`Plan::of_run`].
    pub nonce: u32,
    /// Seed of all random draws in this arm (the same for all arms, so that their crowds are alike).
    pub seed: u64,
    /// Where and how a client subscribes.
    pub subscribe: Subscribe,
    /// Where publications go; absent for emitters, peers and observed targets.
    pub publish: Option<Publish>,
    /// TLS settings; absent if nothing uses TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
    /// Size of the crowd.
    pub connections: u64,
    /// Number of real browser clients beside the crowd.
    #[serde(default)]
    pub browsers: u32,
    /// How the crowd arrives.
    pub ramp: Ramp,
    /// The phases, from the arm's start. With warm-up detection and in a flood: their longest lengths.
    pub phases: Phases,
    /// Warm-up ends at a steady state; absent: after its fixed time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady: Option<SteadyPlan>,
    /// The crowd is a flood, which ends when the server's limit is reached.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flood: Option<FloodPlan>,
    /// A delivery later than this after due is late.
    pub deadline_ns: u64,
    /// How pollers poll.
    pub poll: PollPlan,
    /// Which clients poll, in a crowd that also pushes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hybrid: Option<Hybrid>,
    /// Longest time that a long poll is held.
    pub hold_ns: u64,
    /// Whether a connection carries more than one answer.
    pub keep_alive: bool,
    /// Each answer is a document of what the server did for it (CONTRACT 7).
    #[serde(default)]
    pub instrumented: bool,
    /// Timeout of a TCP connect.
    pub connect_timeout_ns: u64,
    /// Timeout from connected to the response head, for transports that answer at once.
    pub handshake_timeout_ns: u64,
    /// Longest silence of a subscribed connection; absent: none.
    pub idle_timeout_ns: Option<u64>,
    /// What a client does after it lost its connection.
    pub reconnect: Reconnect,
    /// Which client subscribes to which channels.
    pub subscriptions: Subscriptions,
    /// What each client requests before it subscribes, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub before: Vec<Before>,
    /// What is published; absent for observed targets.
    pub publisher: Option<PublisherPlan>,
    /// One connection in this number carries kernel receive stamps ([`ArmPlan::stamps`]); 0: none.
    pub stamp_sample: u32,
    /// How long arrivals gather before they are read; 0: not at all.
    #[serde(default)]
    pub batch_ns: u64,
    /// How the generator's threads wait and read.
    #[serde(default)]
    pub poller: Poller,
    /// Source addresses to rotate over; empty: the system's choice.
    pub sources: Vec<IpAddr>,
    /// Only the newest value of a channel matters: skipped values are superseded, not missing.
    pub latest_value: bool,
    /// Per-client identities. Not written into results: they may be secrets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clients: Option<ClientFields>,
    /// The values of `{secret.NAME}`. They are never serialised; an agent receives them separately.
    #[serde(skip)]
    pub secrets: SecretValues,
    /// A target's own timestamps (`[target.stamp]`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_stamp: Option<TargetStamp>,
    /// How the target encodes publications (`[target.stamp] decode`); absent: it does not encode them, or the
    /// first messages show the encoding.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decode: Option<Decode>,
}

/// How pollers poll.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollPlan {
    /// Interval of the grid of due instants.
    pub interval_ns: u64,
    /// Each gap is drawn uniformly on [1 − jitter, 1 + jitter] × interval; 0: fixed.
    pub jitter: f64,
    /// Closed model: the interval starts at the answer.
    pub after_answer: bool,
    /// First polls are spread over the interval by the seed; else all at once.
    pub random_phase: bool,
    /// Send If-None-Match.
    pub conditional: bool,
    /// Adapts the interval to what the polls find.
    pub adaptive: Option<Adaptive>,
}

impl PollPlan {
    /// Returns the longest time between two polls of a client, ns.
    pub fn longest_gap_ns(&self) -> u64 {
        let longest_ns = match &self.adaptive {
            Some(adaptive) => adaptive.max_ns.max(self.interval_ns),
            None => self.interval_ns,
        };
        (longest_ns as f64 * (1.0 + self.jitter)) as u64
    }
}

/// What a client does after it lost its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reconnect {
    /// Stays disconnected.
    None,
    /// Reconnects after a delay drawn uniformly from 0 to min(max, base × 2ⁿ).
    FullJitter {
        /// First bound.
        base_ns: u64,
        /// Largest bound.
        max_ns: u64,
    },
}

/// Which client subscribes to which channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscriptions {
    /// M: channels of the arm, named `c0` … or by `names`.
    pub channels: u32,
    /// K: channels per connection, drawn from the seed.
    pub per_connection: u32,
    /// Rooms of this size instead: connection i is in room i ÷ size; a room is a channel.
    pub room_size: Option<u32>,
    /// Channel names of a target with its own names; empty: `c0`, `c1`, ….
    pub names: Vec<String>,
}

/// A target's own timestamps in its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetStamp {
    /// JSON pointer to the timestamp.
    pub json: String,
    /// Length of one unit in ns (`ms`: 1,000,000), counted from the Unix epoch.
    pub unit_ns: u64,
}

impl ArmPlan {
    /// Names another machine in place of this one: the server of the registry runs there.
    pub fn served_at(&mut self, host: IpAddr) {
        let publish = self.publish.iter_mut().map(|publish| &mut publish.host);
        let Subscribe { host: subscribe, steps, .. } = &mut self.subscribe;
        let beside = steps.iter_mut().filter_map(|step| Some(&mut step.request.as_mut()?.host));
        let before = self.before.iter_mut().map(|request| &mut request.host).chain(beside);
        let pulled = self.hybrid.iter_mut().map(|hybrid| &mut hybrid.poll.host);
        let all = std::iter::once(subscribe).chain(publish).chain(before).chain(pulled);
        for own in all.filter(|own| own.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())) {
            *own = host.to_string();
        }
    }

    /// Returns all requests of a client but those of its transport: before its subscription, then those of the steps
    /// of it, then those that respond to answers.
    pub fn requests(&self) -> impl Iterator<Item = &Before> {
        let of_steps = self.subscribe.steps.iter().filter_map(|step| step.request.as_deref());
        let responses = self.subscribe.respond.iter().map(|respond| &*respond.request);
        self.before.iter().chain(of_steps).chain(responses)
    }

    /// Returns the position in [`ArmPlan::requests`] of the request that responds.
    pub fn request_of_response(&self, nth: usize) -> usize {
        self.request_of_step(self.subscribe.steps.len()) + nth
    }

    /// Returns the position in [`ArmPlan::requests`] of the request of a step.
    pub fn request_of_step(&self, step: usize) -> usize {
        let earlier = self.subscribe.steps.iter().take(step);
        self.before.len() + earlier.filter(|step| step.request.is_some()).count()
    }

    /// Returns the step whose request has this position in [`ArmPlan::requests`]; `None`: it is made before the
    /// subscription, or responds to an answer.
    pub fn step_of_request(&self, at: usize) -> Option<usize> {
        let nth = at.checked_sub(self.before.len())?;
        let requesting = self.subscribe.steps.iter().enumerate().filter(|(_, step)| step.request.is_some());
        requesting.map(|(step, _)| step).nth(nth)
    }

    /// Returns the plans that the shards drive: the arm itself, or its push half and its pull half if each
    /// client belongs to one of them.
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

    /// Returns the longest time between two polls of a client, ns; `None` if no client polls.
    pub fn longest_gap_ns(&self) -> Option<u64> {
        match &self.hybrid {
            Some(Hybrid { sides: Sides::Both { interval_ns }, .. }) => Some(*interval_ns),
            None if self.transport != Transport::Poll => None,
            _ => Some(self.poll.longest_gap_ns()),
        }
    }

    /// Whether a connection carries kernel receive stamps: one in `stamp_sample`, drawn from the seed. In a
    /// small crowd the share is larger, so that about sixteen connections do.
    pub fn stamps(&self, connection: u64) -> bool {
        let one_in = self.one_stamped_in();
        one_in > 0 && Draw::new(self.seed, Purpose::StampSample, connection).below(one_in) == 0
    }

    fn one_stamped_in(&self) -> u64 {
        u64::from(self.stamp_sample).min((self.connections / STAMPED_AT_LEAST).max(1))
    }

    /// Whether the connections with receive stamps are read as all others are. With io_uring they are not: a
    /// stamp needs a read call of its own. TLS is always read by calls.
    pub fn stamped_are_read_as_others(&self) -> bool {
        self.poller != Poller::IoUring || self.tls.is_some() || self.one_stamped_in() == 1
    }

    /// Returns the channels of a connection, ascending.
    pub fn channels_of(&self, connection: u64) -> Vec<u32> {
        let s = &self.subscriptions;
        match s.room_size {
            // Rooms fill in order of arrival. Connections are dealt to shards at random, so no room is on one
            // shard.
            Some(size) => vec![(connection / u64::from(size)) as u32],
            None if s.per_connection >= s.channels => (0..s.channels).collect(),
            None => {
                Draw::new(self.seed, Purpose::Subscriptions, connection).choose(s.per_connection, s.channels)
            }
        }
    }

    /// Returns the most second connections that clients may have open at once. If each client polls beside
    /// its push connection: one for each client. Bayeux peers publish over a second connection while their
    /// first holds a connect: at most as many at once as their publisher has connections.
    pub fn second_connections_max(&self) -> u64 {
        let peers = self.publisher.as_ref().filter(|p| p.mode == Mode::Peer);
        let polls_besides = self.hybrid.as_ref().is_some_and(|h| h.sides.safety_ns().is_some());
        match (self.transport, peers) {
            _ if polls_besides => self.connections,
            (Transport::Bayeux, Some(peers)) => u64::from(peers.connections).min(self.connections),
            _ => 0,
        }
    }

    /// Returns the name of a channel.
    pub fn channel_name(&self, channel: u32) -> String {
        self.subscriptions.names.get(channel as usize).cloned().unwrap_or_else(|| format!("c{channel}"))
    }

    /// Returns the schedule of a channel; times are ns from the arm's start.
    ///
    /// # Panics
    /// If nothing is published in this arm.
    pub fn schedule(&self, channel: u32) -> Schedule {
        let publisher = self.publisher.as_ref().expect("an arm that publishes");
        // A server counts its emitters' intervals in whole µs, so the schedule does too.
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

    /// Returns the seeded delay of a channel's first publication, in whole µs like the stamps.
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
                method: "GET".into(),
                path: Template::parse("/sse?channel={channels}").unwrap(),
                headers: vec![],
                body: None,
                ends: false,
                subprotocol: String::new(),
                deflate: None,
                after_open: vec![],
                steps: vec![],
                separator: None,
                ready: None,
                every: vec![],
                answer: vec![],
                respond: vec![],
                ignore: None,
                cursor: Cursor::None,
                cookies: false,
                resumes: false,
                peer: None,
                bayeux: None,
            },
            publish: None,
            before: vec![],
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
            instrumented: false,
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
            secrets: SecretValues::default(),
            target_stamp: None,
            decode: None,
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
    fn a_sample_carries_stamps_and_a_small_crowd_has_some_too() {
        let stamped = |connections, stamp_sample| {
            let arm = ArmPlan { connections, stamp_sample, ..arm() };
            (0..connections).filter(|&n| arm.stamps(n)).count()
        };
        assert!((1_400..1_700).contains(&stamped(100_000, 64)));
        assert!((8..32).contains(&stamped(300, 64)));
        assert_eq!(stamped(20, 64), 20);
        assert_eq!((stamped(500, 1), stamped(500, 0)), (500, 0));
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
        assert_eq!(of(Transport::Bayeux, 8_000, Some(peers.clone())), 64);
        assert_eq!(of(Transport::Bayeux, 10, Some(peers.clone())), 10);
        assert_eq!(of(Transport::BayeuxWebSocket, 8_000, Some(peers.clone())), 0);
        let outside = PublisherPlan { mode: Mode::External, ..peers };
        assert_eq!(of(Transport::Bayeux, 8_000, Some(outside)), 0);
        assert_eq!(of(Transport::Bayeux, 8_000, None), 0);
    }
}
