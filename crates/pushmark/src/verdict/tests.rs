//! Each bound just under and just over; the words of each doubt.

use pushmark_model::run::{Connections, Delivery, Generator, Latency, Phase, Published, Server, Wire};
use pushmark_model::transport::Transport;

use super::*;

fn latency(p99_us: i64) -> Latency {
    let p = |share: i64| Some(p99_us * share / 100);
    Latency { count: 1_000, p50_us: p(50), p90_us: p(90), p99_us: p(100), ..Latency::default() }
}

fn arm() -> Arm {
    Arm {
        transport: Transport::LongPoll,
        target: "builtin".into(),
        nonce: "1".into(),
        outcome: Outcome::Held,
        verdict: VerdictState::Valid,
        error: None,
        observe: false,
        subscribed_by: "ready".into(),
        connections: Connections { asked: 1_000, opened: 1_000, ..Connections::default() },
        connect: None,
        delivery: Some(Delivery {
            intended: 100_000,
            expected: 100_000,
            delivered: 100_000,
            latency: latency(10_000),
            read_lag: latency(100),
            ..Delivery::default()
        }),
        observed: None,
        poll: None,
        hybrid: None,
        long_poll: None,
        bayeux: None,
        tls: None,
        published: Some(Published {
            lag: latency(100),
            asked_per_s: 100.0,
            achieved_per_s: 100.0,
            ..Published::default()
        }),
        server: Some(Server::default()),
        generator: Generator { window_us: 10_000_000, shards: 2, busiest_core: 0.3, ..Generator::default() },
        softirq_us: None,
        kernel_memory_bytes: None,
        wire: Wire::default(),
        phases: Vec::new(),
        server_says: None,
        ingest: None,
        last_words: None,
        browser: None,
        warmup: None,
        flood: None,
    }
}

/// The codes and states that a change of a valid arm raises.
fn raised(change: impl FnOnce(&mut Arm, &mut Facts)) -> Vec<(String, VerdictState)> {
    let (mut arm, mut facts) = (arm(), Facts::default());
    change(&mut arm, &mut facts);
    judge(&arm, &facts).into_iter().map(|r| (r.code, r.state)).collect()
}

/// `set` puts a figure; it must be fine under `suspect`, and cross each bound at its value.
fn check(code: &str, suspect: f64, invalid: f64, step: f64, set: impl Fn(&mut Arm, &mut Facts, f64)) {
    let at = |value: f64| raised(|arm, facts| set(arm, facts, value));
    let of = |state| vec![(code.to_string(), state)];
    assert_eq!(at(suspect - step), [], "{code} just under suspect");
    assert_eq!(at(suspect + step), of(VerdictState::Suspect), "{code} just over suspect");
    assert_eq!(at(invalid - step), of(VerdictState::Suspect), "{code} just under invalid");
    assert_eq!(at(invalid + step), of(VerdictState::Invalid), "{code} just over invalid");
}

fn delivery(arm: &mut Arm) -> &mut Delivery {
    arm.delivery.as_mut().expect("set above")
}

fn published(arm: &mut Arm) -> &mut Published {
    arm.published.as_mut().expect("set above")
}

#[test]
fn a_quiet_arm_is_valid() {
    assert_eq!(raised(|_, _| {}), []);
    assert_eq!(worst(&[]), VerdictState::Valid);
}

#[test]
fn a_busy_generator_core() {
    check("generator_busy", 0.80, 0.95, 0.001, |arm, _, share| arm.generator.busiest_core = share);
}

#[test]
fn a_generator_that_waits_for_a_core() {
    check("run_queue_wait", 0.05, 0.20, 0.001, |_, facts, share| facts.worst_shard_wait = Some(share));
    // Without the worst shard's figure the mean of the shards stands for it.
    check("run_queue_wait", 0.05, 0.20, 0.001, |arm, _, share| {
        arm.generator.run_queue_wait_us = (share * 2.0 * 10_000_000.0) as u64;
    });
}

#[test]
fn read_lag_against_the_latency_beside_it() {
    check("read_lag", 1_000.0, 5_000.0, 1.0, |arm, _, us| delivery(arm).read_lag = latency(us as i64));
}

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
    assert_eq!(stamped(500, 5), []);
    assert_eq!(stamped(0, 0), invalid);
    assert_eq!(stamped(500, 6), invalid, "those that lay longest have no stamp");
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
fn a_p99_among_the_missing_is_at_least_its_bound() {
    let doubts = raised(|arm, _| {
        delivery(arm).latency.p99_us = None;
        delivery(arm).latency.p99_at_least_us = Some(2_000_000);
        delivery(arm).read_lag = latency(1_500);
    });
    assert_eq!(doubts, []);
}

#[test]
fn nothing_measured_raises_no_doubt() {
    let doubts = raised(|arm, _| {
        delivery(arm).latency = Latency::default();
        delivery(arm).read_lag = Latency::default();
        published(arm).lag = Latency::default();
        published(arm).asked_per_s = 0.0;
        delivery(arm).intended = 0;
    });
    assert_eq!(doubts, []);
    assert_eq!(raised(|arm, _| (arm.delivery, arm.published) = (None, None)), []);
}

#[test]
fn a_lag_of_the_files_grain_is_no_lag() {
    let doubts = raised(|arm, _| {
        delivery(arm).latency = latency(4);
        delivery(arm).read_lag = latency(2);
        published(arm).lag = latency(0);
    });
    assert_eq!(doubts, []);
}

#[test]
fn publisher_lag_is_part_of_the_latency() {
    check("publisher_lag", 1_000.0, 5_000.0, 1.0, |arm, _, us| published(arm).lag = latency(us as i64));
}

#[test]
fn the_rate_that_was_asked() {
    check("achieved_rate", 0.01, 0.05, 0.001, |arm, _, short| {
        published(arm).achieved_per_s = 100.0 * (1.0 - short);
    });
}

#[test]
fn stolen_cpu() {
    check("steal", 0.02, 0.10, 0.001, |arm, _, share| arm.generator.steal = share);
}

#[test]
fn excused_deliveries() {
    check("excused", 100.0, 5_000.0, 1.0, |arm, _, n| delivery(arm).excused = n as u64);
}

#[test]
fn the_bound_between_two_clocks() {
    check("clock_bound", 500.0, 2_500.0, 1.0, |_, facts, us| {
        facts.clock_bound_ns = Some((us * 1_000.0) as u64);
    });
}

#[test]
fn one_is_enough_of_these() {
    use VerdictState::{Incomplete, Invalid, Suspect};
    let one = |change: fn(&mut Arm, &mut Facts)| raised(change).pop();
    let is = |code: &str, state| Some((code.to_string(), state));
    assert_eq!(one(|arm, _| arm.wire.listen_overflows = Some(0)), None);
    assert_eq!(one(|arm, _| arm.wire.listen_overflows = Some(1)), is("listen_overflows", Invalid));
    assert_eq!(one(|_, facts| facts.port_shortages = 1), is("ports", Invalid));
    assert_eq!(one(|_, facts| facts.descriptor_shortages = 1), is("descriptors", Invalid));
    assert_eq!(one(|_, facts| facts.interrupted_after_s = Some(3.2)), is("interrupted", Incomplete));
    assert_eq!(one(|_, facts| facts.broken_off = Some("x".into())), is("broken_off", Incomplete));
    assert_eq!(one(|_, facts| facts.clock_step_ns = Some(-2_000_000)), is("clock_step", Suspect));
    assert_eq!(one(|_, facts| facts.no_steady_state = true), is("no_steady_state", Suspect));
}

#[test]
fn the_worst_comes_first_and_is_the_verdict() {
    let (mut arm, facts) = (arm(), Facts { port_shortages: 2, ..Facts::default() });
    arm.generator.busiest_core = 0.84;
    let verdict = of_run(judge(&arm, &facts));
    let codes: Vec<&str> = verdict.reasons.iter().map(|r| r.code.as_str()).collect();
    assert_eq!((verdict.state, codes), (VerdictState::Invalid, vec!["ports", "generator_busy"]));
}

#[test]
fn the_words_of_a_doubt() {
    let (mut arm, mut facts) = (arm(), Facts { clock_step_ns: Some(-2_500_000), ..Facts::default() });
    arm.generator.busiest_core = 0.84;
    delivery(&mut arm).read_lag = latency(3_300);
    published(&mut arm).achieved_per_s = 98.0;
    delivery(&mut arm).excused = 150;
    facts.interrupted_after_s = Some(3.21);
    facts.descriptor_shortages = 7;
    let text: String = judge(&arm, &facts)
        .iter()
        .map(|r| format!("{}\n  seen  {}\n  why   {}\n  try   {}\n", r.state.name(), r.seen, r.why, r.try_))
        .collect();
    insta::assert_snapshot!(text, @r"
    invalid
      seen  7 sockets refused for want of a file descriptor (invalid from 1)
      why   this machine ended the crowd, not the server
      try   pushmark doctor says how to raise the limit
    incomplete
      seen  stopped by a signal after 3.2 s of measure
      why   what is here was measured; totals and tails are those of a shorter run
      try   run it again to the end
    suspect
      seen  generator core 84 % busy in long-poll (suspect from 80 %)
      why   its slowest deliveries may be ours, not the server's
      try   --set load.connections=800, or a machine with more cores
    suspect
      seen  read lag p99 3.30 ms is 33 % of the delivery p99 10.0 ms in long-poll (suspect from 10 %)
      why   so much of the latency shown is our own queueing, after the kernel had the message
      try   --set load.connections=500, or a lower rate
    suspect
      seen  published 98 of 100/s asked in long-poll (suspect from 99 %)
      why   the load was lighter than planned: the figures are those of another scenario
      try   --set publisher.rate=93/s
    suspect
      seen  150 of 100,000 deliveries excused in long-poll (suspect from 0.1 %)
      why   for these it cannot be known if a subscriber was to hear them: a loss may hide here
      try   a longer settle (--set load.settle=5s), or a target that acknowledges subscriptions
    suspect
      seen  the wall clock was set by −2.5 ms during the run
      why   times of day of before and after differ; latencies use a clock that is never set
      try   let the clock settle (chronyc waitsync), then run it again
    ");
}

#[test]
fn what_became_of_the_server() {
    let of = |change: fn(&mut Arm, &mut Facts)| {
        let (mut arm, mut facts) = (arm(), Facts::default());
        change(&mut arm, &mut facts);
        outcome(&arm, &facts)
    };
    assert_eq!(of(|_, _| {}), Outcome::Held);
    assert_eq!(of(|arm, _| delivery(arm).superseded = 5), Outcome::Held);
    assert_eq!(of(|arm, _| delivery(arm).missing = 1), Outcome::Degraded);
    assert_eq!(of(|arm, _| arm.connections.lost = 1), Outcome::Degraded);
    assert_eq!(of(|arm, _| arm.connections.opened = 999), Outcome::Degraded);
    assert_eq!(of(|arm, _| published(arm).failed = 1), Outcome::Degraded);
    assert_eq!(of(|_, facts| facts.server_ended = true), Outcome::Died);
    let lost_everything = |arm: &mut Arm, _: &mut Facts| {
        arm.connections.lost = 1_000;
        delivery(arm).delivered = 0;
    };
    assert_eq!(of(lost_everything), Outcome::Died);
}

#[test]
fn an_emitter_that_fell_silent_died() {
    // Ten seconds of measure; something due in each of the first `heard` was heard.
    let of = |heard: usize, unpublished: u64, due: u64, emitter: bool| {
        let mut arm = arm();
        delivery(&mut arm).unpublished = unpublished;
        delivery(&mut arm).heat.columns = vec![vec![1]; heard];
        let published = published(&mut arm);
        (published.due, published.sent, published.emitter) = (due, due, emitter);
        arm.phases = vec![Phase { name: "measure".into(), start_us: 3_000_000, end_us: 13_000_000 }];
        outcome(&arm, &Facts::default())
    };
    assert_eq!(of(5, 500, 100, true), Outcome::Died);
    assert_eq!(of(10, 500, 100, true), Outcome::Degraded, "skipped some");
    assert_eq!(of(5, 0, 100, true), Outcome::Held, "published to the end");
    assert_eq!(of(8, 1, 5, true), Outcome::Degraded, "one was due in that time, if any");
    assert_eq!(of(5, 500, 100, false), Outcome::Degraded, "it was ours to publish");
}

#[test]
fn an_emitter_that_falls_behind_is_the_servers_and_not_ours() {
    let of = |emitter: bool, sent: u64| {
        let (mut arm, facts) = (arm(), Facts::default());
        let published = published(&mut arm);
        (published.emitter, published.due, published.sent) = (emitter, 1_000, sent);
        published.achieved_per_s = sent as f64 / 10.0;
        published.lag = latency(9_000);
        let codes: Vec<String> = judge(&arm, &facts).into_iter().map(|r| r.code).collect();
        (outcome(&arm, &facts), codes.join(" "))
    };
    let silent = |text: &str| text.to_string();
    assert_eq!(of(true, 120), (Outcome::Degraded, silent("")));
    assert_eq!(of(true, 1_000), (Outcome::Held, silent("")));
    assert_eq!(of(false, 120), (Outcome::Held, silent("publisher_lag achieved_rate")));
}

#[test]
fn a_target_that_was_away_is_an_outcome_and_no_doubt() {
    // Of 1,000 publications 120 were sent, and so many found no target; 10 seconds.
    let of = |unreachable: u64, heard: usize| {
        let (mut arm, facts) = (arm(), Facts::default());
        delivery(&mut arm).unpublished = 880;
        delivery(&mut arm).heat.columns = vec![vec![1]; heard];
        let published = published(&mut arm);
        (published.due, published.sent, published.unreachable) = (1_000, 120, unreachable);
        published.achieved_per_s = 12.0;
        arm.phases = vec![Phase { name: "measure".into(), start_us: 3_000_000, end_us: 13_000_000 }];
        let codes: Vec<String> = judge(&arm, &facts).into_iter().map(|r| r.code).collect();
        (outcome(&arm, &facts), codes.join(" "))
    };
    assert_eq!(of(880, 10), (Outcome::Degraded, String::new()));
    assert_eq!(of(880, 3), (Outcome::Died, String::new()));
    assert_eq!(of(800, 10), (Outcome::Degraded, "achieved_rate".to_owned()), "80 are ours");
}
