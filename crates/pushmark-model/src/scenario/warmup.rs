//! `load.warmup`: the length of warm-up, or how its end is detected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::Scenario;
use super::error::ScenarioError;
use super::publisher::{Publisher, PublisherMode};
use super::text_or_table::FromText;
use crate::plan::{Mode, PublisherPlan};
use crate::steady::SteadyPlan;
use crate::transport::Transport;
use crate::units::Nanos;

/// Warm-up: its length, or `{ detect = true, max = "60s" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WarmUp {
    /// End warm-up once the server is in a steady state. Default: true.
    pub detect: bool,
    /// Length of warm-up; with `detect` its maximum length. Default: 60s.
    pub max: Nanos,
}

impl WarmUp {
    /// Returns a warm-up of this length.
    pub fn of(length: Nanos) -> WarmUp {
        WarmUp { detect: false, max: length }
    }
}

impl Default for WarmUp {
    fn default() -> WarmUp {
        WarmUp { detect: true, max: Nanos(60_000_000_000) }
    }
}

impl FromText for WarmUp {
    const ACCEPTED: &'static str =
        "a duration such as \"2s\", or a table such as { detect = true, max = \"60s\" }";
    fn from_text(text: &str) -> Option<WarmUp> {
        text.parse().ok().map(WarmUp::of)
    }
}

impl Serialize for WarmUp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Table {
            detect: bool,
            max: Nanos,
        }
        match *self {
            WarmUp { detect: false, max } => max.serialize(serializer),
            WarmUp { detect, max } => Table { detect, max }.serialize(serializer),
        }
    }
}

/// Reports keys that cannot be combined with a detected warm-up.
pub(super) fn check(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let load = &scenario.load;
    if !load.warmup.detect || scenario.flood.is_some() {
        return;
    }
    if load.ramp.during {
        errors.push(
            ScenarioError::at("load.warmup", "no client is connected in warm-up; all connect in measure")
                .found("detect = true beside load.ramp.during = true")
                .accepted("a duration, such as \"0s\""),
        );
    }
    let counted = |p: &&Publisher| p.mode != PublisherMode::None && p.count.is_some();
    if let Some(count) = scenario.publisher.as_ref().filter(counted).and_then(|p| p.count) {
        errors.push(
            ScenarioError::at("load.warmup", "warm-up may use up all publications of publisher.count")
                .found(format!("detect = true beside publisher.count = {count}"))
                .accepted("a duration, such as \"2s\", or no count"),
        );
    }
}

/// Returns how the end of warm-up is detected, or `None` if it has a fixed length.
///
/// # Errors
/// Fails if the maximum length is too short to find a steady state.
pub(super) fn plan(
    scenario: &Scenario,
    transport: Transport,
    publisher: Option<&PublisherPlan>,
    channels: u32,
) -> Result<Option<SteadyPlan>, Box<ScenarioError>> {
    let load = &scenario.load;
    if !load.warmup.detect || scenario.flood.is_some() {
        return Ok(None);
    }
    // The repeated events: publications if there are any, else polls, or holds that end.
    let published_ns = publisher.map(|p| match p.aligned && p.mode != Mode::Peer {
        true => p.interval_ns,
        false => p.interval_ns / f64::from(channels.max(1)),
    });
    let asked_ns = match transport {
        Transport::Poll => load.poll_interval.interval.0,
        Transport::LongPoll | Transport::Bayeux if publisher.is_none() => load.hold.0,
        _ => 0,
    };
    let period_ns = published_ns.unwrap_or(0.0).max(asked_ns as f64);
    let period_s = (period_ns / 1e9).ceil().max(1.0) as u32;
    let plan = SteadyPlan { period_s, published: publisher.is_some() };
    if plan.shortest_ns() <= load.warmup.max.0 {
        return Ok(Some(plan));
    }
    let shortest = Nanos(plan.shortest_ns());
    let error = ScenarioError::at("load.warmup.max", "this warm-up is too short to find a steady state")
        .found(format!("{} for cycles of {period_s} s on {transport}", load.warmup.max))
        .accepted(format!("{shortest} or more: {} cycles", crate::steady::REST_MIN));
    Err(Box::new(error))
}
