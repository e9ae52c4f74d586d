//! Bayeux over WebSocket, and sessions whose connections come and go (CONTRACT 6.7).

mod common;

use common::bayeux::{Session, Socket, data};
use common::{Server, message};
use pushmark_server::Options;
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
    // The connect is held, and events are pushed past it.
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
    // Each of these connections may have landed on any thread; so may a WebSocket that takes over.
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
        // Away it goes again, over long polling.
        session.ask("/meta/disconnect", &json!({}));
    }
    assert_eq!(server.stats()["bayeux"]["unknown_clients"], 0);
    server.wait_until("all gone", |stats| stats["bayeux"]["sessions"] == 0);
}
