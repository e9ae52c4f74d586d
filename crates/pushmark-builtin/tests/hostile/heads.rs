//! Requests that never end, contradict themselves, or are much too long.

use std::time::Duration;

use crate::server::{REQUEST_MAX, Server, request};
use crate::wire::{DEADLINE, Peer, holds, send_all};
use crate::{Kind, kind};

const PAUSE: Duration = Duration::from_millis(20);
const TIME: Duration = Duration::from_millis(500);
const HOST: &str = "HTTP/1.1\r\nHost: localhost\r\n";

pub(crate) const KINDS: &[Kind] = &[
    kind("a head, a byte at a time", 32, |server| dripped(server, "GET /", b"x")),
    kind("a body, a byte at a time", 32, |server| {
        dripped(server, &format!("POST /publish?channel=a {HOST}Content-Length: 1000000\r\n\r\n"), b"x")
    }),
    kind("chunks, a byte at a time", 32, |server| {
        dripped(
            server,
            &format!("POST /publish?channel=a {HOST}Transfer-Encoding: chunked\r\n\r\n"),
            b"1\r\nx\r\n",
        )
    }),
    kind("a head's line without end", 32, |server| endless(server, b"GET /", b"x", Some(431))),
    kind("header fields without end", 32, |server| {
        endless(server, format!("GET /health {HOST}").as_bytes(), b"X: y\r\n", None)
    }),
    kind("line ends without end", 32, |server| {
        let sent = server.peer().flood(b"\r\n", 16 << 20, TIME);
        holds(sent > 0, || "nothing was taken".to_owned())
    }),
    kind("4,500 half heads of 16 KiB", 160, |server| {
        let half = format!("GET /health {HOST}X: {}", "y".repeat(16_000));
        let mut peers: Vec<Peer> = (0..4500).map(|_| server.peer()).collect();
        send_all(&mut peers, half.as_bytes());
        server.meets(&["kept_full", "too_slow"])?;
        let ended = peers.iter_mut().all(|peer| peer.is_ended(REQUEST_MAX + DEADLINE));
        holds(ended, || "half a head may stay".to_owned())
    }),
    kind("100 half bodies of 3 MiB", 224, |server| {
        let mut half = request("PUT", "/emitters/x", &[b'x'; 3 << 20]);
        half.pop();
        let mut peers: Vec<Peer> = (0..100).map(|_| server.peer()).collect();
        send_all(&mut peers, &half);
        let ended = peers.iter_mut().all(|peer| peer.is_ended(REQUEST_MAX + DEADLINE));
        holds(ended, || "half a body may stay".to_owned())
    }),
    kind("a body of 5 MiB", 48, |server| {
        let (status, _) = server.ask("PUT", "/emitters/x", &vec![b'x'; 5 << 20]);
        holds(status == 413 || status == 0, || format!("{status}"))
    }),
    kind("a message of 2 MiB", 48, |server| {
        refused(server, &request("POST", "/publish?channel=a", &vec![b'x'; 2 << 20]), 413)
    }),
    kind("Content-Length of 2^64", 32, |server| length(server, "Content-Length: 18446744073709551616")),
    kind("Content-Length below 0", 32, |server| length(server, "Content-Length: -1")),
    kind("two lengths", 32, |server| length(server, "Content-Length: 1\r\nContent-Length: 2")),
    kind("a length and chunks", 32, |server| {
        length(server, "Content-Length: 1\r\nTransfer-Encoding: chunked")
    }),
    kind("a coding that is none", 32, |server| length(server, "Transfer-Encoding: xchunked")),
    kind("a length in a folded line", 32, |server| {
        length(server, "X: y\r\n Content-Length: 5\r\nContent-Length: a")
    }),
    kind("a chunk of 2^64 - 1 bytes", 48, |server| {
        chunks(server, b"FFFFFFFFFFFFFFFF\r\nx", Some(b"xxxxxxxx"))
    }),
    kind("a chunk size of 17 digits", 32, |server| chunks(server, b"10000000000000000\r\nx", None)),
    kind("a chunk size below 0", 32, |server| chunks(server, b"-1\r\nx", None)),
    kind("chunks of 1 byte", 48, |server| chunks(server, b"", Some(b"1\r\nx\r\n"))),
    kind("a chunk extension without end", 32, |server| chunks(server, b"1;", Some(b"x"))),
    kind("trailers without end", 32, |server| chunks(server, b"0\r\n", Some(b"X: y\r\n"))),
    kind("a chunk's line ended by LF alone", 32, |server| chunks(server, b"1\nx\n0\n\n", None)),
    kind("expectations without end", 32, |server| {
        let ask = format!("POST /publish?channel=a {HOST}Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx");
        let sent = server.peer().flood(ask.as_bytes(), 16 << 20, TIME);
        holds(sent > 0, || "nothing was taken".to_owned())
    }),
    kind("a Last-Event-ID of 1 MiB", 32, |server| {
        let ask = format!("GET /sse?channel=a {HOST}Last-Event-ID: {}\r\n\r\n", "7".repeat(1 << 20));
        refused(server, ask.as_bytes(), 431)
    }),
    kind("a query of 1 MiB", 32, |server| {
        refused(server, format!("GET /poll?channel={} {HOST}\r\n", "a,".repeat(1 << 19)).as_bytes(), 431)
    }),
    kind("cursors that are none", 32, |server| {
        for cursor in ["-1", "18446744073709551616", "0x1", "%00", "%ff", "1e9", "NaN", "%", "1,2", "+-1"] {
            refused(server, &request("GET", &format!("/poll?channel=a&since={cursor}"), b""), 400)?;
            refused(server, &request("GET", &format!("/long-poll?channel=a&since={cursor}"), b""), 400)?;
        }
        // The highest cursor is valid but is never reached.
        let far = request("GET", "/poll?channel=a&since=18446744073709551615", b"");
        refused(server, &far, 200)
    }),
    kind("a subscription with a body", 32, |server| {
        refused(server, &request("GET", "/sse?channel=a", b"").repeat(1), 200)?;
        let ask = format!(
            "GET /ws?channel=a {HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 9\r\n\r\n123456789"
        );
        refused(server, ask.as_bytes(), 400)
    }),
    kind("other protocols", 32, |server| {
        let hellos: [&[u8]; 5] = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"SSH-2.0-OpenSSH_9.9\r\n",
            b"GET /health\r\n\r\n",
            b"\0\0\0\0\0\0\0\0",
        ];
        for hello in hellos {
            let mut peer = server.peer();
            peer.send(hello);
            holds(peer.is_ended(REQUEST_MAX + DEADLINE), || format!("{hello:?} may stay"))?;
        }
        Ok(())
    }),
    kind("deep JSON", 48, |server| {
        let deep = b"[".repeat(2 << 20);
        for (method, path) in
            [("PUT", "/emitters/x"), ("POST", "/cometd"), ("POST", "/log"), ("POST", "/request")]
        {
            let (status, _) = server.ask(method, path, &deep);
            holds(matches!(status, 400 | 413), || format!("{path}: {status}"))?;
        }
        Ok(())
    }),
];

/// The request must be answered with 408, or at least ended, soon after its time limit.
fn dripped(server: &Server, first: &str, then: &[u8]) -> Result<(), String> {
    let mut peer = server.peer();
    peer.send(first.as_bytes());
    let said = peer.drip(then, PAUSE, REQUEST_MAX + DEADLINE).ok_or("it may go on for ever")?;
    holds(said.starts_with(b"HTTP/1.1 408 "), || String::from_utf8_lossy(&said).into_owned())
}

fn endless(server: &Server, first: &[u8], then: &[u8], status: Option<u16>) -> Result<(), String> {
    let mut peer = server.peer();
    peer.send(first);
    peer.flood(then, 8 << 20, TIME);
    // The answer may be lost in the reset that unread bytes cause.
    let answer = peer.answer().map(|(status, _)| status);
    holds(answer.is_none() || status.is_none() || answer == status, || format!("{answer:?}"))?;
    holds(peer.is_ended(DEADLINE), || "it may go on for ever".to_owned())
}

/// Sends random pieces and expects this status.
fn refused(server: &Server, bytes: &[u8], status: u16) -> Result<(), String> {
    let mut peer = server.peer();
    if bytes.len() < 64 * 1024 {
        peer.send_cut(bytes);
    } else {
        peer.send(bytes);
    }
    let answer = peer.answer().map(|(status, _)| status);
    let lost = bytes.len() > 64 * 1024 && answer.is_none();
    holds(lost || answer == Some(status), || format!("{answer:?} for {status}"))
}

/// A request with an ambiguous length is refused, and nothing after it is read as a request.
fn length(server: &Server, fields: &str) -> Result<(), String> {
    let smuggled = request("POST", "/publish?channel=smuggled", b"x");
    let mut bytes = format!("POST /publish?channel=a {HOST}{fields}\r\n\r\n").into_bytes();
    bytes.extend_from_slice(&smuggled);
    refused(server, &bytes, 400)?;
    let published = server.stats()["publications"].as_u64();
    holds(published == Some(0), || format!("{published:?} messages were published"))
}

/// A chunked body with this beginning and an endless repetition must be refused.
fn chunks(server: &Server, first: &[u8], then: Option<&[u8]>) -> Result<(), String> {
    let mut peer = server.peer();
    peer.send(format!("POST /publish?channel=a {HOST}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
    peer.send(first);
    if let Some(then) = then {
        peer.flood(then, 64 << 20, DEADLINE);
    }
    holds(peer.is_ended(REQUEST_MAX + DEADLINE), || "it may go on for ever".to_owned())
}
