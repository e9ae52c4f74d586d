//! Waits of both pollers: what they report, in which order, and to whom under floods.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::*;
use crate::{Clock, Waker};

#[test]
fn a_wait_is_not_rounded_to_milliseconds() {
    set_timer_slack_1ns().unwrap();
    let mut poller = Poller::new().unwrap();
    let shortest_ns = (0..50)
        .map(|_| {
            let before = Clock::now();
            assert_eq!(poller.wait(Some(200_000)).unwrap().len(), 0);
            Clock::now() - before
        })
        .min();
    let shortest_ns = shortest_ns.unwrap();
    assert!((200_000..900_000).contains(&shortest_ns), "{shortest_ns} ns");
}

#[test]
fn the_walk_may_change_what_is_watched() {
    let mut poller = Poller::new().unwrap();
    let (a, b) = (Waker::new().unwrap(), Waker::new().unwrap());
    for (token, waker) in [(1, &a), (2, &b)] {
        poller.add(waker.as_fd(), token, Interest::Read).unwrap();
        waker.ring();
    }
    let mut seen = Vec::new();
    let mut batch = poller.wait(None).unwrap();
    let mut foreseen = batch.peek().copied();
    while let Some(ready) = batch.next() {
        assert_eq!(foreseen, Some(ready));
        foreseen = batch.peek().copied();
        assert!(ready.readable && !ready.writable && !ready.hangup);
        poller.remove(if ready.token == 1 { a.as_fd() } else { b.as_fd() }).unwrap();
        seen.push(ready.token);
    }
    seen.sort_unstable();
    assert_eq!((seen, foreseen), (vec![1, 2], None));
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
}

#[test]
fn arrivals_are_told_once_and_again_when_asked() {
    let mut poller = Poller::new().unwrap();
    let waker = Waker::new().unwrap();
    poller.add(waker.as_fd(), 7, Interest::Arrivals).unwrap();
    waker.ring();
    assert_eq!(poller.wait(None).unwrap().len(), 1);
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 0, "nothing new has arrived");
    waker.ring();
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 1, "the second has");
    poller.modify(waker.as_fd(), 7, Interest::Arrivals).unwrap();
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 1, "unread bytes are reported again");
}

/// Two ends of a connection; a poller with a ring reads the second.
fn ringed() -> (Poller, TcpStream, TcpStream) {
    let poller = Poller::with_ring().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    poller.add(far.as_fd(), 7, Interest::Write).unwrap();
    poller.modify(far.as_fd(), 7, Interest::Bytes).unwrap();
    (poller, near, far)
}

/// Returns received bytes until the connection has ended or `much` bytes have arrived.
fn taken(poller: &mut Poller, much: usize) -> (Vec<u8>, Option<Read>) {
    let (mut all, mut buffer) = (Vec::new(), [0; 4_096]);
    let until_ns = Clock::now() + 10_000_000_000;
    while all.len() < much {
        assert!(Clock::now() < until_ns, "{} of {much} bytes arrived", all.len());
        // The batch is also empty if the pool ran out. The next wait restarts the receives.
        for ready in poller.wait(Some(1_000_000_000)).unwrap() {
            match poller.take(ready.arrival.expect("the ring reads it"), &mut buffer).unwrap() {
                Read::Bytes(n) => all.extend_from_slice(&buffer[..n]),
                end => return (all, Some(end)),
            }
        }
    }
    (all, None)
}

#[test]
fn a_ring_brings_bytes_in_their_order_and_then_the_end() {
    let (mut poller, mut near, far) = ringed();
    assert!(poller.reads(far.as_fd()));
    // Twice the size of its buffers, so that it has to restart its receives.
    let sent: Vec<u8> = (0..8_u32 << 20).map(|n| (n >> 7) as u8).collect();
    let writer = std::thread::spawn({
        let sent = sent.clone();
        move || near.write_all(&sent).map(|()| drop(near)).unwrap()
    });
    let (came, end) = taken(&mut poller, usize::MAX);
    writer.join().unwrap();
    let differs = came.iter().zip(&sent).position(|(came, sent)| came != sent);
    assert_eq!((came.len(), differs, end), (sent.len(), None, Some(Read::End)));
}

#[test]
fn one_look_at_a_ring_brings_all_that_has_come() {
    // More than the kernel processes at once by itself. If a pass left some, read lag would be measured
    // too small.
    let mut poller = Poller::with_ring().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut pairs: Vec<_> = (0..100)
        .map(|_| {
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (near, listener.accept().unwrap().0)
        })
        .collect();
    for (token, (_, far)) in pairs.iter().enumerate() {
        poller.add(far.as_fd(), token as u64, Interest::Write).unwrap();
        poller.modify(far.as_fd(), token as u64, Interest::Bytes).unwrap();
    }
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
    // Over loopback, written bytes have arrived.
    pairs.iter_mut().for_each(|(near, _)| near.write_all(b"news").unwrap());
    let mut came: Vec<u64> = poller.wait(Some(0)).unwrap().map(|ready| ready.token).collect();
    came.sort_unstable();
    assert_eq!(came, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_flood_on_some_connections_does_not_starve_the_others() {
    // Each takes up to 32 buffers at once, together sixteen times what the pool has.
    const FLOODS: u64 = 2_000;
    let mut poller = Poller::with_ring().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut pairs: Vec<_> = (0..FLOODS + 8)
        .map(|_| {
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            near.set_nonblocking(true).unwrap();
            (near, listener.accept().unwrap().0)
        })
        .collect();
    let flood = |near: &mut TcpStream| while near.write(&[0; 16_384]).is_ok() {};
    for (token, (near, far)) in (0..).zip(&mut pairs) {
        if token < FLOODS {
            flood(near)
        } else {
            near.write_all(b"news").unwrap()
        }
        poller.add(far.as_fd(), token, Interest::Write).unwrap();
        poller.modify(far.as_fd(), token, Interest::Bytes).unwrap();
    }
    let mut quiet: Vec<u64> = (FLOODS..FLOODS + 8).collect();
    let mut waits = 0;
    while !quiet.is_empty() {
        waits += 1;
        assert!(waits <= 400, "{} of 8 quiet connections still wait", quiet.len());
        for ready in poller.wait(Some(1_000_000_000)).unwrap() {
            match ready.token {
                token if token < FLOODS => flood(&mut pairs[token as usize].0),
                token => quiet.retain(|&waiting| waiting != token),
            }
        }
    }
}

#[test]
fn a_ring_lets_go_of_what_it_is_told_to_forget() {
    let (mut poller, mut near, far) = ringed();
    near.write_all(b"late").unwrap();
    poller.forget(far.as_fd());
    drop(far);
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 0, "a forgotten descriptor reports nothing");
    // The kernel has released the connection, so the other end sees the close.
    near.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    assert_eq!(near.read(&mut [0; 8]).map_err(|error| error.kind()), Err(io::ErrorKind::ConnectionReset));
}

#[test]
fn beside_a_ring_epoll_tells_of_room_and_of_everything_else() {
    let (mut poller, mut near, far) = ringed();
    let waker = Waker::new().unwrap();
    poller.add(waker.as_fd(), 8, Interest::Read).unwrap();
    poller.modify(far.as_fd(), 7, Interest::Both).unwrap();
    let told: Vec<_> = poller.wait(Some(1_000_000_000)).unwrap().map(|r| (r.token, r.writable)).collect();
    assert_eq!(told, [(7, true)]);
    poller.modify(far.as_fd(), 7, Interest::Bytes).unwrap();
    waker.ring();
    let told: Vec<_> = poller.wait(Some(1_000_000_000)).unwrap().map(|r| r.token).collect();
    assert_eq!(told, [8]);
    waker.silence();
    near.write_all(b"news").unwrap();
    assert_eq!(taken(&mut poller, 4).0, b"news");
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
    poller.remove(waker.as_fd()).unwrap();
    poller.remove(far.as_fd()).unwrap();
}

#[test]
fn a_batch_that_was_kept_stays_as_it_was() {
    let mut poller = Poller::new().unwrap();
    let waker = Waker::new().unwrap();
    poller.add(waker.as_fd(), 7, Interest::Read).unwrap();
    waker.ring();
    let kept = poller.wait(None).unwrap();
    waker.silence();
    assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
    assert_eq!(kept.map(|r| r.token).collect::<Vec<_>>(), [7]);
}
