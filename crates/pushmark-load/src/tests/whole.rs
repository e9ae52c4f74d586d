//! Nothing is lost and nothing is torn, however a target cuts its output: messages of any size, in
//! bursts, in pieces of any size, to any number of clients, with both pollers.

use std::net::TcpListener;

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::{Bayeux, ShardPlan};
use pushmark_model::poller::Poller;
use pushmark_model::steer::Steer;
use pushmark_model::template::Template;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use super::speaker::{Speaker, Speech};
use super::words::Told;
use super::{merged, seed};
use crate::testing::arm;

/// Crowds per transport and poller. Each takes about 20 ms.
const ROUNDS: u64 = 8;
/// A crowd that has not received everything by then never will.
const PATIENCE_NS: u64 = 8_000_000_000;
/// More clients than are read together.
const CLIENTS_MAX: u64 = 40;

fn plan(speech: Speech, poller: Poller, draw: &mut Draw, to: &TcpListener) -> ShardPlan {
    let transport = match speech {
        Speech::Stream { .. } => Transport::Stream,
        Speech::Sse { .. } => Transport::Sse,
        Speech::WebSocket => Transport::WebSocket,
        Speech::LongPoll => Transport::LongPoll,
        Speech::Poll => Transport::Poll,
        Speech::Bayeux => Transport::Bayeux,
        Speech::BayeuxWebSocket => Transport::BayeuxWebSocket,
    };
    let mut arm = arm(transport, 1 + draw.below(CLIENTS_MAX));
    // All clients connect at once.
    arm.ramp = pushmark_model::schedule::Ramp::constant(arm.connections, 1e6);
    arm.poller = poller;
    // Due publications wake the loop, which runs the target.
    arm.publisher.as_mut().expect("it publishes").interval_ns = 500_000.0;
    arm.poll.interval_ns = 2_000_000;
    arm.hold_ns = 2 * PATIENCE_NS;
    arm.handshake_timeout_ns = 2 * PATIENCE_NS;
    if transport.is_bayeux() {
        arm.subscribe.bayeux =
            Some(Bayeux { channel: Template::parse("/{channel}").unwrap(), acknowledge: false });
    }
    ShardPlan {
        arm,
        shard: 0,
        shards: 1,
        start_ns: Clock::now(),
        subscribe_to: to.local_addr().unwrap(),
        half: None,
        publish_to: None,
        before_to: Vec::new(),
        port: 0,
        clock_ahead_us: 0,
        machine_shards: Vec::new(),
    }
}

/// Drives one crowd until it has received everything.
fn crowd(speech: Speech, poller: Poller, seed: u64) {
    let mut draw = Draw::new(seed, Purpose::Check, 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let plan = plan(speech, poller, &mut draw, &listener);
    let clients = plan.arm.connections as usize;
    let until_ns = plan.start_ns + PATIENCE_NS;
    let mut speakers: Vec<Speaker> = Vec::new();
    let mut orders = || {
        while let Ok((stream, _)) = listener.accept() {
            let own = Draw::new(seed, Purpose::Check, 1 + speakers.len() as u64);
            speakers.push(Speaker::new(stream, speech, own));
        }
        speakers.iter_mut().for_each(Speaker::act);
        for _ in 0..1 + draw.below(6) {
            for speaker in &mut speakers {
                if draw.below(3) > 0 {
                    speaker.write();
                }
            }
        }
        let done = speakers.len() >= clients && speakers.iter().all(|speaker| speaker.done);
        (done || Clock::now() > until_ns).then_some(Steer::Stop)
    };
    let total = merged(plan, &mut orders);
    let (mut told, mut written) = (Told::default(), 0);
    for speaker in &speakers {
        told += speaker.told;
        written += speaker.written;
    }
    if matches!(speech, Speech::Stream { .. }) {
        told.messages = told.stamps;
    }
    let counts = &total.counts;
    let heard =
        Told { stamps: counts.received, messages: counts.messages, payload_bytes: counts.payload_bytes };
    let what = format!("{speech:?} by {poller:?}, PUSHMARK_SEED={seed}: {:?}", total.troubles);
    assert_eq!(heard, told, "{what}");
    assert_eq!((speakers.len(), counts.bytes_in), (clients, written), "{what}");
    assert_eq!((&total.failed, counts.duplicate, counts.out_of_order), (&Default::default(), 0, 0), "{what}");
    let ended = speakers.iter().filter(|speaker| speaker.ended).count() as u64;
    assert_eq!((counts.lost, total.lost_by.get("closed").copied().unwrap_or(0)), (ended, ended), "{what}");
}

fn crowds(speech: Speech) {
    let seed = seed();
    println!("PUSHMARK_SEED={seed}");
    for round in 0..ROUNDS {
        crowd(speech, Poller::Epoll, seed.wrapping_add(round));
        crowd(speech, Poller::IoUring, seed.wrapping_add(round));
    }
}

#[test]
fn of_a_stream() {
    crowds(Speech::Stream { chunked: false });
    crowds(Speech::Stream { chunked: true });
}

#[test]
fn of_an_event_stream() {
    crowds(Speech::Sse { chunked: false });
    crowds(Speech::Sse { chunked: true });
}

#[test]
fn of_a_websocket() {
    crowds(Speech::WebSocket);
}

#[test]
fn of_answers_that_were_held() {
    crowds(Speech::LongPoll);
}

#[test]
fn of_polls() {
    crowds(Speech::Poll);
}

#[test]
fn of_bayeux_over_http() {
    crowds(Speech::Bayeux);
}

#[test]
fn of_bayeux_over_a_websocket() {
    crowds(Speech::BayeuxWebSocket);
}
