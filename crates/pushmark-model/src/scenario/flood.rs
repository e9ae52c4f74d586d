//! `[flood]`: connections at a fixed rate until the server cannot take more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scenario;
use super::error::ScenarioError;
use super::limits::{CONNECTIONS_MAX, above_zero, at_least_one, at_most};
use crate::flood::FloodPlan;
use crate::plan::{ArmPlan, Phases, PublisherPlan};
use crate::schedule::Ramp;
use crate::units::{Nanos, PerSecond};

/// The default limit of connections of a flood.
const LIMIT: u64 = 50_000;

/// A flood instead of the crowd: `load.connections`, the ramp and the phases do not apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flood {
    /// Connections opened per second, independent of earlier ones (open model). Default: 2/s.
    pub rate: PerSecond,
    /// Interval over which new connections are counted. Default: 100s.
    pub interval: Nanos,
    /// Maximum number of connections. Default: 50000, or what this machine holds if that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The flood ends if a publication is received later than this after it was due. Default: 10s.
    pub latency_collapse: Nanos,
}

impl Default for Flood {
    fn default() -> Flood {
        Flood {
            rate: PerSecond(2.0),
            interval: Nanos(100_000_000_000),
            limit: None,
            latency_collapse: Nanos(10_000_000_000),
        }
    }
}

impl Flood {
    /// Returns the maximum number of connections.
    pub fn limit(&self) -> u64 {
        self.limit.unwrap_or(LIMIT)
    }
}

/// Reports mistakes in a flood.
pub(super) fn check(flood: &Flood, errors: &mut Vec<ScenarioError>) {
    if flood.rate.0 <= 0.0 {
        errors.push(
            ScenarioError::at("flood.rate", "this rate opens no connections")
                .found(flood.rate)
                .accepted("a rate above zero, such as 2/s"),
        );
    }
    at_least_one("flood.limit", flood.limit(), errors);
    at_most("flood.limit", flood.limit(), CONNECTIONS_MAX, errors);
    above_zero("flood.latency_collapse", flood.latency_collapse, errors);
    if flood.interval.0 < 1_000_000_000 {
        errors.push(
            ScenarioError::at("flood.interval", "connections are counted by whole seconds")
                .found(flood.interval)
                .accepted("1s or more"),
        );
    }
}

/// Changes the arms of a scenario to those of its flood, if it has one.
pub(super) fn apply(scenario: &Scenario, publisher: Option<&PublisherPlan>, arm: &mut ArmPlan) {
    let Some(flood) = &scenario.flood else { return };
    let plan = FloodPlan {
        rate_per_s: flood.rate.0,
        interval_ns: flood.interval.0,
        collapse_ns: flood.latency_collapse.0,
        publish_ns: publisher.map(|p| (p.interval_ns / f64::from(arm.subscriptions.channels.max(1))) as u64),
        cut_by: None,
    };
    shape(arm, plan, flood.limit());
    arm.deadline_ns = flood.latency_collapse.0;
    arm.phases.drain_ns = flood.latency_collapse.0.max(scenario.load.drain.0);
}

/// Shapes an arm into a flood of at most `limit` connections: they are opened during measure, which lasts a
/// trend and five seconds longer.
fn shape(arm: &mut ArmPlan, plan: FloodPlan, limit: u64) {
    let ramp = Ramp::constant(limit, plan.rate_per_s);
    let after_ns = (plan.window_s() as u64 + 5) * 1_000_000_000;
    let drain_ns = arm.phases.drain_ns;
    arm.phases =
        Phases { ramp_ns: 0, settle_ns: 0, warmup_ns: 0, measure_ns: ramp.length_ns() + after_ns, drain_ns };
    arm.connections = limit;
    arm.ramp = ramp;
    arm.flood = Some(plan);
}

impl ArmPlan {
    /// Reduces the flood for a machine that cannot hold all of it; `by` names the limiting resource.
    pub fn cut_flood(&mut self, connections: u64, by: &str) {
        if let Some(plan) = self.flood.take() {
            shape(self, FloodPlan { cut_by: Some(by.to_owned()), ..plan }, connections);
        }
    }
}
