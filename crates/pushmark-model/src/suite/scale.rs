//! `--scale` and `--scale-time`: the same case with a smaller crowd and fewer cycles. Intervals, holds, rates
//! and timeouts are the subject of a suite and never change.

use crate::plan::{ArmPlan, Plan};
use crate::scenario::Scenario;
use crate::transport::Transport;
use crate::units::Nanos;

/// Fewest cycles of a scaled case, if the case has that many.
pub const CYCLES_MIN: u64 = 3;

/// Shortest measure phase of a scaled case: windows are a second.
const MEASURE_MIN_NS: u64 = 1_000_000_000;

/// The scaling factors; 1: as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Crowds and the number of cycles.
    pub all: f64,
    /// The number of cycles, in addition to `all`.
    pub time: f64,
}

impl Scale {
    /// As written.
    pub const NONE: Scale = Scale { all: 1.0, time: 1.0 };

    /// Parses a factor from the command line: above 0 to 1, as a number or in per cent.
    pub fn share(text: &str) -> Option<f64> {
        crate::units::parse_share(text).ok().filter(|share| *share > 0.0 && *share <= 1.0)
    }

    /// Returns the keys of a scenario that change, with their new values. `plan` is the resolved scenario.
    pub fn changes(&self, scenario: &Scenario, plan: &Plan) -> Vec<(&'static str, toml::Value)> {
        let mut changes = Vec::new();
        let load = &scenario.load;
        let crowd = self.crowd(scenario);
        if crowd != load.connections {
            changes.push(("load.connections", whole(crowd)));
            if let Some(steps) = &load.ramp.steps {
                changes.push(("load.ramp.steps", toml::Value::Array(self.steps(steps, crowd))));
            }
        }
        if let Some(flood) = &scenario.flood {
            // The limit of a flood is its crowd.
            let limit = share_of(flood.limit(), self.all).max(1);
            if limit != flood.limit() {
                changes.push(("flood.limit", whole(limit)));
            }
        }
        if let Some(count) = scenario.publisher.as_ref().and_then(|p| p.count) {
            let fewer = share_of(count, self.all * self.time).max(CYCLES_MIN).min(count);
            if fewer != count {
                changes.push(("publisher.count", whole(fewer)));
            }
        }
        let least = plan.arms.iter().map(least_ns).fold(MEASURE_MIN_NS, u64::max);
        // A crowd that connects during measure does so at its rate.
        let arrives = plan.arms.first().filter(|_| load.ramp.during).map_or(0, |arm| {
            let ramp_ns = arm.ramp.length_ns().saturating_sub(arm.phases.measure_start_ns());
            share_of(ramp_ns, crowd as f64 / load.connections.max(1) as f64) + 1_000_000
        });
        let shorter =
            share_of(load.duration.0, self.all * self.time).max(least).max(arrives).min(load.duration.0);
        if shorter != load.duration.0 {
            changes.push(("load.duration", Nanos(shorter).to_string().into()));
        }
        changes
    }

    /// Returns the size of the crowd: at least one client, and whole rooms if there are rooms.
    fn crowd(&self, scenario: &Scenario) -> u64 {
        let connections = scenario.load.connections;
        let crowd = share_of(connections, self.all).max(1);
        match scenario.subscriptions.rooms {
            Some(rooms) if crowd < connections => {
                crowd.next_multiple_of(u64::from(rooms.size.max(1))).min(connections)
            }
            _ => crowd,
        }
    }

    /// Returns the steps of a ramp to a smaller crowd at the same rate.
    fn steps(&self, steps: &[crate::scenario::RampStepSpec], crowd: u64) -> Vec<toml::Value> {
        let whole_crowd = steps.last().map_or(1, |step| step.to).max(1) as f64;
        let share = crowd as f64 / whole_crowd;
        let shrunk = steps.iter().map(|step| {
            let mut table = toml::Table::new();
            table.insert("to".to_owned(), whole(((step.to as f64 * share).round() as u64).min(crowd)));
            table.insert("over".to_owned(), Nanos(share_of(step.over.0, share)).to_string().into());
            toml::Value::Table(table)
        });
        shrunk.collect()
    }
}

/// Returns three cycles of an arm: of publications, else of held requests, and of polls in any case.
fn least_ns(arm: &ArmPlan) -> u64 {
    let published = arm.publisher.as_ref().map(|publisher| publisher.interval_ns.ceil() as u64);
    let held = matches!(arm.transport, Transport::LongPoll | Transport::Bayeux).then_some(arm.hold_ns);
    let polled = (arm.transport == Transport::Poll).then_some(arm.poll.interval_ns);
    let cycle_ns = published.or(held).max(polled).unwrap_or(0);
    // Whole ms, for a readable duration.
    cycle_ns.saturating_mul(CYCLES_MIN).div_ceil(1_000_000) * 1_000_000
}

fn share_of(number: u64, share: f64) -> u64 {
    (number as f64 * share).round() as u64
}

fn whole(number: u64) -> toml::Value {
    toml::Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
