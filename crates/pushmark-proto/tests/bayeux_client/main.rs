//! The Bayeux client: its requests, their order and lanes, and its events.

mod bench;
mod trouble;

use bench::{Bench, CONNECT, CONNECTED, FIRST_CONNECT, GREETING, HANDSHAKE, SUBSCRIBE, SUBSCRIBED};
use pushmark_proto::client::bayeux::{Counts, PENDING_MAX, Unpublished};
use pushmark_proto::client::{Bayeux, Config, Lane, Transport};
use pushmark_proto::websocket::{Decoder, Event as Frame, Opcode, Role, encode};

#[test]
fn over_http_a_session_begins_on_one_connection() {
    let mut bench = Bench::of(Transport::Bayeux);
    assert_eq!(bench.asks(Lane::Connect), [HANDSHAKE]);
    assert_eq!(bench.session().publish("/c0", b"1"), Err(Unpublished::NoSession));
    assert_eq!(bench.told(GREETING), ["opened 200", "answered"]);
    assert_eq!(bench.session().client_id(), "k7");
    assert_eq!(bench.session().timeout_ms(), Some(30_000));
    assert_eq!(bench.asks(Lane::Connect), [FIRST_CONNECT]);
    assert_eq!(bench.told(CONNECTED), ["opened 200", "answered"]);
    assert!(bench.client.will_subscribe(Lane::Connect));
    assert_eq!(bench.asks(Lane::Connect), [SUBSCRIBE]);
    assert_eq!(bench.told(SUBSCRIBED), ["opened 200", "ready", "answered"]);
    assert!(!bench.client.will_subscribe(Lane::Connect));
    assert_eq!(bench.asks(Lane::Connect), [CONNECT]);
    assert!(bench.session().is_held() && !bench.client.wants(Lane::Command));
    let event = r#"{"channel":"/c0","data":{"a":"]}\""}},"#;
    assert_eq!(
        bench.told(&format!("{event}{CONNECTED}")),
        ["opened 200", r#"data {"a":"]}\\""}"#, "end", "answered"]
    );
    assert_eq!(bench.asks(Lane::Connect), [CONNECT]);
    let counts = Counts { handshakes: 1, connects: 3, advice_retry: 1, ..Counts::default() };
    assert_eq!(bench.counts(), counts);
}

#[test]
fn over_a_websocket_connect_and_subscription_do_not_wait_for_each_other() {
    let mut bench = Bench::of(Transport::BayeuxWebSocket);
    bench.open();
    let websocket = |text: &str| text.replace("long-polling", "websocket");
    assert_eq!(bench.asks(Lane::Connect), [websocket(HANDSHAKE)]);
    assert_eq!(bench.told(GREETING), [""; 0]);
    assert_eq!(bench.asks(Lane::Connect), [websocket(FIRST_CONNECT)]);
    assert_eq!(bench.told(CONNECTED), [""; 0]);
    assert_eq!(bench.asks(Lane::Connect), [SUBSCRIBE, &websocket(CONNECT)]);
    assert_eq!(bench.told(r#"{"channel":"/c0","data":"early"}"#), ["data \"early\"", "end"]);
    assert_eq!(bench.told(SUBSCRIBED), ["ready"]);
    assert!(!bench.client.wants(Lane::Connect) && !bench.client.wants(Lane::Command));
    bench.session().publish("/c0", b"1").unwrap();
    bench.session().publish("/c1", b"\"two\"").unwrap();
    assert!(!bench.client.wants(Lane::Command), "one connection for all");
    assert_eq!(
        bench.asks(Lane::Connect),
        [r#"/c0 clientId="k7" data=1; /c1 clientId="k7" data="two""#],
        "a connect is held, and both are in one text"
    );
    let heard = bench.told(r#"{"channel":"/c0","id":"5","successful":true},{"channel":"/c0","data":1}"#);
    assert_eq!(heard, ["Published { id: Some(5), accepted: true }", "data 1", "end"]);
    assert_eq!(bench.told(CONNECTED), [""; 0]);
    assert_eq!(bench.asks(Lane::Connect), [websocket(CONNECT)]);
}

#[test]
fn publications_take_a_second_connection_in_one_batch() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    assert!(!bench.client.lane_reusable(Lane::Command), "there is none yet");
    let first = bench.session().publish("/c0", b"1").unwrap();
    bench.session().publish("/service/echo", br#"{"to":["b"]}"#).unwrap();
    assert!(!bench.client.wants(Lane::Connect));
    assert_eq!(
        bench.asks(Lane::Command),
        [r#"/c0 clientId="k7" data=1; /service/echo clientId="k7" data={"to":["b"]}"#]
    );
    bench.session().publish("/c0", b"2").unwrap();
    assert!(!bench.client.wants(Lane::Command), "no pipelining");
    let replies = format!(
        r#"{{"channel":"/c0","id":"{first}","successful":true}},
           {{"channel":"/service/echo","data":"back"}},
           {{"channel":"/service/echo","successful":false,"error":"403::no"}}"#
    );
    assert_eq!(
        bench.told_on(Lane::Command, &replies),
        [
            "opened 200".to_owned(),
            format!("Published {{ id: Some({first}), accepted: true }}"),
            "data \"back\"".into(),
            "end".into(),
            "Published { id: None, accepted: false }".into(),
            "answered".into(),
        ],
        "any reply may contain events"
    );
    assert!(bench.client.lane_reusable(Lane::Command));
    assert_eq!(bench.asks(Lane::Command), [r#"/c0 clientId="k7" data=2"#]);
    bench.client.lane_lost(Lane::Command);
    assert!(!bench.client.wants(Lane::Command) && bench.session().is_held(), "the connect is unchanged");
    let counts = bench.counts();
    assert_eq!((counts.published, counts.published_failed), (1, 1));
}

#[test]
fn what_cannot_be_published_is_refused() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    for (channel, data) in [("/c0", "{"), ("/c0", "1 2"), ("/meta/connect", "1"), ("/a/*", "1"), ("c0", "1")]
    {
        let refused = bench.session().publish(channel, data.as_bytes());
        assert_eq!(refused, Err(Unpublished::Malformed), "{channel} {data}");
    }
    let long = format!("\"{}\"", "x".repeat(PENDING_MAX));
    assert!(bench.session().publish("/c0", long.as_bytes()).is_ok(), "a single one may be long");
    assert_eq!(bench.session().publish("/c0", b"1"), Err(Unpublished::Full));
    bench.asks(Lane::Command);
    assert!(bench.session().publish("/c0", b"1").is_ok());
}

#[test]
fn channels_go_in_one_array_or_in_a_message_each() {
    for (subscribe_each, want) in [
        (false, r#"/meta/subscribe clientId="k7" subscription=["/a","/b/**"]"#),
        (
            true,
            r#"/meta/subscribe clientId="k7" subscription="/a"; /meta/subscribe clientId="k7" subscription="/b/**""#,
        ),
    ] {
        let bayeux = Bayeux { subscribe_each, ..Bayeux::default() };
        let mut bench = Bench::new(Config { bayeux, ..Config::new(Transport::Bayeux) });
        bench.channels = br#"["/a","/b/**"]"#.to_vec();
        for said in [GREETING, CONNECTED] {
            bench.asks(Lane::Connect);
            bench.told(said);
        }
        assert_eq!(bench.asks(Lane::Connect), [want]);
        let reply = |name: &str, last| {
            format!(
                r#"{{"channel":"/meta/subscribe","successful":true,"subscription":"/{name}",
                    "ext":{{"pushmark":{{"subscribed":"{name}={last}"}}}}}}"#
            )
        };
        let (replies, acknowledged) = match subscribe_each {
            true => (format!("{},{}", reply("a", 17), reply("b", 3)), "a=17,b=3"),
            false => (reply("a", 17), "a=17"),
        };
        assert_eq!(bench.told(&replies), ["opened 200", "ready", "answered"]);
        assert_eq!(bench.session().take_acknowledged().as_deref(), Some(acknowledged));
        assert_eq!(bench.session().take_acknowledged(), None);
    }
}

#[test]
fn a_client_without_channels_is_ready_with_its_connect() {
    for transport in [Transport::Bayeux, Transport::BayeuxWebSocket] {
        let mut bench = Bench::of(transport);
        bench.channels.clear();
        bench.open();
        for said in [GREETING, CONNECTED] {
            bench.asks(Lane::Connect);
            bench.told(said);
        }
        assert!(bench.asks(Lane::Connect)[0].starts_with("/meta/connect"));
        assert!(bench.told(CONNECTED).contains(&"ready".to_owned()));
    }
}

#[test]
fn every_batch_that_came_is_acknowledged() {
    for transport in [Transport::Bayeux, Transport::BayeuxWebSocket] {
        let bayeux = Bayeux { acknowledge: true, ..Bayeux::default() };
        let mut bench = Bench::new(Config { bayeux, ..Config::new(transport) });
        bench.open();
        assert!(bench.asks(Lane::Connect)[0].ends_with(r#"ext={"ack":true}"#));
        bench.told(&GREETING.replace("\"version\"", r#""ext":{"ack":{"enabled":true}},"version""#));
        assert!(bench.asks(Lane::Connect)[0].ends_with(r#"ext={"ack":-1}"#));
        bench.told(r#"{"channel":"/meta/connect","successful":true,"ext":{"ack":0}}"#);
        bench.asks(Lane::Connect);
        bench.told(SUBSCRIBED);
        if transport == Transport::Bayeux {
            assert!(bench.asks(Lane::Connect)[0].ends_with(r#"ext={"ack":0}"#));
        }
        bench.told(
            r#"{"channel":"/c0","data":1},{"channel":"/meta/connect","successful":true,"ext":{"ack":12}}"#,
        );
        assert!(bench.asks(Lane::Connect)[0].ends_with(r#"ext={"ack":12}"#));
        // A lost reply is requested again with the previous batch number.
        bench.client.connection_lost();
        bench.open();
        assert!(bench.asks(Lane::Connect)[0].ends_with(r#"advice={"timeout":0} ext={"ack":12}"#));
        assert_eq!(bench.counts().batches, 2);
    }
    let mut bench = Bench::new(Config {
        bayeux: Bayeux { acknowledge: true, ..Bayeux::default() },
        ..Config::new(Transport::Bayeux)
    });
    bench.asks(Lane::Connect);
    bench.told(GREETING);
    assert_eq!(bench.asks(Lane::Connect), [FIRST_CONNECT], "not granted, not used");
}

#[test]
fn time_is_compared_over_ten_answers() {
    let bayeux = Bayeux { time_sync: true, ..Bayeux::default() };
    let mut bench = Bench::new(Config { bayeux, ..Config::new(Transport::Bayeux) });
    bench.session().set_time_ms(1_000);
    assert!(bench.asks(Lane::Connect)[0].ends_with(r#"ext={"timesync":{"tc":1000,"l":0,"o":0}}"#));
    assert!(bench.session().time_sync().is_none());
    // 10 ms there, held for 30 ms, 10 ms back. The server's clock is 5,000 ms ahead.
    bench.session().set_time_ms(1_050);
    let answer = r#""ext":{"timesync":{"tc":1000,"ts":6010,"p":30,"a":-5010}},"version""#;
    bench.told(&GREETING.replace("\"version\"", answer));
    let time = *bench.session().time_sync().unwrap();
    assert_eq!((time.lag_ms(), time.offset_ms(), time.answers), (10, 5_000, 1));
    assert!(bench.asks(Lane::Connect)[0].ends_with(r#"ext={"timesync":{"tc":1050,"l":10,"o":5000}}"#));
    for round in 0..10 {
        bench.session().set_time_ms(1_060);
        let answer = r#"{"channel":"/meta/connect","successful":true,"ext":{"timesync":{"tc":1050,"ts":3055,"p":2,"a":0}}}"#;
        bench.told(answer);
        bench.asks(Lane::Connect);
        if round == 0 {
            bench.told(SUBSCRIBED);
            bench.asks(Lane::Connect);
        }
    }
    let time = bench.session().time_sync().unwrap();
    assert_eq!((time.lag_ms(), time.offset_ms(), time.answers), (4, 2_001, 11), "the first one is gone");
}

#[test]
fn each_client_has_its_cookies_on_both_lanes() {
    let mut bench = Bench::of(Transport::Bayeux);
    bench.asks(Lane::Connect);
    bench.headers = "Set-Cookie: BAYEUX_BROWSER=b9;Path=/;HttpOnly\r\n";
    bench.told(GREETING);
    let request = String::from_utf8(bench.write(Lane::Connect)).unwrap();
    assert!(request.contains("\r\nCookie: BAYEUX_BROWSER=b9\r\n"), "{request}");
    bench.session().publish("/c0", b"1").unwrap();
    let request = String::from_utf8(bench.write(Lane::Command)).unwrap();
    assert!(request.contains("\r\nCookie: BAYEUX_BROWSER=b9\r\n"), "{request}");
}

#[test]
fn a_disconnect_ends_the_session_and_its_connect() {
    let mut bench = Bench::subscribed(Transport::Bayeux);
    bench.session().publish("/c0", b"1").unwrap();
    bench.session().disconnect();
    assert_eq!(bench.session().publish("/c0", b"2"), Err(Unpublished::NoSession));
    assert_eq!(
        bench.asks(Lane::Command),
        [r#"/c0 clientId="k7" data=1; /meta/disconnect clientId="k7""#],
        "waiting messages are first"
    );
    let replies = r#"{"channel":"/c0","successful":true},{"channel":"/meta/disconnect","successful":true}"#;
    let heard = bench.told_on(Lane::Command, replies);
    assert_eq!(heard, ["opened 200", "Published { id: None, accepted: true }", "closed", "answered"]);
    // The held connect is answered with the events that waited for the client.
    let last = r#"{"channel":"/c0","data":1},{"channel":"/meta/connect","successful":false,"advice":{"reconnect":"none"}}"#;
    assert_eq!(bench.told(last), ["opened 200", "data 1", "end", "answered"]);
    assert!(bench.session().has_ended());

    let mut bench = Bench::subscribed(Transport::BayeuxWebSocket);
    bench.session().disconnect();
    assert_eq!(bench.asks(Lane::Connect), [r#"/meta/disconnect clientId="k7""#]);
    let last = r#"{"channel":"/meta/connect","successful":true,"advice":{"reconnect":"none"}}"#;
    assert_eq!(bench.told(last), ["closed"], "the first of the two reports it");
    assert_eq!(bench.told(r#"{"channel":"/meta/disconnect","successful":true}"#), [""; 0]);
    assert_eq!(bench.counts().advice_none, 0);

    let mut bench = Bench::of(Transport::Bayeux);
    bench.session().disconnect();
    assert!(bench.session().has_ended() && !bench.client.wants(Lane::Connect), "no session was begun");
}

#[test]
fn a_ping_inside_the_session_is_answered() {
    let mut bench = Bench::subscribed(Transport::BayeuxWebSocket);
    let mut bytes = Vec::new();
    encode::frame(&mut bytes, Opcode::Ping, b"you", None);
    let (mut input, mut out) = (&mut bytes[..], Vec::new());
    assert_eq!(bench.client.handle_input(&bench.config, &mut input, &mut out), Ok(None));
    let mut decoder = Decoder::new(Role::Server, 100);
    assert_eq!(decoder.next(&mut &mut out[..]), Ok(Some(Frame::Pong(b"you"))));
}

#[test]
fn a_payload_longer_than_allowed_is_refused() {
    let config = Config { message_max: 10, ..Config::new(Transport::Bayeux) };
    let mut bench = Bench::new(config);
    bench.asks(Lane::Connect);
    let heard = bench.told(r#"{"channel":"/c0","data":"0123456789"}"#);
    assert_eq!(heard[1], "failure message_too_large: a message is longer than the limit");
}
