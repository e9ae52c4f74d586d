//! One metric of one arm on both sides: how large the difference is, and whether it is one.

use pushmark_model::compare::{Bounded, Effect, Finding, SideName, Test};
use pushmark_model::metrics::{Better, Metric};
use pushmark_model::stats::{INTERVAL_FROM, Scale, Summary, Welch, detectable, permutation_p};

use super::Arms;

/// Where the ways to deal are too many to be tried, those tried are drawn from this.
const SEED: u64 = 42;

/// Why a metric cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// The side that lacks it; A where both do.
    pub(super) side: SideName,
    /// None of its starts can be believed.
    pub(super) unbelieved: bool,
    /// In words.
    pub(super) why: String,
}

/// Compares a metric.
///
/// # Errors
/// A side without a believed start, or a start without the metric.
pub(super) fn of(metric: &Metric, a: &Arms, b: &Arms) -> Result<Effect, Absent> {
    let (of_a, of_b) = (values(metric, a, SideName::A)?, values(metric, b, SideName::B)?);
    let positive = of_a.iter().chain(&of_b).all(|value| *value > 0.0);
    let scale = if metric.is_ratio_scaled() && positive { Scale::Log } else { Scale::Linear };
    let summary = |values: &[f64], side| {
        let why = format!("{} is no number in a start of {}", metric.name, SideName::name(side));
        Summary::of(values, scale).ok_or(Absent { side, unbelieved: false, why })
    };
    let (side_a, side_b) = (summary(&of_a, SideName::A)?, summary(&of_b, SideName::B)?);
    let enough = of_a.len().min(of_b.len()) >= INTERVAL_FROM;
    let welch = Welch::of(&of_a, &of_b, scale).filter(|_| enough);
    let all_the_same = of_a.iter().chain(&of_b).all(|value| *value == of_a[0]);
    let (test, p) = match (enough, scale, &welch) {
        (false, ..) => (Test::None, None),
        (true, Scale::Log, Some(welch)) => (Test::WelchLog, Some(welch.p)),
        // Counts and shares, and values without any spread of their own.
        _ => (Test::Permutation, (!all_the_same).then(|| permutation_p(&of_a, &of_b, SEED))),
    };
    // Without any variation the difference is what it is.
    let exact = |value| enough.then_some((value, value));
    let (ratio, difference) = match scale {
        Scale::Log => {
            let value = side_b.mean / side_a.mean;
            let ends = welch.map(|w| w.interval()).map(|(low, high)| (low.exp(), high.exp()));
            (Some(Bounded { value, interval: ends.or(exact(value)) }), None)
        }
        Scale::Linear => {
            let value = side_b.mean - side_a.mean;
            let ends = welch.map(|w| w.interval());
            (None, Some(Bounded { value, interval: ends.or(exact(value)) }))
        }
    };
    let shift = welch.as_ref().map(detectable).filter(|_| scale == Scale::Log);
    Ok(Effect {
        metric: metric.name.clone(),
        unit: metric.unit.name().to_owned(),
        a: side_a,
        b: side_b,
        ratio,
        difference,
        test,
        p,
        p_adjusted: p,
        finding: if enough { Finding::NoDifference } else { Finding::NotTested },
        detectable: shift.map(|log| log.exp() - 1.0),
    })
}

/// Better or worse, by the direction of the means.
pub(super) fn direction(effect: &Effect) -> Finding {
    let up = effect.b.mean > effect.a.mean;
    match Metric::find(&effect.metric).map_or(Better::Neither, |metric| metric.better()) {
        Better::Neither => Finding::Differs,
        Better::Lower if up => Finding::Worse,
        Better::Higher if !up => Finding::Worse,
        Better::Lower | Better::Higher => Finding::Better,
    }
}

/// The metric of each start that is used.
fn values(metric: &Metric, arms: &Arms, side: SideName) -> Result<Vec<f64>, Absent> {
    let (used, name) = (arms.used().count(), side.name());
    let absent = |unbelieved, why| Err(Absent { side, unbelieved, why });
    if used == 0 {
        return absent(true, format!("no start of {name} can be believed"));
    }
    let unstable = arms.used().filter(|start| start.is_unstable()).count();
    if unstable > 0 && is_latency(metric) {
        return absent(false, format!("unstable: the backlog grew in {unstable} of {used} starts of {name}"));
    }
    let values: Vec<f64> = arms.used().filter_map(|start| metric.value(&start.arm)).collect();
    if values.len() < used {
        let without = used - values.len();
        return absent(false, format!("{} is absent in {without} of {used} starts of {name}", metric.name));
    }
    Ok(values)
}

/// What a backlog that grows makes meaningless.
fn is_latency(metric: &Metric) -> bool {
    let shown = metric.name.strip_prefix("delivery.").is_some_and(|rest| {
        ["p50", "p90", "p99", "p999", "mean", "max", "min"].contains(&rest.rsplit('.').next().unwrap_or(rest))
    });
    shown && !metric.name.contains("age_of_information")
}
