//! How the crowd connects: the meaning of `[load] ramp`, and its checks.

use super::error::ScenarioError;
use super::load::Load;
use crate::schedule::{Ramp, RampStep};
use crate::units::{DURATION_MAX_NS, Nanos};

/// The default rate of a ramp, connections per second.
const RATE: f64 = 500.0;

/// Returns the ramp, from its own start.
pub(super) fn ramp_of(load: &Load) -> Ramp {
    let ramp = &load.ramp;
    if let Some(steps) = &ramp.steps {
        let step = |step: &super::RampStepSpec| RampStep { to: step.to, over_ns: step.over.0 };
        return Ramp { steps: steps.iter().map(step).collect() };
    }
    match ramp.over {
        Some(over) => Ramp { steps: vec![RampStep { to: load.connections, over_ns: over.0 }] },
        None => Ramp::constant(load.connections, ramp.rate.map_or(RATE, |rate| rate.0)),
    }
}

/// Reports mistakes in the keys of the ramp.
pub(super) fn check(load: &Load, errors: &mut Vec<ScenarioError>) {
    let ramp = &load.ramp;
    let said =
        [("a rate", ramp.rate.is_some()), ("a time", ramp.over.is_some()), ("steps", ramp.steps.is_some())];
    let said: Vec<&str> = said.into_iter().filter(|s| s.1).map(|s| s.0).collect();
    if said.len() > 1 {
        errors.push(
            ScenarioError::at("load.ramp", format!("the ramp has both {}", said.join(" and ")))
                .found("both")
                .accepted(
                    "{ rate = 500 }, { over = \"60s\" }, or { steps = [{ to = 2000, over = \"10s\" }] }",
                ),
        );
        return;
    }
    if let Some(steps) = &ramp.steps {
        let rises = steps.windows(2).all(|pair| pair[0].to <= pair[1].to);
        let ends_at = steps.last().map(|step| step.to);
        if !rises || ends_at != Some(load.connections) {
            let list: Vec<String> = steps.iter().map(|step| step.to.to_string()).collect();
            errors.push(
                ScenarioError::at(
                    "load.ramp.steps",
                    format!("the steps do not rise to the {} connections of the load", load.connections),
                )
                .found(format!("to = {}", list.join(", ")))
                .accepted("steps whose `to` never falls and ends at load.connections"),
            );
        }
    }
    let length_ns = ramp_of(load).length_ns();
    if length_ns > DURATION_MAX_NS {
        errors.push(
            ScenarioError::at("load.ramp", "the ramp is longer than 1000h")
                .found(ramp.rate.map_or("longer steps".to_owned(), |rate| rate.to_string()))
                .accepted("a ramp of at most 1000h"),
        );
    } else if ramp.during && length_ns > load.duration.0 {
        errors.push(
            ScenarioError::at("load.ramp", "the ramp does not fit into the measure phase it runs in")
                .found(format!("a ramp of {}", Nanos(length_ns)))
                .accepted(format!("at most load.duration, {}", load.duration))
                .help("ramp faster, measure longer, or leave `during` out"),
        );
    }
}
