//! Small slices of the studies' own suites, run as a user runs them: fewer clients, fewer cycles, no other
//! change. Suites whose waits alone take a minute run ten times as fast, from a copy.

use crate::tool::{Tool, arms, number, root};
use serde_json::Value;

/// Runs one case of a suite with this share of its crowd, and returns its arms.
fn slice(suite: &str, case: &str, scale: f64) -> Vec<Value> {
    slice_of(suite, case, (scale, 0.1), |text| text)
}

/// Does the same with a changed suite, its cycles shrunk to the second share.
fn slice_of(suite: &str, case: &str, (scale, time): (f64, f64), change: fn(String) -> String) -> Vec<Value> {
    let tool = Tool::new();
    let file = root().join("studies/suites").join(suite).with_extension("toml");
    tool.write("suite.toml", &change(std::fs::read_to_string(file).expect("the suite")));
    let scaled = ["--scale", &scale.to_string(), "--scale-time", &time.to_string()];
    let asked = [&["suite", "suite.toml", "--only", case, "-o", "out", "-q"][..], &scaled].concat();
    let ended = tool.run(&asked);
    // Small crowds on a busy machine may be doubted or cross a threshold; the case is measured all the
    // same.
    assert!(matches!(ended.code, 0 | 6 | 99), "{ended:#?}");
    let folders: Vec<String> =
        tool.names("out").into_iter().filter(|name| tool.path("out").join(name).is_dir()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert!(tool.path("out/report.html").is_file(), "the suite's page");
    let run = tool.run_json(&format!("out/{}", folders[0]));
    assert_eq!((&run["case"]["suite"], &run["case"]["id"]), (&suite.into(), &case.into()));
    assert_eq!(number(&run, "/case/scale"), scale);
    arms(&run).to_vec()
}

/// Divides every time of a suite by ten, also in the names of its cases.
fn tenfold(text: String) -> String {
    let tenth = |word: &str| {
        let seconds: Option<u64> = word.strip_suffix('s').and_then(|digits| digits.parse().ok());
        seconds.map_or(word.to_owned(), |seconds| format!("{}ms", seconds * 100))
    };
    text.split('"').map(tenth).collect::<Vec<_>>().join("\"")
}

/// Checks that the arm used the case's own transport, and that most messages arrived.
fn heard(arm: &Value, transport: &str) {
    assert_eq!(arm["transport"], transport);
    assert!(arm["error"].is_null(), "{}", arm["error"]);
    assert_eq!(number(arm, "/connections/opened"), number(arm, "/connections/asked"));
    let (intended, delivered) = (number(arm, "/delivery/intended"), number(arm, "/delivery/delivered"));
    assert!(delivered > 0.0 && 2.0 * delivered > intended, "{delivered} of {intended}");
}

#[test]
fn of_two_push_styles() {
    let arms = slice("comet-today", "builtin-long-poll-1s-1000", 0.02);
    let [arm] = &arms[..] else { panic!("one arm of {}", arms.len()) };
    heard(arm, "long-poll");
    assert_eq!(number(arm, "/long_poll/timeouts"), 0.0, "the plan's second assertion");
    let answered = number(arm, "/long_poll/answers");
    assert!(number(arm, "/long_poll/new_connections") >= answered * 0.9, "each answer closes its connection");
}

#[test]
fn of_chat_rooms() {
    let arms = slice("chat", "builtin-20-1000-3000", 0.1);
    let [requests, sockets] = &arms[..] else { panic!("two arms of {}", arms.len()) };
    heard(requests, "bayeux");
    heard(sockets, "bayeux-websocket");
}

#[test]
fn of_a_feed_and_its_batches() {
    let arms = slice("feed", "10ms-500-50", 0.02);
    let [arm] = &arms[..] else { panic!("one arm of {}", arms.len()) };
    heard(arm, "websocket");
    assert!(number(arm, "/ingest/published") > 0.0, "the feed alone is measured too");
}

/// Replaces a server of a suite, with its flag, by the built-in one.
fn swapped(text: String, server: &str) -> String {
    let written = format!("= \"{server}\", \"target.flags.slice\" = \"0\" }}");
    assert!(text.contains(&written), "the suite has no {server}");
    text.replace(&written, "= \"builtin\" }")
}

#[test]
fn of_the_first_study() {
    // The study's servers are built from old releases, so the test replaces them.
    let builtin = |text: String| swapped(tenfold(text), "node-0.8");
    let arms = slice_of("comet-195", "node-0.8-comet-100ms-1000", (0.02, 0.05), builtin);
    let [arm] = &arms[..] else { panic!("one arm of {}", arms.len()) };
    assert_eq!(arm["target"], "builtin");
    heard(arm, "stream");
    assert_eq!(arm["published"]["emitter"], true, "the server published by itself");
}

#[test]
fn of_what_keeping_connections_changes() {
    let builtin = |text: String| swapped(tenfold(text), "node");
    let arms = slice_of("comet-keep-alive", "node-100ms-kept-cursor-1000", (0.02, 0.05), builtin);
    let [arm] = &arms[..] else { panic!("one arm of {}", arms.len()) };
    assert_eq!(arm["target"], "builtin");
    heard(arm, "long-poll");
    assert_eq!(number(arm, "/long_poll/new_connections"), 0.0, "the one it came with answers all");
}

#[test]
fn of_push_against_pull() {
    let arms = slice_of("push-pull", "now-builtin-pull-500ms-500", (0.02, 1.0), tenfold);
    let [arm] = &arms[..] else { panic!("one arm of {}", arms.len()) };
    assert_eq!((&arm["transport"], &arm["error"]), (&"poll".into(), &Value::Null));
    let skipped = number(arm, "/poll/skipped_states");
    assert!(
        number(arm, "/delivery/delivered") > 0.0 && skipped > 0.0,
        "polls of 1.5 s skip states: {skipped}"
    );
}

#[test]
fn of_threads_against_non_blocking_sockets() {
    // One start, and as many messages as readings of the trend.
    let faster = |text: String| {
        text.replace("repeat = 3", "repeat = 1").replace("\"0.1/s\"", "\"1/s\"").replace("\"4s\"", "\"1s\"")
    };
    let arms = slice_of("threads-nio", "builtin-50-s", (0.01, 1.0), faster);
    let [arm] = &arms[..] else { panic!("one arm of {}", arms.len()) };
    let flood = &arm["flood"];
    assert_eq!(flood["end"], "limit", "{flood}");
    assert_eq!((number(flood, "/offered"), number(flood, "/established")), (200.0, 200.0));
    assert!(number(flood, "/served_max") > 0.0, "those who came were told something");
}
