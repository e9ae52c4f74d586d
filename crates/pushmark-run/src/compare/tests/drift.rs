//! A host that drifts: sets made one after the other show a false difference, interleaved starts do not.

use pushmark_model::calibration::{Calibration, NoiseFloor, SCHEMA};
use pushmark_model::compare::{Design, SideName, Test};
use pushmark_model::run::Sitting;

use super::*;

/// The order of a sitting in blocks of A B B A.
const TURN: [SideName; 4] = [SideName::A, SideName::B, SideName::B, SideName::A];

fn with_p99(mut run: Run, p99_us: f64) -> Run {
    let delivery = run.arms[0].delivery.as_mut().unwrap();
    delivery.latency.p99_us = Some(p99_us.round() as i64);
    run
}

/// These p99 (µs) in the order they were measured, in turn.
pub(super) fn in_turn(values: &[f64]) -> (Set, Set) {
    let mut draw = Draw::new(4, Purpose::Check, 0);
    let runs = values.iter().enumerate().map(|(i, value)| {
        let mut run = with_p99(start(&mut draw, 0.0, 1.0), *value);
        let side = TURN[i % 4];
        run.sitting = Some(Sitting { id: "one".into(), side, block: i as u32 / 4 + 1 });
        run
    });
    let (a, b): (Vec<Run>, Vec<Run>) =
        runs.partition(|run| run.sitting.as_ref().unwrap().side == SideName::A);
    (Set::new("a", a).unwrap(), Set::new("b", b).unwrap())
}

/// The same, the first half as A and the second as B.
pub(super) fn one_after_the_other(values: &[f64]) -> (Set, Set) {
    let mut draw = Draw::new(4, Purpose::Check, 0);
    let mut runs: Vec<Run> = values
        .iter()
        .enumerate()
        .map(|(i, value)| {
            let mut run = with_p99(start(&mut draw, 0.0, 1.0), *value);
            run.started_at = format!("2026-11-21T20:{:02}:12Z", i + 1);
            run
        })
        .collect();
    let b = runs.split_off(values.len() / 2);
    (Set::new("a", runs).unwrap(), Set::new("b", b).unwrap())
}

#[test]
fn a_drift_is_no_difference_in_turn_and_is_one_after_the_other() {
    let drift: Vec<f64> = (0..16).map(|i| 400_000.0 + 4_000.0 * f64::from(i)).collect();
    let (a, b) = one_after_the_other(&drift);
    let found = compare(&a, &b, None, &[]);
    assert_eq!((primary(&found).finding, found.design), (Finding::Worse, Some(Design::Apart)));
    let text = in_one_line(&render(&found, &PLAIN));
    assert!(text.contains("one set was made after the other") && text.contains("pushmark ab"), "{text}");
    let (a, b) = in_turn(&drift);
    let found = compare(&a, &b, None, &[]);
    assert_eq!(found.design, Some(Design::Interleaved));
    assert_eq!(primary(&found).test, Test::BlockedPermutation);
    assert!(!primary(&found).finding.is_difference(), "{:?}", primary(&found));
    let text = in_one_line(&render(&found, &PLAIN));
    assert!(!text.contains("one set was made") && text.contains("by permutation within blocks"), "{text}");
}

#[test]
fn a_difference_beside_a_drift_is_seen_in_turn() {
    // Every start of B is 10 % slower, on a host that slows to twice over the sitting.
    let values: Vec<f64> = (0..16)
        .map(|i| {
            let of_b = if TURN[i % 4] == SideName::B { 1.1 } else { 1.0 };
            400_000.0 * of_b * (1.0 + i as f64 / 16.0) * (1.0 + 0.004 * (i * 7 % 5) as f64)
        })
        .collect();
    let (a, b) = in_turn(&values);
    let found = compare(&a, &b, None, &[FailIf::parse("delivery.p99 worse 2%").unwrap()]);
    let effect = primary(&found);
    assert_eq!(effect.finding, Finding::Worse, "{effect:?}");
    let (low, high) = effect.ratio.unwrap().interval.unwrap();
    assert!((1.02..1.1).contains(&low) && (1.1..1.2).contains(&high), "{low} {high}");
    assert_eq!(found.gates[0].outcome, Passed::Fail);
}

#[test]
fn a_start_that_is_not_believed_leaves_its_block_to_the_others() {
    let values: Vec<f64> = (0..20).map(|i| 400_000.0 + f64::from(i * 37 % 11) * 900.0).collect();
    let (mut a, b) = in_turn(&values);
    let mut starts = a.arms.values_mut().flat_map(|arms| &mut arms.starts);
    doubted(starts.next().unwrap(), VerdictState::Invalid, &[]);
    // Both starts of the second block: its B has nothing to be compared with.
    let [one, two] = [starts.nth(1).unwrap(), starts.next().unwrap()];
    assert_eq!(one.sitting.as_ref().unwrap().block, 2);
    for start in [one, two] {
        doubted(start, VerdictState::Invalid, &[]);
    }
    let found = compare(&a, &b, None, &[]);
    assert_eq!((found.pairs[0].n_a, found.pairs[0].n_b), (7, 8));
}

#[test]
fn less_than_is_worth_a_word_is_alike() {
    let shifted = |share: f64| {
        let noise = [0.0, 40.0, -40.0, 20.0, -20.0];
        let all = |at: f64| noise.map(|by| (at + by) as i64);
        of_p99(&all(400_000.0), &all(400_000.0 * (1.0 + share)))
    };
    let of = |share| {
        let (a, b) = shifted(share);
        compare(&a, &b, None, &[])
    };
    assert_eq!(primary(&of(0.02)).finding, Finding::Worse);
    let found = of(0.007);
    assert!(primary(&found).p.unwrap() < 0.001, "it is seen all the same");
    assert_eq!(primary(&found).finding, Finding::Alike);
    let text = in_one_line(&render(&found, &PLAIN));
    assert!(text.contains("alike: less than 1.0 % does not matter"), "{text}");
    assert_eq!(primary(&of(0.0)).finding, Finding::Alike, "all that the interval allows is less");
    // If the generator cannot resolve such a small difference, its resolution is the bound.
    let (mut a, b) = shifted(0.02);
    for run in &mut a.runs {
        run.calibration = Some(calibrated(9_000));
    }
    let found = compare(&Set::new("a", a.runs).unwrap(), &b, None, &[]);
    assert_eq!(primary(&found).finding, Finding::Alike);
    let text = in_one_line(&render(&found, &PLAIN));
    assert!(text.contains("alike: less than 9.00 ms does not matter"), "{text}");
}

fn calibrated(read_lag_p99_us: i64) -> Calibration {
    Calibration {
        schema: SCHEMA.into(),
        at: String::new(),
        pushmark_version: String::new(),
        cpu: String::new(),
        cpus: 2,
        kernel: String::new(),
        ceilings: Vec::new(),
        connections: 1_000,
        floor: NoiseFloor { read_lag_p99_us: Some(read_lag_p99_us), ..NoiseFloor::default() },
    }
}
