//! Truth tests of times at small scale: reported times against known values, and drawn runs. Each test has
//! the machine's cores to itself.

mod families;

use std::sync::{Mutex, MutexGuard, PoisonError};

use families::holds;
use pushmark_model::poller::Poller;

/// Number of drawn runs for every change and in long tests, about seven seconds each.
const DRAWN_RUNS: [u64; 2] = [5, 20];

static CORES: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_long() -> bool {
    std::env::var_os("PUSHMARK_TEST_LONG").is_some()
}

/// Every change is checked with these families, by one poller each, alternating. `PUSHMARK_TEST_LONG`
/// (`cargo xtask test --all`) adds the `long` ones and both pollers. Each takes up to a minute and a half.
fn quick(name: &str) {
    let at = NAMES.iter().position(|other| *other == name).expect("a name of this list");
    let mut pollers = vec![Poller::Epoll, Poller::IoUring];
    if !is_long() {
        pollers.remove(at % 2);
    }
    let _alone = alone();
    pollers.into_iter().for_each(|poller| holds(name, poller));
}

fn long(name: &str) {
    let _alone = alone();
    match is_long() {
        true => [Poller::Epoll, Poller::IoUring].into_iter().for_each(|poller| holds(name, poller)),
        false => println!("SKIPPED {name}: PUSHMARK_TEST_LONG=1 checks it"),
    }
}

macro_rules! families {
    ($($length:ident: $test:ident = $name:literal,)*) => {
        $(#[test]
        fn $test() {
            $length($name);
        })*

        const NAMES: &[&str] = &[$($name),*];
    };
}

families! {
    quick: fixed_delays_come_back = "delay",
    quick: two_delays_keep_their_shares = "bimodal",
    quick: a_freeze_makes_late_all_that_was_due = "freeze",
    long: refused_and_unanswered_connections_are_told_apart = "refusal",
    quick: a_long_poll_misses_what_falls_between_two_requests = "long-poll",
    quick: shards_make_no_difference = "shards",
    long: more_than_is_taken_shows = "overload",
    long: polls_find_news_of_the_expected_age = "polling",
    long: a_disturbed_generator_says_so = "disturbed",
    quick: stamps_tell_the_servers_delay_to_a_starved_generator = "starved",
}

/// Drawn runs beside drawn noise: whatever this machine does, no wrong figure counts as valid. How often
/// right figures are doubted is counted on a quiet machine, by `pushmark selftest --random`.
#[test]
fn drawn_runs_are_right_or_doubted() {
    let _alone = alone();
    let mut bench = families::bench();
    for seed in 1..=DRAWN_RUNS[usize::from(is_long())] {
        let outcome = bench.random(seed).unwrap();
        let wrong: Vec<String> = outcome.wrong().collect();
        assert!(wrong.is_empty(), "seed {seed}, {}: {}", outcome.what, wrong.join("; "));
    }
}

#[test]
fn every_family_is_here() {
    families::are_all(NAMES, false);
}
