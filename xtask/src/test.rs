//! `cargo xtask test`: every test, none skipped.

mod again;
mod programs;

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use programs::Ended;

use crate::{arguments, shell, tools};

/// Random runs of `--all`: some forty minutes.
const RANDOM_RUNS: &str = "500";

/// Tools first, then everything: unit tests, tests over real sockets, fuzz corpora, conformance
/// from outside, doc tests. The engine is optimised as in a release, because timing is tested. Every
/// step of `ci` uses that profile, so dependencies are compiled once.
///
/// Of the reference servers, one of each family is checked and every one that has changed. `--all`
/// adds the long ones: every reference server (`servers/checked.toml` is rewritten), a million
/// histories of the accounts, every hostile server over every transport and poller, ten storms of a
/// whole crowd with their memory, every family of the truth tests by both pollers, and the random runs
/// of the self-test.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &["--install", "--all"])?;
    tools::ready(arguments::has(given, "--install") || shell::says_yes("CI"))?;
    let all = arguments::has(given, "--all");
    let mut environment = vec![("PUSHMARK_TEST_ALL", "1")];
    if all {
        environment.extend([("PUSHMARK_TEST_SERVERS", "all"), ("PUSHMARK_TEST_LONG", "1")]);
    }
    let programs = programs::build()?;
    let started = Instant::now();
    let ended = programs::run(&programs, &environment)?;
    let took = started.elapsed();
    again::judge(&ended, &environment)?;
    shell::run(shell::cargo(&["test", shell::PROFILE, "--workspace", "--doc"]))?;
    longest(ended, took);
    if !all {
        return Ok(());
    }
    // Not beside the tests: their doubts are counted on a host that does nothing else.
    let random = ["run", "--release", "--", "selftest", "--quiet", "--random", RANDOM_RUNS];
    shell::run(shell::cargo(&random))
}

/// Prints how long the longest programs took: where a faster run of the tests begins.
fn longest(mut ended: Vec<Ended>, all: Duration) {
    ended.sort_by_key(|one| Reverse(one.took));
    println!("== {} test programs in {} s; the longest:", ended.len(), all.as_secs());
    for one in ended.iter().take(12) {
        println!("{:<32} {:>6.1} s", one.program.name, one.took.as_secs_f64());
    }
}
