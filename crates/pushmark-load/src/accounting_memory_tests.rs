//! What is remembered of gaps and absences, which clients lost by them, and what a stop leaves in flight.

use super::bench::*;
use super::*;

#[test]
fn what_comes_far_out_of_order_is_no_loss() {
    let mut b = long_bench(Transport::Sse, 1).all_subscribed();
    b.due(0..900);
    assert_eq!(b.receive(0, 0), Receipt::New);
    assert_eq!(b.receive(0, 899), Receipt::New);
    for sequence in (1..899).rev() {
        assert_eq!(b.receive(0, sequence), Receipt::New, "{sequence}");
        assert_eq!(b.receive(0, sequence), Receipt::Again, "{sequence}");
    }
    let counts = b.counts();
    assert_eq!((counts.out_of_order, counts.beyond_window, b.missing()), (898, 0, 0));
}

#[test]
fn what_is_older_than_two_deadlines_cannot_be_told_and_is_said_so() {
    let mut b = long_bench(Transport::Sse, 1).all_subscribed();
    b.due(0..5_000);
    // Two deadlines are 40 publications here; at least 1,024 are remembered.
    b.receive(0, 10);
    b.receive(0, 20);
    b.receive(0, 5_000 - 1);
    assert_eq!(b.receive(0, 15), Receipt::Beyond);
    assert_eq!(b.receive(0, 2_000), Receipt::New, "a gap is one, however long");
    let counts = b.counts();
    assert_eq!((counts.beyond_window, counts.out_of_order), (1, 1));
}

#[test]
fn a_subscription_forgets_the_oldest_of_too_many_gaps_and_says_so() {
    let mut arm = arm(Transport::Sse, 1);
    (arm.deadline_ns, arm.phases.measure_ns) = (1_000 * SECOND, 1_000 * SECOND);
    let mut b = bench_of(&arm).all_subscribed();
    b.due(0..8_000);
    // Every second publication, all within the deadline.
    (0..4_000).for_each(|n| b.hear(0, 2 * n + 1));
    assert_eq!(b.receive(0, 0), Receipt::Beyond);
    assert_eq!(b.receive(0, 7_000), Receipt::New);
    let counts = b.counts();
    assert_eq!((counts.forgotten, counts.beyond_window), (4_000 - unsettled::SPANS_MAX as u64, 1));
}

#[test]
fn counts_beside_the_fates_are_those_of_measure() {
    // All of them occur in both phases. Only those of measure are counted.
    for at_ns in [SECOND, 2 * SECOND] {
        let measured = u64::from(at_ns == 2 * SECOND);
        let mut b = bench(Transport::Sse, 1).all_subscribed();
        (0..3_000).for_each(|n| b.accounting.publication_due(0, n, at_ns));
        let mut hear = |sequence, nonce| {
            let (due_us, sent_us) = (at_ns / 1_000, at_ns / 1_000);
            let stamp = Stamp { nonce, publisher: 0, channel: 0, sequence, due_us, sent_us };
            b.accounting.received(0, &stamp, at_ns + 5, at_ns)
        };
        let nonce = 77;
        let got = [1, 0, 10, 12, 2_999, 5].map(|sequence| hear(sequence, nonce));
        assert_eq!(got[1], Receipt::New);
        assert_eq!(got[5], Receipt::Beyond);
        assert_eq!(hear(0, nonce + 1), Receipt::Foreign);
        let counts = b.counts();
        let beside = [counts.out_of_order, counts.beyond_window, counts.foreign];
        assert_eq!(beside, [measured; 3], "due at {at_ns}");
    }
}

#[test]
fn a_replay_after_several_attempts_takes_every_provisional_fate_back() {
    // Lost; then attempts that failed before they were established; then one that brings everything.
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..1);
    b.hear(0, 0);
    b.accounting.subscription_lost(0);
    b.due(1..4);
    for n in 0..5 {
        b.accounting.subscription_asked(0);
        b.due(4 + 4 * n..6 + 4 * n);
        b.accounting.subscription_lost(0);
        b.due(6 + 4 * n..8 + 4 * n);
    }
    assert_eq!((b.accounting.record.counts.unserved, b.accounting.record.counts.excused), (23, 0));
    b.accounting.subscription_asked(0);
    b.due(24..26);
    b.accounting.subscription_stands(0, |_| None);
    b.due(26..28);
    assert_eq!(b.accounting.record.counts.excused, 2, "it is not known whether they are owed");
    (1..28).for_each(|s| b.hear(0, s));
    let counts = b.counts();
    assert_eq!((counts.unserved, counts.excused, counts.delivered), (0, 0, 28));
    assert_eq!((b.missing(), counts.forgotten), (0, 0));
}

#[test]
fn a_replay_after_a_connection_that_stood_for_nothing_is_counted_once() {
    // A connection ends right after its head, again and again. Each was established, and some deliveries
    // were owed.
    let mut b = long_bench(Transport::Sse, 1).all_subscribed();
    for n in 0..20 {
        b.due(10 * n..10 * n + 3);
        b.accounting.subscription_lost(0);
        b.due(10 * n + 3..10 * n + 6);
        b.accounting.subscription_asked(0);
        b.due(10 * n + 6..10 * n + 8);
        b.accounting.subscription_stands(0, |_| None);
        b.due(10 * n + 8..10 * n + 10);
    }
    assert_eq!((b.accounting.record.counts.unserved, b.accounting.record.counts.excused), (60, 40));
    // Half of the publications are replayed.
    (0..200).filter(|s| s % 2 == 0).for_each(|s| b.hear(0, s));
    let counts = b.counts();
    assert_eq!((counts.unserved, counts.excused, counts.delivered), (40, 20, 100));
    assert_eq!(b.missing(), 40);
}

#[test]
fn what_was_on_its_way_when_the_run_was_stopped_is_excused() {
    let mut b = bench(Transport::Sse, 3).all_subscribed();
    b.due(0..50);
    // The deadline is 20 publications.
    (0..30).for_each(|s| b.hear(0, s));
    b.hear(0, 45);
    (0..50).for_each(|s| b.hear(1, s));
    b.accounting.subscription_lost(2);
    let now_ns = Bench::due_ns(49) + 1;
    b.accounting.excuse_in_flight(now_ns);
    // In flight: 30 to 49. The third client is owed the ones before.
    let counts = b.counts();
    assert_eq!((counts.excused, counts.unserved), (19 + 20, 0));
    assert_eq!(b.missing(), 30);
    assert!(b.accounting.record.unheard.is_empty());
}

#[test]
fn who_lost_is_told_client_by_client() {
    let mut b = bench(Transport::Sse, 5).all_subscribed();
    b.due(0..100);
    for sequence in 0..100 {
        b.receive_after(0, sequence, 10_000_000);
        b.receive_after(1, sequence, 400_000_000);
        if sequence % 10 != 0 {
            b.receive_after(2, sequence, 10_000_000);
        }
    }
    b.accounting.subscription_lost(4);
    b.counts();
    let clients = &b.accounting.record.clients;
    let lacking: Vec<_> =
        clients.lacking.iter().map(|c| (c.connection, c.owed, c.missing, c.heard)).collect();
    assert_eq!(lacking, [(2, 100, 10, 90), (3, 100, 100, 0), (4, 100, 100, 0)]);
    assert_eq!(clients.heard_all, 2);
    let worst_us = clients.p50_max_us.unwrap() as f64;
    assert!((worst_us / 400_000.0 - 1.0).abs() < 0.1, "{worst_us}");
}

#[test]
fn a_publication_that_nobody_here_heard_is_named_with_who_was_owed_it() {
    let mut b = bench(Transport::Sse, 3);
    b.accounting.subscription_stands(0, |_| Some(None));
    b.accounting.subscription_asked(1);
    b.due(0..2);
    b.hear(0, 0);
    // The answer acknowledges that it was subscribed before the second publication.
    b.accounting.subscription_stands(1, |_| Some(Some(0)));
    b.accounting.close_due(Bench::due_ns(5) + 2 * SECOND);
    let unheard = b.accounting.record.unheard.clone();
    let named: Vec<_> = unheard.iter().map(|u| (u.sequence, u.planned, u.owed)).collect();
    assert_eq!(named, [(1, 3, 2)]);
    // A client receives it after all, too late.
    b.receive_after(1, 1, 3 * SECOND);
    assert_eq!(b.accounting.record.heard_late, [(0, 1)]);
}

#[test]
fn who_hears_nothing_ages_from_the_first_that_there_was_to_hear() {
    let mut b = bench(Transport::Sse, 3);
    b.accounting.subscription_stands(0, |_| Some(None));
    b.accounting.subscription_stands(1, |_| Some(None));
    b.accounting.cut_ages(2 * SECOND, true);
    b.due(0..10);
    // The first client never receives anything, the second receives late, the third was never subscribed.
    b.receive_after(1, 9, 0);
    b.accounting.cut_ages(Bench::due_ns(9) + 100_000_000, false);
    let counts = b.counts();
    assert_eq!(counts.age_time_us, 1_000_000 + 900_000 + 100_000);
    assert_eq!(counts.age_area_us2, 1_000_000i128.pow(2) + 900_000i128.pow(2) + 100_000i128.pow(2));
}
