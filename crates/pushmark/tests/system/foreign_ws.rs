//! A WebSocket server of npm `ws`, with a separate protocol over it.

use crate::tool::{LOAD, POLLERS, Tool, arms, came, have, number, root, whole};
use serde_json::Value;

/// Returns the folder of the pinned packages.
fn packages() -> Option<std::path::PathBuf> {
    let node = std::process::Command::new("node").arg("--version").output().is_ok_and(|o| o.status.success());
    let packages = root().join("conformance/node/node_modules");
    have(node && packages.join("ws/package.json").exists(), "node and npm ws").then_some(packages)
}

/// Returns a scenario: the server, its templates, and a load.
fn scenario(tool: &Tool, packages: &std::path::Path, websocket: &str, more: &str) -> String {
    let server = root().join("crates/pushmark/tests/data/ws/server.cjs");
    format!(
        "[target.subscribe]\nwebsocket = {websocket}\n\
         [target.process]\nstart = [\"node\", {server:?}, \"{{port}}\"]\nready = \"http://127.0.0.1:{{port}}/health\"\n\
         env = {{ NODE_PATH = {packages:?}, STATS = {:?} }}\n{LOAD}{more}",
        tool.path("stats.json")
    )
}

/// Returns the server's own statistics.
fn stats(tool: &Tool) -> Value {
    serde_json::from_str(&std::fs::read_to_string(tool.path("stats.json")).expect("its stats")).expect("JSON")
}

const CHAT: &str = r#"{ url = "ws://127.0.0.1:{port}/chat?user={client}", subprotocol = "chat.v2",
 after_open = ['{"subscribe":"{channels}"}'], ready = '"subscribed"',
 every = [{ after = "150ms", send = "ping" }], answer = [{ on = "2", send = "3" }],
 publish = '{"publish":"{channel}","text":"{message}"}' }"#;

#[test]
fn subscriptions_by_message_and_heartbeats_of_both_sides() {
    let Some(packages) = packages() else { return };
    let publish = "[target.publish]\nurl = \"http://127.0.0.1:{port}/publish?channel={channel}\"\n\
                   [subscriptions]\nchannels = 6\nper_connection = 3\n";
    for poller in POLLERS {
        let tool = Tool::new();
        let scenario = scenario(&tool, &packages, &CHAT.replace('\n', ""), publish);
        let run = tool.measure(&scenario, &["-d", "3s", "--poller", poller]);
        let arm = &arms(&run)[0];
        whole(arm);
        assert_eq!(arm["subscribed_by"], "ready");
        assert_eq!(
            number(arm, "/delivery/unstamped"),
            0.0,
            "greetings and heartbeats are no messages of ours"
        );
        let seen = stats(&tool);
        assert_eq!(seen["protocols"], serde_json::json!({ "chat.v2": 8 }));
        assert_eq!(number(&seen, "/silent"), 0.0, "it would have ended a client that forgot its heartbeats");
        // About 5 s with a ping each 150 ms and an answer each 100 ms, of 8 clients.
        assert!(number(&seen, "/pings") > 100.0 && number(&seen, "/answers") > 150.0, "{seen}");
        let first: Value = serde_json::from_str(seen["texts"][0].as_str().unwrap()).unwrap();
        assert_eq!(first["subscribe"].as_str().unwrap().split(',').count(), 3);
    }
}

#[test]
fn without_its_subprotocol_nobody_is_let_in() {
    let Some(packages) = packages() else { return };
    let tool = Tool::new();
    let websocket = CHAT.replace('\n', "").replace("chat.v2", "chat.v1");
    let publish = "[target.publish]\nurl = \"http://127.0.0.1:{port}/publish?channel={channel}\"\n";
    tool.write("s.toml", &scenario(&tool, &packages, &websocket, publish));
    tool.run(&["run", "s.toml", "-q"]).expect(3).says(&["failed  8 of 8: handshake", "subprotocol"]);
}

#[test]
fn the_clients_publish_to_each_other() {
    let Some(packages) = packages() else { return };
    let tool = Tool::new();
    let peers = "[subscriptions]\nrooms = { size = 4 }\n\
                 [publisher]\nmode = \"peer\"\nrate = \"20/s\"\narrivals = \"poisson\"\nsize = \"64B..256B\"\n";
    let run = tool.measure(&scenario(&tool, &packages, &CHAT.replace('\n', ""), peers), &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    let sent = number(arm, "/published/sent");
    assert_eq!(number(arm, "/delivery/intended"), sent * 4.0, "each of the two rooms has four");
    assert_eq!(number(&stats(&tool), "/published"), sent);
}

#[test]
fn an_echo_is_a_room_of_one() {
    let Some(packages) = packages() else { return };
    let tool = Tool::new();
    let websocket = "{ url = \"ws://127.0.0.1:{port}/echo?room={channel}\", subprotocol = \"chat.v2\", publish = \"{message}\" }";
    let peers = "[subscriptions]\nrooms = { size = 1 }\n[publisher]\nmode = \"peer\"\nrate = \"20/s\"\n";
    let run = tool.measure(&scenario(&tool, &packages, websocket, peers), &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    assert_eq!(number(arm, "/published/sent"), 160.0);
    assert_eq!(came(arm), 160.0);
}
