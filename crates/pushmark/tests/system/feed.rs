//! The feed: publications over WebSockets that stay open, what they alone cost the server, and a server
//! that collects messages before it writes them.

use crate::tool;
use std::io::Write as _;
use std::time::Duration;

use crate::tool::http::Target;
use crate::tool::{LOAD, Tool, arms, came, number, websocket, whole};
use serde_json::Value;

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
    assert_eq!(came(arm), 8.0 * 5.0 * 20.0);
    // Each channel stays on its connection, and so keeps its order.
    assert_eq!(number(arm, "/delivery/out_of_order"), 0.0);
    // A text has no answer, so the time until the target accepted it is not known.
    assert!(arm["published"].get("accept").is_none(), "{:#}", arm["published"]);
    assert!(arm.get("ingest").is_none(), "it was not asked for");
    // The feed used four connections, and no request.
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
        // The feed alone is not part of the arm's figures.
        assert_eq!(number(arm, "/published/due"), 400.0);
    }
}

/// Returns the built-in server as a foreign target: it takes no posts, and a template describes its feed.
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
    assert_eq!(came(arm), 800.0);
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
    // No WebSocket is available at that path.
    let scenario = foreign("", LOAD).replace("/ws\"", "/no-such-path\"") + "timeout = \"300ms\"\n";
    let run = tool.measure(&scenario, &[]);
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/published/sent"), 0.0);
    assert_eq!(number(arm, "/delivery/unpublished"), number(arm, "/delivery/intended"));
    assert_eq!(number(arm, "/delivery/intended"), 800.0);
    // Publications that waited too long fail with the reason; the last ones still waited at the end.
    let failed = arm["published"]["failed_by"].as_object().expect("kinds");
    assert!(failed.values().filter_map(Value::as_f64).sum::<f64>() >= 100.0, "{failed:?}");
    assert!(failed.keys().any(|kind| kind == "status_4xx"), "{failed:?}");
    // The target refuses a feed and keeps its clients, so it is alive.
    assert_eq!(arm["outcome"], "degraded", "{:#}", arm["connections"]);
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
    // 500 messages a second for each client: 2 ms apart, about 26 in a batch of 50 ms.
    let segments = |arm: &Value| number(arm, "/wire/segments_in");
    assert!(segments(&at_once) > 5.0 * segments(&batched), "{} {}", segments(&at_once), segments(&batched));
    // Messages wait between 0 and 50 ms; a busy machine only adds to it.
    let p50 = number(&batched, "/delivery/latency/p50_us");
    assert!(p50 >= 15_000.0, "{p50}");
    assert_eq!(came(&batched), came(&at_once));
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
    says(&format!("{without}{posts}"), &["has no `websocket` to publish over", "text ="]);
    let feeds =
        "[target.publish]\nwebsocket = { url = \"ws://127.0.0.1:1/w\" }\n[publisher]\nover = \"post\"\n";
    says(&format!("{without}{feeds}"), &["no `url` to post messages to", "publisher.over"]);
    let silent = "[target.publish]\nwebsocket = { url = \"ws://127.0.0.1:1/w\", text = \"hello\" }\n[publisher]\nover = \"websocket\"\n";
    says(&format!("{without}{silent}"), &["must contain {message}"]);
    let wrong = "[target.publish]\nwebsocket = { url = \"http://127.0.0.1:1/w\" }\n[publisher]\nover = \"websocket\"\n";
    says(&format!("{without}{wrong}"), &["ws://"]);
}

/// Publications that a target takes from a connection, and further ones that it reads and drops before it
/// ends the connection.
const TAKEN: usize = 20;
const CUT_OFF: usize = 3;

/// Starts a target that is fed over WebSockets: it takes some publications, drops a few more, and ends the
/// connection. Clients receive the taken publications.
fn that_kicks_its_feed() -> Target {
    Target::start(|request, answer| {
        if request.path != "/feed" {
            answer.head("text/event-stream")?;
            let mut heard = 0;
            while !answer.hub.over() {
                for message in answer.hub.after(heard, Duration::from_millis(500)).unwrap_or_default() {
                    answer.stream.write_all(&[b"data: ", &message[..], b"\n\n"].concat())?;
                    heard += 1;
                }
            }
            return Ok(());
        }
        websocket::upgrade(request, answer)?;
        for _ in 0..TAKEN {
            let message = websocket::next(answer)?;
            answer.hub.publish(&message);
        }
        for _ in 0..CUT_OFF {
            websocket::next(answer)?;
        }
        websocket::close(answer, 4000, "another took your name")
    })
}

#[test]
fn what_a_feed_loses_with_its_connection_has_failed_and_is_not_missing() {
    let target = that_kicks_its_feed();
    let (tool, at) = (Tool::new(), target.address);
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"http://{at}/sse\"\n\
             [target.publish]\nwebsocket = {{ url = \"ws://{at}/feed\", text = \"{{message}}\" }}\n{LOAD}\
             [publisher]\nover = \"websocket\"\nrate = \"50/s\"\nconnections = 1\n"
        ),
    );
    let ended = tool.run(&["run", "s.toml", "-o", "out", "-q", "-d", "3s"]).never_panicked();
    let arm = arms(&tool.run_json("out"))[0].clone();
    let (published, delivery) = (&arm["published"], &arm["delivery"]);
    let (due, taken) = (number(published, "/due"), target.hub.count() as f64);
    let (intended, failed) = (number(delivery, "/intended"), number(published, "/failed"));
    assert_eq!((due, intended), (150.0, 150.0 * 8.0));
    assert!(number(published, "/reconnected") >= 3.0, "{published:#}");
    assert!(failed >= CUT_OFF as f64, "{published:#}");
    assert_eq!(number(published, "/failed_by/connection_ended"), failed, "{published:#}");
    let came = number(delivery, "/delivered") + number(delivery, "/late");
    assert_eq!(came, taken * 8.0, "{delivery:#}");
    assert_eq!(number(delivery, "/missing"), 0.0, "the target lost nothing that it took: {delivery:#}");
    let not_taken = number(delivery, "/excused") + number(delivery, "/unpublished");
    assert_eq!(not_taken, (due - taken) * 8.0, "{delivery:#}");
    assert!(ended.out.contains("connections were closed by the target"), "{}", ended.out);
}
