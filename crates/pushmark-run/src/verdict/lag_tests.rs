//! Which read lag is judged: kernel stamps, or the bound from wake-ups.

use pushmark_model::run::{Latency, VerdictState};

use super::tests::{arm, delivery, latency, raised};
use super::{Facts, judge};

#[test]
fn kernel_stamps_speak_before_the_bound() {
    let stamped = |count, unused| {
        raised(|arm, _| {
            delivery(arm).read_lag = latency(9_000);
            delivery(arm).read_lag_stamped = Some(Latency { count, ..latency(10) });
            delivery(arm).stamps_unused = unused;
        })
    };
    let invalid = [("read_lag".to_string(), VerdictState::Invalid)];
    assert_eq!(stamped(20_000, 5), []);
    assert_eq!(stamped(0, 0), invalid);
    assert_eq!(stamped(20_000, 210), invalid, "the longest waits have no stamp");
    assert_eq!(stamped(999, 0), invalid, "too few stamps for a p99");
}

#[test]
fn stamps_of_a_whole_small_crowd_are_no_sample() {
    let state = |stamps, lag_us, bound_us| {
        raised(|arm, _| {
            (delivery(arm).delivered, delivery(arm).late) = (590, 10);
            delivery(arm).read_lag = latency(bound_us);
            delivery(arm).read_lag_stamped = Some(Latency { count: stamps, ..latency(lag_us) });
        })
    };
    let invalid = [("read_lag".to_string(), VerdictState::Invalid)];
    assert_eq!(state(600, 9_000, 10), invalid, "what no wake-up shows");
    assert_eq!((state(600, 10, 9_000), state(594, 10, 9_000)), (vec![], vec![]));
    assert_eq!(state(593, 10, 9_000), invalid, "a sample, and too small for a p99");
}

#[test]
fn stamps_of_connections_that_are_read_apart_do_not_excuse_the_others() {
    let state = |stamped_us, bound_us| {
        raised(|arm, facts| {
            facts.stamps_read_apart = true;
            delivery(arm).read_lag = latency(bound_us);
            delivery(arm).read_lag_stamped = Some(Latency { count: 20_000, ..latency(stamped_us) });
        })
    };
    let invalid = [("read_lag".to_string(), VerdictState::Invalid)];
    assert_eq!(state(10, 9_000), invalid);
    assert_eq!(state(9_000, 10), invalid);
    assert_eq!(state(10, 10), []);
}

#[test]
fn with_few_publications_p90_is_compared() {
    let p90 = |us: i64| {
        raised(|arm, _| {
            delivery(arm).latency.p99_us = None;
            delivery(arm).read_lag = Latency { p90_us: Some(us), p99_us: Some(1_000_000), ..latency(0) };
        })
    };
    assert_eq!(p90(899), []);
    assert_eq!(p90(901), [("read_lag".to_string(), VerdictState::Suspect)]);
}

#[test]
fn the_bound_between_two_clocks() {
    use VerdictState::{Invalid, Suspect};
    let at = |us: u64| {
        let (arm, facts) = (arm(), Facts { clock_bound_ns: Some(us * 1_000), ..Facts::default() });
        judge(&arm, &facts)
    };
    let states = |us: u64| -> Vec<VerdictState> { at(us).iter().map(|reason| reason.state).collect() };
    // p50 is 5 ms, p90 9 ms, p99 10 ms.
    assert_eq!((states(499), states(501), states(2_499)), (vec![], vec![Suspect], vec![Suspect]));
    assert_eq!((states(2_501), states(5_001)), (vec![Invalid, Suspect], vec![Invalid]));
    let concerns = |us: u64| at(us)[0].concerns.clone();
    assert!(concerns(501).contains(&"latency.p50".to_owned()), "{:?}", concerns(501));
    assert!(concerns(501).iter().all(|metric| metric.ends_with(".p50")), "{:?}", concerns(501));
    assert!(concerns(1_001).iter().any(|metric| metric.ends_with(".p99")), "{:?}", concerns(1_001));
}
