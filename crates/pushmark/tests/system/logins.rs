//! Requests before the subscription: each client logs in and negotiates, and what the answers gave it opens its
//! stream. A login that fails is told with its answer.

use conformance::process::Process;
use conformance::tools;
use serde_json::Value;

use crate::tool::{POLLERS, Tool, arms, http, number, whole};

const LOAD: &str = "[load]\nconnections = 8\nramp = { rate = 400 }\nsettle = \"300ms\"\nwarmup = \"0s\"\n\
     duration = \"2s\"\ndrain = \"1s\"\nhandshake_timeout = \"500ms\"\n";

/// Starts the server. Returns it with its port.
fn started(arguments: &[&str]) -> (Process, u64) {
    let mut server = Process::start(tools::node("login-server.mjs").args(arguments));
    let line: Value = serde_json::from_str(&server.line()).expect("JSON");
    let port = line["port"].as_u64().expect("a port");
    (server, port)
}

/// A client logs in with this path and body, negotiates, and opens its stream with what it got.
fn target(port: u64, login: &str, body: &str) -> String {
    format!(
        r#"transports = ["sse"]
[[target.before]]
url = "http://127.0.0.1:{port}{login}"
headers = {{ "content-type" = "application/x-www-form-urlencoded" }}
body = "{body}"
capture = {{ token = "/session/token", sid = "cookie:sid", user = "header:X-User" }}
[[target.before]]
method = "POST"
url = "http://127.0.0.1:{port}/negotiate"
headers = {{ authorization = "Bearer {{capture.token}}", cookie = "sid={{capture.sid}}" }}
status = 201
capture = {{ id = "connection=([0-9]+);user=" }}
[target.subscribe.sse]
url = "http://127.0.0.1:{port}/events?channel={{channel}}&token={{capture.token}}&id={{capture.id}}&user={{capture.user}}"
headers = {{ cookie = "sid={{capture.sid}}" }}
[target.publish]
url = "http://127.0.0.1:{port}/publish?channel={{channel}}"
"#
    )
}

const RIGHT: &str = "user=u{client}&password=open sesame";

fn counts(port: u64) -> Value {
    let (_, text) = http::ask(&format!("127.0.0.1:{port}"), "GET", "/counts", "").expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn each_client_logs_in_and_negotiates_before_its_stream() {
    if !tools::present(&["node"]) {
        return;
    }
    for poller in POLLERS {
        let (_server, port) = started(&[]);
        let tool = Tool::new();
        let run = tool.measure(&(target(port, "/login", RIGHT) + LOAD), &["--poller", poller]);
        let arm = &arms(&run)[0];
        whole(arm);
        let counts = counts(port);
        assert_eq!(
            (&counts["logins"], &counts["negotiations"], &counts["streams"], &counts["refused"]),
            (&8.into(), &8.into(), &8.into(), &0.into()),
            "{counts}"
        );
    }
}

#[test]
fn a_token_that_opens_one_stream_is_asked_for_again() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&["700"]);
    let again = "reconnect = { backoff = \"full-jitter\", base = \"10ms\", max = \"50ms\" }\n";
    let tool = Tool::new();
    let run = tool.measure(&(target(port, "/login", RIGHT) + LOAD + again), &[]);
    let arm = &arms(&run)[0];
    let counts = counts(port);
    let reconnected = number(arm, "/connections/reconnected");
    assert!(reconnected >= 8.0, "{:#}", arm["connections"]);
    assert_eq!(counts["refused"], 0, "a token was used twice: {counts}");
    assert!(counts["logins"].as_f64() >= Some(8.0 + reconnected), "{counts}");
}

#[test]
fn a_login_that_fails_is_told_with_its_answer() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&[]);
    let told = |login: &str, body: &str, words: &[&str]| {
        let tool = Tool::new();
        tool.write("s.toml", &(target(port, login, body) + LOAD));
        let ended = tool.run(&["run", "s.toml", "-q"]).never_panicked();
        assert_eq!(ended.code, 3, "{login}: {}", ended.err);
        for word in words {
            assert!(ended.err.contains(word), "{login}: no {word:?} in {}", ended.err);
        }
    };
    let request = "request 1 before the subscription (POST /login)";
    told("/login", "user=u&password=guess", &[request, "answered 401: wrong password"]);
    told("/silent", RIGHT, &["request 1 before the subscription (POST /silent)", "no answer in time"]);
    told("/publish?channel=x", RIGHT, &["no `sid` in its answer"]);
    told("/no-such-place", RIGHT, &["answered 404"]);
}

#[test]
fn check_and_try_log_in_too() {
    if !tools::present(&["node"]) {
        return;
    }
    let (_server, port) = started(&[]);
    let tool = Tool::new();
    tool.write("s.toml", &target(port, "/login", RIGHT));
    tool.run(&["check", "s.toml"]).expect(0);
    let tried = tool.run(&["try", "s.toml", "--for", "300ms"]).expect(0);
    let said = format!("{}{}", tried.out, tried.err);
    assert!(said.contains("request 2 before the subscription (POST /negotiate): answered, id = "), "{said}");
}
