//! When a server has warmed up: the change-point between the seconds of its start and those that
//! follow. Pure.
//!
//! The rule is MSER (K. P. White Jr., *An effective truncation heuristic for bias reduction in
//! simulation output*, Simulation 69(6), 1997; with batches as in White, Cobb and Spratt, *A
//! comparison of five steady-state truncation heuristics for simulation*, WSC 2000): leave out
//! so many first observations that the standard error of the mean of the rest is smallest,
//! Σ(x − mean)² ÷ (n − d)², among those that leave out no more than half. An observation here is
//! one second, or one cycle of publications where that is longer: the batch.
//!
//! Looked at while it grows, MSER alone is content too early: with a series that still falls, and
//! with a slow drift. So the rest must be [`REST_MIN`] observations at least, and its two halves must not differ by
//! more than `LEVEL` of their mean, unless noise alone explains it (two standard errors).

use serde::{Deserialize, Serialize};

/// Fewest observations of a steady state: MSER-5's batch.
pub const REST_MIN: usize = 5;

/// By how much the halves of a steady state may differ, of its mean. What a compiler gains is a
/// multiple; what a server's second differs from the next is mostly less.
const LEVEL: f64 = 0.10;

/// A server below so much of a core does not warm up in a way that could be seen.
const CPU_FLOOR_US_PER_S: f64 = 10_000.0;

/// Medians below this are the network's and the scheduler's.
const P50_FLOOR_US: f64 = 100.0;

/// How warm-up is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteadyPlan {
    /// The least span of an observation: a cycle of what repeats, in whole seconds.
    pub period_s: u32,
    /// Something is published: cost is per delivery, pace the median latency. Else cost is per
    /// second, and pace the answers of a second.
    pub published: bool,
}

impl SteadyPlan {
    /// The shortest warm-up in which a steady state can be found.
    pub fn shortest_ns(&self) -> u64 {
        REST_MIN as u64 * u64::from(self.period_s) * 1_000_000_000
    }
}

/// One second of warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WarmSecond {
    /// CPU of the server's process tree, µs; absent where it is not known.
    pub cpu_us: Option<f64>,
    /// Deliveries, or answers where nothing is published.
    pub received: u64,
    /// Median latency of the deliveries, µs.
    pub p50_us: Option<f64>,
}

/// A steady state that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadyState {
    /// Whole seconds of warm-up before it.
    pub from_s: u32,
    /// Observations that it rests on.
    pub observations: usize,
}

/// The steady state that these seconds end in; `None` while there is none.
pub fn steady_state(plan: &SteadyPlan, seconds: &[WarmSecond]) -> Option<SteadyState> {
    let cycles = cycles(plan, seconds);
    let of = |value: fn(&Cycle) -> Option<f64>| cycles.iter().map(value).collect::<Option<Vec<f64>>>();
    let series = [of(|c| c.cost), of(|c| c.pace)];
    let mut latest = None;
    // A series that is not measured says nothing; one that moves says no.
    for values in series.into_iter().flatten() {
        latest = latest.max(Some(steady_from(&values)?));
    }
    let at = latest?;
    Some(SteadyState { from_s: cycles[at].from_s, observations: cycles.len() - at })
}

/// How many first values are not yet steady; `None` where the last ones are not either.
pub fn steady_from(values: &[f64]) -> Option<usize> {
    let n = values.len();
    // The few last values can lie together by chance: they are never the whole rest.
    let last = n.checked_sub(REST_MIN)?.min(n / 2);
    let error = |d: usize| squares(&values[d..]) / ((n - d) * (n - d)) as f64;
    let mut best = 0;
    for d in 1..=last {
        if error(d) < error(best) {
            best = d;
        }
    }
    is_level(&values[best..]).then_some(best)
}

/// Whether both halves lie at the same level.
fn is_level(values: &[f64]) -> bool {
    let (early, late) = values.split_at(values.len() / 2);
    let apart = (mean(early) - mean(late)).abs();
    let share = (1.0 / early.len() as f64 + 1.0 / late.len() as f64).sqrt();
    apart <= (LEVEL * mean(values).abs()).max(2.0 * noise(values) * share)
}

/// The standard deviation of what is neither level nor trend, from the median deviation of steps
/// between neighbours: a single jump, or a steady fall, must not pass for noise.
fn noise(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median(&mut steps);
    steps.iter_mut().for_each(|step| *step = (*step - usual).abs());
    // A normal variable lies within 0.6745 standard deviations half of the time, and a step has
    // twice the variance of a value.
    median(&mut steps) / (0.6745 * std::f64::consts::SQRT_2)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum()
}

/// One observation.
struct Cycle {
    from_s: u32,
    cost: Option<f64>,
    pace: Option<f64>,
}

/// Seconds put together to cycles: each lasts a period at least and, where something is
/// published, heard some of it.
fn cycles(plan: &SteadyPlan, seconds: &[WarmSecond]) -> Vec<Cycle> {
    let mut cycles = Vec::new();
    let mut from = 0;
    for to in 1..=seconds.len() {
        let part = &seconds[from..to];
        let received: u64 = part.iter().map(|s| s.received).sum();
        if part.len() < plan.period_s as usize || (plan.published && received == 0) {
            continue;
        }
        let span_s = part.len() as f64;
        let cpu_us = part.iter().map(|s| s.cpu_us).sum::<Option<f64>>();
        let cpu_us = cpu_us.map(|us| us.max(CPU_FLOOR_US_PER_S * span_s));
        cycles.push(match plan.published {
            true => Cycle {
                from_s: from as u32,
                cost: cpu_us.map(|us| us / received as f64),
                pace: median_of(part, received).map(|us| us.max(P50_FLOOR_US)),
            },
            false => Cycle {
                from_s: from as u32,
                cost: cpu_us.map(|us| us / span_s),
                pace: Some(received as f64 / span_s),
            },
        });
        from = to;
    }
    cycles
}

/// The medians of some seconds, weighed by their deliveries.
fn median_of(part: &[WarmSecond], received: u64) -> Option<f64> {
    let heard = part.iter().filter_map(|s| Some(s.p50_us? * s.received as f64));
    (received > 0).then(|| heard.sum::<f64>() / received as f64)
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
