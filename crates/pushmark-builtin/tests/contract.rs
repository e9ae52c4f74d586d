//! The control endpoints, clause by clause (CONTRACT 2, 4 and 5).

mod common;

use std::io::Write;

use common::{Server, message, stamps};
use pushmark_net::Clock;
use serde_json::json;

// 2.1
#[test]
fn health_is_ok() {
    let answer = Server::plain().ask("GET", "/health", "");
    assert_eq!((answer.status, answer.text()), (200, "ok"));
}

// 2.2
#[test]
fn time_is_the_servers_and_the_clients() {
    let server = Server::plain();
    let before_us = Clock::now() / 1000;
    let time = server.ask("GET", "/time?client=123", "").json();
    let after_us = Clock::now() / 1000;
    assert_eq!(time["client"], 123);
    assert!((before_us..=after_us).contains(&time["monotonic_us"].as_u64().unwrap()));
    assert!(time["realtime_us"].as_u64().unwrap() > 1_600_000_000_000_000);
}

// 2.3
#[test]
fn statistics_count_what_happened() {
    let server = Server::plain();
    let mut client = server.client();
    client.subscribe("/stream?channel=c0", &[]);
    server.publish("c0", &message(41, 64));
    client.stream_until(1);
    let stats = server.wait_until("one delivery", |stats| stats["deliveries"] == 1);
    assert_eq!(stats["clock"], "monotonic");
    assert_eq!(stats["grain_us"], 1);
    assert_eq!(stats["transports"]["stream"], 1);
    assert_eq!(stats["publications"], 1);
    assert_eq!(stats["channels"]["c0"], json!({"published": 1, "last": 41, "subscribers": 1}));
    drop(client);
    let stats = server.wait_until("it left", |stats| stats["transports"]["stream"] == 0);
    assert_eq!(stats["channels"]["c0"]["subscribers"], 0);
}

// 2.4
#[test]
fn the_log_is_switched_from_outside() {
    let server = Server::plain();
    assert_eq!(server.ask("POST", "/log", r#"{"on":true}"#).status, 200);
    assert_eq!(server.stats()["logging"], true);
    server.ask("POST", "/log", r#"{"on":false}"#);
    assert_eq!(server.stats()["logging"], false);
    assert_eq!(server.ask("POST", "/log", r#"{"off":1}"#).status, 400);
}

// 2.5
#[test]
fn shutdown_ends_every_conversation_as_its_protocol_wants() {
    let server = Server::plain();
    let (mut stream, mut poll, mut socket) = (server.client(), server.client(), server.client());
    stream.subscribe("/stream?channel=c0", &[]);
    socket.upgrade("/ws?channel=c0");
    poll.get("/long-poll?channel=c0&hold=60000");
    server.wait_until("the poll is held", |stats| stats["transports"]["long-poll"] == 1);
    assert_eq!(server.ask("POST", "/shutdown", "").status, 200);
    assert!(!stream.stream_while(&mut Vec::new(), |_| true), "the last chunk, or the end");
    assert_eq!(poll.answer().json()["timeout"], true);
    assert_eq!(socket.messages(1), [None]);
    assert!(server.stop().connections >= 5);
}

// 3.1
#[test]
fn a_connection_carries_many_requests_even_sent_ahead() {
    let server = Server::plain();
    let mut client = server.client();
    client.get("/health");
    client.get("/time");
    client.request("POST", "/publish?channel=c0", &[], b"hello");
    assert_eq!(client.answer().text(), "ok");
    assert_eq!(client.answer().json()["client"], "");
    assert_eq!(client.answer().json()["channel"], "c0");
    client.request("GET", "/health", &["Connection: close"], b"");
    assert_eq!(client.answer().header("connection"), "close");
    assert!(client.is_lost());
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let server = Server::plain();
    let mut client = server.client();
    let request = b"POST /publish?channel=c0 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for byte in request {
        client.socket.write_all(&[*byte]).unwrap();
    }
    assert_eq!(client.answer().status, 200);
    assert_eq!(server.ask("GET", "/poll?channel=c0", "").text(), "hello");
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let server = Server::plain();
    for (method, target, body, status) in [
        ("GET", "/nowhere", "", 404),
        ("DELETE", "/stats", "", 405),
        ("GET", "/stream", "", 400),
        ("GET", "/ws?channel=a", "", 426),
        ("POST", "/publish?channel=a", "", 413),
        ("PUT", "/emitters/x", "{}", 400),
        ("DELETE", "/emitters/x", "", 404),
    ] {
        let answer = server.ask(method, target, body);
        assert_eq!(answer.status, status, "{method} {target}");
        assert!(answer.json()["error"].is_string());
    }
    let mut client = server.client();
    client.socket.write_all(b"NOT HTTP\r\n\r\n").unwrap();
    assert_eq!(client.answer().status, 400);
}

// 4.1, 4.2
#[test]
fn a_publication_is_relayed_byte_for_byte() {
    let server = Server::plain();
    let mut client = server.client();
    client.upgrade("/ws?channel=c0");
    let payload: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let told = server.publish("c0", &payload);
    assert_eq!(told, json!({"channel": "c0", "subscribers": 1, "queued": 1}));
    assert_eq!(client.messages(1), [Some(payload)]);
}

// 5.1 to 5.4
#[test]
fn an_emitter_keeps_its_schedule() {
    let server = Server::plain();
    let mut client = server.client();
    client.subscribe("/stream?channel=c0,c1", &[]);
    let told = server.emit(
        &["c0", "c1"],
        5_000,
        r#","count":20,"publisher":3,"channel_indexes":[10,11],"phases_us":[0,2500]"#,
    );
    let start_us = told["start_us"].as_u64().unwrap();
    let (stamps, body) = client.stream_until(40);
    for (n, stamp) in stamps.iter().enumerate() {
        let (channel, sequence) = (n as u64 % 2, n as u64 / 2);
        assert_eq!((u64::from(stamp.channel), stamp.sequence), (10 + channel, sequence));
        assert_eq!(stamp.due_us, start_us + sequence * 5_000 + channel * 2_500);
        assert_eq!((stamp.nonce, stamp.publisher), (7, 3));
        assert!(stamp.sent_us >= stamp.due_us, "no message is sent early");
    }
    assert_eq!(body.len(), 40 * 65, "64 bytes each, and a line end");
    let mut lags: Vec<u64> = stamps.iter().map(|stamp| stamp.sent_us - stamp.due_us).collect();
    lags.sort_unstable();
    // The machine may be busy with other tests. Half of the ticks are on time even then.
    assert!(lags[20] < 2_000, "median lag {} us: {lags:?}", lags[20]);
    assert_eq!(server.stats()["emits"]["count"], 40);
}

// 5.5
#[test]
fn emitters_are_changed_and_cleared() {
    let server = Server::plain();
    let mut client = server.client();
    client.subscribe("/stream?channel=c0", &[]);
    assert_eq!(server.emit(&["c0"], 1_000, "")["changed"], false);
    client.stream_until(3);
    assert_eq!(server.emit(&["c0"], 2_000, r#","publisher":1"#)["changed"], true);
    let mut body = Vec::new();
    client.stream_while(&mut body, |body| stamps(body).iter().all(|stamp| stamp.publisher == 0));
    let anew = stamps(&body).into_iter().find(|stamp| stamp.publisher == 1).unwrap();
    assert_eq!(anew.sequence, 0);
    assert_eq!(server.ask("DELETE", "/emitters/test", "").json(), json!({"cleared": 1}));
    let emitted = server.stats()["emits"]["count"].clone();
    assert_eq!(server.stats()["emits"]["count"], emitted, "silent at once");
    server.emit(&["c0"], 1_000, "");
    assert_eq!(server.ask("DELETE", "/emitters", "").json(), json!({"cleared": 1}));
}
