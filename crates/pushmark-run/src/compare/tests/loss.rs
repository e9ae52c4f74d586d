//! Losses decide: they cannot hide behind the latency of delivered messages, other tests, or a doubt about
//! something else.

use super::*;

/// Starts over these transports. Start `i` loses `lost[i]` of its intended deliveries.
fn losing(name: &str, arms: &[Transport], lost: &[u64]) -> Set {
    let mut draw = Draw::new(11, Purpose::Check, name.len() as u64);
    side(name, lost.len(), |i| {
        let mut run = start(&mut draw, 0.02, 1.0);
        let delivery = run.arms[0].delivery.as_mut().unwrap();
        (delivery.missing, delivery.late) = (lost[i], 0);
        delivery.delivered = delivery.intended - lost[i];
        if lost[i] * 100 > delivery.intended {
            delivery.latency.p99_at_least_us = Some(2_000_000);
            delivery.latency.p99_us = None;
        }
        run.arms = arms
            .iter()
            .map(|transport| {
                let mut arm = run.arms[0].clone();
                arm.transport = *transport;
                arm
            })
            .collect();
        run
    })
}

/// 5 % of the intended deliveries.
fn twentieth() -> u64 {
    testing::run("20261121T200412Z-fan-out-k3f9").arms[0].delivery.as_ref().unwrap().intended / 20
}

#[test]
fn five_percent_lost_in_every_start_is_worse_and_said_first() {
    let arms = [Transport::Sse, Transport::WebSocket];
    let (a, b) = (losing("a", &arms, &[0; 5]), losing("b", &arms, &[twentieth(); 5]));
    let found = compare(&a, &b, None, &[]);
    for pair in &found.pairs {
        let lost = pair.lost.as_ref().unwrap();
        assert_eq!((lost.a.mean, lost.b.mean, lost.finding), (0.0, 1.0, Finding::Worse));
        assert_eq!(pair.primary.as_ref().unwrap().metric, "delivery.p50");
        assert_eq!(pair.loss.as_ref().unwrap().finding, Finding::Worse);
    }
    let text = in_one_line(&render(&found, &PLAIN));
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in\n{text}"));
    assert!(place("delivery.p99 among the missing in 0 of 5 | 5 of 5 starts worse") < place("p50"));
    assert!(!text.contains("no difference found in delivery.missing"), "{text}");
    // Separated values are shown, though 5 starts cannot establish a difference among the other metrics.
    assert!(text.contains("delivery.missing 0 [0, 0] | 50.0"), "{text}");
    let back = compare(&b, &a, None, &[]);
    assert_eq!(back.pairs[0].lost.as_ref().unwrap().finding, Finding::Better);
}

#[test]
fn what_so_few_starts_cannot_show_is_said_with_the_number_that_can() {
    let arms = [Transport::Sse, Transport::WebSocket, Transport::LongPoll, Transport::Poll];
    // Every start loses a few deliveries, too few to affect a percentile: four arms, two tests each.
    let (a, b) = (losing("a", &arms, &[0; 5]), losing("b", &arms, &[3, 4, 5, 6, 7]));
    let found = compare(&a, &b, None, &[]);
    let loss = found.pairs[0].loss.as_ref().unwrap();
    assert_eq!(loss.attainable, Some(2.0 / 252.0));
    assert_eq!((loss.finding, loss.starts_needed, loss.separated), (Finding::CannotShow, Some(6), true));
    let text = in_one_line(&render(&found, &PLAIN));
    let said = "5 starts each are too few to show a difference in this number of tests (6 are enough),";
    assert!(text.contains(said) && text.contains("the ranges of the starts do not overlap"), "{text}");
    // Six starts can, and do.
    let (a, b) = (losing("a", &arms, &[0; 6]), losing("b", &arms, &[3, 4, 5, 6, 7, 3]));
    let found = compare(&a, &b, None, &[]);
    assert!(found.pairs.iter().all(|pair| pair.loss.as_ref().unwrap().finding == Finding::Worse));
}

#[test]
fn never_is_no_difference_said_of_a_test_that_cannot_tell() {
    for seed in 0..300 {
        let mut draw = Draw::new(seed, Purpose::Check, 5);
        let n = 5 + draw.below(4) as usize;
        let count = 1 + draw.below(5) as usize;
        let all = [Transport::Sse, Transport::WebSocket, Transport::LongPoll, Transport::Poll];
        let arms = &all[..count.min(all.len())];
        let lost = |draw: &mut Draw| -> Vec<u64> { (0..n).map(|_| draw.below(9)).collect() };
        let (of_a, of_b) = (lost(&mut draw), lost(&mut draw));
        let found = compare(&losing("a", arms, &of_a), &losing("b", arms, &of_b), None, &[]);
        let deciding: Vec<&Effect> =
            found.pairs.iter().flat_map(|pair| [&pair.lost, &pair.primary, &pair.loss]).flatten().collect();
        let others: Vec<&Effect> = found.pairs.iter().flat_map(|pair| &pair.others).collect();
        for family in [deciding, others] {
            let tests = family.iter().filter(|effect| effect.p.is_some()).count() as f64;
            for effect in family.iter().filter(|effect| effect.p.is_some()) {
                let can = effect.attainable.is_none_or(|least| least * tests < 0.05);
                assert!(can || effect.finding != Finding::NoDifference, "seed {seed}: {effect:?}");
                assert!(can || effect.starts_needed.unwrap() > n, "seed {seed}: {effect:?}");
            }
        }
    }
}

#[test]
fn counts_of_a_run_with_doubtful_latency_are_compared() {
    let arms = [Transport::Sse];
    let (mut a, b) = (losing("a", &arms, &[0; 5]), losing("b", &arms, &[4, 5, 6, 7, 8]));
    let starts = a.arms.values_mut().flat_map(|arms| &mut arms.starts);
    starts.take(2).for_each(|start| doubted(start, VerdictState::Invalid, &["latency.p99"]));
    let found = compare(&a, &b, None, &[FailIf::parse("delivery.missing worse 0%").unwrap()]);
    let pair = &found.pairs[0];
    assert_eq!((pair.loss.as_ref().unwrap().a.n, pair.loss.as_ref().unwrap().finding), (5, Finding::Worse));
    assert_eq!(found.gates[0].outcome, Passed::Fail);
    let p50 = pair.others.iter().find(|other| other.metric == "delivery.p50").unwrap();
    assert_eq!(p50.a.n, 5);
    assert_eq!(pair.primary.as_ref().unwrap().a.n, 3, "p99 of the three that are believed in it");
    let text = in_one_line(&render(&found, &PLAIN));
    assert!(text.contains("sse: invalid, compared without latency.p99: generator core"), "{text}");
}
