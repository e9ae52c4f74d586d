//! `Scenario`: what a user asks of one crowd, as written in a file and on the command line.
//!
//! Here is what was typed; what it means, with every number filled in, is the
//! [`Plan`](crate::plan::Plan) that [`resolve`] makes of it. Reading files and looking up
//! servers is the tool's; this module sees text and values only.

mod bayeux;
mod check;
mod endpoints;
mod error;
mod feed;
mod flood;
mod forgetful;
mod load;
mod plain;
mod publisher;
mod pull;
mod ramp;
mod resolve;
mod secrets;
mod source;
mod subscriptions;
mod target;
mod text_or_table;
mod tls;
mod url;
mod warmup;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub use endpoints::Endpoints;
pub use error::{ScenarioError, nearest, one_of};
pub use feed::FeedTemplate;
pub use flood::Flood;
pub use load::{Backoff, Load, Pace, Phase, Poll, RampSpec, RampStepSpec, ReconnectSpec};
pub use publisher::{Over, Publisher, PublisherMode};
pub use pull::{Adaptive, AdaptiveRule, HybridSpec};
pub use resolve::{Context, resolve};
pub use secrets::Secrets;
pub use source::{Override, Source, read};
pub(crate) use source::{join, parse_path, path_of};
pub use subscriptions::{Rooms, SubscriptionsSpec};
pub use target::{
    AnswerSpec, EverySpec, ProcessTemplate, PublishTemplate, StampTemplate, SubscribeSet, SubscribeTemplate,
    Target, TimeUnit,
};
pub use tls::TlsSpec;
pub use url::{TargetUrl, UrlError};
pub use warmup::WarmUp;

use crate::poller::Poller;
use crate::transport::Transport;
use crate::units::Nanos;

/// The seed of a scenario that names none.
pub const DEFAULT_SEED: u64 = 42;

/// What is asked of one crowd: the whole scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "pushmark scenario")]
pub struct Scenario {
    /// Short name; part of the result folder's name. Default: the file's name.
    pub name: String,
    /// What the scenario shows, in a sentence or two; printed beside the numbers.
    pub analysis: String,
    /// Everything drawn by chance is drawn from this number. Default: 42.
    pub seed: u64,
    /// The transports to compare, one arm each, run in random order. Default: all the target has; Bayeux, a protocol of its own, only where it is asked for or the target has nothing else.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "transports")]
    pub transports: Option<Vec<Transport>>,
    /// How often the whole scenario is run, each arm with a fresh server. Default: 1.
    pub repeat: u32,
    /// Generator threads (shards). Default: as many as the generator's share of the CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Generator processes that the shards are dealt to; 0: none beside the run's own. Default: 0.
    pub agents: u32,
    /// One connection in so many carries kernel receive stamps, which measure read lag; 0: none. Default: 64.
    pub stamp_sample: u32,
    /// Arrivals are taken in batches of so long, which costs less and reads later: by up to as much, which read lag shows. Default: 0s, each as it comes.
    pub batch: Nanos,
    /// What tells the generator's threads that something has arrived: epoll, or io_uring where the system has it. Default: epoll.
    pub poller: Poller,
    /// What is measured.
    pub target: Target,
    /// The crowd, the phases and how clients behave.
    pub load: Load,
    /// Who hears what.
    pub subscriptions: SubscriptionsSpec,
    /// What is published, by whom. Default: external at 10/s, unless the target has nowhere to publish: then it is only observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<Publisher>,
    /// A flood in place of the crowd: connections at a fixed rate until the server has had enough. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flood: Option<Flood>,
    /// Bounds to keep on every arm, metric to bound: `"delivery.p99" = "< 50ms"`. A metric that is absent fails.
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
    /// Reads a scenario with the command line's edits; checks all that the text alone shows.
    ///
    /// # Errors
    /// Everything found wrong, in the order of the file.
    pub fn parse(text: &str, overrides: &[Override]) -> Result<(Scenario, Source), Vec<ScenarioError>> {
        let (scenario, source) = read::<Scenario>(text, overrides)?;
        let errors = check::check(&scenario);
        if errors.is_empty() { Ok((scenario, source)) } else { Err(source.locate_all(errors)) }
    }

    /// The thresholds, in the order of their names.
    ///
    /// # Panics
    /// If the scenario was not checked: [`Scenario::parse`] refuses what cannot be read.
    pub fn expressions(&self) -> Vec<crate::metrics::Expression> {
        let read = |(metric, bound): (&String, &String)| crate::metrics::Expression::parse(metric, bound);
        self.thresholds.iter().map(|t| read(t).expect("checked when the scenario was read")).collect()
    }
}

/// The JSON Schema of a scenario file: what `pushmark schema` prints.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Scenario).to_value()
}

/// A list of transports, or their names in one comma-separated text (`-t sse,websocket`).
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

/// A transport by any name [`Transport::parse`] takes.
struct Named(Transport);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named, D::Error> {
        String::deserialize(deserializer).and_then(|name| transport(&name)).map(Named)
    }
}

fn transport<E: serde::de::Error>(name: &str) -> Result<Transport, E> {
    Transport::parse(name).ok_or_else(|| E::unknown_variant(name, &Transport::NAMES))
}
