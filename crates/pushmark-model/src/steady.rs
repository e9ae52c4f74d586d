//! Detects when a server has warmed up: the change point between the seconds of its start and those that
//! follow. Pure.
//!
//! The rule is MSER (K. P. White Jr., *An effective truncation heuristic for bias reduction in simulation
//! output*, Simulation 69(6), 1997; with batches as in White, Cobb and Spratt, *A comparison of five
//! steady-state truncation heuristics for simulation*, WSC 2000): drop the first d observations, with the d
//! for which the standard error of the mean of the rest is smallest, Σ(x − mean)² ÷ (n − d)². At most half of
//! the observations are dropped. An observation here is one second, or one cycle of publications if a cycle
//! is longer: the batch.
//!
//! While observations still arrive, MSER alone accepts too early: it accepts a series that still falls, or
//! one with a slow drift. So the rest must have at least [`REST_MIN`] observations, and its two halves must not
//! differ by more than `LEVEL` of their mean, unless noise alone explains the difference (two standard
//! errors).

use serde::{Deserialize, Serialize};

/// Fewest observations of a steady state: the batch size of MSER-5.
pub const REST_MIN: usize = 5;

/// Largest difference between the halves of a steady state, relative to its mean. A compiler's gain is a
/// multiple; differences between seconds of a steady server are mostly smaller.
const LEVEL: f64 = 0.10;

/// Below this share of a core, a server does not warm up measurably.
const CPU_FLOOR_US_PER_S: f64 = 10_000.0;

/// Medians below this are those of the network and the scheduler.
const P50_FLOOR_US: f64 = 100.0;

/// How warm-up is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteadyPlan {
    /// Shortest length of an observation: a cycle of publications, in whole seconds.
    pub period_s: u32,
    /// Whether something is published. If so, cost is per delivery and pace is the median latency. Otherwise
    /// cost is per second and pace is the answers of a second.
    pub published: bool,
}

impl SteadyPlan {
    /// Returns the shortest warm-up in which a steady state can be found.
    pub fn shortest_ns(&self) -> u64 {
        REST_MIN as u64 * u64::from(self.period_s) * 1_000_000_000
    }
}

/// One second of warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WarmSecond {
    /// CPU time of the server's process tree, µs; absent if not known.
    pub cpu_us: Option<f64>,
    /// Deliveries, or answers if nothing is published.
    pub received: u64,
    /// Median latency of the deliveries, µs.
    pub p50_us: Option<f64>,
}

/// A detected steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadyState {
    /// Whole seconds of warm-up before it.
    pub from_s: u32,
    /// Observations in it.
    pub observations: usize,
}

/// Returns the steady state that lasts to the end of these seconds, or `None` if the server has not settled.
pub fn steady_state(plan: &SteadyPlan, seconds: &[WarmSecond]) -> Option<SteadyState> {
    let cycles = cycles(plan, seconds);
    let of = |value: fn(&Cycle) -> Option<f64>| cycles.iter().map(value).collect::<Option<Vec<f64>>>();
    let series = [of(|c| c.cost), of(|c| c.pace)];
    let mut latest = None;
    // A series that was not measured is ignored; one that is not steady decides against a steady state.
    for values in series.into_iter().flatten() {
        latest = latest.max(Some(steady_from(&values)?));
    }
    let at = latest?;
    Some(SteadyState { from_s: cycles[at].from_s, observations: cycles.len() - at })
}

/// Returns how many first values are not yet steady; `None` if the last values are not steady either.
pub fn steady_from(values: &[f64]) -> Option<usize> {
    let n = values.len();
    // A few last values can be close together by chance, so they are never the whole rest.
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

/// Whether both halves are at the same level.
fn is_level(values: &[f64]) -> bool {
    let (early, late) = values.split_at(values.len() / 2);
    let apart = (mean(early) - mean(late)).abs();
    let share = (1.0 / early.len() as f64 + 1.0 / late.len() as f64).sqrt();
    apart <= (LEVEL * mean(values).abs()).max(2.0 * noise(values) * share)
}

/// Returns the standard deviation of what is neither level nor trend, from the median deviation of steps
/// between neighbours: a single jump or a steady fall must not count as noise.
fn noise(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median(&mut steps);
    steps.iter_mut().for_each(|step| *step = (*step - usual).abs());
    // A normal variable is within 0.6745 standard deviations half of the time, and a step has twice the
    // variance of a value.
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

/// Joins seconds to cycles. Each cycle lasts at least a period and, if something is published, has at least
/// one delivery.
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

/// Returns the medians of some seconds, weighted by their deliveries.
fn median_of(part: &[WarmSecond], received: u64) -> Option<f64> {
    let heard = part.iter().filter_map(|s| Some(s.p50_us? * s.received as f64));
    (received > 0).then(|| heard.sum::<f64>() / received as f64)
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
