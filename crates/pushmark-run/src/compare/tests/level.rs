//! The test level holds on hosts that drift, as real ones do: starts that wander, that jump to another level
//! now and then, and a few outliers. With interleaved starts a false difference is claimed in at most 5 of
//! 100 pairs; with one side after the other far more often.

use super::drift::{in_turn, one_after_the_other};
use super::*;

/// Pairs a host.
const PAIRS: u64 = 400;

/// Shares by which a start differs from the one before it.
struct Host {
    name: &'static str,
    /// A random walk: deviation of a step, as a logarithm.
    walk: f64,
    /// The probability of a jump at a start, and its deviation.
    jump: (f64, f64),
    /// Independent noise of a start; every tenth is ten times as large.
    noise: f64,
}

const HOSTS: [Host; 4] = [
    Host { name: "quiet", walk: 0.0, jump: (0.0, 0.0), noise: 0.02 },
    Host { name: "wandering", walk: 0.03, jump: (0.0, 0.0), noise: 0.01 },
    Host { name: "jumping", walk: 0.0, jump: (0.15, 0.15), noise: 0.02 },
    Host { name: "loud", walk: 0.02, jump: (0.1, 0.2), noise: 0.03 },
];

impl Host {
    /// The p99 (µs) of starts made one right after the other.
    fn starts(&self, draw: &mut Draw, count: usize) -> Vec<f64> {
        let mut level: f64 = 0.0;
        (0..count)
            .map(|_| {
                level += self.walk * normal(draw);
                if draw.unit() < self.jump.0 {
                    level += self.jump.1 * normal(draw);
                }
                let tail = if draw.unit() < 0.1 { 10.0 } else { 1.0 };
                40_000.0 * (level + self.noise * tail * normal(draw)).exp()
            })
            .collect()
    }

    /// The share of pairs in which the deciding metric claims a difference.
    fn claims(&self, seed: u64, n: usize, made: fn(&[f64]) -> (Set, Set)) -> f64 {
        let claimed = (0..PAIRS).filter(|pair| {
            let mut draw = Draw::new(seed, Purpose::Check, *pair);
            let (a, b) = made(&self.starts(&mut draw, 2 * n));
            primary(&compare(&a, &b, None, &[])).finding.is_difference()
        });
        claimed.count() as f64 / PAIRS as f64
    }
}

/// 5 of 100, plus three standard deviations for this number of pairs.
const LEVEL: f64 = 0.05 + 3.0 * 0.0109;

#[test]
fn in_turn_nothing_is_claimed_more_often_than_stated() {
    let seed = 20_261_123;
    println!("seed {seed}");
    for host in &HOSTS {
        for n in [6, 8] {
            let share = host.claims(seed, n, in_turn);
            println!("{}, {n} starts, in turn: {share}", host.name);
            assert!(share <= LEVEL, "{}, {n} starts: {share}", host.name);
        }
    }
}

#[test]
fn one_after_the_other_a_drift_is_claimed_as_a_difference() {
    let seed = 20_261_124;
    println!("seed {seed}");
    for host in &HOSTS {
        let share = host.claims(seed, 6, one_after_the_other);
        println!("{}, 6 starts, one after the other: {share}", host.name);
        match host.name {
            "quiet" => assert!(share <= LEVEL, "{}: {share}", host.name),
            _ => assert!(share > 2.0 * 0.05, "{}: {share}", host.name),
        }
    }
}

#[test]
fn in_turn_a_difference_of_a_quarter_is_found_on_a_host_that_wanders() {
    let shifted = |values: &[f64]| {
        let turn = ["a", "b", "b", "a"];
        let by = |(i, v): (usize, &f64)| if turn[i % 4] == "b" { v * 1.25 } else { *v };
        in_turn(&values.iter().enumerate().map(by).collect::<Vec<_>>())
    };
    let share = HOSTS[1].claims(20_261_125, 8, shifted);
    assert!(share > 0.9, "{share}");
}
