//! Compares two sets of starts, arm by arm: one metric and the losses decide; the other metrics are adjusted
//! for multiple tests. Reads only runs. Findings are data ([`Comparison`]) before they become text.

mod design;
mod effect;
mod gate;
mod set;
mod settings;
mod text;
mod worth;

#[cfg(test)]
mod tests;

use pushmark_model::compare::{Comparison, Doubt, Effect, Finding, Pair, SCHEMA, SideName, Test, Unmatched};
use pushmark_model::metrics::Metric;
use pushmark_model::stats::{self, Dealing};

pub use gate::{FailIf, find};
pub(crate) use set::is_believed;
pub use set::{Arms, Key, Set, Start};
pub use text::render;

/// The metric that decides by default: the second if a start has no p99.
pub(crate) const PRIMARY: [&str; 2] = ["delivery.p99", "delivery.p50"];

/// The metric that decides with it: a server can be fast to the clients that it serves and lose the others.
pub(crate) const LOSS: &str = "delivery.of_intended";

/// The other metrics: what the crowd received, what was lost, what it cost.
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

/// Compares B with A. `metric`, if present, decides.
pub fn compare(a: &Set, b: &Set, metric: Option<&Metric>, fail_if: &[FailIf]) -> Comparison {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut gates = Vec::new();
    for (key, of_a) in &a.arms {
        let Some(of_b) = b.arms.get(key) else { continue };
        let pair = pair(key, of_a, of_b, metric);
        gates.extend(fail_if.iter().map(|gate| gate.on(key, of_a, of_b)));
        pairs.push(pair);
    }
    adjust(pairs.iter_mut().flat_map(deciding).collect());
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
        design: design::of(a, b),
        differs: settings::differing(&a.runs, &b.runs),
        metric: metric.map(|metric| metric.name.clone()),
        pairs,
        unmatched,
        doubts: doubts(a, b),
        gates,
    }
}

/// The deciding effects of an arm.
fn deciding(pair: &mut Pair) -> impl Iterator<Item = &mut Effect> {
    [pair.lost.as_mut(), pair.primary.as_mut(), pair.loss.as_mut()].into_iter().flatten()
}

fn pair(key: &Key, a: &Arms, b: &Arms, metric: Option<&Metric>) -> Pair {
    let wanted: Vec<Metric> = match metric {
        Some(metric) => vec![metric.clone()],
        None => PRIMARY.iter().filter_map(|name| Metric::find(name)).collect(),
    };
    let mut tried = wanted.iter().map(|metric| effect::of(metric, a, b));
    // The reason why the first cannot be compared is more useful than the reason for its substitute.
    let (primary, absent) = match tried.next() {
        Some(Err(absent)) => match tried.find_map(Result::ok) {
            Some(effect) => (Some(effect), None),
            None => (None, Some(absent)),
        },
        other => (other.and_then(Result::ok), None),
    };
    let decided = primary.as_ref().map(|effect| effect.metric.clone());
    let lost = wanted.first().and_then(|metric| effect::of_lost(metric, a, b));
    let loss = Metric::find(LOSS)
        .filter(|metric| Some(&metric.name) != decided.as_ref())
        .and_then(|metric| effect::of(&metric, a, b).ok());
    let others = OTHERS
        .iter()
        .filter(|name| Some(**name) != decided.as_deref())
        .filter_map(|name| effect::of(&Metric::find(name)?, a, b).ok())
        .collect();
    // Without a deciding metric, the losses are reported.
    let shown = primary.as_ref().or(loss.as_ref());
    let (n_a, n_b) = shown.map_or((0, 0), |effect| (effect.a.n, effect.b.n));
    Pair {
        case: key.case.clone(),
        transport: key.transport,
        n_a,
        n_b,
        lost,
        primary,
        unbelieved: absent.as_ref().is_some_and(|absent| absent.unbelieved),
        not_compared: absent.map(|absent| absent.why),
        loss,
        others,
    }
}

/// Holm's adjustment over a family, and the findings after it. Identical values can show nothing under any
/// permutation: they are not a test and do not affect the adjustment of the others.
fn adjust(family: Vec<&mut Effect>) {
    let mut tested: Vec<&mut Effect> = family.into_iter().filter(|effect| effect.p.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|effect| effect.p).collect();
    for (effect, adjusted) in tested.iter_mut().zip(stats::holm(&p)) {
        effect.p_adjusted = Some(adjusted);
        let cannot = effect.attainable.is_some_and(|least| least * p.len() as f64 >= stats::ALPHA);
        effect.finding = match () {
            () if worth::is_alike(effect) => Finding::Alike,
            () if adjusted < stats::ALPHA => effect::direction(effect),
            () if cannot => Finding::CannotShow,
            () => Finding::NoDifference,
        };
        if effect.finding == Finding::CannotShow {
            let blocked = effect.test == Test::BlockedPermutation;
            let dealing = if blocked { Dealing::Blocks } else { Dealing::All };
            effect.starts_needed = Some(stats::starts_needed(dealing, p.len()));
        }
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
