//! Truth tests, small: what is reported against what is known. `pushmark selftest --full` has
//! the same at full scale.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use pushmark::run::Signals;
use pushmark::truth::{Bench, FAMILIES, Scale, State};
use pushmark_model::poller::Poller;

/// Whose checks are of times has the machine's cores for itself.
static CORES: RwLock<()> = RwLock::new(());

fn holds(name: &str, poller: Poller) {
    let family = FAMILIES.iter().find(|family| family.name == name).expect("a family of that name");
    let (_shared, _alone) = match family.counts_only {
        true => (Some(CORES.read().unwrap_or_else(PoisonError::into_inner)), None),
        false => (None, Some(CORES.write().unwrap_or_else(PoisonError::into_inner))),
    };
    let program = Path::new(env!("CARGO_BIN_EXE_pushmark"));
    let mut bench = Bench::new(program, Scale::Small, Signals::default()).unwrap().by(poller);
    let checks = bench.check(family).unwrap();
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

macro_rules! by_both {
    ($($test:ident = $name:literal,)*) => {
        mod by_epoll {
            $(#[test]
            fn $test() {
                crate::holds($name, crate::Poller::Epoll);
            })*
        }

        mod by_io_uring {
            $(#[test]
            fn $test() {
                crate::holds($name, crate::Poller::IoUring);
            })*
        }

        pub(super) const NAMES: &[&str] = &[$($name),*];
    };
}

/// Tests come in the order of their names: those that may share the machine beside each other.
mod counts {
    by_both! {
        lost_doubled_and_swapped_deliveries_are_counted = "counts",
        what_is_not_what_was_published_is_counted = "corrupt",
        half_a_crowd_is_reset = "reset",
        emitters_fall_silent = "silence",
        stamps_made_by_hand_are_seen_for_what_they_are = "values",
        polls_repair_what_a_push_lost_and_halves_add_up = "pull",
    }
}

mod times {
    by_both! {
        fixed_delays_come_back = "delay",
        two_delays_keep_their_shares = "bimodal",
        a_freeze_makes_late_all_that_was_due = "freeze",
        refused_and_unanswered_connections_are_told_apart = "refusal",
        a_long_poll_misses_what_falls_between_two_requests = "long-poll",
        shards_make_no_difference = "shards",
        more_than_is_taken_shows = "overload",
        polls_find_news_of_the_expected_age = "polling",
        a_disturbed_generator_says_so = "disturbed",
        stamps_tell_the_servers_delay_to_a_starved_generator = "starved",
    }
}

/// A family without a test would be checked by nobody.
#[test]
fn every_family_is_here() {
    for (counts_only, here) in [(true, counts::NAMES), (false, times::NAMES)] {
        let of = FAMILIES.iter().filter(|family| family.counts_only == counts_only);
        assert_eq!(of.map(|family| family.name).collect::<Vec<_>>(), here);
    }
}
