//! Floods over WebSockets, and slow consumers.

use std::time::Duration;

use pushmark_proto::websocket::Opcode;
use pushmark_proto::websocket::encode;

use crate::server::{REQUEST_MAX, Server, request};
use crate::wire::{DEADLINE, Peer, holds, send_all, until};
use crate::{Kind, kind};

const TIME: Duration = Duration::from_millis(700);

pub(crate) const KINDS: &[Kind] = &[
    kind("pings of 125 bytes, pongs never read", 32, |server| {
        socket_flood(server, &frame(Opcode::Ping, &[7; 125]), 200 << 20)?;
        server.meets(&["pongs_skipped"])
    }),
    kind("empty pings, pongs never read", 32, |server| {
        socket_flood(server, &frame(Opcode::Ping, b""), 50 << 20)
    }),
    kind("pongs nobody asked for", 32, |server| {
        socket_flood(server, &frame(Opcode::Pong, &[7; 125]), 200 << 20)
    }),
    kind("closes, again and again", 32, |server| {
        let mut peer = socket(server);
        peer.flood(&frame(Opcode::Close, &[3, 232]), 1 << 20, TIME);
        holds(peer.is_ended(DEADLINE), || "it continues after a Close".to_owned())
    }),
    kind("empty fragments without end", 32, |server| {
        let mut peer = socket(server);
        peer.send(&[0x01, 0x80, 1, 2, 3, 4]);
        let sent = peer.flood(&[0x00, 0x80, 1, 2, 3, 4], 20 << 20, TIME);
        holds(sent > 0, || "nothing was taken".to_owned())
    }),
    kind("fragments of 1 byte beyond 1 MiB", 32, |server| {
        let mut peer = socket(server);
        peer.send(&[0x01, 0x81, 0, 0, 0, 0, b'x']);
        peer.flood(&[0x00, 0x81, 0, 0, 0, 0, b'x'], 20 << 20, DEADLINE);
        holds(peer.is_ended(DEADLINE), || "a message beyond 1 MiB continues".to_owned())
    }),
    kind("a frame of 2^63 bytes", 32, |server| {
        broken(server, &[0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
    }),
    kind("a frame of 2^62 bytes", 32, |server| {
        broken(server, &[0x82, 0xFF, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
    }),
    kind("a frame without a mask", 32, |server| broken(server, b"\x81\x01x")),
    kind("a frame with a reserved bit", 32, |server| broken(server, b"\xC1\x80\x01\x02\x03\x04")),
    kind("text that is not UTF-8", 32, |server| broken(server, b"\x81\x81\0\0\0\0\xff")),
    kind("garbage after an upgrade", 32, |server| broken(server, &[0xFF; 4096])),
    kind("150 half messages of 1 MiB", 160, |server| {
        let mut half = frame(Opcode::Text, &[b'x'; 1 << 20]);
        half.pop();
        let mut peers: Vec<Peer> = (0..150).map(|_| socket(server)).collect();
        send_all(&mut peers, &half);
        server.meets(&["kept_full"])?;
        let ended = peers.iter_mut().all(|peer| peer.is_ended(REQUEST_MAX + DEADLINE));
        holds(ended, || "half a message may stay".to_owned())
    }),
    kind("a frame's header, a byte at a time", 32, |server| {
        let mut peer = socket(server);
        peer.send(&[0x81]);
        holds(peer.is_ended(REQUEST_MAX + DEADLINE), || "half a header may stay".to_owned())
    }),
    kind("publications of peers without end", 192, |server| {
        let mut subscriber = server.peer();
        subscriber.send(&request("GET", "/stream?channel=a", b""));
        let text = [&b"publish a\n"[..], &[b'x'; 100]].concat();
        let mut peer = Peer::connect(server.address);
        peer.upgrade("/ws");
        let sent = peer.flood(&frame(Opcode::Text, &text), 32 << 20, TIME);
        holds(sent > 0, || "nothing was taken".to_owned())
    }),
    kind("publications of peers of 1 MiB", 256, |server| {
        let mut subscriber = server.peer();
        subscriber.send(&request("GET", "/sse?channel=a", b""));
        let text = [&b"publish a\n"[..], &[b'x'; (1 << 20) - 64]].concat();
        let mut peer = Peer::connect(server.address);
        peer.upgrade("/ws");
        peer.flood(&frame(Opcode::Text, &text), 256 << 20, TIME);
        holds(server.stats()["publications"].as_u64() > Some(0), || "nothing was published".to_owned())
    }),
    kind("subscribers of 1 MiB who do not read", 448, |server| {
        // Each subscribes to a different channel, so nothing is shared.
        let mut peers: Vec<Peer> = (0..24).map(|_| server.peer()).collect();
        for (n, peer) in peers.iter_mut().enumerate() {
            peer.send(&request("GET", &format!("/sse?channel=c{n}"), b""));
            peer.hear(Duration::from_millis(5));
        }
        let mut publisher = server.peer();
        for n in 0..24 * 24 {
            let publication = request("POST", &format!("/publish?channel=c{}", n % 24), &[b'x'; 1 << 20]);
            publisher.send_whole(&publication);
            let status = publisher.answer().map(|(status, _)| status);
            holds(status == Some(200), || format!("publication {n}: {status:?}"))?;
        }
        holds(server.stats()["dropped"].as_u64() > Some(0), || "nothing was dropped".to_owned())
    }),
    kind("400 long polls that get 1 MiB and do not read", 128, |server| {
        let mut peers: Vec<Peer> = (0..400).map(|_| server.peer()).collect();
        send_all(&mut peers, &request("GET", "/long-poll?channel=a", b""));
        until(server, "all are held", |stats| stats["transports"]["long-poll"] == 400)?;
        server.publish("a", 1 << 20);
        until(server, "all are answered", |stats| stats["long_poll_answers"] == 400)
    }),
    kind("40 polls of 16 MiB that are not read", 384, |server| {
        server.ask("GET", "/poll?channel=a&since=", b"");
        (0..16).for_each(|_| server.publish("a", 1 << 20));
        let mut peers: Vec<Peer> = (0..40).map(|_| server.peer()).collect();
        send_all(&mut peers, &request("GET", "/poll?channel=a&since=0", b""));
        until(server, "the bound was hit", |stats| stats["bounds"]["queues_full"].as_u64() > Some(0))
    }),
];

fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    encode::frame(&mut frame, opcode, payload, Some([1, 2, 3, 4]));
    frame
}

fn socket(server: &Server) -> Peer {
    let mut peer = server.peer();
    peer.upgrade("/ws?channel=a");
    peer
}

fn socket_flood(server: &Server, frame: &[u8], max: usize) -> Result<(), String> {
    let sent = socket(server).flood(frame, max, TIME);
    holds(sent > 0, || "nothing was taken".to_owned())
}

/// Bytes that violate the protocol end the connection.
fn broken(server: &Server, bytes: &[u8]) -> Result<(), String> {
    let mut peer = socket(server);
    peer.send(bytes);
    holds(peer.is_ended(DEADLINE), || "it continues".to_owned())
}
