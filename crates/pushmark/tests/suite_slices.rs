//! A small slice of the studies' own suites, run as a user runs them: fewer clients, fewer cycles,
//! nothing else. (Pull schemes and floods have tests of their own, `pull.rs` and `steered.rs`.)

mod tool;

use serde_json::Value;
use tool::{Tool, arms, number, root};

/// Runs one case of a suite with this share of its crowd, and gives its arms.
fn slice(suite: &str, case: &str, scale: f64) -> Vec<Value> {
    let tool = Tool::new();
    let file = root().join("suites").join(suite).with_extension("toml");
    let file = file.to_str().expect("a path");
    let share = scale.to_string();
    let asked = ["suite", file, "--only", case, "--scale", &share, "--scale-time", "0.1", "-o", "out", "-q"];
    let ended = tool.run(&asked);
    // Small crowds on a busy machine may be doubted or cross a threshold; they are measured all the same.
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

/// Nothing went another way than over the case's own transport, and most of it arrived.
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
