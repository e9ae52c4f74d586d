//! What of `[load]` says how clients pull: refresh times that adapt, and hybrids with push.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scenario;
use super::endpoints::{Compiler, Endpoints};
use super::error::ScenarioError;
use super::load::{Load, Pace};
use super::publisher::PublisherMode;
use super::text_or_table::FromText;
use crate::hybrid::{Hybrid, Sides};
use crate::plan;
use crate::refresh;
use crate::transport::Transport;
use crate::units::Nanos;

/// How a poll interval follows the news: `"ttr"`, `"halving"`, or a table that says more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// Default: ttr.
    pub rule: AdaptiveRule,
    /// Shortest interval. Default: 1s.
    pub min: Nanos,
    /// Longest interval. Default: 60s.
    pub max: Nanos,
    /// `ttr`: w, how much the latest change counts against what was learned before; 0 to 1. Default: 0.5.
    pub weight: f64,
    /// `ttr`: a, how much the shortest interval so far counts against what was learned; 0 to 1. Default: 0.5.
    pub caution: f64,
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        Adaptive {
            rule: AdaptiveRule::Ttr,
            min: Nanos(1_000_000_000),
            max: Nanos(60_000_000_000),
            weight: 0.5,
            caution: 0.5,
        }
    }
}

impl FromText for Adaptive {
    const ACCEPTED: &'static str =
        "\"ttr\", \"halving\", or a table such as { rule = \"ttr\", min = \"1s\", max = \"60s\" }";
    fn from_text(text: &str) -> Option<Adaptive> {
        let rule = match text {
            "ttr" => AdaptiveRule::Ttr,
            "halving" => AdaptiveRule::Halving,
            _ => return None,
        };
        Some(Adaptive { rule, ..Adaptive::default() })
    }
}

/// How an interval follows the news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdaptiveRule {
    /// The adaptive time to refresh of the literature.
    Ttr,
    /// Halved after an answer with news, doubled after one without.
    Halving,
}

impl Adaptive {
    pub(super) fn plan(&self) -> refresh::Adaptive {
        let rule = match self.rule {
            AdaptiveRule::Ttr => refresh::Rule::Ttr { weight: self.weight, caution: self.caution },
            AdaptiveRule::Halving => refresh::Rule::Halving,
        };
        refresh::Adaptive { rule, min_ns: self.min.0, max_ns: self.max.0 }
    }
}

/// A crowd that pushes and pulls: one of the three keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HybridSpec {
    /// Push or pull: this share of the clients polls, the others hold a push connection; between 0 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_share: Option<f64>,
    /// Push or pull: so many clients hold a push connection, those that come later poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_max: Option<u64>,
    /// Push and pull: a client with a push connection polls besides, at this interval, over a second one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_poll: Option<Nanos>,
}

impl HybridSpec {
    /// Who pushes and who pulls.
    pub(super) fn sides(&self, connections: u64) -> Sides {
        match (self.pull_share, self.push_max, self.safety_poll) {
            (Some(share), ..) => Sides::Share((share * connections as f64).round() as u64),
            (None, Some(max), _) => Sides::First(max),
            (None, None, safety) => Sides::Both { interval_ns: safety.map_or(1, |s| s.0) },
        }
    }
}

/// The interval of a poll as the plan has it. One that follows the news runs from the answer.
pub(super) fn poll_plan(load: &Load) -> plan::PollPlan {
    let poll = &load.poll_interval;
    plan::PollPlan {
        interval_ns: poll.interval.0,
        jitter: poll.jitter,
        after_answer: poll.pace == Pace::AfterAnswer || poll.adaptive.is_some(),
        random_phase: poll.phase == super::load::Phase::Random,
        conditional: poll.conditional,
        adaptive: poll.adaptive.map(|adaptive| adaptive.plan()),
    }
}

impl Compiler<'_> {
    /// The part of an arm that polls; what is refused stands in `errors`.
    pub(super) fn hybrid(
        &mut self,
        endpoints: &Endpoints,
        push: &plan::Subscribe,
    ) -> Result<Option<Hybrid>, ()> {
        let load = &self.scenario.load;
        let Some(spec) = load.hybrid else { return Ok(None) };
        let sides = spec.sides(load.connections);
        let Some(template) = endpoints.subscribe.of(Transport::Poll) else {
            let error = ScenarioError::at("load.hybrid", format!("`{}` cannot be polled", endpoints.name))
                .found("a hybrid")
                .accepted("a target with `poll`, or no hybrid");
            // Wrong once for all transports.
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
            return Err(());
        };
        let poll = self.subscribe("target.subscribe.poll", Transport::Poll, template).ok_or(())?;
        if (&poll.host, poll.port, poll.tls) != (&push.host, push.port, push.tls) {
            self.errors.push(
                ScenarioError::at("target.subscribe.poll.url", "a hybrid polls where it is pushed to")
                    .found(format!("{:?}", template.url))
                    .accepted("the host and port of the push transport, and its TLS"),
            );
            return Err(());
        }
        Ok(Some(Hybrid { sides, poll }))
    }
}

pub(super) fn check(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let poll = &scenario.load.poll_interval;
    if !(0.0..1.0).contains(&poll.jitter) {
        errors.push(
            ScenarioError::at("load.poll_interval.jitter", "jitter is a share of the interval")
                .found(poll.jitter)
                .accepted("0 to below 1, such as 0.2"),
        );
    }
    if let Some(adaptive) = &poll.adaptive {
        check_adaptive(adaptive, errors);
    }
    if let Some(hybrid) = &scenario.load.hybrid {
        check_hybrid(hybrid, scenario, errors);
    }
}

fn check_adaptive(adaptive: &Adaptive, errors: &mut Vec<ScenarioError>) {
    if adaptive.min.0 == 0 || adaptive.min > adaptive.max {
        errors.push(
            ScenarioError::at(
                "load.poll_interval.adaptive",
                "the bounds of an adaptive interval are no range",
            )
            .found(format!("min = \"{}\", max = \"{}\"", adaptive.min, adaptive.max))
            .accepted("0 < min ≤ max"),
        );
    }
    for (key, share) in [("weight", adaptive.weight), ("caution", adaptive.caution)] {
        if !(0.0..=1.0).contains(&share) {
            errors.push(
                ScenarioError::at(
                    format!("load.poll_interval.adaptive.{key}"),
                    format!("`{key}` is a share"),
                )
                .found(share)
                .accepted("0 to 1, such as 0.5"),
            );
        }
    }
}

fn check_hybrid(hybrid: &HybridSpec, scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let said = usize::from(hybrid.pull_share.is_some())
        + usize::from(hybrid.push_max.is_some())
        + usize::from(hybrid.safety_poll.is_some());
    if said != 1 {
        errors.push(
            ScenarioError::at("load.hybrid", "a hybrid is of one kind")
                .found(format!("{said} of its keys"))
                .accepted("one of pull_share = 0.5, push_max = 300, safety_poll = \"30s\""),
        );
    }
    if let Some(share) = hybrid.pull_share
        && !(share > 0.0 && share < 1.0)
    {
        errors.push(
            ScenarioError::at("load.hybrid.pull_share", "some clients poll and some do not")
                .found(share)
                .accepted("above 0 and below 1, such as 0.5"),
        );
    }
    let connections = scenario.load.connections;
    if let Some(max) = hybrid.push_max
        && (max == 0 || max >= connections)
    {
        errors.push(
            ScenarioError::at("load.hybrid.push_max", "some clients poll and some do not")
                .found(max)
                .accepted(format!("1 to below load.connections, which is {connections}")),
        );
    }
    if hybrid.safety_poll.is_some_and(|interval| interval.0 == 0) {
        errors.push(
            ScenarioError::at("load.hybrid.safety_poll", "this must be longer than 0")
                .found("\"0s\"")
                .accepted("a duration such as \"30s\""),
        );
    }
    for transport in scenario.transports.iter().flatten() {
        let why = match transport {
            Transport::Poll => "every client of `poll` polls already",
            _ if hybrid.safety_poll.is_some() && transport.is_bayeux() => {
                "the second connection of a Bayeux client carries its commands"
            }
            _ => continue,
        };
        errors.push(
            ScenarioError::at("load.hybrid", format!("`{transport}` has no such hybrid: {why}"))
                .found(format!("transports with \"{transport}\""))
                .accepted("push transports, such as [\"sse\"]"),
        );
    }
    if scenario.publisher.as_ref().is_some_and(|p| p.mode == PublisherMode::Peer) {
        errors.push(
            ScenarioError::at("load.hybrid", "clients that poll cannot publish")
                .found("mode = \"peer\"")
                .accepted("mode = \"external\" or \"emitter\""),
        );
    }
}
