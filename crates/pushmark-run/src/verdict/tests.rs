//! Each bound just below and just above; the text of each doubt.

use pushmark_model::run::{Connections, Delivery, Generator, Latency, Phase, Published, Server, Wire};
use pushmark_model::transport::Transport;

use super::*;

pub(super) fn latency(p99_us: i64) -> Latency {
    let p = |share: i64| Some(p99_us * share / 100);
    Latency { count: 1_000, p50_us: p(50), p90_us: p(90), p99_us: p(100), ..Latency::default() }
}

pub(super) fn arm() -> Arm {
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
        documents: None,
        agents: Vec::new(),
        monitor: None,
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
        foreign: None,
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
pub(super) fn raised(change: impl FnOnce(&mut Arm, &mut Facts)) -> Vec<(String, VerdictState)> {
    let (mut arm, mut facts) = (arm(), Facts::default());
    change(&mut arm, &mut facts);
    judge(&arm, &facts).into_iter().map(|r| (r.code, r.state)).collect()
}

/// `set` sets a figure. It must raise no doubt below `suspect`, and cross each bound at its value.
fn check(code: &str, suspect: f64, invalid: f64, step: f64, set: impl Fn(&mut Arm, &mut Facts, f64)) {
    let at = |value: f64| raised(|arm, facts| set(arm, facts, value));
    let of = |state| vec![(code.to_string(), state)];
    assert_eq!(at(suspect - step), [], "{code} just under suspect");
    assert_eq!(at(suspect + step), of(VerdictState::Suspect), "{code} just over suspect");
    assert_eq!(at(invalid - step), of(VerdictState::Suspect), "{code} just under invalid");
    assert_eq!(at(invalid + step), of(VerdictState::Invalid), "{code} just over invalid");
}

pub(super) fn delivery(arm: &mut Arm) -> &mut Delivery {
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
fn accounts_that_do_not_add_up_are_invalid_and_what_was_forgotten_is_suspect() {
    let of = |state| vec![("accounts".to_string(), state)];
    assert_eq!(raised(|arm, _| delivery(arm).imbalance = 1), of(VerdictState::Invalid));
    assert_eq!(raised(|arm, _| delivery(arm).forgotten = 1), of(VerdictState::Suspect));
    assert_eq!(raised(|arm, _| delivery(arm).beyond_window = 100), []);
    assert_eq!(raised(|arm, _| delivery(arm).beyond_window = 101), of(VerdictState::Suspect));
}

#[test]
fn silence_is_no_subscription() {
    let of = |state| vec![("assumed_silent".to_string(), state)];
    assert_eq!(raised(|arm, _| arm.connections.assumed_silent = 1), of(VerdictState::Suspect));
    assert_eq!(raised(|arm, _| arm.connections.assumed_silent = 999), of(VerdictState::Suspect));
    assert_eq!(raised(|arm, _| arm.connections.assumed_silent = 1_000), of(VerdictState::Invalid));
}

#[test]
fn a_busy_generator_core() {
    check("generator_busy", 0.80, 0.95, 0.001, |arm, _, share| arm.generator.busiest_core = share);
}

#[test]
fn a_generator_that_waits_for_a_core() {
    check("run_queue_wait", 0.05, 0.20, 0.001, |_, facts, share| facts.worst_shard_wait = Some(share));
    // Without the worst shard's figure the mean of the shards is used.
    check("run_queue_wait", 0.05, 0.20, 0.001, |arm, _, share| {
        arm.generator.run_queue_wait_us = (share * 2.0 * 10_000_000.0) as u64;
    });
}

#[test]
fn read_lag_against_the_latency_beside_it() {
    check("read_lag", 1_000.0, 5_000.0, 1.0, |arm, _, us| delivery(arm).read_lag = latency(us as i64));
}

#[test]
fn each_percentile_shown_is_judged_by_itself() {
    // The server causes the p99; the generator's batching causes the median.
    let lag = |p50: i64, p90: i64, p99: i64, p999: Option<i64>| {
        let (mut arm, facts) = (arm(), Facts::default());
        delivery(&mut arm).latency = Latency {
            count: 10_000,
            p50_us: Some(10_060),
            p90_us: Some(19_700),
            p99_us: Some(715_000),
            p999_us: Some(720_000),
            ..Latency::default()
        };
        delivery(&mut arm).read_lag =
            Latency { p50_us: Some(p50), p90_us: Some(p90), p99_us: Some(p99), p999_us: p999, ..latency(0) };
        of_run(judge(&arm, &facts))
    };
    let of = |verdict: &Verdict, metric: &str| verdict.of_metric(Transport::LongPoll, metric);
    let ours = lag(7_270, 13_000, 39_000, None);
    assert_eq!(of(&ours, "delivery.p50"), VerdictState::Invalid);
    assert_eq!(of(&ours, "delivery.p90"), VerdictState::Invalid);
    assert_eq!(of(&ours, "delivery.p99"), VerdictState::Valid);
    assert_eq!(of(&ours, "delivery.of_intended"), VerdictState::Valid);
    let some = lag(1_100, 1_000, 39_000, Some(100_000));
    let found: Vec<VerdictState> =
        ["p50", "p90", "p99", "p999"].map(|p| of(&some, &format!("delivery.{p}"))).to_vec();
    assert_eq!(
        found,
        [VerdictState::Suspect, VerdictState::Valid, VerdictState::Valid, VerdictState::Suspect]
    );
    let wake_up = lag(99, 100, 0, None);
    assert_eq!(wake_up.state, VerdictState::Valid, "a wake-up is no doubt");
}

#[test]
fn loss_does_not_switch_a_lag_off() {
    // 1 in 40 lost: the p99 of all is at the deadline. The arrived deliveries have a p99.
    let doubts = |publishing: bool| {
        raised(|arm, _| {
            let latency = &mut delivery(arm).latency;
            (latency.p99_us, latency.p99_at_least_us) = (None, Some(2_000_000));
            latency.delivered_only = Some(Box::new(self::latency(107_800)));
            let lag = Latency { p50_us: Some(40), p90_us: Some(90), ..self::latency(98_600) };
            match publishing {
                true => published(arm).lag = lag,
                false => delivery(arm).read_lag = lag,
            }
        })
    };
    assert_eq!(doubts(true), [("publisher_lag".to_string(), VerdictState::Invalid)]);
    assert_eq!(doubts(false), [("read_lag".to_string(), VerdictState::Invalid)]);
}

#[test]
fn what_the_target_refused_is_an_outcome_and_no_doubt() {
    // 100 of 1,000 publications refused, 100 subscribers each: 10,000 of 100,000 deliveries.
    let of = |failed: u64, excused: u64| {
        let (mut arm, facts) = (arm(), Facts::default());
        delivery(&mut arm).excused = excused;
        let published = published(&mut arm);
        (published.due, published.sent, published.failed) = (1_000, 1_000, failed);
        let codes: Vec<String> = judge(&arm, &facts).into_iter().map(|r| r.code).collect();
        (outcome(&arm, &facts), codes.join(" "))
    };
    assert_eq!(of(100, 10_000), (Outcome::Degraded, String::new()));
    assert_eq!(of(100, 10_050), (Outcome::Degraded, String::new()), "50 are 0.05 %");
    assert_eq!(of(100, 15_001), (Outcome::Degraded, "excused".to_owned()));
    assert_eq!(of(0, 10_000), (Outcome::Held, "excused".to_owned()));
}

#[test]
fn advice_fits_the_cause() {
    let tries = |change: fn(&mut Arm, &mut Facts)| {
        let (mut arm, mut facts) = (arm(), Facts::default());
        change(&mut arm, &mut facts);
        judge(&arm, &facts).into_iter().map(|r| r.try_).collect::<Vec<_>>().join("; ")
    };
    let noise = tries(|arm, _| delivery(arm).read_lag = latency(3_000));
    assert!(noise.contains("stop other programs") && !noise.contains("--set"), "{noise}");
    let own = tries(|arm, _| {
        arm.generator.busiest_core = 0.7;
        delivery(arm).read_lag = latency(3_000);
    });
    assert!(own.starts_with("--set load.connections=500"), "{own}");
    let batch = tries(|arm, facts| {
        facts.batch_us = Some(15_000);
        delivery(arm).read_lag = latency(3_000);
    });
    assert!(batch.starts_with("a shorter --batch") && batch.ends_with("15.0 ms"), "{batch}");
    let one = tries(|arm, _| {
        arm.connections.asked = 1;
        arm.generator.busiest_core = 0.9;
    });
    assert_eq!(one, "a lower rate, or more cores", "one client cannot be halved");
    // 50 channels at 2/s each: the rate in the advice is that of one channel.
    let rate = tries(|arm, facts| {
        facts.rate_per_channel = Some(2.0);
        published(arm).achieved_per_s = 90.0;
    });
    assert_eq!(rate, "--set publisher.rate=1.71/s");
    let settle = tries(|arm, facts| {
        facts.settle_s = 20.0;
        delivery(arm).excused = 1_000;
    });
    assert!(settle.contains("load.settle=40s"), "{settle}");
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
fn a_wake_up_is_no_lag() {
    let lags = |p50_us: i64, others_us: i64| {
        raised(|arm, _| {
            delivery(arm).latency = latency(301);
            let lag = Latency { p50_us: Some(p50_us), ..latency(others_us) };
            delivery(arm).read_lag = lag.clone();
            published(arm).lag = lag;
        })
    };
    assert_eq!(lags(100, 300), []);
    assert_eq!(lags(101, 300).len(), 2);
    assert_eq!(lags(100, 301).len(), 2);
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
fn one_is_enough_of_these() {
    use VerdictState::{Incomplete, Invalid, Suspect};
    let one = |change: fn(&mut Arm, &mut Facts)| raised(change).pop();
    let is = |code: &str, state| Some((code.to_string(), state));
    assert_eq!(one(|arm, _| arm.wire.listen_overflows = Some(0)), None);
    assert_eq!(one(|arm, _| arm.wire.listen_overflows = Some(1)), is("listen_overflows", Suspect));
    let known = |arm: &mut Arm, _: &mut Facts| {
        (arm.wire.listen_overflows, arm.wire.listener_drops) = (Some(9), Some(9));
    };
    assert_eq!(one(known), None, "the target's own doing");
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
    facts.rate_per_channel = Some(100.0);
    let text: String = judge(&arm, &facts)
        .iter()
        .map(|r| format!("{}\n  seen  {}\n  why   {}\n  try   {}\n", r.state.name(), r.seen, r.why, r.try_))
        .collect();
    insta::assert_snapshot!(text, @r"
    invalid
      seen  7 sockets could not be opened: no file descriptor was free (invalid from 1)
      why   this machine limited the crowd, not the server
      try   pushmark doctor says how to raise the limit
    incomplete
      seen  stopped by a signal after 3.2 s of measure
      why   the figures were measured, but totals and tail latencies are those of a shorter run
      try   run it again to the end
    suspect
      seen  generator core 84 % busy in long-poll (suspect from 80 %)
      why   pushmark, not the server, may have caused the slowest deliveries
      try   --set load.connections=800, a lower rate, or more cores
    suspect
      seen  published 98 of 100/s planned in long-poll (suspect from 99 %)
      why   the load was lower than planned: the figures are not those of this scenario
      try   --set publisher.rate=93/s
    suspect
      seen  150 of 100,000 deliveries excused in long-poll (suspect from 0.1 %)
      why   pushmark does not know whether these should have arrived: some may be lost
      try   a longer settle (--set load.settle=5s), or a target that acknowledges subscriptions
    suspect
      seen  read lag p99 3.30 ms is 33 % of the delivery p99 10.0 ms in long-poll; 33 % of p90; 33 % of p50 (suspect from 10 %)
      why   the latency shown includes this delay: messages had arrived, and pushmark had not read them yet
      try   --set load.connections=500, a lower rate, or more cores
    suspect
      seen  the wall clock was changed by −2.5 ms during the run
      why   times of day before and after do not match; other latencies use a clock that is never set
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
    // Ten seconds of measure; clients received something due in each of the first `heard` seconds.
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
    assert_eq!(of(5, 500, 100, false), Outcome::Degraded, "pushmark was to publish");
}

#[test]
fn an_emitter_that_is_behind_at_the_end_is_alive() {
    // Measure is from 3 s to 13 s; nothing of the last two seconds was received. What was due earlier came late.
    let of = |last_second: u32| {
        let mut arm = arm();
        delivery(&mut arm).unpublished = 200;
        delivery(&mut arm).heat.columns = vec![vec![1]; 8];
        let published = published(&mut arm);
        (published.due, published.sent, published.emitter) = (10, 8, true);
        arm.phases = vec![Phase { name: "measure".into(), start_us: 3_000_000, end_us: 13_000_000 }];
        let heard = ReceivedTotals { last_second: Some(last_second), ..ReceivedTotals::default() };
        outcome(&arm, &Facts { heard: Some(heard), ..Facts::default() })
    };
    assert_eq!([11, 12, 14].map(of), [Outcome::Died, Outcome::Degraded, Outcome::Degraded]);
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
    assert_eq!(of(false, 120), (Outcome::Held, silent("achieved_rate publisher_lag")));
}

#[test]
fn a_target_that_was_away_is_an_outcome_and_no_doubt() {
    // Of 1,000 publications 120 were sent, and `unreachable` had no connection to the target; 10 seconds.
    let of = |unreachable: u64, heard: usize, lost: u64| {
        let (mut arm, facts) = (arm(), Facts::default());
        (arm.transport, arm.connections.lost) = (Transport::Sse, lost);
        delivery(&mut arm).unpublished = 880;
        delivery(&mut arm).heat.columns = vec![vec![1]; heard];
        let published = published(&mut arm);
        (published.due, published.sent, published.unreachable) = (1_000, 120, unreachable);
        published.achieved_per_s = 12.0;
        arm.phases = vec![Phase { name: "measure".into(), start_us: 3_000_000, end_us: 13_000_000 }];
        let codes: Vec<String> = judge(&arm, &facts).into_iter().map(|r| r.code).collect();
        (outcome(&arm, &facts), codes.join(" "))
    };
    assert_eq!(of(880, 10, 1), (Outcome::Degraded, String::new()));
    assert_eq!(of(880, 3, 1), (Outcome::Died, String::new()));
    assert_eq!(of(880, 3, 0), (Outcome::Degraded, String::new()), "a feed is refused, and all are connected");
    assert_eq!(of(800, 10, 1), (Outcome::Degraded, "achieved_rate".to_owned()), "80 are ours");
}

#[test]
fn a_peer_that_waits_for_the_targets_answers_is_backpressure_and_no_doubt() {
    let of = |own: Option<Latency>, backpressured: u64| {
        let codes = raised(|arm, _| {
            let published = published(arm);
            (published.due, published.backpressured) = (1_000, backpressured);
            (published.asked_per_s, published.achieved_per_s) = (100.0, 60.0);
            (published.lag, published.own_lag) = (latency(9_000), own);
        });
        codes.into_iter().map(|(code, _)| code).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(Some(latency(100)), 400), "", "the target took its time");
    assert_eq!(of(Some(latency(9_000)), 400), "publisher_lag", "it had answered, and pushmark was late");
    assert_eq!(of(Some(latency(100)), 300), "achieved_rate", "a tenth of the rate is ours");
    assert_eq!(of(None, 400), "publisher_lag");
}

#[test]
fn a_doubt_is_about_figures_and_leaves_the_others_alone() {
    let verdict = |change: fn(&mut Arm, &mut Facts)| {
        let (mut arm, mut facts) = (arm(), Facts::default());
        change(&mut arm, &mut facts);
        of_run(judge(&arm, &facts))
    };
    let of = |verdict: &Verdict, metric: &str| verdict.of_metric(Transport::LongPoll, metric);
    let lag = verdict(|arm, _| delivery(arm).read_lag = latency(9_000));
    assert_eq!(of(&lag, "delivery.p99"), VerdictState::Invalid);
    assert_eq!(of(&lag, "delivery.missing"), VerdictState::Valid);
    assert_eq!(of(&lag, "server.cpu_us_per_delivery"), VerdictState::Valid);
    let overflow = verdict(|arm, _| arm.wire.listen_overflows = Some(3));
    assert_eq!(of(&overflow, "connect.p99"), VerdictState::Suspect);
    assert_eq!(of(&overflow, "delivery.p99"), VerdictState::Valid);
    let excused = verdict(|arm, _| delivery(arm).excused = 9_000);
    assert_eq!(of(&excused, "delivery.missing"), VerdictState::Invalid);
    let stopped = verdict(|_, facts| facts.interrupted_after_s = Some(1.0));
    assert_eq!(of(&stopped, "delivery.missing"), VerdictState::Incomplete);
}

#[test]
fn what_a_bound_concerns_are_families() {
    for bound in BOUNDS {
        assert!(!bound.concerns.is_empty(), "{}", bound.code);
        assert!(bound.concerns.iter().all(|name| family::is_family(name)), "{}", bound.code);
    }
}
