//! Silence is no success: the target accepts and sends nothing, or never sends what is awaited.

use std::collections::BTreeMap;

use pushmark_model::plan::ArmPlan;
use pushmark_model::record::{Record, SubscribedBy};
use pushmark_model::schedule::Ramp;
use pushmark_model::steer::Steer;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use super::merged;
use crate::testing::{Target, arm};

const CLIENTS: u64 = 5;
const MS: u64 = 1_000_000;

/// An arm that publishes at once. A subscription is assumed after a second.
fn quick(transport: Transport) -> ArmPlan {
    let mut arm = arm(transport, CLIENTS);
    arm.ramp = Ramp::constant(CLIENTS, 1e6);
    (arm.phases.ramp_ns, arm.phases.warmup_ns) = (0, 0);
    arm.hold_ns = 300 * MS;
    // Due publications wake the loop, which runs the target.
    arm.publisher.as_mut().expect("it publishes").interval_ns = 1e6;
    arm.handshake_timeout_ns = 1_500 * MS;
    arm
}

/// Runs the arm for this time against a target that sends something to all clients in each turn of the
/// loop.
fn record(arm: ArmPlan, for_ms: u64, mut says: impl FnMut(u64) -> &'static [u8]) -> Record {
    let (mut target, plan) = Target::of(arm);
    let start_ns = Clock::now();
    merged(plan, &mut || {
        target.look();
        let passed_ms = (Clock::now() - start_ns) / MS;
        if target.requests >= CLIENTS as usize {
            // A client that has given up does not receive it.
            target.says_all(says(passed_ms));
        }
        (passed_ms >= for_ms).then_some(Steer::Stop)
    })
}

/// Sends the next byte of a text in each turn.
fn drip(text: &'static [u8]) -> impl FnMut(u64) -> &'static [u8] {
    let mut at = 0;
    move |_| {
        at += 1;
        text.get(at - 1..at).unwrap_or_default()
    }
}

const SILENT: [Transport; 3] = [Transport::Sse, Transport::Stream, Transport::LongPoll];

#[test]
fn who_never_got_a_head_has_failed_by_the_time_out() {
    let together = |transport: Transport| {
        let all = |kind: &str| BTreeMap::from([(kind.to_owned(), CLIENTS)]);
        let mute = record(quick(transport), 2_500, |_| b"");
        assert_eq!(mute.failed, all("timeout_handshake"), "{transport}");
        let dripped = record(quick(transport), 2_500, drip(b"HTTP/1.1 200 OK\r\nContent-Type: text/ev"));
        assert_eq!(dripped.failed, all("timeout_answer"), "{transport}");
        let endless = record(quick(transport), 2_500, |_| b"HTTP/1.1 100 Continue\r\n\r\n");
        assert_eq!(endless.failed, all("timeout_answer"), "{transport}");
        for record in [mute, dripped, endless] {
            let counts = &record.counts;
            assert_eq!((counts.opened, counts.lost, counts.assumed_silent), (0, 0, 0), "{transport}");
        }
    };
    std::thread::scope(|scope| {
        for transport in SILENT {
            scope.spawn(move || together(transport));
        }
    });
}

#[test]
fn a_subscription_that_is_assumed_to_the_end_is_counted() {
    for transport in SILENT {
        let counts = record(quick(transport), 1_200, |_| b"").counts;
        assert_eq!((counts.opened, counts.assumed_silent), (CLIENTS as i64, CLIENTS), "{transport}");
    }
}

#[test]
fn the_idle_time_out_runs_from_the_subscription_on() {
    for transport in [Transport::Sse, Transport::Stream] {
        let mut arm = quick(transport);
        (arm.handshake_timeout_ns, arm.idle_timeout_ns) = (9_000 * MS, Some(200 * MS));
        let record = record(arm, 2_000, |_| b"");
        assert_eq!(record.failed, BTreeMap::from([("timeout_handshake".to_owned(), CLIENTS)]), "{transport}");
    }
}

#[test]
fn a_head_that_comes_late_proves_the_subscription() {
    let mut said = false;
    let record = record(quick(Transport::Sse), 2_500, |passed_ms| {
        let says = passed_ms > 1_200 && !std::mem::replace(&mut said, passed_ms > 1_200);
        if says { b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" } else { b"" }
    });
    let counts = &record.counts;
    assert_eq!((counts.opened, counts.lost, counts.assumed_silent), (CLIENTS as i64, 0, 0), "{record:?}");
    assert!(record.failed.is_empty());
}

fn awaits(said: &'static [u8]) -> Record {
    let mut arm = quick(Transport::Sse);
    arm.subscribe.ready = Some("connected".to_owned());
    arm.handshake_timeout_ns = 400 * MS;
    record(arm, 900, drip(said))
}

#[test]
fn a_ready_text_may_be_a_comment() {
    let record = awaits(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: connected\n\n");
    assert_eq!((record.counts.opened, record.subscribed_by), (CLIENTS as i64, SubscribedBy::Ready));
}

#[test]
fn a_ready_text_that_never_comes_is_told_with_what_came() {
    let record = awaits(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: connect\n\n");
    assert_eq!(record.failed, BTreeMap::from([("timeout_ready".to_owned(), CLIENTS)]));
    assert_eq!(record.counts.opened, 0);
    let told = "timeout_ready: \"connected\" (ready) did not come in time; received HTTP/1.1 200 OK | \
                Content-Type: text/event-stream | data: connect";
    assert!(record.troubles.iter().any(|trouble| trouble == told), "{:?}", record.troubles);
}
