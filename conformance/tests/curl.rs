//! curl against the built-in server: an independent HTTP implementation.

use std::process::Output;

use conformance::builtin::Builtin;
use conformance::process::Process;
use conformance::{http, tools};
use serde_json::{Value, json};

/// Head and body as curl prints them with `--include`.
fn curl(arguments: &[&str]) -> (String, String) {
    let mut command = tools::command("curl");
    command.args(["--silent", "--show-error", "--include", "--max-time", "60", "--noproxy", "*"]);
    let Output { status, stdout, stderr } = command.args(arguments).output().expect("curl runs");
    assert!(status.success(), "curl {arguments:?}: {}", String::from_utf8_lossy(&stderr));
    let text = String::from_utf8(stdout).expect("text");
    let (mut head, mut body) = text.split_once("\r\n\r\n").expect("a head");
    if head.starts_with("HTTP/1.1 100") {
        (head, body) = body.split_once("\r\n\r\n").expect("the final head");
    }
    (head.to_owned(), body.to_owned())
}

fn document(arguments: &[&str]) -> Value {
    let (head, body) = curl(arguments);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("application/json"), "{head}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body}: {error}"))
}

#[test]
fn health_time_and_stats_answer() {
    if !tools::present(&["curl"]) {
        return;
    }
    let server = Builtin::start();
    let (head, body) = curl(&[&server.url("/health")]);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body, "ok");

    let time = document(&[&server.url("/time?client=123")]);
    assert_eq!(time["client"], 123);
    let later = document(&[&server.url("/time?client=124")]);
    assert!(later["monotonic_us"].as_u64() > time["monotonic_us"].as_u64(), "{time} {later}");
    assert!(time["realtime_us"].as_u64() > Some(1_700_000_000_000_000), "{time}");

    let stats = document(&[&server.url("/stats")]);
    assert_eq!(stats["clock"], "monotonic");
    assert!(stats["requests"].as_u64() >= Some(3), "{stats}");
}

#[test]
fn a_publication_says_how_many_hear_it_and_is_refused_where_it_is_none() {
    if !tools::present(&["curl"]) {
        return;
    }
    let server = Builtin::start();
    let url = server.url("/publish?channel=a");
    let answer = document(&["--data-binary", "hello", &url]);
    assert_eq!((&answer["channel"], &answer["subscribers"]), (&json!("a"), &json!(0)));
    // Chunked, and after a 100 Continue: two ways to send a body.
    document(&["--header", "Transfer-Encoding: chunked", "--data-binary", "in chunks", &url]);
    document(&["--header", "Expect: 100-continue", "--data-binary", "after asking", &url]);
    assert_eq!(curl(&[&server.url("/poll?channel=a")]).1, "after asking");

    let status = |arguments: &[&str]| curl(arguments).0[9..12].to_owned();
    assert_eq!(status(&["--data-binary", "", &url]), "413");
    assert_eq!(status(&["--data-binary", "x", &server.url("/publish")]), "400");
    assert_eq!(status(&[&server.url("/nothing")]), "404");
    assert_eq!(status(&["--request", "DELETE", &server.url("/poll?channel=a")]), "405");
    assert_eq!(status(&[&server.url("/ws?channel=a")]), "426");
}

#[test]
fn an_event_stream_is_heard_as_it_comes_and_resumed_by_its_last_id() {
    if !tools::present(&["curl"]) {
        return;
    }
    let server = Builtin::start();
    let url = server.url("/sse?channel=news");
    let mut command = tools::command("curl");
    let mut curl = Process::start(command.args(["--silent", "--no-buffer", "--noproxy", "*", &url]));
    server.wait_for_subscribers("news", 1);
    server.publish("news", b"first");
    let id = curl.line().strip_prefix("id: ").expect("an id first").to_owned();
    assert_eq!(curl.line(), "data: first");
    assert_eq!(curl.line(), "");
    server.publish("news", b"two\nlines");
    curl.line();
    assert_eq!([curl.line(), curl.line(), curl.line()], ["data: two", "data: lines", ""]);
    drop(curl);

    let header = format!("Last-Event-ID: {id}");
    let mut command = tools::command("curl");
    let mut curl = Process::start(command.args([
        "--silent",
        "--no-buffer",
        "--noproxy",
        "*",
        "--header",
        &header,
        &url,
    ]));
    curl.line();
    assert_eq!([curl.line(), curl.line(), curl.line()], ["data: two", "data: lines", ""], "what was missed");
}

#[test]
fn a_poll_gives_the_state_once_and_304_until_it_changes() {
    if !tools::present(&["curl"]) {
        return;
    }
    let server = Builtin::start();
    server.publish("news", b"state 1");
    let url = server.url("/poll?channel=news");
    let (head, body) = curl(&[&url]);
    assert_eq!(body, "state 1");
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).expect("an ETag").trim();
    let known = format!("If-None-Match: {etag}");
    let (head, body) = curl(&["--header", &known, &url]);
    assert!(head.starts_with("HTTP/1.1 304"), "{head}");
    assert_eq!(body, "");
    server.publish("news", b"state 2");
    assert_eq!(curl(&["--header", &known, &url]).1, "state 2");
}

#[test]
fn a_long_poll_ends_in_a_message_or_in_a_document_that_says_it_timed_out() {
    if !tools::present(&["curl"]) {
        return;
    }
    let server = Builtin::start();
    let url = server.url("/long-poll?channel=news&hold=300");
    let timed_out = document(&[&url]);
    assert_eq!((&timed_out["timeout"], &timed_out["hold_ms"]), (&json!(true), &json!(300)));
    let held_us = timed_out["held_us"].as_u64().expect("a time");
    assert!((300_000..2_000_000).contains(&held_us), "{timed_out}");

    // With a cursor no message is lost between two polls.
    let first = http::get(server.address, "/long-poll?channel=news&since=");
    let cursor = first.header("pushmark-cursor").expect("a cursor").to_owned();
    server.publish("news", b"one");
    server.publish("news", b"two");
    let (_, body) = curl(&[&server.url(&format!("/long-poll?channel=news&since={cursor}"))]);
    assert_eq!(body.trim_end(), "one\ntwo");
}

#[test]
fn a_connection_is_kept_for_the_next_request_unless_http_1_0_asks() {
    if !tools::present(&["curl"]) {
        return;
    }
    let server = Builtin::start();
    let url = server.url("/health");
    let connections = |version: &str| {
        let mut command = tools::command("curl");
        command.args(["--silent", "--noproxy", "*", version, "--write-out", "%{num_connects}\n"]);
        let output = command.args(["--output", "/dev/null", &url, "--output", "/dev/null", &url]).output();
        String::from_utf8(output.expect("curl runs").stdout).expect("text")
    };
    assert_eq!(connections("--http1.1"), "1\n0\n");
    assert_eq!(connections("--http1.0"), "1\n1\n");
}
