//! The search against servers with a known limit: steady, noisy, with a hole, and with a machine or a
//! generator whose limit is lower.

use proptest::prelude::*;

use super::*;
use crate::draw::{Draw, Purpose};

const LIMITS: Limits = Limits { least: 1, start: 100, most: 100_000, precision: 0.05, runs: 3, probes: 200 };

/// A search and all its probes.
fn search(limits: Limits, mut server: impl FnMut(Probe) -> Answer) -> (Found, Vec<(Probe, Answer)>) {
    let mut search = Search::new(limits);
    let mut log = Vec::new();
    while let Some(probe) = search.next() {
        let answer = server(probe);
        search.take(probe, answer);
        log.push((probe, answer));
        assert!(log.len() < 1_000, "{log:?}");
    }
    (search.found(false), log)
}

fn up_to(limit: u64) -> impl FnMut(Probe) -> Answer {
    move |probe| if probe.at <= limit { Answer::Held } else { Answer::Failed }
}

fn shown(log: &[(Probe, Answer)]) -> String {
    let one = |(probe, answer): &(Probe, Answer)| {
        let why = format!("{:?}", probe.why).to_lowercase();
        format!("{why} {} {}", probe.at, format!("{answer:?}").to_lowercase())
    };
    log.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn double_bisect_repeat_confirm() {
    let (found, log) = search(Limits { precision: 0.1, ..LIMITS }, up_to(730));
    insta::assert_snapshot!(shown(&log), @"
    start 100 held
    double 200 held
    double 400 held
    double 800 failed
    bisect 600 held
    bisect 700 held
    bisect 750 failed
    repeat 700 held
    repeat 700 held
    repeat 750 failed
    repeat 750 failed
    confirm 700 held
    ");
    assert_eq!(found.held, Some(Side { at: 700, held: 4, failed: 0 }));
    assert_eq!(found.not, Some(Side { at: 750, held: 0, failed: 3 }));
    assert_eq!((found.ended, found.confirmed), (Ended::Bracketed, true));
}

#[test]
fn a_start_too_high_is_halved() {
    let (found, log) = search(LIMITS, up_to(9));
    assert_eq!(shown(&log[..4]), "start 100 failed\nhalve 50 failed\nhalve 25 failed\nhalve 12 failed");
    assert_eq!((found.held.unwrap().at, found.not.unwrap().at), (9, 10));
}

#[test]
fn where_the_lowest_fails_that_is_the_answer() {
    let (found, log) = search(Limits { least: 50, ..LIMITS }, up_to(9));
    assert_eq!((found.ended, found.held), (Ended::LowestFails, None));
    assert_eq!(found.not, Some(Side { at: 50, held: 0, failed: 3 }));
    assert_eq!(log.len(), 4);
}

#[test]
fn the_highest_asked_for_is_confirmed_like_any_other() {
    let (found, log) = search(Limits { most: 150, ..LIMITS }, up_to(1_000));
    assert_eq!(
        shown(&log),
        "start 100 held\ndouble 150 held\nrepeat 150 held\nrepeat 150 held\nconfirm 150 held"
    );
    assert_eq!((found.ended, found.not, found.confirmed), (Ended::Most, None, true));
}

#[test]
fn the_machine_ends_the_search_without_blame() {
    let (found, _) = search(LIMITS, |probe| if probe.at > 1_234 { Answer::Refused } else { Answer::Held });
    assert_eq!((found.ended, found.confirmed), (Ended::Machine, true));
    let held = found.held.unwrap().at;
    assert!((1_172..=1_234).contains(&held), "{held}");
    let (found, log) = search(LIMITS, |_| Answer::Refused);
    assert_eq!((found.ended, found.held), (Ended::Machine, None));
    assert_eq!(log.len(), 7, "halved down to 1, nothing repeated");
}

#[test]
fn a_probe_that_nobody_believes_is_made_once_more() {
    let (found, log) = search(LIMITS, |probe| match probe.at {
        ..=500 => Answer::Held,
        _ => Answer::Unbelieved,
    });
    assert_eq!(found.ended, Ended::Generator);
    let unbelieved: Vec<u64> =
        log.iter().filter(|(_, a)| *a == Answer::Unbelieved).map(|(p, _)| p.at).collect();
    assert!(unbelieved.chunks(2).all(|twice| twice.len() == 2 && twice[0] == twice[1]), "{unbelieved:?}");
    // A single untrusted probe is chance, and the next answer resets it.
    let mut first = true;
    let (found, _) = search(LIMITS, |probe| match probe.at {
        200 if std::mem::take(&mut first) => Answer::Unbelieved,
        ..=500 => Answer::Held,
        _ => Answer::Failed,
    });
    assert_eq!(found.ended, Ended::Bracketed);
}

#[test]
fn what_holds_only_for_a_while_is_not_held() {
    let (found, _) = search(LIMITS, |probe| match probe.why {
        Why::Confirm if probe.at > 300 => Answer::Failed,
        _ if probe.at <= 700 => Answer::Held,
        _ => Answer::Failed,
    });
    let (held, not) = (found.held.unwrap(), found.not.unwrap());
    assert!(held.at <= 300 && not.at > 300 && found.confirmed, "{found:?}");
    assert!(!found.inversions.is_empty(), "700 held in the shorter window");
}

#[test]
fn probes_run_out() {
    let (found, log) = search(Limits { probes: 5, ..LIMITS }, up_to(730));
    assert_eq!((found.ended, log.len(), found.confirmed), (Ended::Probes, 5, false));
    assert_eq!((found.held.unwrap().at, found.not.unwrap().at), (600, 800));
}

proptest! {
    #[test]
    fn a_known_limit_is_bracketed(
        limit in 0u64..200_000, start in 1u64..100_000, least in 1u64..1_000, share in 0.0f64..0.3,
    ) {
        let limits = Limits { least, start, precision: share, ..LIMITS };
        let (found, log) = search(limits, up_to(limit));
        let (held, not) = (found.held.map(|s| s.at), found.not.map(|s| s.at));
        prop_assert!(held.is_none_or(|at| at <= limit) && not.is_none_or(|at| at > limit));
        match found.ended {
            Ended::LowestFails => prop_assert!(limit < least),
            Ended::Most => prop_assert!(limit >= limits.most && held == Some(limits.most)),
            Ended::Bracketed => {
                let (held, not) = (held.unwrap(), not.unwrap());
                prop_assert!(not - held <= ((held as f64 * share) as u64).max(1));
                prop_assert_eq!((found.held.unwrap().held, found.not.unwrap().failed), (4, 3));
            }
            other => prop_assert!(false, "{:?}", other),
        }
        prop_assert!(found.confirmed || held.is_none());
        prop_assert!(found.inversions.is_empty());
        // Doubling and bisecting 2^17 loads, five repeats, one confirmation.
        prop_assert!(log.len() <= 17 + 17 + 6, "{}", log.len());
    }

    #[test]
    fn noise_never_makes_the_answer_too_good(limit in 50u64..50_000, seed: u64, width in 0.01f64..0.3) {
        let mut draw = Draw::new(seed, Purpose::Check, 0);
        // Held with a probability that falls from 1 to 0 over some width around the limit.
        let (found, log) = search(LIMITS, |probe| {
            let over = (probe.at as f64 / limit as f64).ln() / width;
            if draw.unit() < 1.0 / (1.0 + (4.0 * over).exp()) { Answer::Held } else { Answer::Failed }
        });
        prop_assert!(matches!(found.ended, Ended::Bracketed | Ended::LowestFails), "{:?}", found);
        if let Some(held) = found.held {
            prop_assert!(held.failed == 0 && held.held >= 4 && found.confirmed);
            let all: Vec<Answer> = log.iter().filter(|(p, _)| p.at == held.at).map(|(_, a)| *a).collect();
            prop_assert!(all.iter().all(|answer| *answer == Answer::Held));
        }
        for Inversion { failed, held } in &found.inversions {
            let saw = |at: u64, answer| log.iter().any(|(p, a)| p.at == at && *a == answer);
            prop_assert!(failed < held && saw(*failed, Answer::Failed) && saw(*held, Answer::Held));
        }
    }

    #[test]
    fn a_hole_is_never_inside_the_answer(low in 20u64..400, wide in 1u64..400, top in 1_000u64..9_000) {
        let hole = low..low + wide;
        let server = |probe: Probe| match probe.at {
            at if hole.contains(&at) || at > top => Answer::Failed,
            _ => Answer::Held,
        };
        let (found, log) = search(LIMITS, server);
        let held = found.held.map(|s| s.at);
        prop_assert!(held.is_none_or(|at| !hole.contains(&at) && at <= top));
        let inverted = log.iter().any(|(p, a)| {
            *a == Answer::Failed && log.iter().any(|(q, b)| q.at > p.at && *b == Answer::Held)
        });
        prop_assert_eq!(inverted, !found.inversions.is_empty());
    }
}
