//! The default thresholds of a run, and its exit code.

use pushmark_model::metrics::{Expression, Metric};
use pushmark_model::plan::Plan;
use pushmark_model::run::{Arm, Outcome, Run, VerdictState};
use pushmark_model::scenario::Scenario;

use pushmark_console::exit::Exit;

/// The thresholds of a scenario without thresholds: every connected client is served to the end.
const DEFAULTS: [(&str, &str); 2] = [("delivery.of_intended", ">= 99.9%"), ("delivery.unserved", "== 0")];

/// The main figures of a run without thresholds: those in its tables.
const HEADLINE: [&str; 7] = [
    "delivery.missing",
    "delivery.p50",
    "delivery.p90",
    "delivery.p99",
    "observed.messages",
    "observed.gap.p50",
    "flood.connected_max",
];

/// Returns the thresholds of a run. There are no default ones if nothing is published, for a flood, which
/// continues until the server fails, and for a suite, which looks for that point.
pub(super) fn thresholds(scenario: &Scenario, plan: &Plan, of_suite: bool) -> Vec<Expression> {
    let own = scenario.expressions();
    let served = plan.arms.iter().all(|arm| arm.publisher.is_some() && arm.flood.is_none());
    if !own.is_empty() || of_suite || !served {
        return own;
    }
    DEFAULTS.iter().filter_map(|(metric, bound)| Expression::parse(metric, bound).ok()).collect()
}

/// The exit code of a run. Thresholds define the requested figures: the run is invalid if one of those
/// figures is; without thresholds in the scenario, if one of its tables' figures is. A run whose server died
/// always fails, except a flood, which continues until then.
pub fn exit_of(run: &Run) -> Exit {
    let verdict = match asked(run) {
        VerdictState::Invalid => Exit::Invalid,
        VerdictState::Incomplete => Exit::Incomplete,
        VerdictState::Valid | VerdictState::Suspect => Exit::Pass,
    };
    let died = run.arms.iter().any(|arm| arm.outcome == Outcome::Died && arm.flood.is_none());
    let crossed = run.thresholds.iter().any(|t| !t.ok);
    verdict.worst(if crossed || died { Exit::Threshold } else { Exit::Pass })
}

/// Returns the worst state of the main figures.
fn asked(run: &Run) -> VerdictState {
    let own = run.scenario.get("thresholds").and_then(|own| own.as_object());
    let named: Vec<String> = own.into_iter().flat_map(|own| own.keys()).map(|name| full_name(name)).collect();
    let names: Vec<&str> =
        if named.is_empty() { HEADLINE.to_vec() } else { named.iter().map(String::as_str).collect() };
    let states =
        run.arms.iter().flat_map(|arm| names.iter().map(|name| run.verdict.of_metric(arm.transport, name)));
    // Who has a monitor asks for the figures of the server too.
    let is_lost = |arm: &Arm| arm.monitor.as_ref().is_some_and(|monitor| monitor.lost.is_some());
    let unwatched = named.is_empty() && run.arms.iter().any(is_lost);
    states.chain(unwatched.then_some(VerdictState::Incomplete)).max().unwrap_or(run.verdict.state)
}

/// Returns the name of a metric from the key of a threshold.
fn full_name(given: &str) -> String {
    Metric::find(given).map_or_else(|| given.to_owned(), |metric| metric.name)
}
