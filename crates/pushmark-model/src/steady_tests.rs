//! Steady states of synthetic series: steps, decay, drift, noise, and too little.

use super::*;
use crate::draw::{Draw, Purpose};

/// Returns values of a shape with noise around each, drawn from a seed.
fn noisy(n: usize, noise: f64, seed: u64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut draw = Draw::new(seed, Purpose::Arrivals, 0);
    let mut around = || (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0;
    (0..n).map(|i| shape(i as f64) * (1.0 + noise * around())).collect()
}

/// Returns the first length at which a steady state is detected, tested after each value as in a run.
fn seen(values: &[f64]) -> Option<(usize, usize)> {
    (1..=values.len()).find_map(|n| Some((n, steady_from(&values[..n])?)))
}

#[test]
fn nothing_before_a_step_is_kept() {
    for (at, high) in [(3, 400.0), (6, 200.0), (12, 900.0)] {
        for seed in 0..50 {
            let values = noisy(40, 0.03, seed, |i| if (i as usize) < at { high } else { 100.0 });
            let from = steady_from(&values).expect("steady behind the step");
            assert!((at..=20).contains(&from), "a step at {at} is seen at {from}, seed {seed}");
        }
    }
}

#[test]
fn a_compiler_that_warms_up_is_waited_for() {
    // Starts at five times the cost; each second a third of the excess disappears.
    for seed in 0..50 {
        let values = noisy(60, 0.03, seed, |i| 100.0 + 400.0 * (-i / 3.0).exp());
        let (n, from) = seen(&values).expect("it settles");
        // Measure begins after the detection.
        let left = |at: usize| 4.0 * (-(at as f64) / 3.0).exp();
        assert!(left(n) < 0.10 && left(from) < 0.5, "seed {seed}: {from} of {n} left out");
        assert!(n < 40, "seed {seed}: {n} s");
    }
}

#[test]
fn a_drift_is_no_steady_state() {
    for seed in 0..50 {
        let values = noisy(60, 0.02, seed, |i| 100.0 * (1.0 + 0.10 * i));
        assert_eq!(steady_from(&values), None, "seed {seed}");
        assert_eq!(steady_from(&noisy(60, 0.02, seed, |i| 1_000.0 - 15.0 * i)), None, "seed {seed}");
    }
}

#[test]
fn noise_alone_is_steady_at_once() {
    let mut late = 0;
    for seed in 0..200 {
        let (n, _) = seen(&noisy(60, 0.20, seed, |_| 100.0)).expect("nothing moves");
        late += usize::from(n > 12);
    }
    assert!(late < 20, "{late} of 200 took more than 12 observations");
}

#[test]
fn a_server_that_never_changes_is_steady_after_the_fewest() {
    assert_eq!(seen(&[7.0; 20]), Some((REST_MIN, 0)));
    assert_eq!(steady_from(&[0.0; 9]), Some(0));
}

#[test]
fn too_little_says_nothing() {
    assert_eq!(steady_from(&[]), None);
    assert_eq!(steady_from(&[3.0, 3.0]), None);
    assert_eq!(steady_state(&EVERY_SECOND, &[second(5_000.0, 10, 1.0); 2]), None);
}

const EVERY_SECOND: SteadyPlan = SteadyPlan { period_s: 1, published: true };

fn second(cpu_us: f64, received: u64, p50_us: f64) -> WarmSecond {
    WarmSecond { cpu_us: Some(cpu_us), received, p50_us: Some(p50_us) }
}

#[test]
fn both_series_must_be_steady() {
    // CPU per delivery is steady from 3 on, the median only from 6 on.
    let of = |i: u32| {
        let cpu_us = if i < 3 { 900_000.0 } else { 200_000.0 };
        second(cpu_us, 1_000, if i < 6 { 20_000.0 } else { 900.0 })
    };
    let seconds: Vec<WarmSecond> = (0..14).map(of).collect();
    let found = steady_state(&EVERY_SECOND, &seconds).unwrap();
    assert_eq!((found.from_s, found.observations), (6, 8));
    assert_eq!(steady_state(&EVERY_SECOND, &seconds[..9]), None, "the median has just fallen");
}

#[test]
fn a_cycle_of_ten_seconds_is_one_observation() {
    let plan = SteadyPlan { period_s: 10, published: true };
    // One publication every ten seconds, received within one of them.
    let of = |i: u32| {
        let early = if i < 10 { 4.0 } else { 1.0 };
        WarmSecond {
            cpu_us: Some(if i % 10 == 4 { 300_000.0 * early } else { 1_000.0 }),
            received: if i % 10 == 4 { 2_000 } else { 0 },
            p50_us: (i % 10 == 4).then_some(40_000.0 * early),
        }
    };
    let seconds: Vec<WarmSecond> = (0..70).map(of).collect();
    assert_eq!(steady_state(&plan, &seconds[..50]), None, "five cycles, and the first is not as the rest");
    let found = steady_state(&plan, &seconds[..60]).unwrap();
    assert_eq!((found.from_s, found.observations), (10, 5));
    assert_eq!(plan.shortest_ns(), 50_000_000_000);
}

#[test]
fn without_publications_it_is_cpu_and_answers_a_second() {
    let plan = SteadyPlan { period_s: 1, published: false };
    let of = |cpu_us, received| WarmSecond { cpu_us: Some(cpu_us), received, p50_us: None };
    let mut seconds = vec![of(500_000.0, 90), of(400_000.0, 95), of(300_000.0, 100)];
    seconds.extend([of(120_000.0, 100); 6]);
    assert_eq!(steady_state(&plan, &seconds).map(|s| s.from_s), Some(3));
    // Constant series: an idle server is steady.
    assert_eq!(steady_state(&plan, &[of(40.0, 0); 5]).map(|s| s.from_s), Some(0));
    // If a target's process is not known, only its answers count.
    let unknown = [WarmSecond { cpu_us: None, received: 100, p50_us: None }; 5];
    assert_eq!(steady_state(&plan, &unknown).map(|s| s.from_s), Some(0));
}
