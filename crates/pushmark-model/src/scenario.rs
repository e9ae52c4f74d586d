//! `Scenario`: one target and one load, as written in a file and on the command line.
//!
//! A scenario contains what the user wrote. [`resolve`] fills in every number and returns the
//! [`Plan`](crate::plan::Plan). The tool reads files and looks up servers; this module receives only texts
//! and values.

mod bayeux;
mod before;
#[cfg(test)]
mod bounds_tests;
mod check;
mod compiler;
mod conversation;
mod endpoints;
mod error;
mod feed;
mod flood;
mod forgetful;
mod heartbeats;
mod limits;
mod load;
mod phase;
mod places;
mod plain;
mod publisher;
mod pull;
mod pulled;
mod ramp;
mod resolve;
mod secrets;
mod source;
mod stamp;
mod steps;
mod subscriptions;
mod target;
mod templates;
mod text_or_table;
mod tls;
mod url;
mod warmup;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub use before::BeforeSpec;
pub use endpoints::Endpoints;
pub use error::{ScenarioError, one_of};
pub use flood::Flood;
pub use load::{Backoff, Load, Pace, Poll, RampSpec, RampStepSpec, ReconnectSpec};
pub use phase::Phase;
pub use publisher::{Over, Publisher, PublisherMode};
pub use pull::{Adaptive, AdaptiveRule, HybridSpec};
pub use resolve::{Context, resolve};
pub use secrets::is_secret_name;
pub use source::{Override, Source, read};
pub(crate) use source::{join, parse_path, path_of};
pub use stamp::{StampTemplate, TimeUnit};
pub use steps::{StepSpec, WaitSpec};
pub use subscriptions::{Rooms, SubscriptionsSpec};
pub use target::{
    AnswerSpec, DeflateSpec, EverySpec, FeedTemplate, ProcessTemplate, PublishTemplate, RespondSpec,
    SubscribeSet, SubscribeTemplate, Target,
};
pub use tls::TlsSpec;
pub use url::{TargetUrl, UrlError};
pub use warmup::WarmUp;

use crate::poller::Poller;
pub use crate::spelling::nearest;
use crate::transport::Transport;
use crate::units::Nanos;

/// The default seed.
pub const DEFAULT_SEED: u64 = 42;

/// A scenario file: one target and one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "pushmark scenario")]
pub struct Scenario {
    /// Short name; part of the result folder's name. Default: the file's name.
    pub name: String,
    /// What the scenario shows, in a sentence or two; printed beside the numbers.
    pub analysis: String,
    /// Seed of all random draws. Default: 42.
    pub seed: u64,
    /// The transports to compare, one arm each, run in random order. Default: all transports of the target; Bayeux, which is a protocol on top of transports, only if the target has nothing else.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "transports")]
    pub transports: Option<Vec<Transport>>,
    /// Number of times that the whole scenario is run, each arm with a fresh server. Default: 1.
    pub repeat: u32,
    /// Number of generator threads (shards). Default: the generator's share of the CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Number of additional generator processes that run the shards; 0: the shards run in pushmark's own process. Default: 0.
    pub agents: u32,
    /// One connection in this number carries kernel receive stamps, which measure read lag; in a small crowd about sixteen connections do; 0: none. Default: 64.
    pub stamp_sample: u32,
    /// How long arrivals gather before they are read in one batch. Batches cost less CPU, but delay reads by up to this time, which read lag shows. Default: 0s, no batches.
    pub batch: Nanos,
    /// How the generator's threads wait for data: epoll, or io_uring if the system supports it. Default: epoll.
    pub poller: Poller,
    /// The system under test.
    pub target: Target,
    /// The crowd, the phases and how clients behave.
    pub load: Load,
    /// Which clients subscribe to which channels.
    pub subscriptions: SubscriptionsSpec,
    /// What is published, and by what. Default: external at 10/s; if the target has no way to publish, it is only observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<Publisher>,
    /// A flood instead of the crowd: connections at a fixed rate until the server cannot take more. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flood: Option<Flood>,
    /// Bounds that every arm must meet, metric to bound: `"delivery.p99" = "< 50ms"`. An absent metric fails.
    pub thresholds: BTreeMap<String, String>,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            name: String::new(),
            analysis: String::new(),
            seed: DEFAULT_SEED,
            transports: None,
            repeat: 1,
            threads: None,
            agents: 0,
            stamp_sample: 64,
            batch: Nanos(0),
            poller: Poller::Epoll,
            target: Target::default(),
            load: Load::default(),
            subscriptions: SubscriptionsSpec::default(),
            publisher: None,
            flood: None,
            thresholds: BTreeMap::new(),
        }
    }
}

impl Scenario {
    /// Reads a scenario with the command line's edits. Performs all checks that need only its text.
    ///
    /// # Errors
    /// Returns all mistakes, in the order of the file.
    pub fn parse(text: &str, overrides: &[Override]) -> Result<(Scenario, Source), Vec<ScenarioError>> {
        let (scenario, source) = read::<Scenario>(text, overrides)?;
        let errors = check::check(&scenario);
        if errors.is_empty() { Ok((scenario, source)) } else { Err(source.locate_all(errors)) }
    }

    /// Returns the names of `{secret.NAME}` in it, each with the first key that uses it.
    pub fn secret_names(&self) -> Vec<(String, String)> {
        places::secrets(self)
    }

    /// Returns the thresholds, in the order of their names.
    ///
    /// # Panics
    /// Panics if the scenario was not checked. [`Scenario::parse`] rejects invalid thresholds.
    pub fn expressions(&self) -> Vec<crate::metrics::Expression> {
        let read = |(metric, bound): (&String, &String)| crate::metrics::Expression::parse(metric, bound);
        self.thresholds.iter().map(|t| read(t).expect("checked when the scenario was read")).collect()
    }
}

/// Returns the JSON Schema of a scenario file: the output of `pushmark schema`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Scenario).to_value()
}

/// Reads a list of transports, or their names in one comma-separated text (`-t sse,websocket`).
fn transports<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Transport>>, D::Error> {
    struct Visitor;
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = Vec<Transport>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of transports, such as [\"sse\", \"websocket\"]")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            text.split(',').map(|name| transport(name.trim())).collect()
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(Named(transport)) = list.next_element()? {
                all.push(transport);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_any(Visitor).map(Some)
}

/// A transport by any name that [`Transport::parse`] accepts.
struct Named(Transport);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named, D::Error> {
        String::deserialize(deserializer).and_then(|name| transport(&name)).map(Named)
    }
}

fn transport<E: serde::de::Error>(name: &str) -> Result<Transport, E> {
    Transport::parse(name).ok_or_else(|| E::unknown_variant(name, &Transport::NAMES))
}
