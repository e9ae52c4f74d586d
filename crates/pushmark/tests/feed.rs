//! The feed: publications over WebSockets that stay open, what they alone cost the server, and a
//! server that collects them before it writes.

mod tool;

use serde_json::Value;
use tool::{LOAD, Tool, arms, number, whole};

fn builtin(transport: &str, more: &str) -> String {
    format!("transports = [\"{transport}\"]\n[target]\nserver = \"builtin\"\n{more}{LOAD}")
}

const FEED: &str = "[subscriptions]\nchannels = 20\nper_connection = 5\n\
                    [publisher]\nover = \"websocket\"\nrate = \"20/s\"\nsize = \"60B\"\n";

#[test]
fn all_that_is_due_goes_over_websockets_and_is_heard() {
    let tool = Tool::new();
    let run = tool.measure(&(builtin("sse", "") + FEED), &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    assert_eq!(number(arm, "/published/due"), 400.0);
    assert_eq!(number(arm, "/published/sent"), 400.0);
    assert_eq!(number(arm, "/delivery/delivered"), 8.0 * 5.0 * 20.0);
    // Each channel keeps to its connection, and so to its order.
    assert_eq!(number(arm, "/delivery/out_of_order"), 0.0);
    // A text has no answer: how long the target took to accept it is not known.
    assert!(arm["published"].get("accept").is_none(), "{:#}", arm["published"]);
    assert!(arm.get("ingest").is_none(), "it was not asked for");
    // The server was told by four connections, and by no request.
    assert_eq!(run["plan"]["arms"][0]["publisher"]["connections"], 4);
}

#[test]
fn the_feed_alone_is_measured_when_the_crowd_has_left() {
    for over in ["post", "websocket"] {
        let tool = Tool::new();
        let feed = FEED.replace("websocket", over) + "alone = \"1s\"\n";
        let run = tool.measure(&(builtin("stream", "") + &feed), &[]);
        let arm = &arms(&run)[0];
        whole(arm);
        let published = number(arm, "/ingest/published");
        assert!((399.0..=401.0).contains(&published), "{over}: {published}");
        let window_us = number(arm, "/ingest/window_us");
        assert!((0.9e6..1.5e6).contains(&window_us), "{window_us}");
        let cpu_us = number(arm, "/ingest/server_cpu_us");
        assert!(cpu_us > 0.0 && cpu_us < window_us, "{cpu_us}");
        // It is no part of the arm's own figures.
        assert_eq!(number(arm, "/published/due"), 400.0);
    }
}

/// The built-in server as a foreign target: it posts nowhere, and its feed is described.
fn foreign(arguments: &str, load: &str) -> String {
    format!(
        "transports = [\"stream\"]\n[target.subscribe]\nstream = \"http://127.0.0.1:{{port}}/stream?channel={{channels}}\"\n\
         [target.publish]\nwebsocket = {{ url = \"ws://127.0.0.1:{{port}}/ws\", text = \"publish {{channel}}\\n{{message}}\" }}\n\
         [target.process]\nstart = [\"{program}\", \"serve\", \"--port\", \"{{port}}\"{arguments}]\n\
         ready = \"http://127.0.0.1:{{port}}/health\"\n{load}{FEED}",
        program = tool::program(),
    )
}

#[test]
fn a_foreign_target_is_fed_by_a_template() {
    let tool = Tool::new();
    let run = tool.measure(&foreign("", LOAD), &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    assert_eq!(number(arm, "/delivery/delivered"), 800.0);
}

#[test]
fn a_feed_that_is_refused_comes_again() {
    let tool = Tool::new();
    let load =
        LOAD.replace("settle = \"200ms\"", "settle = \"2s\"\nreconnect = { backoff = \"full-jitter\" }");
    let run = tool.measure(&foreign(", \"--refuse\", \"1/3\"", &load), &[]);
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/published/sent"), 400.0);
    assert_eq!(number(arm, "/published/failed"), 0.0);
    assert_eq!(number(arm, "/delivery/unpublished"), 0.0);
}

#[test]
fn a_feed_that_nobody_takes_publishes_nothing() {
    let tool = Tool::new();
    // No WebSocket is to be had at that path.
    let scenario = foreign("", LOAD).replace("/ws\"", "/no-such-path\"") + "timeout = \"300ms\"\n";
    let run = tool.measure(&scenario, &[]);
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/published/sent"), 0.0);
    assert_eq!(number(arm, "/delivery/unpublished"), number(arm, "/delivery/intended"));
    assert_eq!(number(arm, "/delivery/intended"), 800.0);
    // Whoever waited too long is told why; the last still waited when the time was over.
    let failed = arm["published"]["failed_by"].as_object().expect("kinds");
    assert!(failed.values().filter_map(Value::as_f64).sum::<f64>() >= 100.0, "{failed:?}");
    assert!(failed.keys().any(|kind| kind == "status_4xx"), "{failed:?}");
}

#[test]
fn a_batch_time_of_the_server_is_seen_from_outside() {
    let feed = FEED.replace("20/s", "100/s");
    let with = |batch: &str| {
        let tool = Tool::new();
        let flags = format!("flags = {{ batch = \"{batch}\" }}\n");
        let run = tool.measure(&(builtin("websocket", &flags) + &feed), &[]);
        let arm = arms(&run)[0].clone();
        whole(&arm);
        assert_eq!(run["environment"]["server"]["flags"]["batch"], batch);
        arm
    };
    let (at_once, batched) = (with("0ms"), with("50ms"));
    // 500 messages a second for each client: 2 ms apart, some 26 in a batch of 50 ms.
    let segments = |arm: &Value| number(arm, "/wire/segments_in");
    assert!(segments(&at_once) > 5.0 * segments(&batched), "{} {}", segments(&at_once), segments(&batched));
    // They have waited between nothing and 50 ms; a busy machine only adds.
    let p50 = number(&batched, "/delivery/latency/p50_us");
    assert!(p50 >= 15_000.0, "{p50}");
    assert_eq!(number(&batched, "/delivery/delivered"), number(&at_once, "/delivery/delivered"));
    assert_eq!(number(&batched, "/delivery/out_of_order"), 0.0);
}

#[test]
fn what_a_feed_cannot_be_is_said() {
    let tool = Tool::new();
    let refused = |scenario: &str| {
        tool.write("s.toml", scenario);
        let ended = tool.run(&["run", "s.toml", "-q"]);
        assert_eq!(ended.code, 2, "{ended:#?}");
        ended.err.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let says = |scenario: &str, wanted: &[&str]| {
        let said = refused(scenario);
        for text in wanted {
            assert!(said.contains(text), "{text:?} is not in {said}");
        }
    };
    let of = |publisher: &str| builtin("sse", "") + "[publisher]\n" + publisher;
    says(&of("over = \"websockets\""), &["`publisher.over` has no choice \"websockets\"", "websocket"]);
    says(
        &of("mode = \"emitter\"\nover = \"websocket\""),
        &["how publications come from outside", "external"],
    );
    says(&of("alone = \"10ms\""), &["too short", "1s"]);
    let without = "transports = [\"sse\"]\n[target.subscribe]\nsse = \"http://127.0.0.1:1/s?c={channel}\"\n";
    let posts = "[target.publish]\nurl = \"http://127.0.0.1:1/p\"\n[publisher]\nover = \"websocket\"\n";
    says(&format!("{without}{posts}"), &["nothing says how to publish here over a WebSocket", "text ="]);
    let feeds = "[target.publish]\nwebsocket = { url = \"ws://127.0.0.1:1/w\" }\n";
    says(&format!("{without}{feeds}"), &["where messages are posted to", "publisher.over"]);
    let silent = "[target.publish]\nwebsocket = { url = \"ws://127.0.0.1:1/w\", text = \"hello\" }\n[publisher]\nover = \"websocket\"\n";
    says(&format!("{without}{silent}"), &["must hold {message}"]);
    let wrong = "[target.publish]\nwebsocket = { url = \"http://127.0.0.1:1/w\" }\n[publisher]\nover = \"websocket\"\n";
    says(&format!("{without}{wrong}"), &["ws://"]);
}
