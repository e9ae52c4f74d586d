//! Bayeux over WebSocket, and sessions whose connections come and go (CONTRACT 6.7).

mod common;

use common::bayeux::{Session, Socket, data};
use common::{Server, message};
use pushmark_builtin::Options;
use serde_json::json;

fn text(sequence: u64) -> String {
    String::from_utf8(message(sequence, 64)).unwrap()
}

#[test]
fn a_websocket_carries_a_session() {
    let server = Server::plain();
    let mut socket = Socket::open(&server, &json!({}));
    socket.tell("/meta/subscribe", &json!({"subscription": ["/a", "/b/*"], "id": 1}));
    assert_eq!(socket.heard(1)[0]["ext"], json!({"pushmark": {"subscribed": "a=-"}}));
    // The connect is held, and events are pushed meanwhile.
    socket.tell("/meta/connect", &json!({"connectionType": "websocket", "id": "held"}));
    server.wait_until("held", |stats| stats["transports"]["bayeux-websocket"] == 1);
    for n in 0..3 {
        server.publish("a", &message(n, 64));
    }
    server.publish("b/x", b"wide");
    let heard = socket.heard(4);
    assert_eq!(data(&heard), [&text(0), &text(1), &text(2), "wide"]);
    socket.tell("/a", &json!({"data": "own", "id": 2}));
    let heard = socket.heard(2);
    assert_eq!(data(&heard), ["own"]);
    assert!(heard.contains(&json!({"channel": "/a", "id": 2, "successful": true})), "{heard:?}");
    socket.tell("/meta/disconnect", &json!({"id": 3}));
    let heard = socket.heard(2);
    assert_eq!(
        heard[0],
        json!({"channel": "/meta/connect", "id": "held", "successful": true, "advice": {"reconnect": "none"}})
    );
    assert_eq!(heard[1], json!({"channel": "/meta/disconnect", "id": 3, "successful": true}));
    server.wait_until("gone", |stats| stats["transports"]["bayeux-websocket"] == 0);
}

#[test]
fn a_session_survives_its_websocket() {
    let server = Server::plain();
    let mut socket = Socket::open(&server, &json!({}));
    socket.tell("/meta/subscribe", &json!({"subscription": "/a"}));
    socket.heard(1);
    let id = socket.id;
    drop(socket.client);
    server.wait_until("the socket is gone", |stats| stats["connections"] == 1);
    server.publish("a", b"meanwhile");
    let mut client = server.client();
    client.upgrade("/cometd");
    let mut again = Socket { client, id };
    again.tell("/meta/connect", &json!({"connectionType": "websocket"}));
    assert_eq!(data(&again.heard(1)), ["meanwhile"]);
    server.publish("a", b"from now on");
    assert_eq!(data(&again.heard(1)), ["from now on"]);
}

#[test]
fn with_acknowledgements_a_websocket_hears_by_connects_only() {
    let server = Server::plain();
    let mut socket = Socket::open(&server, &json!({"ext": {"ack": true}}));
    socket.tell("/meta/subscribe", &json!({"subscription": "/a"}));
    socket.heard(1);
    for n in 0..3 {
        server.publish("a", &message(n, 64));
    }
    socket.tell("/meta/connect", &json!({"connectionType": "websocket", "ext": {"ack": 1}}));
    let heard = socket.heard(1);
    assert_eq!(data(&heard), [text(0), text(1), text(2)]);
    assert_eq!(heard[3]["ext"]["ack"], 2);
}

#[test]
fn clients_come_to_the_thread_of_their_session() {
    let server = Server::start(Options { threads: 4, ..Options::default() });
    let mut sessions: Vec<Session> = (0..8).map(|_| Session::open(&server, &json!({}))).collect();
    // Any thread may have accepted each of these connections, and a WebSocket that takes over.
    for (own, session) in sessions.iter_mut().enumerate() {
        for channel in ["/x", "/y", "/all", &format!("/own{own}")] {
            session.asking = server.client();
            session.subscribe(&json!(channel));
        }
        session.connect(&json!({}));
    }
    server.wait_until("subscribed", |stats| stats["transports"]["bayeux"] == 8);
    server.publish("all", b"everybody");
    for (own, session) in sessions.iter_mut().enumerate() {
        assert_eq!(data(&session.connected()), ["everybody"]);
        let mut client = server.client();
        client.upgrade("/cometd");
        let mut socket = Socket { client, id: session.id.clone() };
        socket.tell("/meta/connect", &json!({"connectionType": "websocket", "advice": {"timeout": 0}}));
        assert_eq!(socket.heard(1)[0]["successful"], true);
        server.publish(&format!("own{own}"), b"pushed");
        assert_eq!(data(&socket.heard(1)), ["pushed"]);
        // The session ends over long polling.
        session.ask("/meta/disconnect", &json!({}));
    }
    assert_eq!(server.stats()["bayeux"]["unknown_clients"], 0);
    server.wait_until("all gone", |stats| stats["bayeux"]["sessions"] == 0);
}

#[test]
fn whoever_comes_and_goes_everybody_hears_what_he_asked_for() {
    const NAMES: [&str; 7] = ["/a/x", "/a/y", "/b", "/b/x/y", "/a/*", "/b/**", "/**"];
    const CHANNELS: [&str; 5] = ["a/x", "a/y", "b", "b/x/y", "c"];
    const HEARD_BY: [&[&str]; 5] = [
        &["/a/x", "/a/*", "/**"],
        &["/a/y", "/a/*", "/**"],
        &["/b", "/**"],
        &["/b/x/y", "/b/**", "/**"],
        &["/**"],
    ];
    let server = Server::plain();
    let mut crowd: Vec<(Socket, Vec<&str>)> =
        (0..6).map(|_| (Socket::open(&server, &json!({})), Vec::new())).collect();
    let mut seed = 7_u64;
    let mut draw = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    for round in 0..300 {
        let (who, name) = (draw(crowd.len()), NAMES[draw(NAMES.len())]);
        let (socket, names) = &mut crowd[who];
        match draw(8) {
            0 => {
                socket.tell("/meta/disconnect", &json!({}));
                socket.heard(1);
                crowd[who] = (Socket::open(&server, &json!({})), Vec::new());
            }
            1..5 => {
                socket.tell("/meta/subscribe", &json!({"subscription": name}));
                socket.heard(1);
                names.push(name);
            }
            _ => {
                socket.tell("/meta/unsubscribe", &json!({"subscription": name}));
                socket.heard(1);
                names.retain(|have| *have != name);
            }
        }
        let channel = draw(CHANNELS.len());
        server.publish(CHANNELS[channel], round.to_string().as_bytes());
        // A text to itself shows everything that was sent before it.
        for (socket, names) in &mut crowd {
            socket.tell("/service/echo", &json!({"data": 1}));
            let mut heard = socket.heard(1);
            let expected = usize::from(names.iter().any(|name| HEARD_BY[channel].contains(name)));
            if expected == 1 {
                assert_eq!(data(&heard), [round.to_string()], "{names:?} hear {}", CHANNELS[channel]);
                heard = socket.heard(1);
            }
            assert_eq!(heard[0]["channel"], "/service/echo", "{names:?} miss {}", CHANNELS[channel]);
        }
    }
}
