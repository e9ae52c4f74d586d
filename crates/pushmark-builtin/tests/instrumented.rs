//! Instrumented requests: every answer reports what the server did for it (CONTRACT 7).

mod common;

use common::{Client, Server, message, stamps};
use pushmark_builtin::{Faults, Options};
use pushmark_net::Clock;
use serde_json::{Value, json};

fn register(client: &mut Client, document: &str) {
    client.request("POST", "/request", &[], document.as_bytes());
}

/// Reads a comet answer until `wanted` lines are complete.
fn lines(client: &mut Client, wanted: usize) -> Vec<Value> {
    let mut body = Vec::new();
    client.stream_while(&mut body, |body| body.iter().filter(|&&byte| byte == b'\n').count() < wanted);
    let lines = body.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("one document on one line")).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// Checks two instants between `from_us` and now, and their difference.
fn assert_timings(timings: &Value, from_us: u64) {
    let (created, sent) = (number(&timings["created"]), number(&timings["sent"]));
    assert!(from_us <= created && created <= sent && sent <= Clock::now() / 1000, "{timings}");
    let duration_ms = timings["duration"].as_f64().unwrap();
    assert!((duration_ms - (sent - created) as f64 / 1000.0).abs() < 1e-6, "{timings}");
}

// 7.1, 7.2
#[test]
fn a_long_poll_is_answered_with_the_first_event() {
    let server = Server::plain();
    server.publish("a", &message(4, 64));
    let before_us = Clock::now() / 1000;
    let asked = json!({"type": "long-poll", "events": ["b", "a"], "duration_ms": 60_000});
    let mut client = server.client();
    register(&mut client, &asked.to_string());
    server.wait_until("registered", |stats| stats["transports"]["long-poll"] == 1);
    let published_us = Clock::now() / 1000;
    let sent = [b"\"quoted\" \\ \n ".to_vec(), message(5, 48)].concat();
    server.publish("a", &sent);
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("pushmark-subscribed")), (200, "a=4,b=-"));
    assert!(!answer.body.contains(&b'\n'), "one line");
    let response = &answer.json()["response"];
    let event = &response["event"];
    assert_eq!((&event["name"], &event["message"]), (&json!("a"), &json!(String::from_utf8(sent).unwrap())));
    assert_eq!(event["connections"], json!({"total": 1, "place": 1}));
    assert_timings(&event["timings"], published_us);
    assert_timings(&response["timings"], before_us);
    assert_eq!(response["request"], asked);
    assert_eq!(response["connections"], json!({"start": 1, "finish": 1}));
    assert_eq!(stamps(&answer.body)[0].sequence, 5);
    // The answer ended the registration. The connection may send the next request.
    assert_eq!(server.stats()["channels"]["b"]["subscribers"], 0);
    register(&mut client, &asked.to_string());
    server.wait_until("registered again", |stats| stats["transports"]["long-poll"] == 1);
    server.publish("b", b"no stamp");
    assert_eq!(client.answer().json()["response"]["event"]["name"], "b");
}

#[test]
fn a_comet_request_is_told_every_event() {
    let server = Server::plain();
    let mut client = server.client();
    register(&mut client, r#"{"type":"comet","events":["a"]}"#);
    let head = client.head();
    assert_eq!((head.status, head.header("pushmark-subscribed")), (200, "a=-"));
    assert_eq!(head.header("transfer-encoding"), "chunked");
    server.emit(&["a"], 1_000, r#","count":20"#);
    let told = lines(&mut client, 20);
    let sequences = told.iter().map(|line| stamps(line.to_string().as_bytes())[0].sequence);
    assert_eq!(sequences.collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert!(told.iter().all(|line| line["response"]["timeout"].is_null()));
    drop(client);
    server.wait_until("it left", |stats| stats["transports"]["stream"] == 0);
}

#[test]
fn places_and_totals_count_the_requests_of_the_event() {
    let server = Server::start(Options { threads: 2, ..Options::default() });
    let mut crowd: Vec<_> = (0..8).map(|_| server.client()).collect();
    for (n, client) in crowd.iter_mut().enumerate() {
        let events = if n < 5 { r#"["a","b"]"# } else { r#"["b"]"# };
        register(client, &format!(r#"{{"type":"comet","events":{events}}}"#));
        client.head();
    }
    // A client that does not request the documents does not count.
    let mut stream = server.client();
    stream.subscribe("/stream?channel=a", &[]);
    server.publish("a", b"news");
    let mut places = Vec::new();
    for (n, client) in crowd.iter_mut().take(5).enumerate() {
        let response = &lines(client, 1)[0]["response"];
        assert_eq!(response["event"]["connections"]["total"], 5);
        assert_eq!(response["connections"], json!({"start": n + 1, "finish": 8}));
        places.push(number(&response["event"]["connections"]["place"]));
    }
    places.sort_unstable();
    assert_eq!(places, [1, 2, 3, 4, 5]);
}

#[test]
fn a_time_out_is_a_document_without_event() {
    let server = Server::plain();
    let mut client = server.client();
    for _ in 0..2 {
        register(&mut client, r#"{"type":"long-poll","events":["a"],"duration_ms":30}"#);
        let response = &client.answer().json()["response"];
        assert_eq!((&response["timeout"], &response["event"]), (&json!(true), &Value::Null));
        assert!(response["timings"]["duration"].as_f64().unwrap() >= 30.0);
        assert_eq!(response["request"]["duration_ms"], 30);
    }
    assert_eq!(server.stats()["transports"]["long-poll"], 0);
}

#[test]
fn a_stop_answers_what_is_held() {
    let server = Server::plain();
    let (mut held, mut comet) = (server.client(), server.client());
    register(&mut held, r#"{"type":"long-poll","events":["a"],"duration_ms":60000}"#);
    register(&mut comet, r#"{"type":"comet","events":["a"]}"#);
    comet.head();
    server.wait_until("held", |stats| stats["transports"]["long-poll"] == 1);
    server.ask("POST", "/shutdown", "");
    assert_eq!(held.answer().json()["response"]["timeout"], true);
    assert!(!comet.stream_while(&mut Vec::new(), |_| true), "the last chunk, or the end");
}

#[test]
fn bad_input_is_refused_and_registers_nothing() {
    let server = Server::plain();
    for body in [
        "",
        "no JSON",
        "[]",
        "{}",
        r#"{"type":"poll","events":["a"],"duration_ms":5}"#,
        r#"{"type":"comet","events":[]}"#,
        r#"{"type":"comet","events":"a"}"#,
        r#"{"type":"long-poll","events":["a","b c"],"duration_ms":5}"#,
        r#"{"type":"long-poll","events":["a"],"duration_ms":"soon"}"#,
        r#"{"type":"long-poll","events":["a"],"duration_ms":5,"hold":5}"#,
    ] {
        let answer = server.ask("POST", "/request", body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json()["error"].is_string());
    }
    assert_eq!(server.ask("GET", "/request", "").status, 405);
    let stats = server.stats();
    assert_eq!((&stats["channels_total"], &stats["transports"]["long-poll"]), (&json!(0), &json!(0)));
}

#[test]
fn faults_strike_instrumented_requests_too() {
    let faults = Faults { drop: "1/4".parse().ok(), ..Faults::default() };
    let server = Server::start(Options { faults, ..Options::default() });
    let mut client = server.client();
    register(&mut client, r#"{"type":"comet","events":["a"]}"#);
    client.head();
    (0..8).for_each(|n| drop(server.publish("a", &message(n, 64))));
    let seen = lines(&mut client, 6);
    let sequences = seen.iter().map(|line| stamps(line.to_string().as_bytes())[0].sequence);
    assert_eq!(sequences.collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6]);
}
