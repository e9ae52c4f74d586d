//! Bayeux 1.0 over long polling (CONTRACT 6.7). WebSocket is in `bayeux_websocket.rs`.

mod common;

use std::time::Instant;

use common::bayeux::{Session, Socket, data, handshake, messages, post, post_slowly};
use common::{Server, message, stamps};
use pushmark_builtin::{Bayeux, Options};
use serde_json::{Value, json};

fn server(bayeux: Bayeux) -> Server {
    Server::start(Options { bayeux, ..Options::default() })
}

fn text(sequence: u64) -> String {
    String::from_utf8(message(sequence, 64)).unwrap()
}

/// Waits until this number of sessions is subscribed over long polling.
fn subscribed(server: &Server, sessions: u64) {
    server.wait_until("subscribed", |stats| stats["transports"]["bayeux"] == sessions);
}

#[test]
fn a_handshake_says_what_the_server_is() {
    let server = Server::plain();
    let mut client = server.client();
    post(&mut client, &json!([handshake(&json!({}))]));
    let answer = client.answer();
    let reply = &messages(&answer)[0];
    assert_eq!(
        (&reply["id"], &reply["successful"], &reply["version"]),
        (&json!("h"), &json!(true), &json!("1.0"))
    );
    assert_eq!(reply["supportedConnectionTypes"], json!(["long-polling", "websocket"]));
    assert_eq!(reply["advice"], json!({"reconnect": "retry", "interval": 0, "timeout": 30_000}));
    assert!(reply["clientId"].as_str().unwrap().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert!(reply["ext"].is_null(), "nothing was asked for");
    assert!(answer.header("set-cookie").starts_with("BAYEUX_BROWSER="), "{answer:?}");
}

#[test]
fn a_handshake_that_cannot_be_is_refused() {
    let server = Server::plain();
    for (more, error) in [
        (json!({"version": "2.0"}), "400:2.0:"),
        (json!({"version": null}), "400::"),
        (json!({"supportedConnectionTypes": ["iframe"]}), "400::"),
    ] {
        let mut client = server.client();
        post(&mut client, &json!([handshake(&more)]));
        let reply = &messages(&client.answer())[0];
        assert_eq!((&reply["successful"], &reply["advice"]["reconnect"]), (&json!(false), &json!("none")));
        assert!(reply["error"].as_str().unwrap().starts_with(error), "{reply}");
    }
    let mut client = server.client();
    post(&mut client, &json!([handshake(&json!({})), {"channel": "/a", "data": "x"}]));
    assert_eq!(messages(&client.answer())[0]["successful"], false, "a handshake comes alone");
    assert_eq!(server.stats()["bayeux"]["sessions"], 0);
}

#[test]
fn the_first_connect_is_answered_at_once_and_the_next_is_held() {
    let server = server(Bayeux { timeout_ms: 60, ..Bayeux::default() });
    let mut session = Session::open(&server, &json!({}));
    let began = Instant::now();
    session.connect(&json!({}));
    assert_eq!(session.connected(), [json!({"channel": "/meta/connect", "id": "c", "successful": true})]);
    assert!(began.elapsed().as_millis() >= 60, "held");
    // The server's own hold is 30 s; the client's advice is shorter.
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    let began = Instant::now();
    session.connect(&json!({"advice": {"timeout": 0}}));
    session.connected();
    session.connect(&json!({"advice": {"timeout": 20}}));
    session.connected();
    assert!((20..10_000).contains(&began.elapsed().as_millis()), "as the client advised");
}

#[test]
fn a_publication_answers_the_connect_that_is_held() {
    let server = Server::plain();
    server.publish("c", &message(17, 64));
    let mut session = Session::open(&server, &json!({}));
    assert_eq!(session.subscribe(&json!("/c"))["ext"], json!({"pushmark": {"subscribed": "c=17"}}));
    subscribed(&server, 1);
    session.connect(&json!({}));
    let text = format!("\"quoted\" \\ \n {}", text(18));
    assert_eq!(server.publish("c", text.as_bytes())["subscribers"], 1);
    let heard = session.connected();
    assert_eq!(heard[0], json!({"channel": "/c", "data": text}));
    assert_eq!(heard[1]["channel"], "/meta/connect");
    // Between two connects a publication waits, and the next connect is answered at once.
    server.publish("c", b"later");
    server.publish("c", b"and later");
    session.connect(&json!({}));
    assert_eq!(data(&session.connected()), ["later", "and later"]);
    assert_eq!(server.stats()["deliveries"], 3);
}

#[test]
fn messages_come_with_any_answer() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!("/c"));
    server.publish("c", b"waiting");
    let heard = session.ask("/meta/subscribe", &json!({"subscription": "/d"}));
    assert_eq!((heard.len(), data(&heard)), (2, vec!["waiting"]));
}

#[test]
fn emitters_reach_bayeux_in_order() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!(["/a", "/b"]));
    server.emit(&["a", "b"], 500, r#","count":40"#);
    let (mut seen, mut acknowledged) = (Vec::new(), 0);
    while seen.len() < 80 {
        session.connect(&json!({}));
        let heard = session.connected();
        acknowledged += heard.iter().filter(|message| message["successful"] == true).count();
        seen.extend(data(&heard).iter().flat_map(|text| stamps(text.as_bytes())));
    }
    assert!(acknowledged > 1);
    for channel in [0, 1] {
        let sequences = seen.iter().filter(|stamp| stamp.channel == channel).map(|stamp| stamp.sequence);
        assert_eq!(sequences.collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    }
}

#[test]
fn peers_publish_to_all_transports() {
    let server = Server::plain();
    let mut stream = server.client();
    stream.subscribe("/stream?channel=c", &[]);
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!("/c"));
    session.connect(&json!({}));
    let reply = session.ask("/c", &json!({"data": "told", "id": 7}));
    assert_eq!(reply, [json!({"channel": "/c", "id": 7, "successful": true})]);
    assert_eq!(data(&session.connected()), ["told"]);
    // Other Bayeux clients receive the value, and other transports its JSON.
    session.connect(&json!({}));
    session.ask("/c", &json!({"data": {"n": 1}}));
    assert_eq!(session.connected()[0]["data"], json!({"n": 1}));
    let mut body = Vec::new();
    stream.stream_while(&mut body, |body| body.len() < 5 + 8);
    assert_eq!(body, b"told\n{\"n\":1}\n");
    // A client without a session may publish, too.
    let mut stranger = server.client();
    post(&mut stranger, &json!({"channel": "/c", "data": "from afar"}));
    assert_eq!(messages(&stranger.answer())[0]["successful"], true);
}

#[test]
fn what_cannot_be_published_is_refused() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    for (channel, more, code) in [
        ("/c", json!({}), "400"),
        ("/c", json!({"data": ""}), "413"),
        ("/c/*", json!({"data": "x"}), "400"),
        ("/meta/other", json!({"data": "x"}), "404"),
    ] {
        let reply = session.ask(channel, &more).remove(0);
        assert_eq!(reply["successful"], false, "{channel}");
        assert!(reply["error"].as_str().unwrap().starts_with(code), "{reply}");
    }
    assert_eq!(session.ask("/service/echo", &json!({"data": "x"}))[0]["successful"], true);
    assert_eq!(server.stats()["publications"], 0, "a service broadcasts nothing");
}

#[test]
fn patterns_hear_what_they_stand_for() {
    let server = Server::start(Options { threads: 2, ..Options::default() });
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!(["/a/*", "/b/**", "/b/x"]));
    let hear = |session: &mut Session| {
        session.connect(&json!({}));
        data(&session.connected()).iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()
    };
    for channel in ["a", "a/x", "a/x/y", "b", "b/x", "b/x/y"] {
        server.publish(channel, channel.as_bytes());
    }
    let mut heard = Vec::new();
    while heard.len() < 3 {
        heard.extend(hear(&mut session));
    }
    assert_eq!(heard, ["a/x", "b/x", "b/x/y"], "each once");
    session.ask("/meta/unsubscribe", &json!({"subscription": "/b/**"}));
    for channel in ["b/x/y", "b/x"] {
        server.publish(channel, channel.as_bytes());
    }
    assert_eq!(hear(&mut session), ["b/x"]);
}

#[test]
fn what_cannot_be_subscribed_to_is_refused_whole() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    for subscription in
        [json!([]), json!(["/a", "/meta/connect"]), json!("a"), json!("/a//b"), json!("/a/*/b")]
    {
        let reply = session.ask("/meta/subscribe", &json!({"subscription": subscription})).remove(0);
        assert_eq!((&reply["successful"], &reply["subscription"]), (&json!(false), &subscription));
    }
    assert_eq!(server.stats()["transports"]["bayeux"], 0);
    session.subscribe(&json!("/service/x"));
    assert_eq!(server.stats()["transports"]["bayeux"], 0, "a service has no subscribers");
}

#[test]
fn after_an_unsubscribe_nothing_more_comes() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!(["/a", "/b"]));
    server.publish("a", b"unheard");
    let heard = session.ask("/meta/unsubscribe", &json!({"subscription": "/a"}));
    assert_eq!(heard, [json!({"channel": "/meta/unsubscribe", "successful": true, "subscription": "/a"})]);
    server.publish("a", b"unheard");
    server.publish("b", b"heard");
    session.connect(&json!({}));
    assert_eq!(data(&session.connected()), ["heard"]);
    session.ask("/meta/unsubscribe", &json!({"subscription": ["/b", "/never"]}));
    assert_eq!(server.stats()["transports"]["bayeux"], 0);
}

#[test]
fn a_batch_is_answered_together() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    let batch = json!([
        session.message("/meta/subscribe", &json!({"subscription": "/a", "id": 1})),
        session.message("/b", &json!({"data": "x", "id": 2})),
        session.message("/meta/connect", &json!({"connectionType": "long-polling", "id": 3})),
    ]);
    // A connect with other messages in its request is not held, and bytes may arrive one at a time.
    post_slowly(&mut session.asking, &batch);
    let replies = messages(&session.asking.answer());
    assert_eq!(replies.iter().map(|reply| reply["id"].clone()).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(replies.iter().all(|reply| reply["successful"] == true));
    post(&mut session.asking, &json!([]));
    assert_eq!(messages(&session.asking.answer()), [] as [Value; 0]);
}

#[test]
fn a_disconnect_releases_the_connect_and_forgets_the_client() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!("/a"));
    session.connect(&json!({}));
    server.wait_until("two connects came", |stats| stats["bayeux"]["connects"] == 2);
    assert_eq!(session.ask("/meta/disconnect", &json!({}))[0]["successful"], true);
    assert_eq!(session.connected()[0]["advice"], json!({"reconnect": "none"}));
    let stats = server.stats();
    assert_eq!((&stats["bayeux"]["sessions"], &stats["transports"]["bayeux"]), (&json!(0), &json!(0)));
    let reply = session.ask("/a", &json!({"data": "x", "id": "p"})).remove(0);
    assert_eq!(reply["advice"], json!({"reconnect": "handshake"}));
    assert!(reply["error"].as_str().unwrap().starts_with("402:"), "{reply}");
    assert_eq!((&reply["id"], server.stats()["bayeux"]["unknown_clients"].clone()), (&json!("p"), json!(1)));
}

#[test]
fn nobody_speaks_for_another() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    let mut forged = session.id.clone();
    let last = if forged.ends_with('0') { "1" } else { "0" };
    forged.replace_range(forged.len() - 1.., last);
    session.id = forged;
    for channel in ["/meta/connect", "/meta/subscribe", "/meta/disconnect", "/a"] {
        let reply = session.ask(channel, &json!({"subscription": "/a", "data": "x"})).remove(0);
        assert!(reply["error"].as_str().unwrap().starts_with("402:"), "{reply}");
    }
}

#[test]
fn a_second_connect_ends_the_first() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!("/a"));
    session.connect(&json!({}));
    server.wait_until("held", |stats| stats["bayeux"]["connects"] == 2);
    let mut second = server.client();
    post(&mut second, &session.message("/meta/connect", &json!({"connectionType": "long-polling"})));
    assert_eq!(session.connected()[0]["successful"], false);
    server.publish("a", b"heard");
    assert_eq!(data(&messages(&second.answer())), ["heard"]);
}

#[test]
fn a_client_that_does_not_connect_is_forgotten() {
    let server = server(Bayeux { max_interval_ms: 30, ..Bayeux::default() });
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!("/a"));
    server.wait_until("forgotten", |stats| stats["bayeux"]["sessions"] == 0);
    let stats = server.stats();
    assert_eq!((&stats["bayeux"]["expired"], &stats["channels"]["a"]["subscribers"]), (&json!(1), &json!(0)));
    session.connect(&json!({}));
    assert_eq!(session.connected()[0]["advice"]["reconnect"], "handshake");
}

#[test]
fn a_client_whose_connect_is_held_is_remembered() {
    let server = server(Bayeux { max_interval_ms: 500, ..Bayeux::default() });
    let mut session = Session::open(&server, &json!({}));
    session.connect(&json!({"advice": {"timeout": 700}}));
    assert_eq!(session.connected()[0]["successful"], true);
    // Its connection is lost, and it does not reconnect.
    session.connect(&json!({}));
    server.wait_until("held", |stats| stats["bayeux"]["connects"] == 3);
    assert_eq!(server.stats()["bayeux"]["sessions"], 1);
    session.polling = server.client();
    server.wait_until("forgotten", |stats| stats["bayeux"]["expired"] == 1);
}

#[test]
fn sessions_that_share_a_browser_are_told_so() {
    let server = Server::plain();
    let mut first = server.client();
    post(&mut first, &handshake(&json!({})));
    let cookie = first.answer().header("set-cookie").split(';').next().unwrap().to_owned();
    let with_cookie = format!("Cookie: other=1; {cookie}");
    let mut sessions: Vec<Session> = (0..2)
        .map(|_| {
            let mut polling = server.client();
            let body = handshake(&json!({})).to_string();
            polling.request("POST", "/cometd", &[&with_cookie], body.as_bytes());
            let answer = polling.answer();
            assert_eq!(answer.header("set-cookie"), "", "it has one");
            let id = messages(&answer)[0]["clientId"].as_str().unwrap().to_owned();
            let mut session = Session { id, polling, asking: server.client() };
            session.connect(&json!({}));
            session.connected();
            session
        })
        .collect();
    sessions[0].connect(&json!({}));
    server.wait_until("held", |stats| stats["bayeux"]["connects"] == 3);
    sessions[1].connect(&json!({}));
    let advice = sessions[1].connected()[0]["advice"].clone();
    assert_eq!((&advice["multiple-clients"], &advice["interval"]), (&json!(true), &json!(2_000)));
    sessions[0].ask("/meta/disconnect", &json!({}));
    sessions[1].connect(&json!({"advice": {"timeout": 1}}));
    assert!(sessions[1].connected()[0]["successful"] == true);
}

#[test]
fn what_is_not_confirmed_is_sent_again() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({"ext": {"ack": true}}));
    session.subscribe(&json!("/a"));
    server.publish("a", b"one");
    // Events are only sent with a connect.
    assert_eq!(session.ask("/service/x", &json!({"data": 1})).len(), 1);
    session.connect(&json!({"ext": {"ack": 1}}));
    let heard = session.connected();
    assert_eq!((data(&heard), &heard[1]["ext"]["ack"]), (vec!["one"], &json!(2)));
    server.publish("a", b"two");
    // That reply was lost: the client has received batch 1 only.
    session.connect(&json!({"ext": {"ack": 1}}));
    assert_eq!(data(&session.connected()), ["one", "two"]);
    session.connect(&json!({"ext": {"ack": 3}, "advice": {"timeout": 0}}));
    assert_eq!(data(&session.connected()), [] as [&str; 0]);
    assert_eq!(server.stats()["deliveries"], 2, "an event that is sent again is one delivery");
}

#[test]
fn clocks_are_compared_where_the_client_asks() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({"ext": {"timesync": {"tc": 5, "l": 0, "o": 0}}}));
    session.connect(&json!({"advice": {"timeout": 30}, "ext": {"timesync": {"tc": 1_000, "l": 2, "o": 3}}}));
    let synced = &session.connected()[0]["ext"]["timesync"];
    assert_eq!(synced["tc"], 1_000);
    assert!(synced["p"].as_i64().unwrap() >= 30, "the hold is included: {synced}");
    assert_eq!(synced["a"].as_i64().unwrap(), 1_005 - synced["ts"].as_i64().unwrap());
}

#[test]
fn what_is_no_bayeux_does_nothing() {
    let server = Server::plain();
    let mut client = server.client();
    for body in ["", "x", "[1]", "7", "[{\"data\":1}]", r#"[{"channel":"/a","data":"x"},{}]"#] {
        client.request("POST", "/cometd", &[], body.as_bytes());
        let answer = client.answer();
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.json()["error"].is_string());
    }
    assert_eq!(server.ask("GET", "/cometd", "").status, 426);
    assert_eq!(server.stats()["publications"], 0);
    let mut socket = server.client();
    socket.upgrade("/cometd");
    socket.send_frame(pushmark_proto::websocket::Opcode::Text, b"x");
    assert_eq!(socket.messages(1), [None], "a Close");
}

#[test]
fn a_stop_answers_what_is_held() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    let mut socket = Socket::open(&server, &json!({}));
    session.connect(&json!({}));
    server.wait_until("held", |stats| stats["bayeux"]["connects"] == 3);
    server.ask("POST", "/shutdown", "");
    assert_eq!(session.connected()[0]["successful"], true);
    assert_eq!(socket.client.messages(1), [None]);
}

#[test]
fn what_is_not_text_does_not_reach_bayeux() {
    let server = Server::plain();
    let mut session = Session::open(&server, &json!({}));
    session.subscribe(&json!("/a"));
    server.publish("a", b"\xff");
    server.publish("a", b"text");
    session.connect(&json!({}));
    assert_eq!(data(&session.connected()), ["text"]);
}
