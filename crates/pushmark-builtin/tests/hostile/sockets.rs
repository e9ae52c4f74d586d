//! Connections that open, stay, close and reset at any time, and a shutdown under attack.

use std::time::Duration;

use crate::server::{Server, request};
use crate::wire::{Peer, holds, random, send_all};
use crate::{Kind, kind};

pub(crate) const KINDS: &[Kind] = &[
    kind("3,000 connections that say nothing", 32, |server| {
        let peers: Vec<Peer> = (0..3000).map(|_| server.peer()).collect();
        let open = server.stats()["connections"].as_u64();
        holds(open >= Some(peers.len() as u64), || format!("{open:?} are open"))
    }),
    kind("4,000 connections that come and reset", 32, |server| {
        for _ in 0..4000 {
            server.peer().reset();
        }
        gone(server)
    }),
    kind("600 resets in the middle of a body", 32, |server| {
        for _ in 0..600 {
            let body = request("POST", "/publish?channel=a", &[b'x'; 20_000]);
            let mut peer = server.peer();
            peer.send(&body[..200 + random(19_000)]);
            peer.reset();
        }
        gone(server)
    }),
    kind("200 resets in the middle of an answer", 64, |server| {
        server.publish("a", 1 << 20);
        for _ in 0..200 {
            let mut peer = server.peer();
            peer.send(&request("GET", "/poll?channel=a", b""));
            peer.reset();
        }
        gone(server)
    }),
    kind("600 half-closed after their request", 64, |server| {
        for _ in 0..600 {
            let mut peer = server.peer();
            peer.send(&request("GET", "/long-poll?channel=a", b""));
            peer.end_writing();
        }
        gone(server)
    }),
    kind("subscribers that come and reset", 64, |server| {
        for n in 0..1500 {
            let path = ["/sse", "/stream", "/long-poll"][n % 3];
            let mut peer = server.peer();
            peer.send(&request("GET", &format!("{path}?channel=a,b{n}"), b""));
            peer.reset();
        }
        gone(server)?;
        let left = server.stats()["transports"].to_string();
        holds(!left.contains(|digit: char| digit.is_ascii_digit() && digit != '0'), || left)
    }),
    kind("/shutdown under floods", 128, |server| {
        server.publish("a", 1 << 20);
        let polls = request("GET", "/poll?channel=a", b"").repeat(1000);
        let mut peers: Vec<Peer> = (0..20).map(|_| server.peer()).collect();
        send_all(&mut peers, &polls);
        let mut subscribers: Vec<Peer> = (0..20).map(|_| server.peer()).collect();
        send_all(&mut subscribers, &request("GET", "/sse?channel=a", b""));
        (0..8).for_each(|_| server.publish("a", 1 << 20));
        let (status, _) = server.ask("POST", "/shutdown", b"");
        let took = server.ends_within(Duration::from_secs(3))?;
        holds(status == 200 && took < Duration::from_secs(1), || format!("it took {took:?}"))
    }),
];

/// Checks that all connections are gone, except the one that asks.
fn gone(server: &Server) -> Result<(), String> {
    let began = std::time::Instant::now();
    loop {
        let open = server.stats()["connections"].as_u64().unwrap_or(u64::MAX);
        if open <= 2 {
            return Ok(());
        }
        holds(began.elapsed() < Duration::from_secs(5), || format!("{open} connections are still open"))?;
    }
}
