//! Requests sent ahead by a client that reads no answers, on every path.

use std::time::Duration;

use crate::server::{Server, request};
use crate::wire::{Peer, holds, send_all};
use crate::{Kind, kind};

/// The most that one attacker sends, and for how long.
const SENT_MAX: usize = 24 << 20;
const TIME: Duration = Duration::from_millis(500);

pub(crate) const KINDS: &[Kind] = &[
    kind("pipelined /health", 32, |server| endless(server, &request("GET", "/health", b""))),
    kind("pipelined /time", 32, |server| endless(server, &request("GET", "/time?client=1", b""))),
    kind("pipelined /stats of 4,096 channels", 48, |server| {
        many_channels(server);
        endless(server, &request("GET", "/stats", b""))
    }),
    kind("pipelined polls of a state of 1 MiB", 48, |server| {
        server.publish("a", 1 << 20);
        endless(server, &request("GET", "/poll?channel=a", b""))
    }),
    kind("pipelined polls of 32 messages of 1 MiB", 176, |server| {
        history(server);
        endless(server, &request("GET", "/poll?channel=a&since=0", b""))
    }),
    kind("pipelined long polls of 32 messages of 1 MiB", 176, |server| {
        history(server);
        endless(server, &request("GET", "/long-poll?channel=a&since=0", b""))
    }),
    kind("pipelined long polls behind a held one", 32, |server| {
        endless(server, &request("GET", "/long-poll?channel=a", b""))
    }),
    kind("1,500 polls in 61 KB, answers of 1 MiB", 48, |server| {
        server.publish("a", 1 << 20);
        let polls = b"GET /poll?channel=a HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n".repeat(1500);
        let mut peer = server.peer();
        peer.send(&polls);
        // They are answered nevertheless, as the client reads.
        let heard = peer.hear_up_to(64 << 20);
        holds(heard >= 64 << 20, || format!("{} MiB were answered", heard >> 20))
    }),
    kind("pipelined 404", 32, |server| endless(server, &request("GET", "/nothing", b""))),
    kind("pipelined 405", 32, |server| endless(server, &request("GET", "/shutdown", b""))),
    kind("pipelined publications of 1 byte", 64, |server| {
        endless(server, &request("POST", "/publish?channel=a", b"x"))
    }),
    kind("pipelined publications of 1 MiB", 192, |server| {
        endless(server, &request("POST", "/publish?channel=a", &[b'x'; 1 << 20]))
    }),
    kind("pipelined instrumented requests", 32, |server| {
        endless(
            server,
            &request("POST", "/request", br#"{"type":"long-poll","events":["a"],"duration_ms":0}"#),
        )
    }),
    kind("pipelined emitters", 32, |server| {
        let document = br#"{"interval_us":1000000,"size":48,"channels":["a"],"nonce":1}"#;
        endless(server, &request("PUT", "/emitters/x", document))
    }),
    kind("pipelined DELETE of emitters", 32, |server| endless(server, &request("DELETE", "/emitters", b""))),
    kind("pipelined Bayeux publications", 64, |server| {
        endless(server, &request("POST", "/cometd", br#"[{"channel":"/a","data":"x"}]"#))
    }),
    kind("pipelined /stats from 40 clients", 64, |server| {
        many_channels(server);
        let stats = request("GET", "/stats", b"").repeat(1000);
        let mut peers: Vec<Peer> = (0..40).map(|_| server.peer()).collect();
        send_all(&mut peers, &stats);
        holds(peers[0].answer().is_some(), || "they are answered all the same".to_owned())
    }),
];

/// Sends until the server accepts nothing more, which must happen.
fn endless(server: &Server, ask: &[u8]) -> Result<(), String> {
    let mut peer = server.peer();
    let sent = peer.flood(ask, SENT_MAX, TIME);
    // A kernel buffers some MiB in either direction.
    holds(sent > 0, || "nothing was taken".to_owned())
}

fn many_channels(server: &Server) {
    for part in 0..4 {
        let names: Vec<String> = (0..1024).map(|n| format!("c{}", part * 1024 + n)).collect();
        assert_eq!(server.ask("GET", &format!("/poll?channel={}", names.join(",")), b"").0, 200);
    }
}

fn history(server: &Server) {
    server.ask("GET", "/poll?channel=a&since=", b"");
    (0..32).for_each(|_| server.publish("a", 1 << 20));
}
