//! Failures: forgotten sessions, advice, refusals, lost connections.

use pushmark_proto::client::bayeux::{FAILURES_MAX, Unpublished};
use pushmark_proto::client::{Lane, Transport};
use pushmark_proto::websocket::{Decoder, Event as Frame, Opcode, Role, encode};

use crate::bench::{
    Bench, CONNECT, CONNECTED, FIRST_CONNECT, GREETING, HANDSHAKE, SUBSCRIBE, SUBSCRIBED, UNKNOWN,
};

#[test]
fn a_session_that_the_server_forgot_is_begun_anew() {
    for transport in [Transport::Bayeux, Transport::BayeuxWebSocket] {
        let mut bench = Bench::subscribed(transport);
        bench.session().publish("/c0", b"1").unwrap();
        let heard = bench.told(UNKNOWN);
        assert!(heard.contains(&"forgotten".to_owned()), "{heard:?}");
        assert!(!bench.client.wants(Lane::Command), "it contains the old client id");
        assert_eq!(bench.session().client_id(), "");
        assert!(bench.asks(Lane::Connect)[0].starts_with("/meta/handshake"));
        // A late reply to an earlier request belongs to the session that is gone.
        let id = bench.session().publish("/c0", b"1").unwrap_err();
        assert_eq!(id, Unpublished::NoSession);
        let stale = r#"{"channel":"/meta/connect","id":"2","successful":false,"error":"402::x","advice":{"reconnect":"none"}},"#;
        bench.told(&format!("{stale}{}", GREETING.replace("k7", "k8").replace("\"id\":\"1\",", "")));
        assert_eq!(bench.session().client_id(), "k8");
        assert!(bench.asks(Lane::Connect)[0].contains("\"timeout\":0"));
        bench.told(CONNECTED);
        assert!(bench.client.will_subscribe(Lane::Connect));
        assert!(bench.asks(Lane::Connect)[0].starts_with(r#"/meta/subscribe clientId="k8""#));
        assert!(bench.told(SUBSCRIBED).contains(&"ready".to_owned()));
        let counts = bench.counts();
        assert_eq!((counts.handshakes, counts.unknown_client, counts.advice_handshake), (1, 1, 1));
        assert_eq!(counts.published_failed, 1);
    }
}

#[test]
fn advice_to_make_a_handshake_is_obeyed_without_an_error_too() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    bench.told(r#"{"channel":"/meta/connect","successful":true,"advice":{"reconnect":"handshake"}}"#);
    assert_eq!(bench.asks(Lane::Connect), [HANDSHAKE]);
    assert_eq!(bench.counts().unknown_client, 0);
}

#[test]
fn a_publication_of_an_unknown_client_begins_anew_once_the_connect_is_answered() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    bench.session().publish("/c0", b"1").unwrap();
    bench.asks(Lane::Command);
    let heard = bench.told_on(Lane::Command, r#"{"channel":"/c0","successful":false,"error":"402::x"}"#);
    assert_eq!(heard, ["opened 200", "forgotten", "answered"]);
    assert!(!bench.client.wants(Lane::Connect), "its connection waits for an answer");
    // The second 402 concerns the same session, which is not forgotten twice.
    assert_eq!(bench.told(UNKNOWN), ["opened 200", "answered"]);
    assert_eq!(bench.asks(Lane::Connect), [HANDSHAKE]);
    assert_eq!(bench.counts().unknown_client, 2);
}

#[test]
fn a_server_that_forgets_again_and_again_is_given_time() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    let mut pauses = Vec::new();
    for round in 0.. {
        let heard = bench.told(UNKNOWN);
        if heard.iter().any(|event| event.starts_with("failure")) {
            assert_eq!(round, usize::from(FAILURES_MAX));
            assert_eq!(heard[1], "failure bayeux_refused: connect refused with error 402");
            break;
        }
        if let Some(pause_ms) = bench.session().take_pause_ms() {
            pauses.push(pause_ms);
            assert!(!bench.client.wants(Lane::Connect), "it pauses");
            assert_eq!(bench.session().take_pause_ms(), None, "returned once");
            bench.session().pause_over();
        }
        bench.asks(Lane::Connect);
        bench.told(&GREETING.replace("\"id\":\"1\",", ""));
        bench.asks(Lane::Connect);
    }
    assert_eq!(pauses, [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
    // A later attempt has the same number of retries again.
    bench.client.connection_lost();
    assert_eq!(bench.asks(Lane::Connect), [HANDSHAKE]);
    bench.told(&GREETING.replace("\"id\":\"1\",", ""));
    bench.asks(Lane::Connect);
    assert_eq!(bench.told(UNKNOWN), ["opened 200", "answered"]);
}

#[test]
fn an_interval_is_waited_for() {
    for transport in [Transport::Bayeux, Transport::BayeuxWebSocket] {
        let mut bench = Bench::subscribed(transport);
        let advice = r#"{"channel":"/meta/connect","successful":true,
            "advice":{"reconnect":"retry","interval":2000,"multiple-clients":true}}"#;
        bench.told(advice);
        assert_eq!(bench.session().take_pause_ms(), Some(2_000));
        assert!(!bench.client.wants(Lane::Connect));
        if transport == Transport::BayeuxWebSocket {
            // A publication neither waits for a connect nor causes one.
            bench.session().publish("/c0", b"1").unwrap();
            assert_eq!(bench.asks(Lane::Connect), [r#"/c0 clientId="k7" data=1"#]);
        }
        bench.session().pause_over();
        assert!(bench.asks(Lane::Connect)[0].starts_with("/meta/connect"));
        let counts = bench.counts();
        assert_eq!((counts.advice_interval, counts.multiple_clients, counts.connects), (1, 1, 1));
        // The interval applies until there is other advice.
        bench.told(CONNECTED);
        assert_eq!(bench.session().take_pause_ms(), Some(2_000));
        bench.session().pause_over();
        bench.asks(Lane::Connect);
        bench.told(r#"{"channel":"/meta/connect","successful":true,"advice":{"reconnect":"retry"}}"#);
        assert_eq!(bench.session().take_pause_ms(), None);
        assert!(bench.client.wants(Lane::Connect));
    }
}

#[test]
fn a_client_told_not_to_come_back_does_not() {
    for (reply, advised) in [
        (r#"{"channel":"/meta/connect","successful":true,"advice":{"reconnect":"none"}}"#, 1),
        (
            r#"{"channel":"/meta/connect","successful":false,"error":"500::","advice":{"reconnect":"none"}}"#,
            1,
        ),
        (r#"{"channel":"/meta/connect","successful":true,"advice":{"interval":-1}}"#, 0),
    ] {
        let mut bench = Bench::subscribed(Transport::Bayeux);
        assert_eq!(bench.told(reply), ["opened 200", "closed", "answered"], "{reply}");
        assert!(bench.session().has_ended() && !bench.client.wants(Lane::Connect));
        bench.client.connection_lost();
        assert!(bench.session().has_ended() && !bench.client.wants(Lane::Connect), "permanently");
        assert_eq!(bench.counts().advice_none, advised);
    }
}

#[test]
fn a_connect_that_fails_is_tried_again_after_a_while_and_answered_at_once() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    let failed = r#"{"channel":"/meta/connect","successful":false,"error":"500::x"}"#;
    for pause_ms in [1_000, 2_000] {
        assert_eq!(bench.told(failed), ["opened 200", "answered"]);
        assert_eq!(bench.session().take_pause_ms(), Some(pause_ms));
        bench.session().pause_over();
        assert_eq!(bench.asks(Lane::Connect), [FIRST_CONNECT]);
    }
    bench.told(CONNECTED);
    assert_eq!(bench.asks(Lane::Connect), [CONNECT]);
    assert_eq!(bench.counts().connects_failed, 2);
}

#[test]
fn refusals_say_what_was_refused() {
    let refused = |stage: usize, reply: &str| {
        let mut bench = Bench::of(Transport::Bayeux);
        for said in [GREETING, CONNECTED, SUBSCRIBED].into_iter().take(stage) {
            bench.asks(Lane::Connect);
            bench.told(said);
        }
        bench.asks(Lane::Connect);
        bench.told(reply).pop().unwrap()
    };
    for (stage, reply, want) in [
        (
            0,
            r#"{"channel":"/meta/handshake","successful":false,"error":"401::who","advice":{"reconnect":"none"}}"#,
            "failure bayeux_refused: handshake refused with error 401",
        ),
        (
            0,
            r#"{"channel":"/meta/handshake","successful":false}"#,
            "failure bayeux_refused: handshake refused",
        ),
        (
            0,
            r#"{"channel":"/meta/handshake","successful":true,"clientId":"k","supportedConnectionTypes":["iframe"]}"#,
            "failure handshake: handshake refused: the server does not offer this Bayeux connection type",
        ),
        (
            0,
            r#"{"channel":"/meta/handshake","successful":true}"#,
            "failure bayeux: bad Bayeux: a handshake without a client id",
        ),
        (0, CONNECTED, "failure bayeux: bad Bayeux: no reply to the handshake"),
        (1, GREETING, "failure bayeux: bad Bayeux: no reply to the connect"),
        (
            2,
            r#"{"channel":"/meta/subscribe","successful":false,"error":"403:/c0:create denied"}"#,
            "failure bayeux_refused: subscribe refused with error 403",
        ),
        (2, "", "failure bayeux: bad Bayeux: no reply to the subscription"),
        (3, r#"{"channel":"/c0","data":1}"#, "failure bayeux: bad Bayeux: no reply to the connect"),
        (3, "7", "failure bayeux: bad Bayeux: a message that is not an object"),
    ] {
        assert_eq!(refused(stage, reply), want, "{reply}");
    }
}

#[test]
fn a_handshake_may_have_several_steps() {
    let mut bench = Bench::of(Transport::Bayeux);
    bench.asks(Lane::Connect);
    bench.told(
        r#"{"channel":"/meta/handshake","successful":false,"advice":{"reconnect":"handshake","interval":0}}"#,
    );
    assert_eq!(bench.session().take_pause_ms(), Some(1_000));
    bench.session().pause_over();
    assert_eq!(bench.asks(Lane::Connect), [HANDSHAKE]);
}

#[test]
fn a_session_outlives_its_connection() {
    for transport in [Transport::Bayeux, Transport::BayeuxWebSocket] {
        let mut bench = Bench::subscribed(transport);
        bench.client.connection_lost();
        assert!(bench.client.wants(Lane::Connect));
        bench.open();
        let connect = &bench.asks(Lane::Connect)[0];
        assert!(connect.contains(r#"/meta/connect clientId="k7""#), "{connect}");
        assert!(connect.contains(r#"{"timeout":0}"#), "the session is checked at once");
        assert!(bench.told(CONNECTED).contains(&"ready".to_owned()));
        assert!(!bench.asks(Lane::Connect)[0].contains("timeout"));
        assert!(!bench.told(CONNECTED).contains(&"ready".to_owned()), "reported once");
    }
}

#[test]
fn a_connection_that_ends_between_two_requests_costs_nothing() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    bench.headers = "Connection: close\r\n";
    bench.told(CONNECTED);
    assert!(bench.client.wants(Lane::Connect) && !bench.client.lane_reusable(Lane::Connect));
    bench.client.lane_lost(Lane::Connect);
    assert_eq!(bench.asks(Lane::Connect), [CONNECT], "held again, not answered at once");
    assert_eq!(bench.told(CONNECTED), ["opened 200", "answered"]);
}

#[test]
fn whatever_was_asked_is_asked_again_after_a_loss() {
    for (asked, again) in [(0, HANDSHAKE), (1, FIRST_CONNECT), (2, SUBSCRIBE)] {
        let mut bench = Bench::of(Transport::Bayeux);
        for said in [GREETING, CONNECTED].into_iter().take(asked) {
            bench.asks(Lane::Connect);
            bench.told(said);
        }
        bench.asks(Lane::Connect);
        bench.client.lane_lost(Lane::Connect);
        assert_eq!(bench.asks(Lane::Connect), [again]);
    }
}

#[test]
fn a_disconnect_whose_connection_is_lost_is_said_again() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    bench.session().disconnect();
    let said = bench.asks(Lane::Command);
    bench.client.lane_lost(Lane::Command);
    assert_eq!(bench.asks(Lane::Command), said);
}

#[test]
fn an_answer_without_success_is_a_failure_of_http() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    let answer = b"HTTP/1.1 500 Server Error\r\nContent-Length: 0\r\n\r\n".to_vec();
    assert_eq!(bench.hear(Lane::Connect, answer), ["failure status_5xx: answered with status 500"]);
}

#[test]
fn what_is_no_reply_is_told_by_what_is_wrong_with_it() {
    let long = format!("[{{\"id\":\"{}\"}}]", "7".repeat(20_000));
    let deep = format!("[{{\"data\":{}", "[".repeat(600));
    for (body, what) in [
        ("", "no reply to the connect"),
        ("[]", "no reply to the connect"),
        ("<html>", "neither a message nor an array of messages"),
        ("7", "neither a message nor an array of messages"),
        ("[7]", "a message that is not an object"),
        ("[{},]", "a message that is not an object"),
        ("[{} {}]", "not JSON"),
        ("[{\"a\" 1}]", "not JSON"),
        ("[{\"a\":}]", "not JSON"),
        ("[{\"a\":1,}]", "not JSON"),
        ("[{,}]", "not JSON"),
        ("[{\"advice\":{\"interval\" 0}}]", "no colon after a key"),
        ("[{\"successful\":truth}]", "no value"),
        ("[{\"channel\":\"/c0\"}", "the body is incomplete"),
        ("[{\"data\":\"]}", "the body is incomplete"),
        ("{} ]", "more than one array of messages"),
        ("[][]", "more than one array of messages"),
        (&long, "a field that is too long"),
        (&deep, "nested too deep"),
    ] {
        let mut bench = Bench::subscribed(Transport::Bayeux);
        let heard = bench.told_body(Lane::Connect, body);
        let last = heard.last().unwrap();
        assert_eq!(last, &format!("failure bayeux: bad Bayeux: {what}"), "{}", &body[..body.len().min(40)]);
    }
}

#[test]
fn a_websocket_is_closed_with_the_reason_of_its_session() {
    for (text, code) in [("nonsense", 1008), (r#"[{"channel":"/c0"}"#, 1008), ("[\u{1}", 1008)] {
        let mut bench = Bench::subscribed(Transport::BayeuxWebSocket);
        let mut bytes = Vec::new();
        encode::frame(&mut bytes, Opcode::Text, text.as_bytes(), None);
        let (mut input, mut out) = (&mut bytes[..], Vec::new());
        let failure = bench.client.handle_input(&bench.config, &mut input, &mut out).unwrap_err();
        assert_eq!(failure.kind(), "bayeux");
        let closed = Decoder::new(Role::Server, 100).next(&mut &mut out[..]).unwrap();
        assert_eq!(closed, Some(Frame::Close { code: Some(code), reason: "" }), "{text}");
    }
}
