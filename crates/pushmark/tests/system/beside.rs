//! Requests beside a stream, as steps of its subscription: the stream names its connection, a request subscribes that
//! connection, another confirms it.

use conformance::process::Process;
use conformance::tools;
use serde_json::Value;

use crate::tool::{POLLERS, Tool, arms, http, number, whole};

const LOAD: &str = "[load]\nconnections = 12\nramp = { rate = 400 }\nsettle = \"300ms\"\nwarmup = \"0s\"\n\
     duration = \"2s\"\ndrain = \"1s\"\nhandshake_timeout = \"500ms\"\n[subscriptions]\nchannels = 3\n";

fn started(arguments: &[&str]) -> (Process, u64) {
    let mut server = Process::start(tools::node("beside-server.mjs").args(arguments));
    let line: Value = serde_json::from_str(&server.line()).expect("JSON");
    let port = line["port"].as_u64().expect("a port");
    (server, port)
}

/// `join` is the path and `id` what it sends as the connection; `ticket` what confirms it.
fn target(port: u64, transport: &str, join: &str, id: &str, ticket: &str) -> String {
    let path = if transport == "sse" { "events" } else { "stream" };
    format!(
        r#"transports = ["{transport}"]
[target.subscribe.{transport}]
url = "http://127.0.0.1:{port}/{path}"
[[target.subscribe.{transport}.steps]]
wait = {{ json = "/id" }}
capture = {{ id = "/id" }}
[[target.subscribe.{transport}.steps]]
wait = {{ json = "/joined", is = "{{channel}}" }}
request.url = "http://127.0.0.1:{port}{join}"
request.body = '{{"id":"{id}","channels":["{{channel}}"]}}'
request.capture = {{ ticket = "/ticket" }}
[[target.subscribe.{transport}.steps]]
request.url = "http://127.0.0.1:{port}/confirm?id={{capture.id}}"
request.headers = {{ x-ticket = "{ticket}" }}
request.status = 204
[target.publish]
url = "http://127.0.0.1:{port}/publish?channel={{channel}}"
"#
    )
}

fn right(port: u64, transport: &str) -> String {
    target(port, transport, "/join", "{capture.id}", "{capture.ticket}")
}

fn counts(port: u64) -> Value {
    let (_, text) = http::ask(&format!("127.0.0.1:{port}"), "GET", "/counts", "").expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_stream_is_subscribed_by_requests_beside_it() {
    if !tools::present(&["node"]) {
        return;
    }
    for transport in ["sse", "stream"] {
        for poller in POLLERS {
            let (_server, port) = started(&[]);
            let run = Tool::new().measure(&(right(port, transport) + LOAD), &["--poller", poller]);
            whole(&arms(&run)[0]);
            let counts = counts(port);
            let all = ["streams", "joined", "confirmed", "refused"].map(|name| counts[name].as_u64());
            assert_eq!(all, [Some(12), Some(12), Some(12), Some(0)], "{transport} {poller}: {counts}");
        }
    }
}

/// Each stream has a name of its own, so its requests are made again.
#[test]
fn a_stream_that_comes_back_is_subscribed_again() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&["700"]);
    let again = "[load.reconnect]\nbackoff = \"full-jitter\"\nbase = \"10ms\"\nmax = \"50ms\"\n";
    let run = Tool::new().measure(&(right(port, "sse") + LOAD + again), &[]);
    let arm = &arms(&run)[0];
    let counts = counts(port);
    let reconnected = number(arm, "/connections/reconnected");
    assert!(reconnected >= 12.0, "{:#}", arm["connections"]);
    assert_eq!(counts["refused"], 0, "{counts}");
    assert!(counts["confirmed"].as_f64() >= Some(12.0 + reconnected), "{counts}");
    assert!(number(arm, "/delivery/delivered") > 0.0, "{:#}", arm["delivery"]);
}

#[test]
fn a_request_that_fails_is_told_with_its_step() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&[]);
    let told = |join: &str, id: &str, ticket: &str, words: &[&str]| {
        for command in [&["run", "s.toml", "-q"][..], &["check", "s.toml"]] {
            let tool = Tool::new();
            tool.write("s.toml", &(target(port, "sse", join, id, ticket) + LOAD));
            let ended = tool.run(command).never_panicked();
            assert_ne!(ended.code, 0, "{join}: {ended:#?}");
            let said = format!("{}{}", ended.out, ended.err);
            for word in words {
                assert!(said.contains(word), "{command:?} {join}: no {word:?} in {said}");
            }
        }
    };
    let (id, ticket) = ("{capture.id}", "{capture.ticket}");
    let joins = "the request of step 2 (POST /join)";
    told("/join", "another", ticket, &[joins, "answered 403", "no such connection"]);
    told("/nowhere", id, ticket, &["the request of step 2 (POST /nowhere)", "answered 404"]);
    told("/join", id, "guessed", &["the request of step 3 (GET /confirm", "answered 403", "a wrong ticket"]);
    let tool = Tool::new();
    tool.write("s.toml", &(target(port, "sse", "/silent", id, ticket) + LOAD));
    let ended = tool.run(&["run", "s.toml", "-q"]).never_panicked().expect(3);
    assert!(ended.err.contains("the request of step 2 (POST /silent): no answer in time"), "{}", ended.err);
}

/// The others are measured, and the result says what the refused ones were told.
#[test]
fn some_clients_that_are_refused_are_told_with_their_answer() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&[]);
    let scenario = target(port, "sse", "/join?refuse=3", "{capture.id}", "{capture.ticket}") + LOAD;
    let run = Tool::new().measure(&scenario, &[]);
    let connections = &arms(&run)[0]["connections"];
    assert_eq!((number(connections, "/opened"), number(connections, "/failed/auth")), (8.0, 4.0));
    let how = "the request of step 2 (POST /join?refuse=3): answered 403";
    assert_eq!(connections["failed_with"][how], 4, "{connections:#}");
    assert!(connections["last_said"].to_string().contains("not everybody"), "{connections:#}");
}

#[test]
fn check_and_try_make_them_too() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&[]);
    let tool = Tool::new();
    tool.write("s.toml", &right(port, "sse"));
    tool.run(&["check", "s.toml"]).expect(0);
    let tried = tool.run(&["try", "s.toml", "--for", "300ms"]).expect(0);
    let said = format!("{}{}", tried.out, tried.err);
    assert!(said.contains("the request of step 2 (POST /join): answered, ticket = "), "{said}");
}
