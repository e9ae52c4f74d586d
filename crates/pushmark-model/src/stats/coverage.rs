//! The statistics checked on thousands of simulated starts: intervals contain the truth in 95 of 100 cases;
//! tests find a difference that does not exist in 5, and one that exists as often as they should.

use super::*;
use crate::draw::{Draw, Purpose};

/// Normal, mean 0, deviation 1 (Box and Muller, 1958).
pub(crate) fn normal(draw: &mut Draw) -> f64 {
    let radius = (2.0 * draw.exponential()).sqrt();
    radius * (std::f64::consts::TAU * draw.unit()).cos()
}

fn sets<const N: usize>(tries: u64, make: impl Fn(&mut Draw) -> f64) -> impl Iterator<Item = Vec<[f64; N]>> {
    (0..tries).map(move |i| {
        let mut draw = Draw::new(20_261_122, Purpose::Check, i);
        (0..2).map(|_| std::array::from_fn(|_| make(&mut draw))).collect()
    })
}

/// Returns a binomial share plus and minus four of its standard deviations.
fn bounds(share: f64, tries: u64) -> std::ops::RangeInclusive<f64> {
    let by = 4.0 * (share * (1.0 - share) / tries as f64).sqrt();
    share - by..=share + by
}

fn check_coverage<const N: usize>(scale: Scale, truth: f64, make: impl Fn(&mut Draw) -> f64) {
    const TRIES: u64 = 4_000;
    let held = sets::<N>(TRIES, make)
        .filter(|set| {
            let Spread::Interval(low, high) = Summary::of(&set[0], scale).unwrap().spread else { panic!() };
            (low..=high).contains(&truth)
        })
        .count();
    let share = held as f64 / TRIES as f64;
    assert!(bounds(0.95, TRIES).contains(&share), "{scale:?}, n = {N}: {share}");
}

#[test]
fn the_interval_holds_the_truth_in_95_of_100() {
    check_coverage::<5>(Scale::Linear, 40.0, |draw| 40.0 + 3.0 * normal(draw));
    check_coverage::<10>(Scale::Linear, 40.0, |draw| 40.0 + 3.0 * normal(draw));
    // The median of a lognormal is its geometric mean.
    check_coverage::<5>(Scale::Log, 40.0, |draw| 40.0 * (0.3 * normal(draw)).exp());
    check_coverage::<20>(Scale::Log, 40.0, |draw| 40.0 * (0.3 * normal(draw)).exp());
}

/// Returns the share of tries in which a test finds a difference between sets that have none.
fn false_share<const N: usize>(
    tries: u64,
    make: impl Fn(&mut Draw) -> f64,
    p: fn(&[f64], &[f64]) -> f64,
) -> f64 {
    sets::<N>(tries, make).filter(|set| p(&set[0], &set[1]) < ALPHA).count() as f64 / tries as f64
}

#[test]
fn a_test_sees_what_is_not_there_in_5_of_100() {
    let welch = |a: &[f64], b: &[f64]| Welch::of(a, b, Scale::Log).unwrap().p;
    for share in [
        false_share::<5>(4_000, |draw| (0.1 * normal(draw)).exp(), welch),
        false_share::<10>(4_000, |draw| (0.5 * normal(draw)).exp(), welch),
    ] {
        assert!((0.03..=0.07).contains(&share), "{share}");
    }
    // Counts, most of them 0: with ties the exact test finds fewer differences, never more.
    let losses = |draw: &mut Draw| if draw.unit() < 0.4 { (draw.exponential() * 20.0).floor() } else { 0.0 };
    let share = false_share::<5>(4_000, losses, |a, b| permutation_p(a, b, 1));
    assert!(share <= 0.065, "{share}");
    let share = false_share::<10>(600, losses, |a, b| permutation_p(a, b, 1));
    assert!(share <= 0.09, "{share}");
}

#[test]
fn the_shift_said_to_be_detectable_is_found_in_80_of_100() {
    const TRIES: u64 = 4_000;
    let noise = 0.04;
    // The shift that is reported as detectable with ten starts of this noise.
    let (a, b): (Vec<f64>, Vec<f64>) =
        (0..10).map(|i| (f64::from(i % 2) * 2.0 - 1.0, f64::from(i % 2) * 2.0 - 1.0)).unzip();
    let unit = Welch::of(&a, &b, Scale::Linear).unwrap();
    let shift = detectable(&Welch { error: noise * (2.0f64 / 10.0).sqrt(), ..unit });
    let found = sets::<10>(TRIES, |draw| noise * normal(draw))
        .filter(|set| {
            let shifted = set[1].map(|v| v + shift);
            Welch::of(&set[0], &shifted, Scale::Linear).unwrap().p < ALPHA
        })
        .count();
    let share = found as f64 / TRIES as f64;
    // The sum of two quantiles approximates a noncentral t: within two in a hundred from n = 5 on.
    assert!((POWER - 0.03..=POWER + 0.03).contains(&share), "{share}");
}
