//! A family of the self-test as a test at small scale. `pushmark selftest --full` runs the same families at
//! full scale.

use std::path::Path;

use pushmark_model::poller::Poller;
use pushmark_run::run::Signals;
use pushmark_truth::{Bench, FAMILIES, Scale, State};

/// The bench of a test: this build, small scale.
pub(crate) fn bench() -> Bench {
    let program = Path::new(env!("CARGO_BIN_EXE_pushmark"));
    Bench::new(program, Scale::Small, Signals::default()).unwrap()
}

/// Asserts that each check of the family passes.
pub(crate) fn holds(name: &str, poller: Poller) {
    let family = FAMILIES.iter().find(|family| family.name == name).expect("a family of that name");
    let checks = bench().by(poller).check(family).unwrap();
    assert!(!checks.is_empty());
    let mut wrong = Vec::new();
    for check in &checks {
        let line = format!(
            "{:?} {}: expected {}, got {}, tolerance {}, repeated {}",
            check.state, check.name, check.expected, check.got, check.tolerance, check.repeats
        );
        println!("{line}");
        if check.state != State::Passed {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that the list has all families that check counts only, or all others.
pub(crate) fn are_all(names: &[&str], counts_only: bool) {
    let of = FAMILIES.iter().filter(|family| family.counts_only == counts_only);
    assert_eq!(of.map(|family| family.name).collect::<Vec<_>>(), names);
}
