//! Clients that pull, in the plan: poll intervals, hybrids, and their checks.

use super::Scenario;
use super::compiler::Compiler;
use super::endpoints::Endpoints;
use super::error::ScenarioError;
use super::load::{Load, Pace};
use super::phase::Phase;
use super::publisher::PublisherMode;
use super::pull::{Adaptive, HybridSpec};
use crate::plan::{self, Hybrid};
use crate::transport::Transport;

/// Returns the poll interval of the plan. An adaptive interval is counted from the answer.
pub(super) fn poll_plan(load: &Load) -> plan::PollPlan {
    let poll = &load.poll_interval;
    plan::PollPlan {
        interval_ns: poll.interval.0,
        jitter: poll.jitter,
        after_answer: poll.pace == Pace::AfterAnswer || poll.adaptive.is_some(),
        random_phase: poll.phase == Phase::Random,
        conditional: poll.conditional,
        adaptive: poll.adaptive.map(|adaptive| adaptive.plan()),
    }
}

/// Time to send a due poll and receive its answer.
const ANSWERED_NS: u64 = 500_000_000;

/// Extends the drain until each client has polled once more. Otherwise no poll could deliver a publication
/// due after a client's last poll. A deadline equal to the drain is extended too.
pub(super) fn drain_until_polled(load: &Load, arm: &mut plan::ArmPlan) {
    let Some(gap_ns) = arm.longest_gap_ns().filter(|_| arm.publisher.is_some()) else { return };
    arm.phases.drain_ns = arm.phases.drain_ns.max(gap_ns + ANSWERED_NS);
    if load.deadline.is_none() {
        arm.deadline_ns = arm.deadline_ns.max(arm.phases.drain_ns);
    }
}

impl Compiler<'_> {
    /// Returns the part of an arm that polls, or adds its mistakes to `errors`.
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
            // All transports share this error, so it is reported once.
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
            return Err(());
        };
        let poll = self.subscribe("target.subscribe.poll", Transport::Poll, template).ok_or(())?;
        if (&poll.host, poll.port, poll.tls) != (&push.host, push.port, push.tls) {
            self.errors.push(
                ScenarioError::at("target.subscribe.poll.url", "a hybrid must poll its push server")
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
            ScenarioError::at("load.poll_interval.jitter", "jitter must be a share of the interval")
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
                "the bounds of the adaptive interval are not a range",
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
                    format!("`{key}` must be a share"),
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
            ScenarioError::at("load.hybrid", "a hybrid needs exactly one key")
                .found(format!("{said} of its keys"))
                .accepted("one of pull_share = 0.5, push_max = 300, safety_poll = \"30s\""),
        );
    }
    if let Some(share) = hybrid.pull_share
        && !(share > 0.0 && share < 1.0)
    {
        errors.push(
            ScenarioError::at("load.hybrid.pull_share", "some clients must poll, others must not")
                .found(share)
                .accepted("above 0 and below 1, such as 0.5"),
        );
    }
    let connections = scenario.load.connections;
    if let Some(max) = hybrid.push_max
        && (max == 0 || max >= connections)
    {
        errors.push(
            ScenarioError::at("load.hybrid.push_max", "some clients must poll, others must not")
                .found(max)
                .accepted(format!("1 to below load.connections, which is {connections}")),
        );
    }
    if hybrid.safety_poll.is_some_and(|interval| interval.0 == 0) {
        errors.push(
            ScenarioError::at("load.hybrid.safety_poll", "`safety_poll` must be above 0")
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Context, Endpoints, Scenario, resolve};
    use super::*;

    fn arms(load: &str) -> Vec<plan::ArmPlan> {
        let text = format!(
            "name = \"t\"\n[load]\n{load}\n[target.subscribe]\npoll = \"http://h:80/p\"\nsse = \"http://h:80/s\"\n\
             [target.publish]\nurl = \"http://h:80/publish\"\n"
        );
        let (scenario, _) = Scenario::parse(&text, &[]).unwrap();
        let endpoints = Endpoints::of_target(&scenario.target).unwrap();
        let context = Context { endpoints: &endpoints, clients: None, tls: None, secrets: None };
        resolve(&scenario, &context).unwrap().arms
    }

    proptest! {
        #[test]
        fn every_client_polls_once_more_before_the_drain_is_over(
            interval_ms in 1u64..20_000, drain_ms in 1u64..20_000, jitter in 0u32..100, max_ms in 1u64..30_000,
            adaptive: bool, deadline: bool,
        ) {
            let follows = match adaptive {
                true => format!(", adaptive = {{ min = \"1ms\", max = \"{max_ms}ms\" }}"),
                false => String::new(),
            };
            let deadline = if deadline { "deadline = \"1ms\"\n" } else { "" };
            let load = format!(
                "drain = \"{drain_ms}ms\"\n{deadline}\
                 poll_interval = {{ interval = \"{interval_ms}ms\", jitter = 0.{jitter:02}{follows} }}"
            );
            let asked_ns = drain_ms * 1_000_000;
            for arm in arms(&load) {
                let drain_ns = arm.phases.drain_ns;
                if arm.transport == Transport::Sse {
                    prop_assert_eq!(drain_ns, asked_ns);
                    continue;
                }
                // Polled just before measure ended, and next after the longest gap.
                let longest_ms = if adaptive { max_ms.max(interval_ms) } else { interval_ms };
                let gap_ns = longest_ms as f64 * 1e6 * (1.0 + f64::from(jitter) / 100.0);
                prop_assert!(drain_ns as f64 > gap_ns && drain_ns >= asked_ns);
                prop_assert!(drain_ns == asked_ns || (drain_ns as f64) < gap_ns + 1e9, "no longer than it takes");
                prop_assert_eq!(arm.deadline_ns, if deadline.is_empty() { drain_ns } else { 1_000_000 });
            }
        }
    }

    #[test]
    fn a_hybrid_waits_for_the_polls_beside_its_push() {
        let arm = &arms("drain = \"1s\"\nhybrid = { safety_poll = \"7s\" }")[0];
        assert_eq!((arm.transport, arm.phases.drain_ns), (Transport::Sse, 7_500_000_000));
    }
}
