//! Comparisons of invented starts: no difference is found without one, a planted shift is found, and the text
//! says what a reader may conclude.

use std::sync::LazyLock;

use pushmark_chart::terminal::Style;
use pushmark_model::compare::Passed;
use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::run::{AgeOfInformation, CaseRef, Connect, Delivery, Reason, Run, VerdictState};
use pushmark_model::transport::Transport;

use super::*;
use pushmark_console::exit::{Ending, Exit};
use pushmark_store::testing;

mod drift;
mod level;
mod loss;

const PLAIN: Style<'static> = Style { color: false, utf8: true, report_path: None };

fn normal(draw: &mut Draw) -> f64 {
    (2.0 * draw.exponential()).sqrt() * (std::f64::consts::TAU * draw.unit()).cos()
}

/// A start over SSE. Each of its figures is `shift` times that of the server it represents, plus or minus
/// `noise`.
fn start(draw: &mut Draw, noise: f64, shift: f64) -> Run {
    static PLAIN: LazyLock<Run> = LazyLock::new(|| {
        let mut run = testing::run("20261121T200412Z-fan-out-k3f9");
        run.arms.truncate(1);
        run
    });
    let mut run = PLAIN.clone();
    let mut vary = |value: f64| (value * shift * (noise * normal(draw)).exp()).round();
    let (p50, p99, age) = (vary(900_000.0), vary(4_000_000.0), vary(25_000.0));
    let (cpu, rss, bytes) = (vary(4e9), vary(5e7), vary(9e8));
    let (connect, slope) = (vary(3_000_000.0), vary(90_000.0));
    let lost = if draw.unit() < 0.3 { draw.below(200) } else { 0 };
    let arm = &mut run.arms[0];
    let delivery: &mut Delivery = arm.delivery.as_mut().unwrap();
    delivery.missing = lost;
    delivery.delivered = delivery.intended - lost;
    delivery.latency.p50_us = Some(p50 as i64);
    delivery.latency.p99_us = Some(p99 as i64);
    delivery.age_of_information = Some(AgeOfInformation { mean_us: age, ..AgeOfInformation::default() });
    arm.connect = Some(Connect { count: 10, p50_us: connect as u64, ..Connect::default() });
    let server = arm.server.as_mut().unwrap();
    server.cpu_us = cpu as u64;
    server.rss_bytes_peak = rss as u64;
    server.rss_bytes_per_connection = Some(slope);
    arm.wire.measure_bytes_in = bytes as u64;
    run
}

fn side(name: &str, n: usize, mut make: impl FnMut(usize) -> Run) -> Set {
    Set::new(name, (0..n).map(&mut make).collect()).unwrap()
}

fn pair(seed: u64, n: usize, noise: f64, shift: f64) -> (Set, Set) {
    let mut draw = Draw::new(seed, Purpose::Check, 0);
    let a = side("a", n, |_| start(&mut draw, noise, 1.0));
    let b = side("b", n, |_| start(&mut draw, noise, shift));
    (a, b)
}

/// Two sets with these p99 (µs), a start each.
fn of_p99(a: &[i64], b: &[i64]) -> (Set, Set) {
    let one = |name: &str, values: &[i64]| {
        side(name, values.len(), |i| {
            let mut run = start(&mut Draw::new(1, Purpose::Check, 0), 0.0, 1.0);
            run.arms[0].delivery.as_mut().unwrap().latency.p99_us = Some(values[i]);
            run
        })
    };
    (one("a", a), one("b", b))
}

/// A text in one line: sentences are wrapped to the terminal.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds a doubt to a start, about all of its figures or some.
fn doubted(start: &mut Start, state: VerdictState, concerns: &[&str]) {
    start.arm.verdict = state;
    start.verdict.reasons.push(Reason {
        code: "generator_busy".to_owned(),
        state,
        arm: Some(start.arm.transport),
        concerns: concerns.iter().map(ToString::to_string).collect(),
        seen: "generator core 97 % busy".to_owned(),
        why: String::new(),
        try_: String::new(),
    });
}

fn primary(found: &Comparison) -> &Effect {
    found.pairs[0].primary.as_ref().unwrap()
}

#[test]
fn two_thousand_pairs_without_a_difference_differ_in_2_to_7_of_100() {
    const PAIRS: u64 = 2_000;
    let (mut decided, mut any_other) = (0, 0);
    for seed in 0..PAIRS {
        let (a, b) = pair(seed, 5, 0.05, 1.0);
        let found = compare(&a, &b, None, &[]);
        assert_eq!(primary(&found).metric, "delivery.p99");
        let pair = &found.pairs[0];
        let deciding = pair.primary.iter().chain(pair.loss.iter());
        decided += u64::from(deciding.into_iter().any(|effect| effect.finding.is_difference()));
        any_other += u64::from(found.pairs[0].others.iter().any(|other| other.finding.is_difference()));
    }
    let share = |count: u64| count as f64 / PAIRS as f64;
    // Two metrics decide, and counts are tested below the nominal level: they have few permutations.
    assert!((0.02..=0.07).contains(&share(decided)), "{}", share(decided));
    assert!(share(any_other) <= 0.07, "one of all others: {}", share(any_other));
    assert!(share(any_other) > 0.01, "adjusted away: {}", share(any_other));
}

#[test]
fn a_shift_of_5_percent_is_found_by_ten_starts_of_2_percent_noise() {
    const PAIRS: u64 = 500;
    let found = (0..PAIRS).filter(|seed| {
        let (a, b) = pair(10_000 + seed, 10, 0.02, 1.05);
        let found = compare(&a, &b, None, &[]);
        primary(&found).finding == Finding::Worse
    });
    let share = found.count() as f64 / PAIRS as f64;
    assert!(share >= 0.95, "{share}");
}

#[test]
fn worse_and_better_follow_the_direction_of_the_metric() {
    let (a, b) = pair(3, 8, 0.01, 1.3);
    let throughput = Metric::find("delivery.of_intended").unwrap();
    let found = compare(&b, &a, None, &[]);
    assert_eq!(primary(&found).finding, Finding::Better, "less latency");
    let (mut few, all) = (a.clone(), b.clone());
    for (i, start) in few.arms.values_mut().flat_map(|arms| &mut arms.starts).enumerate() {
        start.arm.delivery.as_mut().unwrap().delivered = 500 + i as u64;
    }
    let found = compare(&all, &few, Some(&throughput), &[]);
    assert_eq!(primary(&found).finding, Finding::Worse, "{:?}", primary(&found));
    assert_eq!(primary(&found).test, pushmark_model::compare::Test::Permutation);
}

#[test]
fn what_could_have_been_seen_is_said() {
    let (a, b) = pair(5, 5, 0.02, 1.0);
    let found = compare(&a, &b, None, &[]);
    let effect = primary(&found);
    assert_eq!(effect.finding, Finding::NoDifference);
    let seen = effect.detectable.unwrap();
    assert!((0.02..0.08).contains(&seen), "{seen}");
    let text = render(&found, &PLAIN);
    assert!(text.contains("no difference found; a difference above"), "{text}");
}

#[test]
fn fewer_than_five_starts_are_shown_and_not_tested() {
    let (a, b) = of_p99(&[4_000], &[5_000]);
    let gate = FailIf::parse("delivery.p99 worse 5%").unwrap();
    let found = compare(&a, &b, None, std::slice::from_ref(&gate));
    assert_eq!(primary(&found).finding, Finding::NotTested);
    assert_eq!((primary(&found).p, primary(&found).ratio.unwrap().interval), (None, None));
    assert_eq!(found.gates[0].outcome, Passed::Inconclusive);
    let text = render(&found, &PLAIN);
    assert!(
        text.contains("delivery.p99  4.00 ms | 5.00 ms\n      B ÷ A 1.25: one start: the effect"),
        "{text}"
    );
    let (a, b) = of_p99(&[4_000, 4_100, 4_050], &[5_000, 5_100, 5_200]);
    let text = render(&compare(&a, &b, None, &[]), &PLAIN);
    assert!(text.contains("4.05 ms (4.00 to 4.10) | 5.10 ms (5.00 to 5.20)"), "{text}");
    assert!(text.contains("not tested: 3 starts give a range"), "{text}");
}

#[test]
fn worse_by_so_much_is_where_the_interval_begins() {
    let a = [4_000, 4_010, 3_990, 4_005, 3_995];
    let judge = |b: [i64; 5], text: &str| {
        let (a, b) = of_p99(&a, &b);
        compare(&a, &b, None, &[FailIf::parse(text).unwrap()]).gates.swap_remove(0)
    };
    let tenth = [4_400, 4_410, 4_390, 4_405, 4_395];
    assert_eq!(judge(tenth, "delivery.p99 worse 5%").outcome, Passed::Fail);
    assert_eq!(judge(tenth, "delivery.p99  worse  15%").outcome, Passed::Pass);
    assert_eq!(judge(tenth, "delivery.p99 worse 10%").outcome, Passed::Inconclusive);
    let faster = tenth.map(|v| v - 800);
    assert_eq!(judge(faster, "delivery.p99 worse 0%").outcome, Passed::Pass);
    let noisy = [3_000, 6_000, 4_000, 3_500, 5_000];
    assert_eq!(judge(noisy, "delivery.p99 worse 5%").outcome, Passed::Inconclusive);
}

#[test]
fn a_loss_where_there_was_none_fails_once_it_is_no_chance() {
    let gate = [FailIf::parse("delivery.missing worse 0%").unwrap()];
    let sets = |lost: [u64; 5]| {
        let (a, mut b) = of_p99(&[4_000; 5], &[4_000; 5]);
        let starts = b.arms.values_mut().flat_map(|arms| &mut arms.starts);
        starts.zip(lost).for_each(|(s, n)| s.arm.delivery.as_mut().unwrap().missing = n);
        let mut none = a;
        let starts = none.arms.values_mut().flat_map(|arms| &mut arms.starts);
        starts.for_each(|s| s.arm.delivery.as_mut().unwrap().missing = 0);
        compare(&none, &b, None, &gate).gates.swap_remove(0).outcome
    };
    assert_eq!(sets([0; 5]), Passed::Pass);
    assert_eq!(sets([0, 0, 3, 0, 0]), Passed::Inconclusive);
    assert_eq!(sets([3, 1, 4, 1, 5]), Passed::Fail);
}

#[test]
fn doubtful_starts_are_named_and_invalid_ones_not_compared() {
    let (a, mut b) = pair(7, 6, 0.02, 1.0);
    for (i, start) in b.arms.values_mut().flat_map(|arms| &mut arms.starts).enumerate() {
        match i {
            0 => doubted(start, VerdictState::Invalid, &[]),
            1 => doubted(start, VerdictState::Suspect, &[]),
            _ => continue,
        }
    }
    let found = compare(&a, &b, None, &[]);
    assert_eq!((found.pairs[0].n_a, found.pairs[0].n_b), (6, 5));
    let used: Vec<(VerdictState, bool)> = found.doubts.iter().map(|d| (d.state, d.used)).collect();
    assert_eq!(used, [(VerdictState::Invalid, false), (VerdictState::Suspect, true)]);
    let text = render(&found, &PLAIN);
    assert!(text.contains("✕ B 20261121T200412Z-fan-out-k3f9 sse: invalid, not compared"), "{text}");
    // A growing backlog invalidates latencies, and nothing else.
    let starts = b.arms.values_mut().flat_map(|arms| &mut arms.starts);
    starts.for_each(|start| start.arm.delivery.as_mut().unwrap().unstable = true);
    let found = compare(&a, &b, None, &[]);
    assert_eq!(found.pairs[0].primary, None);
    assert!(found.pairs[0].not_compared.as_ref().unwrap().starts_with("unstable: growing backlog in 5 of 5"));
    assert!(found.pairs[0].others.iter().any(|other| other.metric == "server.cpu_us_per_delivery"));
    assert!(!found.pairs[0].others.iter().any(|other| other.metric == "delivery.p50"));
}

#[test]
fn where_a_start_has_no_p99_the_median_decides() {
    let (mut a, b) = pair(9, 5, 0.02, 1.0);
    let first = a.arms.values_mut().flat_map(|arms| &mut arms.starts).next().unwrap();
    first.arm.delivery.as_mut().unwrap().latency.p99_us = None;
    let found = compare(&a, &b, None, &[FailIf::parse("delivery.p99 worse 5%").unwrap()]);
    assert_eq!(primary(&found).metric, "delivery.p50");
    assert_eq!(found.gates[0].outcome, Passed::Inconclusive, "A lacks it");
    let found = compare(&b, &a, None, &[FailIf::parse("delivery.p99 worse 5%").unwrap()]);
    assert_eq!(found.gates[0].outcome, Passed::Fail, "B lacks it");
}

#[test]
fn what_differs_besides_is_listed() {
    let (a, b) = pair(1, 1, 0.0, 1.0);
    let (mut one, mut other) = (a.runs[0].clone(), b.runs[0].clone());
    one.scenario = serde_json::json!({ "seed": 1, "load": { "connections": 100 }, "name": "x" });
    other.scenario = serde_json::json!({ "seed": 2, "load": { "connections": 200 }, "name": "y" });
    other.environment.kernel = "6.1".to_owned();
    let found =
        compare(&Set::new("a", vec![one.clone()]).unwrap(), &Set::new("b", vec![other]).unwrap(), None, &[]);
    let lines: Vec<(&str, &str, &str)> =
        found.differs.iter().map(|s| (s.key.as_str(), s.a.as_str(), s.b.as_str())).collect();
    assert_eq!(lines, [("environment.kernel", "", "6.1"), ("load.connections", "100", "200")]);
}

#[test]
fn a_side_that_mixes_scenarios_is_refused() {
    let (a, b) = pair(1, 1, 0.0, 1.0);
    let (mut one, other) = (a.runs[0].clone(), b.runs[0].clone());
    one.scenario = serde_json::json!({ "load": { "connections": 100 } });
    let error = Set::new("both", vec![one.clone(), other.clone()]).unwrap_err();
    assert_eq!(Ending::exit_of(&error), Exit::Usage);
    assert!(error.to_string().contains("load.connections: 100, –"), "{error}");
    // Cells of a suite differ by nature, and are matched by their ids.
    let cell = |mut run: Run, id: &str| {
        run.case = Some(CaseRef { id: id.to_owned(), ..CaseRef::default() });
        run
    };
    let set = |ids: [&str; 2]| {
        Set::new("suite", vec![cell(one.clone(), ids[0]), cell(other.clone(), ids[1])]).unwrap()
    };
    let found = compare(&set(["x-1", "x-2"]), &set(["x-1", "x-3"]), None, &[]);
    let cells: Vec<Option<&str>> = found.pairs.iter().map(|pair| pair.case.as_deref()).collect();
    assert_eq!(cells, [Some("x-1")]);
    assert_eq!(found.unmatched.len(), 2);
    let text = render(&found, &PLAIN);
    assert!(text.contains("only in A: x-2 sse\n  only in B: x-3 sse"), "{text}");
}

#[test]
fn conditions_that_cannot_be_read_say_what_can() {
    let error = |text: &str| {
        let error = FailIf::parse(text).unwrap_err();
        assert_eq!(Ending::exit_of(&error), Exit::Usage);
        error.to_string()
    };
    assert!(error("delivery.p9o worse 5%").contains("did you mean delivery.p90?"));
    assert!(error("delivery.p99 better 5%").contains("such as 'delivery.p99 worse 5%'"));
    assert!(error("delivery.p99 worse 5").contains("such as 'delivery.p99 worse 5%'"));
    assert!(error("delivery.intended worse 5%").contains("neither better high nor low"));
}

#[test]
fn the_text_of_a_comparison() {
    let (a, mut b) = pair(21, 5, 0.01, 1.1);
    let reason = Reason {
        code: "read_lag".to_owned(),
        state: VerdictState::Suspect,
        arm: Some(Transport::Sse),
        concerns: Vec::new(),
        seen: "read lag p99 3.75 ms is 39 % of the delivery p99 (suspect from 10 %)".to_owned(),
        why: String::new(),
        try_: String::new(),
    };
    let mut runs = std::mem::take(&mut b.runs);
    runs[0].verdict.reasons.push(reason);
    runs[0].arms[0].verdict = VerdictState::Suspect;
    let b = Set::new("results/after", runs).unwrap();
    let gates = [FailIf::parse("delivery.p99 worse 5%").unwrap()];
    let text = render(&compare(&a, &b, None, &gates), &PLAIN);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text, @"
    pushmark compare

      A  a  (5 runs)
      B  results/after  (5 runs)

      machine, versions and settings are the same

    ▲ B 20261121T200412Z-fan-out-k3f9 sse: suspect, still compared: read lag p99
        3.75 ms is 39 % of the delivery p99 (suspect from 10 %)

      sse  n = 5 each
        delivery.p99  3.99 s [3.96, 4.02] | 4.44 s [4.42, 4.47]
          B ÷ A 1.113 [1.105, 1.121]: worse by 11 % (p < 0.001)
        delivery.of_intended  1.00 [1.00, 1.00] | 1.00 [1.00, 1.00]
          B − A 0 [0, 0]: the same in every start
        delivery.p50  901 ms [893, 909] | 992 ms [974, 1,010]
          B ÷ A 1.10 [1.08, 1.12]: worse by 10 % (p < 0.001)
        delivery.age_of_information.mean
          25.0 ms [24.6, 25.4] | 27.4 ms [27.0, 27.8]
          B ÷ A 1.09 [1.08, 1.11]: worse by 9.5 % (p < 0.001)
        connect.p50  3.00 s [2.97, 3.04] | 3.30 s [3.25, 3.35]
          B ÷ A 1.10 [1.08, 1.12]: worse by 9.8 % (p < 0.001)
        server.cpu_us_per_delivery  3.99 s [3.94, 4.04] | 4.40 s [4.36, 4.44]
          B ÷ A 1.10 [1.09, 1.12]: worse by 10 % (p < 0.001)
        server.rss_bytes_peak  47.3 MiB [46.7, 47.9] | 52.4 MiB [51.7, 53.0]
          B ÷ A 1.11 [1.09, 1.12]: worse by 11 % (p < 0.001)
        server.rss_bytes_per_connection
          87.9 KiB [86.9, 88.8] | 96.0 KiB [94.1, 97.9]
          B ÷ A 1.09 [1.07, 1.11]: worse by 9.2 % (p < 0.001)
        wire.bytes_in_per_delivery  878 KiB [871, 885] | 970 KiB [953, 988]
          B ÷ A 1.10 [1.09, 1.12]: worse by 10 % (p < 0.001)
        the same in every start: delivery.missing, delivery.late, connect.failed,
        connections.lost

      means of the starts, [95 % interval]; Welch's t on logarithms, counts by
      permutation; p of the others adjusted over 7 tests (Holm)

      fail if  delivery.p99 worse 5%  sse  FAIL
                 at least 10.5 % worse
    ");
}
