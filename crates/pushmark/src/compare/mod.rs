//! Two sets of starts compared, arm by arm: one metric decides, the others are adjusted for being
//! many. Reads Runs and nothing else; what is said of them is data ([`Comparison`]) before it is text.

mod effect;
mod gate;
mod set;
mod settings;
mod text;

#[cfg(test)]
mod tests;

use pushmark_model::compare::{Comparison, Doubt, Effect, Finding, Pair, SCHEMA, SideName, Unmatched};
use pushmark_model::metrics::Metric;
use pushmark_model::stats;

pub use gate::{FailIf, find};
pub use set::{Arms, Key, Set, Start};
pub use text::render;

/// The metric that decides where none is named: the second where a start has no p99.
const PRIMARY: [&str; 2] = ["delivery.p99", "delivery.p50"];

/// What is looked at beside it: what the crowd got, what was lost, what it cost.
const OTHERS: [&str; 12] = [
    "delivery.p50",
    "delivery.p99",
    "delivery.age_of_information.mean",
    "delivery.missing",
    "delivery.late",
    "connect.p50",
    "connect.failed",
    "connections.lost",
    "server.cpu_us_per_delivery",
    "server.rss_bytes_peak",
    "server.rss_bytes_per_connection",
    "wire.bytes_in_per_delivery",
];

/// Compares B with A. `metric` decides where it is given.
pub fn compare(a: &Set, b: &Set, metric: Option<&Metric>, fail_if: &[FailIf]) -> Comparison {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut gates = Vec::new();
    for (key, of_a) in &a.arms {
        let Some(of_b) = b.arms.get(key) else { continue };
        let pair = pair(key, of_a, of_b, metric);
        gates.extend(fail_if.iter().map(|gate| gate.on(key, of_a, of_b)));
        pairs.push(pair);
    }
    adjust(pairs.iter_mut().filter_map(|pair| pair.primary.as_mut()).collect());
    adjust(pairs.iter_mut().flat_map(|pair| pair.others.iter_mut()).collect());
    let only = |side, one: &Set, other: &Set| -> Vec<Unmatched> {
        let missing = one.arms.keys().filter(|key| !other.arms.contains_key(key));
        missing.map(|key| Unmatched { side, case: key.case.clone(), transport: key.transport }).collect()
    };
    let mut unmatched = only(SideName::A, a, b);
    unmatched.extend(only(SideName::B, b, a));
    Comparison {
        schema: SCHEMA.to_owned(),
        a: a.named(),
        b: b.named(),
        differs: settings::differing(a, b),
        metric: metric.map(|metric| metric.name.clone()),
        pairs,
        unmatched,
        doubts: doubts(a, b),
        gates,
    }
}

fn pair(key: &Key, a: &Arms, b: &Arms, metric: Option<&Metric>) -> Pair {
    let wanted: Vec<Metric> = match metric {
        Some(metric) => vec![metric.clone()],
        None => PRIMARY.iter().filter_map(|name| Metric::find(name)).collect(),
    };
    let mut tried = wanted.iter().map(|metric| effect::of(metric, a, b));
    // Why the first cannot be compared says more than why the one in its place cannot.
    let (primary, not_compared) = match tried.next() {
        Some(Err(absent)) => match tried.find_map(Result::ok) {
            Some(effect) => (Some(effect), None),
            None => (None, Some(absent.why)),
        },
        other => (other.and_then(Result::ok), None),
    };
    let decided = primary.as_ref().map(|effect| effect.metric.clone());
    let others = OTHERS
        .iter()
        .filter(|name| Some(**name) != decided.as_deref())
        .filter_map(|name| effect::of(&Metric::find(name)?, a, b).ok())
        .collect();
    let (n_a, n_b) = (a.used().count(), b.used().count());
    Pair { case: key.case.clone(), transport: key.transport, n_a, n_b, primary, not_compared, others }
}

/// Holm's adjustment over a family, and what is then to be said. Values that are all the same can
/// show nothing however they are dealt out: they are no test, and cost the others nothing.
fn adjust(family: Vec<&mut Effect>) {
    let mut tested: Vec<&mut Effect> = family.into_iter().filter(|effect| effect.p.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|effect| effect.p).collect();
    for (effect, adjusted) in tested.iter_mut().zip(stats::holm(&p)) {
        effect.p_adjusted = Some(adjusted);
        effect.finding =
            if adjusted < stats::ALPHA { effect::direction(effect) } else { Finding::NoDifference };
    }
}

fn doubts(a: &Set, b: &Set) -> Vec<Doubt> {
    let of = |side: SideName, set: &Set| -> Vec<Doubt> {
        set.arms.values().flat_map(|arms| &arms.starts).filter_map(|start| start.doubt(side)).collect()
    };
    let mut all = of(SideName::A, a);
    all.extend(of(SideName::B, b));
    all
}
