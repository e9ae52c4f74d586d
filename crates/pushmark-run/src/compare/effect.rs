//! One metric of one arm on both sides: the size of the difference, and whether it is significant.

use std::collections::BTreeMap;

use pushmark_model::compare::{Bounded, Effect, Finding, SideName, Test};
use pushmark_model::metrics::{Better, Metric, family};
use pushmark_model::run::{Arm, Sitting};
use pushmark_model::stats::{
    Block, Blocked, INTERVAL_FROM, Scale, Summary, Welch, attainable, detectable, detectable_by,
    permutation_p,
};

use super::{Arms, worth};

/// Seed of the permutations that are drawn if there are too many to try all.
const SEED: u64 = 42;

/// Why a metric cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// The side that lacks it; A if both do.
    pub(super) side: SideName,
    /// No start is usable.
    pub(super) unbelieved: bool,
    /// The reason in words.
    pub(super) why: String,
}

/// A start's value, and its place in a sitting.
type Placed = (f64, Option<Sitting>);

/// One value for each start of both sides; in blocks if all starts were made in one sitting.
struct Values {
    a: Vec<f64>,
    b: Vec<f64>,
    blocks: Option<Vec<Block>>,
}

/// Compares a metric.
///
/// # Errors
/// Fails if a side has no usable start, or a start does not have the metric.
pub(super) fn of(metric: &Metric, a: &Arms, b: &Arms) -> Result<Effect, Absent> {
    let values = Values::of(values(metric, a, SideName::A)?, values(metric, b, SideName::B)?);
    let positive = values.a.iter().chain(&values.b).all(|value| *value > 0.0);
    let scale = if metric.is_ratio_scaled() && positive { Scale::Log } else { Scale::Linear };
    let mut effect = compared(metric, &values, scale)?;
    effect.worth = worth::of(metric, effect.a.mean, a, b);
    Ok(effect)
}

/// Compares in how many starts a percentile lies among the missing deliveries. `None` if it does so in no
/// start, or if a side has no usable start.
pub(super) fn of_lost(metric: &Metric, a: &Arms, b: &Arms) -> Option<Effect> {
    let of = |arms: &Arms| -> Vec<Placed> {
        let lost = |arm: &Arm| f64::from(u8::from(is_among_missing(metric, arm)));
        arms.used(&metric.name).map(|start| (lost(&start.arm), start.sitting.clone())).collect()
    };
    let values = Values::of(of(a), of(b));
    let any = values.a.iter().chain(&values.b).any(|lost| *lost > 0.0);
    any.then(|| compared(metric, &values, Scale::Linear).ok())
        .flatten()
        .map(|effect| Effect { unit: "share of starts".to_owned(), ..effect })
}

fn compared(metric: &Metric, values: &Values, scale: Scale) -> Result<Effect, Absent> {
    let (of_a, of_b) = (&values.a, &values.b);
    let summary = |values: &[f64], side| {
        let why = match values.is_empty() {
            true => "no block has a usable start of both sides".to_owned(),
            false => format!("{} is not a number in a start of {}", metric.name, SideName::name(side)),
        };
        Summary::of(values, scale).ok_or(Absent { side, unbelieved: values.is_empty(), why })
    };
    let (side_a, side_b) = (summary(of_a, SideName::A)?, summary(of_b, SideName::B)?);
    let enough = of_a.len().min(of_b.len()) >= INTERVAL_FROM;
    let tested = if enough { Tested::of(values, scale) } else { Tested::not(of_a, of_b, scale) };
    let all_the_same = of_a.iter().chain(of_b).all(|value| *value == of_a[0]);
    // Without any variation the difference is exact.
    let interval = tested.interval.or((enough && all_the_same).then_some((tested.value, tested.value)));
    let (ratio, difference) = match scale {
        Scale::Log => {
            let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
            (Some(Bounded { value: tested.value.exp(), interval }), None)
        }
        Scale::Linear => (None, Some(Bounded { value: tested.value, interval })),
    };
    let p = tested.p.filter(|_| !all_the_same);
    Ok(Effect {
        metric: metric.name.clone(),
        unit: metric.unit.name().to_owned(),
        a: side_a,
        b: side_b,
        ratio,
        difference,
        test: tested.test,
        p,
        attainable: tested.attainable,
        p_adjusted: p,
        finding: if enough { Finding::NoDifference } else { Finding::NotTested },
        detectable: tested.shift.filter(|_| scale == Scale::Log).map(|log| log.exp() - 1.0),
        starts_needed: None,
        separated: of_a.len().min(of_b.len()) > 1 && are_separated(of_a, of_b),
        worth: None,
    })
}

/// The result of a test, on the scale.
struct Tested {
    test: Test,
    value: f64,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
    attainable: Option<f64>,
    shift: Option<f64>,
}

impl Tested {
    fn of(values: &Values, scale: Scale) -> Tested {
        let (a, b) = (&values.a, &values.b);
        if let Some(found) = values.blocks.as_ref().and_then(|blocks| Blocked::of(blocks, scale, SEED)) {
            let shift = found.error.map(|error| detectable_by(error, found.degrees));
            return Tested {
                test: Test::BlockedPermutation,
                value: found.difference,
                interval: found.interval,
                p: Some(found.p),
                attainable: Some(found.attainable),
                shift,
            };
        }
        let welch = Welch::of(a, b, scale);
        let interval = welch.as_ref().map(Welch::interval);
        let shift = welch.as_ref().map(detectable);
        let bare = Tested::not(a, b, scale);
        match (scale, &welch) {
            (Scale::Log, Some(found)) => {
                Tested { test: Test::WelchLog, interval, p: Some(found.p), shift, ..bare }
            }
            // Counts and shares, and values without any spread of their own.
            _ => Tested {
                test: Test::Permutation,
                // For sides without spread the difference is exact.
                interval: interval.or(Some((bare.value, bare.value))),
                p: Some(permutation_p(a, b, SEED)),
                attainable: Some(attainable(a.len(), b.len())),
                shift,
                ..bare
            },
        }
    }

    /// Too few starts for a test.
    fn not(a: &[f64], b: &[f64], scale: Scale) -> Tested {
        let mean = |values: &[f64]| {
            let on_scale = values.iter().map(|value| match scale {
                Scale::Log => value.ln(),
                Scale::Linear => *value,
            });
            on_scale.sum::<f64>() / values.len() as f64
        };
        let value = mean(b) - mean(a);
        Tested { test: Test::None, value, interval: None, p: None, attainable: None, shift: None }
    }
}

impl Values {
    /// If all were made in one sitting, only blocks with both sides are kept.
    fn of(a: Vec<Placed>, b: Vec<Placed>) -> Values {
        let plain = |values: &[Placed]| values.iter().map(|(value, _)| *value).collect();
        let first = a.first().and_then(|(_, place)| Some(place.as_ref()?.id.clone()));
        let one = |(_, place): &Placed| place.as_ref().is_some_and(|place| Some(&place.id) == first.as_ref());
        if first.is_none() || !a.iter().chain(&b).all(one) {
            return Values { a: plain(&a), b: plain(&b), blocks: None };
        }
        let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
        let mut put = |placed: Vec<Placed>, of: fn(&mut Block) -> &mut Vec<f64>| {
            for (value, place) in placed {
                of(blocks.entry(place.map_or(0, |place| place.block)).or_default()).push(value);
            }
        };
        put(a, |block| &mut block.a);
        put(b, |block| &mut block.b);
        let blocks: Vec<Block> = blocks.into_values().filter(Block::is_whole).collect();
        let all = |of: fn(&Block) -> &Vec<f64>| blocks.iter().flat_map(of).copied().collect();
        Values { a: all(|block| &block.a), b: all(|block| &block.b), blocks: Some(blocks) }
    }
}

/// Whether every value of one side is beyond every value of the other.
fn are_separated(a: &[f64], b: &[f64]) -> bool {
    let ends = |values: &[f64]| {
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
    };
    let ((low_a, high_a), (low_b, high_b)) = (ends(a), ends(b));
    high_a < low_b || high_b < low_a
}

/// Better or worse, by the direction of the means.
pub(super) fn direction(effect: &Effect) -> Finding {
    let up = effect.ratio.map_or(effect.b.mean > effect.a.mean, |ratio| ratio.value > 1.0);
    match Metric::find(&effect.metric).map_or(Better::Neither, |metric| metric.better()) {
        Better::Neither => Finding::Differs,
        Better::Lower if up => Finding::Worse,
        Better::Higher if !up => Finding::Worse,
        Better::Lower | Better::Higher => Finding::Better,
    }
}

/// The metric of each start that is used.
fn values(metric: &Metric, arms: &Arms, side: SideName) -> Result<Vec<Placed>, Absent> {
    let (used, name) = (arms.used(&metric.name).count(), side.name());
    let absent = |unbelieved, why| Err(Absent { side, unbelieved, why });
    if used == 0 {
        return absent(true, format!("no start of {name} has a usable {}", metric.name));
    }
    let unstable = arms.used(&metric.name).filter(|start| start.is_unstable()).count();
    if unstable > 0 && is_latency(metric) {
        return absent(false, format!("unstable: growing backlog in {unstable} of {used} starts of {name}"));
    }
    let values: Vec<Placed> = arms
        .used(&metric.name)
        .filter_map(|start| Some((metric.value(&start.arm)?, start.sitting.clone())))
        .collect();
    if values.len() < used {
        let without = used - values.len();
        let lost = arms.used(&metric.name).filter(|start| is_among_missing(metric, &start.arm)).count();
        let how = if lost == without { "among the missing" } else { "absent" };
        return absent(false, format!("{} is {how} in {without} of {used} starts of {name}", metric.name));
    }
    Ok(values)
}

/// Whether a percentile over expected deliveries falls among the missing ones.
fn is_among_missing(metric: &Metric, arm: &Arm) -> bool {
    let Some(latency) = arm.delivery.as_ref().map(|delivery| &delivery.latency) else { return false };
    let at_least = match metric.name.as_str() {
        "delivery.p50" => latency.p50_at_least_us,
        "delivery.p90" => latency.p90_at_least_us,
        "delivery.p99" => latency.p99_at_least_us,
        "delivery.p999" => latency.p999_at_least_us,
        _ => None,
    };
    at_least.is_some()
}

/// Whether a growing backlog makes the metric meaningless.
fn is_latency(metric: &Metric) -> bool {
    let families = [family::LATENCY, family::FROM_SENT, family::LATENCY_STAMPED, family::GENERATOR];
    metric.name.starts_with("delivery.")
        && families.contains(&family::of(&metric.name))
        && !metric.name.contains("age_of_information")
        && !metric.name.starts_with("delivery.within_")
}
