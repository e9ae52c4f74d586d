//! Every fate of a delivery, with invented instants.

use super::bench::*;
use super::*;

#[test]
fn a_crowd_that_hears_all_misses_nothing() {
    let mut b = bench(Transport::Sse, 3).all_subscribed();
    b.due(0..5);
    for (connection, sequence) in (0..3).flat_map(|c| (0..5).map(move |s| (c, s))) {
        assert_eq!(b.receive(connection, sequence), Receipt::New);
    }
    assert_eq!((b.counts().intended, b.counts().delivered, b.missing()), (15, 15, 0));
}

#[test]
fn what_never_comes_is_missing() {
    let mut b = bench(Transport::Sse, 2).all_subscribed();
    b.due(0..4);
    for sequence in [0, 1, 3] {
        b.receive(0, sequence);
        b.receive(1, sequence);
    }
    assert_eq!((b.missing(), b.counts().out_of_order), (2, 0));
}

#[test]
fn late_is_after_the_publications_own_deadline() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..2);
    b.receive_after(0, 0, 2 * SECOND);
    b.receive_after(0, 1, 2 * SECOND + 1);
    assert_eq!((b.counts().delivered, b.counts().late, b.missing()), (1, 1, 0));
}

#[test]
fn a_duplicate_is_not_a_second_delivery() {
    let mut b = bench(Transport::WebSocket, 1).all_subscribed();
    b.due(0..1);
    assert_eq!([b.receive(0, 0), b.receive(0, 0)], [Receipt::New, Receipt::Again]);
    assert_eq!(b.counts().delivered, 1);
}

#[test]
fn another_runs_stamp_is_foreign() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..1);
    b.nonce += 1;
    assert_eq!(b.receive(0, 0), Receipt::Foreign);
    assert_eq!((b.counts().foreign, b.counts().delivered), (1, 0));
}

#[test]
fn a_sequence_that_nobody_planned_is_foreign() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..1);
    let due_us = Bench::due_ns(0) / 1_000;
    // One of them has the low 32 bits of a publication that exists.
    for sequence in [u64::from(u32::MAX), 1 << 32, 36_u64.pow(7) - 1] {
        let stamp = Stamp { nonce: b.nonce, publisher: 0, channel: 0, sequence, due_us, sent_us: due_us };
        assert_eq!(b.accounting.received(0, &stamp, due_us * 1_000, 0), Receipt::Foreign);
    }
    assert_eq!(b.receive(0, 0), Receipt::New);
}

#[test]
fn a_connection_never_made_is_unserved() {
    let mut b = bench(Transport::Sse, 2);
    b.accounting.subscription_stands(0, |_| Some(None));
    b.due(0..5);
    (0..5).for_each(|s| b.hear(0, s));
    assert_eq!((b.counts().unserved, b.missing()), (5, 0));
}

#[test]
fn after_a_loss_deliveries_are_unserved_before_it_missing() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..3);
    b.receive(0, 0);
    b.accounting.subscription_lost(0);
    b.due(3..10);
    assert_eq!((b.counts().unserved, b.missing()), (7, 2));
}

#[test]
fn what_a_resume_brings_was_served_after_all() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..1);
    b.receive(0, 0);
    b.accounting.subscription_lost(0);
    b.due(1..5);
    b.accounting.subscription_stands(0, |_| None);
    b.due(5..6);
    (1..6).for_each(|s| b.hear(0, s));
    let counts = b.counts();
    assert_eq!((counts.unserved, counts.delivered, b.missing()), (0, 6, 0));
}

#[test]
fn doubt_excuses_until_it_is_known() {
    let mut b = bench(Transport::Stream, 1);
    b.due(0..2);
    b.accounting.subscription_asked(0);
    b.due(2..5);
    b.accounting.subscription_stands(0, |_| None);
    b.due(5..7);
    [3, 5].into_iter().for_each(|s| b.hear(0, s));
    let counts = b.counts();
    assert_eq!((counts.unserved, counts.excused, counts.delivered, b.missing()), (2, 2, 2, 1));
}

#[test]
fn an_acknowledged_sequence_leaves_no_doubt() {
    let mut b = bench(Transport::Stream, 1);
    b.due(0..2);
    b.accounting.subscription_asked(0);
    b.due(2..5);
    // The server had published up to 2 when it accepted the subscription: 3 and 4 are owed.
    b.accounting.subscription_stands(0, |_| Some(Some(2)));
    b.due(5..7);
    [3, 5, 6].into_iter().for_each(|s| b.hear(0, s));
    let counts = b.counts();
    assert_eq!((counts.unserved, counts.excused, counts.delivered, b.missing()), (3, 0, 3, 1));
}

#[test]
fn an_acknowledged_sequence_may_lie_ahead_of_the_doubt_or_behind_it() {
    for (last, unserved, missing) in [(None, 0, 5), (Some(0), 1, 4), (Some(9), 5, 0)] {
        let mut b = bench(Transport::Stream, 1);
        b.due(0..2);
        b.accounting.subscription_asked(0);
        b.due(2..5);
        b.accounting.subscription_stands(0, |_| Some(last));
        assert_eq!((b.counts().unserved, b.missing()), (unserved, missing), "last {last:?}");
        assert_eq!(b.counts().excused, 0);
    }
}

#[test]
fn a_poller_is_shown_the_newest_and_the_rest_is_superseded() {
    let mut b = bench(Transport::Poll, 1).all_subscribed();
    b.due(0..10);
    b.receive_after(0, 4, 50_000_000);
    assert_eq!(b.receive(0, 4), Receipt::Again);
    b.receive_after(0, 9, 50_000_000);
    let counts = b.counts();
    assert_eq!((counts.superseded, counts.delivered, b.missing()), (8, 2, 0));
}

#[test]
fn a_state_not_yet_overtaken_is_missing_not_superseded() {
    let mut b = bench(Transport::Poll, 1).all_subscribed();
    b.due(0..3);
    b.receive(0, 1);
    assert_eq!((b.counts().superseded, b.missing()), (1, 1));
}

#[test]
fn a_deaf_long_poller_misses_what_fell_between() {
    let mut b = bench(Transport::LongPoll, 1).all_subscribed();
    b.due(0..6);
    [0, 1, 4].into_iter().for_each(|s| b.hear(0, s));
    let counts = b.counts();
    assert_eq!((counts.missed_deaf, b.missing()), (2, 3));
}

#[test]
fn what_a_deaf_long_poller_hears_after_its_successor_was_not_missed() {
    let mut b = bench(Transport::LongPoll, 1).all_subscribed();
    b.due(0..6);
    [0, 3, 2, 5].into_iter().for_each(|s| b.hear(0, s));
    assert_eq!((b.counts().missed_deaf, b.missing()), (2, 2));
}

#[test]
fn warm_up_is_not_counted_but_its_sequences_are() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    // Due before measure begins at 2 s.
    b.accounting.publication_due(0, 0, SECOND);
    let stamp = Stamp {
        nonce: b.nonce,
        publisher: 0,
        channel: 0,
        sequence: 0,
        due_us: 1_000_000,
        sent_us: 1_000_000,
    };
    b.accounting.received(0, &stamp, SECOND + 5, SECOND);
    let counts = b.counts();
    assert_eq!((counts.intended, counts.delivered, counts.received), (0, 0, 1));
}

#[test]
fn what_nobody_heard_is_named() {
    let mut b = bench(Transport::Sse, 3).all_subscribed();
    b.due(0..2);
    b.receive(1, 0);
    b.counts();
    let unheard: Vec<_> = b.accounting.record.unheard.iter().map(|u| (u.sequence, u.owed)).collect();
    assert_eq!(unheard, [(1, 3)]);
}

#[test]
fn a_negative_latency_is_shown() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.due(0..1);
    let due_us = Bench::due_ns(0) / 1_000;
    let stamp = Stamp { nonce: b.nonce, publisher: 0, channel: 0, sequence: 0, due_us, sent_us: due_us + 9 };
    b.accounting.received(0, &stamp, due_us * 1_000 - 5_000, 0);
    let times = &b.accounting.record.times;
    assert_eq!((times.latency.quantile(0.5), times.latency.negative_count()), (Some(-5), 1));
    assert_eq!(times.from_sent.quantile(0.5), Some(-14));
}

#[test]
fn age_of_information_is_the_integral_over_time() {
    let mut b = bench(Transport::Sse, 1).all_subscribed();
    b.accounting.cut_ages(2 * SECOND, true);
    b.due(0..2);
    b.receive_after(0, 0, 10_000_000);
    b.receive_after(0, 1, 20_000_000);
    b.accounting.cut_ages(Bench::due_ns(1) + 100_000_000, false);
    let counts = b.counts();
    // No state until 10 ms after the first was due; then state 0 from age 10 ms to 120 ms; then state 1
    // from 20 ms to 100 ms.
    let area = 120_000i128.pow(2) + (100_000i128.pow(2) - 20_000i128.pow(2));
    assert_eq!((counts.age_time_us, counts.age_area_us2), (200_000, area));
}

#[test]
fn a_broadcasts_spread_is_kept() {
    let mut b = bench(Transport::Sse, 3).all_subscribed();
    b.due(0..1);
    for (connection, after_ns) in [(0, 1_000_000), (1, 3_000_000), (2, 9_000_000)] {
        b.receive_after(connection, 0, after_ns);
    }
    b.counts();
    let spread = &b.accounting.record.broadcasts[0];
    assert_eq!((spread.received, spread.first_us, spread.last_us), (3, 1_000, 9_000));
    assert_eq!((spread.due_second, spread.sent_after_us), (2, Bench::SENT_AFTER_US));
    assert_eq!(spread.sketch.iter().map(|s| s.1).sum::<u32>(), 3);
}

#[test]
fn every_fate_adds_up_whatever_happens() {
    // A seeded random mix of attempts, losses and receipts in any order: the rest is never negative.
    let mut draw = pushmark_model::draw::Draw::new(3, pushmark_model::draw::Purpose::Jitter, 0);
    for transport in [Transport::Sse, Transport::Poll, Transport::LongPoll] {
        let mut b = bench(transport, 4);
        let mut due = 0;
        for _ in 0..3_000 {
            let connection = draw.below(4) as u32;
            match draw.below(8) {
                0 => b.accounting.subscription_asked(connection),
                1 => b.accounting.subscription_stands(connection, |_| None),
                2 => b.accounting.subscription_lost(connection),
                3 if due < 100 => {
                    b.due(due..due + 1);
                    due += 1;
                }
                _ if due > 0 => {
                    b.receive(connection, due - 1 - draw.below(due.min(3)));
                }
                _ => {}
            }
        }
        let counts = b.counts();
        assert!(counts.unserved >= 0 && counts.excused >= 0, "{transport}: {counts:?}");
        assert!(b.missing() >= 0, "{transport}: {counts:?}");
        assert_eq!(counts.intended, 4 * due);
    }
}
