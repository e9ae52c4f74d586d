//! Clock probes over ways that are slow, uneven and unlike in both directions: the truth stays in the interval.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pushmark_cluster::clock::{Prober, Responder};
use pushmark_model::draw::{Draw, Purpose};
use pushmark_net::Clock;

/// Ways that are tried at once.
const WAYS: u64 = 24;
/// Probes of each before its interval is asked for.
const PROBES: usize = 20;
/// What a relay and a busy machine may add to the smallest delays, ns.
const SLACK_NS: f64 = 3e6;

/// A way to a responder: each datagram waits for its delay and up to as much again, or is lost.
struct Way {
    address: SocketAddr,
    /// The smallest delays there and back, ns.
    delays_ns: (u64, u64),
}

fn way(to: SocketAddr, draw: &mut Draw, over: &Arc<AtomicBool>) -> Way {
    let (there_ns, back_ns) = (200_000 + draw.below(9_000_000), 200_000 + draw.below(9_000_000));
    let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    back.connect(to).expect("a way");
    let address = front.local_addr().expect("bound");
    let prober = Arc::new(AtomicU64::new(0));
    for (direction, least_ns) in [(0, there_ns), (1, back_ns)] {
        let (front, back) = (front.try_clone().expect("a copy"), back.try_clone().expect("a copy"));
        let (prober, over) = (Arc::clone(&prober), Arc::clone(over));
        let mut draw = Draw::new(draw.next_u64(), Purpose::Nonce, direction);
        let from = if direction == 0 { &front } else { &back };
        from.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
        std::thread::spawn(move || {
            let mut bytes = [0; 256];
            while !over.load(Ordering::Relaxed) {
                let from = if direction == 0 { &front } else { &back };
                let Ok((read, peer)) = from.recv_from(&mut bytes) else { continue };
                if draw.below(10) == 0 {
                    continue;
                }
                std::thread::sleep(Duration::from_nanos(least_ns + draw.below(least_ns)));
                if direction == 0 {
                    prober.store(u64::from(peer.port()), Ordering::Relaxed);
                    let _ = back.send(&bytes[..read]);
                } else {
                    let port = prober.load(Ordering::Relaxed) as u16;
                    let _ = front.send_to(&bytes[..read], (Ipv4Addr::LOCALHOST, port));
                }
            }
        });
    }
    Way { address, delays_ns: (there_ns, back_ns) }
}

#[test]
fn the_truth_stays_inside_whatever_the_ways_are() {
    let seed = Clock::realtime();
    let mut draw = Draw::new(seed, Purpose::Nonce, 0);
    let responder = Responder::start(Ipv4Addr::LOCALHOST.into()).expect("a responder");
    let over = Arc::new(AtomicBool::new(false));
    let ways: Vec<Way> = (0..WAYS).map(|_| way(responder.address(), &mut draw, &over)).collect();
    let prober = Prober::start(ways.iter().map(|way| way.address).collect()).expect("a prober");
    while (0..ways.len()).any(|of| prober.count(of) < PROBES) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let now = Clock::now();
    for (of, way) in ways.iter().enumerate() {
        // Both ends read one clock, so the truth is zero.
        let found = prober.offset(of, now - 1_000_000_000).expect("no clock was set");
        assert!(found.low_ns <= 0.0 && found.high_ns >= 0.0, "seed {seed}: {found:?}");
        let least_ns = (way.delays_ns.0 + way.delays_ns.1) as f64;
        assert!(
            found.width_ns() >= least_ns,
            "seed {seed}: no probe was faster than {least_ns} ns: {found:?}"
        );
        assert!(found.width_ns() <= 2.0 * least_ns + SLACK_NS, "seed {seed}: {found:?} of {least_ns} ns");
    }
    over.store(true, Ordering::Relaxed);
}

#[test]
fn one_machine_has_one_clock() {
    let responders = [0, 1].map(|_| Responder::start(Ipv4Addr::LOCALHOST.into()).expect("a responder"));
    let prober = Prober::start(responders.iter().map(Responder::address).collect()).expect("a prober");
    while (0..2).any(|of| prober.count(of) < PROBES) {
        std::thread::sleep(Duration::from_millis(20));
    }
    for of in 0..2 {
        let found = prober.offset(of, Clock::now()).expect("no clock was set");
        assert!(found.low_ns <= 0.0 && found.high_ns >= 0.0, "{found:?}");
    }
    assert!(prober.offset(2, Clock::now()).is_none());
}

/// A way that passes no datagrams.
#[test]
fn where_datagrams_are_blocked_a_connection_carries_the_probes() {
    let responder = Responder::start(Ipv4Addr::LOCALHOST.into()).expect("a responder");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let way = listener.local_addr().expect("bound");
    let to = responder.address();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) =
                (client.expect("a client"), TcpStream::connect(to).expect("the responder"));
            for (mut from, mut to) in
                [(client.try_clone().expect("a copy"), server.try_clone().expect("a copy")), (server, client)]
            {
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
    let prober = Prober::start(vec![way, to]).expect("a prober");
    while (0..2).any(|of| prober.count(of) < PROBES) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!([0, 1].map(|of| prober.is_connected(of)), [true, false]);
    let now = Clock::now();
    for of in 0..2 {
        let found = prober.offset(of, now - 500_000_000).expect("no clock was set");
        assert!(found.low_ns <= 0.0 && found.high_ns >= 0.0, "{found:?}");
    }
}
