//! State that clients can make the server keep: channels, latest messages, subscriptions, emitters.

use std::time::Duration;

use crate::server::{Server, request};
use crate::wire::{Peer, holds, send_all};
use crate::{Kind, kind};

pub(crate) const KINDS: &[Kind] = &[
    kind("300,000 channels", 256, |server| {
        let mut peer = server.peer();
        let mut refused = 0;
        for part in 0..150 {
            let names: Vec<String> = (0..2000).map(|n| format!("{:x}", part * 2000 + n)).collect();
            peer.send(&request("GET", &format!("/poll?channel={}", names.join(",")), b""));
            match peer.answer() {
                Some((200, _)) => {}
                _ => {
                    refused += 1;
                    peer = server.peer();
                }
            }
        }
        holds(refused > 0, || "channels are unbounded".to_owned())
    }),
    kind("states of 1 MiB on 400 channels", 160, |server| {
        (0..400).for_each(|n| server.publish(&format!("c{n}"), 1 << 20));
        server.meets(&["states_forgotten"])
    }),
    kind("2,200 subscribers of 2,000 channels each", 320, |server| {
        let names: Vec<String> = (0..2000).map(|n| format!("{n:x}")).collect();
        let ask = request("GET", &format!("/stream?channel={}", names.join(",")), b"");
        let mut peers: Vec<Peer> = (0..2200).map(|_| server.peer()).collect();
        for some in peers.chunks_mut(100) {
            send_all(some, &ask);
            some.iter_mut().for_each(|peer| assert!(peer.hear_up_to(1) > 0, "each is answered"));
        }
        server.meets(&["subscriptions_refused"])
    }),
    kind("an emitter of 65,536 channels, each µs, of 1 MiB", 96, |server| {
        let names: Vec<String> = (0..65_536).map(|n| format!("\"{n:x}\"")).collect();
        emitter(server, 400, 1, 1 << 20, &names.join(","), "")?;
        holds(server.stats()["channels_total"] == 0, || "a refusal made channels".to_owned())
    }),
    kind("an emitter that begins 59 s ago", 48, |server| {
        let now_us = pushmark_net::Clock::now() / 1000;
        emitter(server, 400, 100, 1024, "\"a\"", &format!(r#","start_us":{}"#, now_us - 59_000_000))
    }),
    kind("300 emitters, each with all there is", 64, |server| {
        let mut statuses = Vec::new();
        for n in 0..300 {
            let document = br#"{"interval_us":10,"size":48,"channels":["a"],"nonce":1,"count":1}"#;
            statuses.push(server.ask("PUT", &format!("/emitters/e{n}"), document).0);
        }
        let granted = statuses.iter().filter(|&&status| status == 200).count();
        holds(granted == 10 && statuses.contains(&400), || format!("{granted} were granted"))
    }),
    kind("an emitter at full speed, subscribers who do not read", 448, |server| {
        let mut peers: Vec<Peer> = (0..20).map(|_| server.peer()).collect();
        send_all(&mut peers, &request("GET", "/sse?channel=a", b""));
        emitter(server, 200, 300, 1 << 20, "\"a\"", "")?;
        // The server is watched during this time.
        peers[0].drip(b"x", Duration::from_millis(100), Duration::from_millis(900));
        Ok(())
    }),
    kind("an emitter of 1,000,000 messages a second", 64, |server| {
        let mut subscriber = server.peer();
        subscriber.send(&request("GET", "/stream?channel=a", b""));
        emitter(server, 200, 1, 48, "\"a\"", "")?;
        subscriber.hear_for(Duration::from_millis(700));
        Ok(())
    }),
    kind("an emitter's document of 4 MiB", 64, |server| {
        let (status, _) = server.ask("PUT", "/emitters/x", &vec![b' '; 4 << 20]);
        holds(status == 400, || format!("{status}"))
    }),
    kind("500 instrumented requests of 2,500 channels", 96, |server| {
        let names: Vec<String> = (0..2500).map(|n| format!("\"{n:x}\"")).collect();
        let body = format!(r#"{{"type":"comet","events":[{}]}}"#, names.join(","));
        let ask = request("POST", "/request", body.as_bytes());
        let mut peers: Vec<Peer> = (0..500).map(|_| server.peer()).collect();
        send_all(&mut peers, &ask);
        holds(server.stats()["transports"]["stream"].as_u64() > Some(0), || "none was granted".to_owned())
    }),
];

fn emitter(
    server: &Server,
    status: u16,
    interval_us: u64,
    size: usize,
    names: &str,
    more: &str,
) -> Result<(), String> {
    let document =
        format!(r#"{{"interval_us":{interval_us},"size":{size},"channels":[{names}],"nonce":1{more}}}"#);
    let (found, body) = server.ask("PUT", "/emitters/x", document.as_bytes());
    holds(found == status, || format!("{found}: {}", String::from_utf8_lossy(&body)))
}
