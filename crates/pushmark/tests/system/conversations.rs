//! Protocols of other people, described in a scenario: on their own servers, which throw out who does not speak
//! them, nothing is lost, and their own client beside ours hears the same.

use conformance::process::Process;
use conformance::tools;
use serde_json::Value;

use crate::tool::{POLLERS, Tool, arms, came, number, whole};

/// Three seconds: servers that ping each second ping several times.
const LOAD: &str = "[load]\nconnections = 8\nramp = { rate = 400 }\nsettle = \"300ms\"\nwarmup = \"0s\"\n\
     duration = \"3s\"\ndrain = \"1s\"\n[publisher]\nrate = \"40/s\"\nconnections = 1\n";

/// Starts a server of npm. Returns it with its port.
fn started(script: &str, arguments: &[&str]) -> (Process, u64) {
    let mut server = Process::start(tools::node(script).args(arguments));
    let line: Value = serde_json::from_str(&server.line()).expect("JSON");
    let port = line["port"].as_u64().expect("a port");
    (server, port)
}

/// Runs a crowd over one transport by each poller, and returns its arms. All is accounted for, and no connection
/// was lost.
fn heard(transport: &str, target: &str) -> Vec<Value> {
    let measured = POLLERS.map(|poller| {
        let tool = Tool::new();
        let run =
            tool.measure(&format!("transports = [\"{transport}\"]\n{target}{LOAD}"), &["--poller", poller]);
        let arm = arms(&run)[0].clone();
        whole(&arm);
        assert_eq!(number(&arm, "/connections/lost"), 0.0, "{:#}", arm["connections"]);
        assert_eq!(arm["outcome"], "held", "{arm:#}");
        arm
    });
    measured.to_vec()
}

/// Runs `pushmark check` on a target. It passes.
fn checked(target: &str, transport: &str) {
    let tool = Tool::new();
    tool.write("a.toml", &format!("transports = [\"{transport}\"]\n{target}"));
    tool.run(&["check", "a.toml"]).expect(0);
}

#[test]
fn socket_io_rooms_are_joined_by_an_event() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("socket-io-server.mjs", &[]);
    let target = format!(
        r#"[target.subscribe.websocket]
url = "ws://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket"
steps = [
  {{ wait = {{ prefix = "0{{" }}, capture = {{ sid = "/sid" }} }},
  {{ send = "40", wait = '40{{"sid"' }},
  {{ send = '420["join","{{channel}}"]', wait = {{ equals = '430["joined {{channel}}"]' }} }},
]
answer = [{{ on = "2", send = "3" }}]
[target.publish]
url = "http://127.0.0.1:{port}/publish?room={{channel}}"
"#
    );
    let mut theirs = Process::start(tools::node("socket-io-hear.mjs").args([&port.to_string(), "c0"]));
    assert_eq!(theirs.line(), r#"{"said":"joined c0"}"#);
    let published: f64 = heard("websocket", &target).iter().map(|arm| came(arm) / 8.0).sum();
    hears_as_many(&mut theirs, published);
    checked(&target, "websocket");
}

#[test]
fn a_client_that_is_tried_publishes_as_peers_do() {
    let tool = Tool::new();
    let program = crate::tool::program();
    tool.write(
        "a.toml",
        &format!(
            "transports = [\"websocket\"]\n[target.subscribe.websocket]\n\
             url = \"ws://127.0.0.1:{{port}}/ws?channel={{channels}}\"\npublish = \"publish {{channel}}\\n{{message}}\"\n\
             [target.process]\nstart = [\"{program}\", \"serve\", \"--port\", \"{{port}}\"]\n\
             ready = \"http://127.0.0.1:{{port}}/health\"\n[publisher]\nmode = \"peer\"\n"
        ),
    );
    let tried = tool.run(&["try", "a.toml", "--for", "1s"]).expect(0);
    for text in ["publishes one message itself, as peers do", "that is message 1,"] {
        assert!(tried.out.contains(text), "{}", tried.out);
    }
}

/// Socket.IO over HTTP long polling, whose pings are answered by requests.
fn over_polling(port: u64, respond: &str) -> String {
    let url = format!("http://127.0.0.1:{port}/socket.io/?EIO=4&transport=polling");
    let session = format!("{url}&sid={{capture.sid}}");
    format!(
        r#"[[target.before]]
url = "{url}"
capture = {{ sid = '"sid":"([^"]+)"' }}
[[target.before]]
url = "{session}"
body = "40"
[[target.before]]
url = "{session}"
capture = {{ socket = '40.*"sid":"([^"]+)"' }}
[[target.before]]
url = "{session}"
body = '420["join","{{channel}}"]'
[[target.before]]
url = "{session}"
capture = {{ joined = '(43)' }}
[target.subscribe.long-poll]
url = "{session}"
separator = "\u001e"
{respond}
[target.publish]
url = "http://127.0.0.1:{port}/publish?room={{channel}}"
"#
    )
    .replace("SESSION", &session)
}

#[test]
fn pings_of_a_long_poll_are_answered_by_requests() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("socket-io-server.mjs", &[]);
    let respond = "respond = [{ on = \"2\", request = { url = \"SESSION\", body = \"3\" } }]";
    for arm in heard("long-poll", &over_polling(port, respond)) {
        assert_eq!(came(&arm), 8.0 * 40.0 * 3.0, "{:#}", arm["delivery"]);
    }
    // Without it every client is thrown out within two seconds.
    let tool = Tool::new();
    let bare = over_polling(port, "").replace("separator = \"\\u001e\"\n", "");
    tool.write("a.toml", &format!("transports = [\"long-poll\"]\n{bare}{LOAD}"));
    tool.run(&["run", "a.toml", "-o", "out"]).never_panicked();
    let arm = arms(&tool.run_json("out"))[0].clone();
    assert_eq!(number(&arm, "/connections/lost"), 8.0, "{:#}", arm["connections"]);
}

#[test]
fn a_graphql_subscription_names_its_channel() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("graphql-server.mjs", &[]);
    let target = format!(
        r#"[target.subscribe.websocket]
url = "ws://127.0.0.1:{port}/graphql"
subprotocol = "graphql-transport-ws"
steps = [
  {{ send = '{{"type":"connection_init"}}', wait = {{ json = "/type", is = "connection_ack" }} }},
  '{{"id":"{{client}}","type":"subscribe","payload":{{"query":"subscription {{ messages(channel: \"{{channel}}\") }}"}}}}',
]
answer = [{{ on = '{{"type":"ping"}}', send = '{{"type":"pong"}}' }}]
[target.publish]
url = "http://127.0.0.1:{port}/publish?channel={{channel}}"
[subscriptions]
channels = 4
"#
    );
    heard("websocket", &target);
}

#[test]
fn streams_that_a_post_opens_may_end_and_are_asked_for_again() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("sockjs-server.mjs", &[]);
    let target = |ends: bool| {
        format!(
            r#"[target.subscribe]
stream = {{ url = "http://127.0.0.1:{port}/all/000/{{client}}-{ends}/xhr_streaming", method = "POST", ends = {ends} }}
[target.publish]
url = "http://127.0.0.1:{port}/publish"
[load.reconnect]
backoff = "full-jitter"
base = "1ms"
max = "5ms"
"#
        )
    };
    for arm in heard_with(&target(true)) {
        let (ended, again) = (number(&arm, "/connections/ended"), number(&arm, "/connections/reconnected"));
        assert!(ended >= 8.0 && again >= 8.0, "{:#}", arm["connections"]);
        assert_eq!(number(&arm, "/connections/lost"), 0.0);
        assert_eq!(arm["outcome"], "held");
    }
    for arm in heard_with(&target(false)) {
        assert!(number(&arm, "/connections/lost") >= 8.0, "{:#}", arm["connections"]);
        assert_eq!((number(&arm, "/connections/ended"), arm["outcome"].as_str()), (0.0, Some("degraded")));
    }
}

/// Runs a crowd over a stream whose keys stand behind those of the load.
fn heard_with(target: &str) -> Vec<Value> {
    let measured = POLLERS.map(|poller| {
        let tool = Tool::new();
        let text = format!("transports = [\"stream\"]\n{LOAD}{target}");
        let run = tool.measure(&text, &["--poller", poller]);
        whole(&arms(&run)[0]);
        arms(&run)[0].clone()
    });
    measured.to_vec()
}

#[test]
fn heartbeats_are_answered_in_part_of_a_message_and_in_binary() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    for (kind, on, send) in [("shared", "{}", "{}"), ("binary", "PING", "PONG\\r\\n")] {
        let (_server, port) = started("heartbeats-server.mjs", &[kind]);
        let target = |separator: &str| {
            format!(
                "[target.subscribe.websocket]\nurl = \"ws://127.0.0.1:{port}/\"\n{separator}\
                 answer = [{{ on = \"{on}\", send = \"{send}\" }}]\n\
                 [target.publish]\nurl = \"http://127.0.0.1:{port}/publish\"\n"
            )
        };
        heard("websocket", &target("separator = \"\\n\"\n"));
        if kind == "shared" {
            // Without the separator no message is a heartbeat, and the server throws the crowd out: told as such.
            let tool = Tool::new();
            tool.write("a.toml", &format!("{}{LOAD}", target("")));
            let ended = tool.run(&["run", "a.toml", "-o", "out"]);
            assert_ne!(ended.code, 0);
            assert!(ended.out.contains("3012 no pong"), "{}", ended.out);
        }
    }
}

#[test]
fn a_step_that_is_not_answered_is_told_with_what_came() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("socket-io-server.mjs", &[]);
    let tool = Tool::new();
    tool.write(
        "a.toml",
        &format!(
            "[target.subscribe.websocket]\nurl = \"ws://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket\"\n\
             steps = [{{ send = \"40\", wait = {{ prefix = \"41\", timeout = \"300ms\" }} }}]\n\
             [target.publish]\nurl = \"http://127.0.0.1:{port}/publish?room={{channel}}\"\n{LOAD}"
        ),
    );
    let ended = tool.run(&["run", "a.toml", "-o", "out"]).expect(3);
    ended.says(&[
        "8 of 8: timeout_step",
        "step 1: a message that begins with \"41\" did not come in time; received 0{\\\"sid\\\"",
    ]);
}

/// Reads what the ecosystem's own client heard, until it has as many messages as were published.
fn hears_as_many(theirs: &mut Process, published: f64) {
    let mut messages = 0.0;
    while messages < published {
        let line: Value = serde_json::from_str(&theirs.line()).expect("JSON");
        assert!(line["message"].is_string(), "{line}");
        messages += 1.0;
    }
}

#[test]
fn mqtt_is_spoken_in_binary() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("mqtt-server.mjs", &[]);
    let mut theirs = Process::start(tools::node("mqtt-hear.mjs").args([&port.to_string(), "c0"]));
    assert_eq!(theirs.line(), r#"{"said":"subscribed to c0"}"#);
    let url = format!("ws://127.0.0.1:{port}");
    let mut published = 0.0;
    for poller in POLLERS {
        let tool = Tool::new();
        let flags = ["-t", "websocket", "-c", "8", "-r", "40/s", "-d", "2s", "--set", "load.warmup=0s"];
        let more = [
            "--set",
            "load.settle=300ms",
            "--set",
            "publisher.connections=1",
            "--poller",
            poller,
            "-o",
            "out",
        ];
        let arguments = [&["run", &url, "--preset", "mqtt"][..], &flags, &more].concat();
        tool.run(&arguments).counted();
        let run = tool.run_json("out");
        whole(&arms(&run)[0]);
        assert_eq!(arms(&run)[0]["outcome"], "held");
        published += came(&arms(&run)[0]) / 8.0;
    }
    hears_as_many(&mut theirs, published);
}

#[test]
fn one_line_becomes_a_scenario_that_says_the_same() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("socket-io-server.mjs", &[]);
    let url = format!("ws://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket");
    let publish = format!("http://127.0.0.1:{port}/publish?room={{channel}}");
    let tool = Tool::new();
    let line = [
        "run",
        &url,
        "--wait",
        "0{",
        "--send",
        "40",
        "--wait",
        "40{",
        "--send",
        r#"420["join","{channel}"]"#,
        "--wait",
        "430",
        "--answer",
        "2=3",
        "--publish",
        &publish,
        "-H",
        "X-Who: me",
        "-c",
        "8",
        "-r",
        "20/s",
        "-d",
        "1s",
        "--set",
        "load.warmup=0s",
        "--save",
        "mine.toml",
    ];
    tool.run(&[&line[..], &["-o", "a"]].concat()).counted();
    tool.run(&["run", "mine.toml", "-o", "b"]).counted();
    for folder in ["a", "b"] {
        whole(&arms(&tool.run_json(folder))[0]);
    }
    let again = tool.run(&[&line[..], &["-o", "c"]].concat()).expect(2);
    again.says(&["mine.toml: this path already exists"]);
    let wrong = tool.run(&["run", "mine.toml", "--send", "40", "-o", "d"]).expect(2);
    wrong.says(&["--send describes a target by its URL"]);
    let unknown = tool.run(&["run", &url, "--preset", "socketio", "-o", "d"]).expect(2);
    unknown.says(&["no preset is called \"socketio\" (did you mean socket.io?)"]);
}

#[test]
fn a_conversation_is_printed_as_it_happens() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("socket-io-server.mjs", &[]);
    let url = format!("ws://127.0.0.1:{port}");
    let publish = format!("http://127.0.0.1:{port}/publish?room={{channel}}");
    let tool = Tool::new();
    let ended =
        tool.run(&["try", &url, "--preset", "socket.io", "--publish", &publish, "--for", "1500ms"]).expect(0);
    for part in [
        "→ GET /socket.io/?EIO=4&transport=websocket",
        "← text",
        "0{",
        "· step 1: that is a message that begins with \"0{\"",
        "· step 3: that is a message that begins with \"430\"",
        "· subscribed",
        "· that is message 1,",
    ] {
        assert!(ended.out.contains(part), "{part:?} is missing:\n{}", ended.out);
    }
    let begun = std::time::Instant::now();
    let never = tool.run(&["try", &url, "--preset", "socket.io", "--wait", "never"]).expect(3);
    assert!(
        never.err.contains("step 1: a message that contains \"never\" did not come in time"),
        "{}",
        never.err
    );
    assert!(begun.elapsed().as_secs() < 30);
    let (_broker, port) = started("mqtt-server.mjs", &[]);
    let fed =
        tool.run(&["try", &format!("ws://127.0.0.1:{port}"), "--preset", "mqtt", "--for", "1s"]).expect(0);
    assert!(fed.out.contains("· that is message 1,"), "{}", fed.out);
    let ended = tool.run(&["try", &url, "--preset", "signalr"]).expect(3);
    assert!(ended.err.contains("websocket: "), "{}", ended.err);
}

/// A server that closes a feed without heartbeats, refuses publications by messages, takes them in base64, and tells
/// its subscribers more than publications.
fn strict_feed(port: u64, feed: &str, subscribe: &str, channels: &str) -> String {
    format!(
        "[target.subscribe.websocket]\nurl = \"ws://127.0.0.1:{port}/subscribe?channel={{channel}}\"\n{subscribe}\
         [target.publish.websocket]\nurl = \"ws://127.0.0.1:{port}/feed\"\ntext = \"PUB {{channel}} {{base64.message}}\"\n{feed}\
         [subscriptions]\nnames = [{channels}]\n"
    )
}

#[test]
fn a_feed_keeps_its_heartbeats_and_messages_that_are_none_are_ignored() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("strict-feed-server.mjs", &[]);
    let over = "over = \"websocket\"\n";
    let every = "every = [{ after = \"200ms\", send = \"PING {feed}\" }]\nrefused = { prefix = \"ERROR\" }\n";
    let ignore = "ignore = { prefix = \"<presence\" }\n";
    let target = strict_feed(port, every, ignore, "\"c0\", \"c1\"");
    for poller in POLLERS {
        let tool = Tool::new();
        let scenario = format!("transports = [\"websocket\"]\n{target}{LOAD}{over}");
        let run = tool.measure(&scenario, &["--poller", poller]);
        let arm = &arms(&run)[0];
        whole(arm);
        assert_eq!(number(arm, "/published/reconnected"), 0.0, "{:#}", arm["published"]);
        assert_eq!(number(arm, "/delivery/unstamped"), 0.0, "{:#}", arm["delivery"]);
        assert_eq!(came(arm), 4.0 * 2.0 * 40.0 * 3.0, "each of 8 clients hears its channel");
        assert!(arm["published"].get("refusals").is_none(), "{:#}", arm["published"]);
    }
    // The same without the two keys: the feed is closed and comes again, and presences are told.
    let tool = Tool::new();
    let bare = strict_feed(port, "", "", "\"c0\", \"c1\"");
    let run = tool.measure(&format!("transports = [\"websocket\"]\n{bare}{LOAD}{over}"), &[]);
    let arm = &arms(&run)[0];
    assert!(number(arm, "/published/reconnected") >= 2.0, "{:#}", arm["published"]);
    assert!(number(arm, "/delivery/unstamped") >= 8.0 * 25.0, "{:#}", arm["delivery"]);
}

#[test]
fn publications_that_a_feed_refuses_by_messages_are_counted_and_told() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started("strict-feed-server.mjs", &[]);
    let feed = "every = [{ after = \"200ms\", send = \"PING\" }]\nrefused = \"ERROR\"\n";
    let target = strict_feed(port, feed, "ignore = \"<presence\"\n", "\"c0\", \"denied\"");
    let tool = Tool::new();
    tool.write("a.toml", &format!("transports = [\"websocket\"]\n{target}{LOAD}over = \"websocket\"\n"));
    let ended = tool.run(&["run", "a.toml", "-o", "out"]).never_panicked();
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/published/refusals"), 120.0, "{:#}", arm["published"]);
    let told = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "120 publications were refused by messages; first: feed: the target answered \"ERROR no right";
    assert!(told.contains(says), "{}", ended.out);
    assert_eq!(came(arm), 4.0 * 40.0 * 3.0, "the other channel is whole");
}
