//! Clients of npm (`eventsource`, `ws`) against our server, and our conversation against `ws` as a server.

use std::net::SocketAddr;

use conformance::builtin::Builtin;
use conformance::process::Process;
use conformance::session::{Heard, Session};
use conformance::wire::POLLERS;
use conformance::{messages, tools, wait};
use pushmark_proto::client::{Config, Transport};
use serde_json::{Value, json};

const NEEDED: [&str; 2] = ["node", "npm packages"];

fn line(process: &mut Process) -> Value {
    let line = process.line();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
}

/// Publishes to an npm client and checks its messages. Returns the ids it received.
fn hears_all(client: &str, server: &Builtin, url: &str) -> Vec<Value> {
    let mut process = Process::start(tools::node("hear.mjs").args([client, url]));
    let open = line(&mut process);
    assert_eq!(open["open"], true, "{open}");
    server.wait_for_subscribers("news", 1);
    let sent = messages(100);
    sent.iter().for_each(|message| server.publish("news", message.as_bytes()));
    let heard: Vec<Value> = sent.iter().map(|_| line(&mut process)).collect();
    let texts: Vec<&str> = heard.iter().filter_map(|heard| heard["message"].as_str()).collect();
    assert_eq!(texts, sent, "in order, unchanged, none missing");
    heard
}

#[test]
fn eventsource_hears_every_message_in_order() {
    if !tools::present(&NEEDED) {
        return;
    }
    let server = Builtin::start();
    let heard = hears_all("eventsource", &server, &server.url("/sse?channel=news"));
    let ids: Vec<u64> =
        heard.iter().map(|heard| heard["id"].as_str().expect("an id").parse().expect("a number")).collect();
    assert!(ids.is_sorted_by(|before, after| before < after), "{ids:?}");
}

#[test]
fn ws_hears_every_message_in_order() {
    if !tools::present(&NEEDED) {
        return;
    }
    let server = Builtin::start();
    let url = server.url("/ws?channel=news").replacen("http", "ws", 1);
    let heard = hears_all("ws", &server, &url);
    assert!(heard.iter().all(|heard| heard["binary"] == false), "text arrives as text");
}

#[test]
fn ws_is_offered_no_compression_though_it_asks() {
    if !tools::present(&NEEDED) {
        return;
    }
    let server = Builtin::start();
    let url = server.url("/ws?channel=news").replacen("http", "ws", 1);
    let mut process = Process::start(tools::node("hear.mjs").args(["ws", &url]));
    assert_eq!(line(&mut process), json!({ "open": true, "extensions": "" }));
}

#[test]
fn ws_publishes_as_a_peer_and_is_closed_with_its_own_code() {
    if !tools::present(&NEEDED) {
        return;
    }
    let server = Builtin::start();
    let mut subscriber = Session::open(server.address, Config::new(Transport::WebSocket), "/ws?channel=talk");
    assert_eq!(subscriber.hear(), Ok(Heard::Opened(101)));
    let sent = messages(50);
    let file = write(&sent);
    let url = server.url("/ws").replacen("http", "ws", 1);
    let mut peer = tools::node("publish.mjs");
    let mut peer = Process::start(peer.args([&url, "talk"]).arg(file.path()));
    for message in &sent {
        assert_eq!(&subscriber.message(), message);
    }
    assert_eq!(line(&mut peer), json!({ "pong": "all" }));
    assert_eq!(line(&mut peer), json!({ "close": 1000 }));
}

#[test]
fn our_conversation_hears_ws_whole_and_in_fragments() {
    if !tools::present(&NEEDED) {
        return;
    }
    let sent = messages(30);
    for poller in POLLERS {
        let file = write(&sent);
        let mut server = Process::start(tools::node("serve.mjs").arg(file.path()));
        let port = line(&mut server)["port"].as_u64().expect("a port");
        let address = SocketAddr::from(([127, 0, 0, 1], port as u16));
        let mut config = Config::new(Transport::WebSocket);
        config.subprotocol = "push.v1, push.v2".into();

        let mut session = Session::open_by(poller, address, config, "/a/path?with=query");
        assert_eq!(session.hear(), Ok(Heard::Opened(101)));
        assert_eq!(line(&mut server), json!({ "open": "/a/path?with=query", "protocol": "push.v1" }));
        for message in &sent {
            assert_eq!(&session.message(), message);
        }
        assert_eq!(session.hear(), Ok(Heard::Message(vec![0, 255, 254])), "binary arrives unchanged");
        // The pings were between fragments. `ws` reports each pong with its payload.
        for number in (0..30).skip(2).step_by(3) {
            assert_eq!(line(&mut server), json!({ "pong": format!("ping {number}") }));
        }
        session.write_ping(b"and ours");
        assert_eq!(session.hear(), Ok(Heard::Pong));
        assert!(session.write_text("bye".as_bytes()));
        assert_eq!(line(&mut server), json!({ "message": "bye", "binary": false }));
        assert_eq!(session.hear(), Ok(Heard::Closed(Some(1001))));
        drop(session);
        assert_eq!(line(&mut server), json!({ "close": 1001 }), "the Close was answered with its code");
    }
}

#[test]
fn our_close_is_answered_by_ws() {
    if !tools::present(&NEEDED) {
        return;
    }
    let file = write(&[]);
    let mut server = Process::start(tools::node("serve.mjs").arg(file.path()));
    let port = line(&mut server)["port"].as_u64().expect("a port");
    let address = SocketAddr::from(([127, 0, 0, 1], port as u16));
    let mut session = Session::open(address, Config::new(Transport::WebSocket), "/");
    assert_eq!(session.hear(), Ok(Heard::Opened(101)));
    session.write_close(4000);
    // The three bytes that `ws` sends to every client may arrive first.
    let code = wait::until("the answer to our Close", || match session.hear() {
        Ok(Heard::Closed(code)) => Some(code),
        Ok(_) => None,
        Err(failure) => panic!("{failure}"),
    });
    assert_eq!(code, Some(4000));
}

fn write(messages: &[String]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), json!(messages).to_string()).expect("a file can be written");
    file
}
