//! Tables of Bayeux messages: how they are read, which are refused at which position, and how they are
//! written.

use pushmark_proto::bayeux::{
    Advice, Batch, ConnectionType, DEPTH_MAX, Error, MESSAGES_MAX, Malformed, Reconnect, Value, channel, ext,
    messages, quote,
};

fn refused(text: &str) -> (usize, &'static str) {
    let Malformed { at, what } = messages(text.as_bytes()).expect_err(text);
    (at, what)
}

fn channels(text: &str) -> Vec<String> {
    messages(text.as_bytes()).expect(text).map(|message| message.channel.into_owned()).collect()
}

#[test]
fn a_body_is_an_array_of_messages_or_one() {
    assert_eq!(channels(r#"[{"channel":"/a"},{"channel":"/b"}]"#), ["/a", "/b"]);
    assert_eq!(channels(" \r\n\t{ \"channel\" : \"/a\" } \n"), ["/a"]);
    assert_eq!(channels("[]"), [""; 0]);
    assert_eq!(channels("[{}]"), [""], "without a channel; the server refuses it");
    assert_eq!(messages(br#"[{},{},{}]"#).unwrap().len(), 3);
}

#[test]
fn what_is_no_body_is_refused_where_it_goes_wrong() {
    for (text, at, what) in [
        ("", 0, "the text ends too soon"),
        ("[", 1, "the text ends too soon"),
        ("[{\"a\":1}", 8, "the text ends too soon"),
        ("[{\"a\":1]", 7, "no comma between two values"),
        ("[{\"a\" 1}]", 6, "no colon after a key"),
        ("[{a:1}]", 2, "a key that is not a string"),
        ("[{},]", 4, "no value"),
        ("[{\"a\":tru}]", 6, "no value"),
        ("[{\"a\":-}]", 7, "a number without digits"),
        ("[{\"a\":01}]", 7, "no comma between two values"),
        ("[{\"a\":1.}]", 8, "a number without digits"),
        ("[{\"a\":1e+}]", 9, "a number without digits"),
        ("[{\"a\":\"b", 8, "the text ends in a string"),
        ("[{\"a\":\"\\x\"}]", 7, "an invalid escape"),
        ("[{\"a\":\"\\u12g4\"}]", 7, "an invalid escape"),
        ("[{\"a\":\"\n\"}]", 7, "a control character in a string"),
        ("[{}] x", 5, "more than one value"),
        (" 7", 1, "neither a message nor an array of messages"),
        ("\"a\"", 0, "neither a message nor an array of messages"),
        ("[{}, 7]", 5, "a message that is not an object"),
        ("[[{}]]", 1, "a message that is not an object"),
    ] {
        assert_eq!(refused(text), (at, what), "{text}");
    }
    let error = messages(b"[\"\xff\"]").unwrap_err();
    assert_eq!(error.to_string(), "not UTF-8 at byte 2");
}

#[test]
fn depth_and_count_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Value::parse(nested(DEPTH_MAX).as_bytes()).is_ok());
    let error = Value::parse(nested(DEPTH_MAX + 1).as_bytes()).unwrap_err();
    assert_eq!((error.at, error.what), (DEPTH_MAX, "nested too deep"));

    let many = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
    assert_eq!(messages(many(MESSAGES_MAX).as_bytes()).unwrap().len(), MESSAGES_MAX);
    assert_eq!(refused(&many(MESSAGES_MAX + 1)).1, "more than 4,096 messages");
}

#[test]
fn every_field_is_read() {
    let body = br#"{"channel":"\/meta\/handshake","id":17,"clientId":"k\u00e9","successful":false,
        "error":"402:k7,k8:who: you","advice":{"reconnect":"none"},"subscription":["/a","/b/*"],
        "data":{"a":[1,"]}"]},"ext":{"ack":true},"version":"1.0","minimumVersion":"0.9",
        "supportedConnectionTypes":["callback-polling","long-polling"],"connectionType":"long-polling",
        "timestamp":"whatever"}"#;
    let message = messages(body).unwrap().next().unwrap();
    assert_eq!(message.channel, "/meta/handshake");
    assert_eq!(message.id.unwrap().text(), "17", "repeated as it was written");
    assert_eq!(message.client_id.as_deref(), Some("ké"));
    assert_eq!(message.successful, Some(false));
    assert_eq!(message.error(), Some(Error { code: Some(402), arguments: "k7,k8", text: "who: you" }));
    assert_eq!(message.advice(ConnectionType::LongPolling), Some(Advice::none()));
    assert_eq!(message.subscriptions().collect::<Vec<_>>(), ["/a", "/b/*"]);
    assert_eq!(message.data.unwrap().text(), r#"{"a":[1,"]}"]}"#);
    assert_eq!(ext::ack(message.ext.unwrap()), Some(ext::Ack::Enabled(true)));
    assert_eq!((message.version.as_deref(), message.minimum_version.as_deref()), (Some("1.0"), Some("0.9")));
    assert!(message.supports(ConnectionType::LongPolling) && !message.supports(ConnectionType::WebSocket));
    assert_eq!(message.connection_type.as_deref(), Some("long-polling"));
}

#[test]
fn a_field_of_the_wrong_type_is_as_if_it_were_not_there() {
    let body = br#"{"channel":7,"clientId":null,"successful":"true","error":{},"version":1}"#;
    let message = messages(body).unwrap().next().unwrap();
    assert_eq!((&*message.channel, message.client_id, message.successful), ("", None, None));
    assert_eq!((message.error, message.version), (None, None));
}

#[test]
fn a_subscription_is_one_channel_or_several() {
    for (text, want) in [(r#""/a""#, &["/a"][..]), (r#"["/a"]"#, &["/a"]), ("[]", &[]), ("7", &[])] {
        let body = format!(r#"{{"subscription":{text}}}"#);
        let message = messages(body.as_bytes()).unwrap().next().unwrap();
        assert_eq!(message.subscriptions().collect::<Vec<_>>(), want, "{text}");
    }
}

#[test]
fn strings_lose_their_escapes() {
    for (text, want) in [
        (r#""plain""#, "plain"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9A\u20ac""#, "éA€"),
        (r#""\ud83d\ude00!""#, "😀!"),
        (r#""\ud83d!""#, "\u{fffd}!"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ude00""#, "\u{fffd}"),
    ] {
        assert_eq!(Value::parse(text.as_bytes()).unwrap().as_str().unwrap(), want, "{text}");
        let mut quoted = Vec::new();
        quote(&mut quoted, want);
        assert_eq!(Value::parse(&quoted).unwrap().as_str().unwrap(), want, "{text}, written and read");
    }
    assert_eq!(Value::parse(b"7").unwrap().as_str(), None);
    let mut quoted = Vec::new();
    quote(&mut quoted, "a\"\\\n\r\t\u{1}\u{1f}é");
    assert_eq!(String::from_utf8(quoted).unwrap(), r#""a\"\\\n\r\t\u0001\u001fé""#);
}

#[test]
fn numbers_are_whole_ones() {
    for (text, want) in [
        ("0", Some(0)),
        ("-7", Some(-7)),
        ("2.9", Some(2)),
        ("1e3", Some(1000)),
        ("true", None),
        ("\"7\"", None),
    ] {
        assert_eq!(Value::parse(text.as_bytes()).unwrap().as_i64(), want, "{text}");
    }
}

#[test]
fn advice_for_one_transport_is_put_over_that_for_all() {
    let text = br#"{"reconnect":"retry","interval":0,"timeout":30000,"hosts":["a"],"multiple-clients":true,
        "long-polling":{"timeout":20000,"reconnect":"handshake"},"websocket":{"interval":-1}}"#;
    let value = Value::parse(text).unwrap();
    let polling = Advice::read(value, ConnectionType::LongPolling);
    assert_eq!(polling.reconnect, Some(Reconnect::Handshake));
    assert_eq!((polling.interval_ms, polling.timeout_ms), (Some(0), Some(20_000)));
    assert!(polling.multiple_clients);
    let websocket = Advice::read(value, ConnectionType::WebSocket);
    assert_eq!((websocket.reconnect, websocket.interval_ms), (Some(Reconnect::Retry), Some(-1)));
    let unknown = Value::parse(br#"{"reconnect":"dance"}"#).unwrap();
    assert_eq!(Advice::read(unknown, ConnectionType::LongPolling), Advice::default());
}

#[test]
fn errors_come_apart() {
    for (text, code, arguments, rest) in [
        ("402:k7:Unknown", Some(402), "k7", "Unknown"),
        ("403:a,b:no: never", Some(403), "a,b", "no: never"),
        ("402::session_unknown", Some(402), "", "session_unknown"),
        ("400:x", Some(400), "x", ""),
        ("Unknown client", None, "", "Unknown client"),
        ("40:a:b", None, "", "40:a:b"),
        ("+42:a:b", None, "", "+42:a:b"),
    ] {
        assert_eq!(Error::read(text), Error { code, arguments, text: rest }, "{text}");
    }
    let error = Error { code: Some(402), arguments: "k7", text: "Unknown" };
    assert_eq!(error.to_string(), "402:k7:Unknown");
}

#[test]
fn names_of_channels() {
    for name in ["/a", "/a/b", "/a/*", "/a/**", "/*", "/**", "/A9-_!~()$@/b", "/meta/connect"] {
        assert!(channel::valid(name), "{name}");
    }
    for name in ["", "/", "a", "/a/", "//a", "/a//b", "/*/a", "/a*", "/a/***", "/a b", "/é", "/a,b", "/a.b"]
    {
        assert!(!channel::valid(name), "{name}");
    }
    assert!(!channel::valid(&format!("/{}", "a".repeat(channel::NAME_MAX))));
    assert!(channel::is_meta("/meta/x") && channel::is_meta("/meta") && !channel::is_meta("/metal"));
    assert!(channel::is_service("/service/x") && !channel::is_service("/services"));
}

#[test]
fn patterns_hear_what_the_specification_says() {
    for (subscription, name, want) in [
        ("/foo/*", "/foo/a", true),
        ("/foo/*", "/foo/a/b", false),
        ("/foo/*", "/foo", false),
        ("/foo/*", "/foobar/a", false),
        ("/foo/**", "/foo/a", true),
        ("/foo/**", "/foo/a/b", true),
        ("/foo/**", "/foo", false),
        ("/foo/**", "/food", false),
        ("/**", "/a/b", true),
        ("/*", "/a", true),
        ("/*", "/a/b", false),
        ("/a", "/a", true),
        ("/a", "/a/b", false),
        ("/a/*", "/a/*", false),
        ("/**", "/meta/connect", false),
        ("/**", "/service/a", false),
        ("/service/a", "/service/a", true),
    ] {
        assert_eq!(channel::matches(subscription, name), want, "{subscription} {name}");
        if subscription != name {
            let listed = channel::patterns(name).any(|pattern| pattern == subscription);
            assert_eq!(listed, want, "{subscription} among the patterns of {name}");
        }
    }
    assert_eq!(channel::patterns("/a/b").collect::<Vec<_>>(), ["/**", "/a/**", "/a/*"]);
}

#[test]
fn the_extensions_are_read_and_written() {
    let ack = |text: &str| ext::ack(Value::parse(text.as_bytes()).unwrap());
    assert_eq!(ack(r#"{"ack":true}"#), Some(ext::Ack::Enabled(true)));
    assert_eq!(ack(r#"{"ack":{"enabled":true,"batch":3}}"#), Some(ext::Ack::Enabled(true)));
    assert_eq!(ack(r#"{"ack":12}"#), Some(ext::Ack::Batch(12)));
    assert_eq!(ack(r#"{"ack":-1}"#), Some(ext::Ack::Batch(-1)));
    assert_eq!((ack("{}"), ack(r#"{"ack":"yes"}"#)), (None, None));

    let request = ext::TimeSyncRequest { tc: 1000, l: 5, o: -40 };
    let reply = ext::TimeSyncReply::to(request, 970, 3);
    assert_eq!(reply.a, 1000 + 5 - 40 - 970);
    let mut out = b"{\"timesync\":".to_vec();
    reply.write(&mut out);
    out.push(b'}');
    assert_eq!(out, br#"{"timesync":{"tc":1000,"ts":970,"p":3,"a":-5}}"#);
    assert_eq!(ext::TimeSyncReply::read(Value::parse(&out).unwrap()), Some(reply));
    let mut out = b"{\"timesync\":".to_vec();
    request.write(&mut out);
    out.push(b'}');
    assert_eq!(ext::TimeSyncRequest::read(Value::parse(&out).unwrap()), Some(request));

    let subscribed = Value::parse(br#"{"pushmark":{"subscribed":"c0=17"}}"#).unwrap();
    assert_eq!(ext::subscribed(subscribed).as_deref(), Some("c0=17"));
}

#[test]
fn replies_and_events_are_written() {
    let body = br#"[{"channel":"/meta/handshake","id":"1","version":"1.0","supportedConnectionTypes":[]},
        {"channel":"/meta/subscribe","id":2,"clientId":"k","subscription":["/a","/b"]},
        {"channel":"/c","id":"3","clientId":"k","data":"x","subscription":"/not/repeated"}]"#;
    let mut out = Vec::new();
    let mut batch = Batch::new(&mut out);
    assert!(batch.is_empty());
    for message in messages(body).unwrap() {
        let mut reply = batch.message(&message.channel).reply_to(&message, true);
        if message.channel == channel::HANDSHAKE {
            reply = reply
                .text("clientId", "k")
                .versions(["long-polling", "websocket"])
                .advice(&Advice::retry(0, 30_000));
        }
        reply.end();
    }
    batch.event("/c", b"\"x\"");
    batch.raw(br#"{"channel":"/d","data":1},{"channel":"/d","data":2}"#);
    assert!(!batch.is_empty());
    batch.end();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        concat!(
            r#"[{"channel":"/meta/handshake","id":"1","successful":true,"clientId":"k","version":"1.0","#,
            r#""minimumVersion":"1.0","supportedConnectionTypes":["long-polling","websocket"],"#,
            r#""advice":{"reconnect":"retry","interval":0,"timeout":30000}},"#,
            r#"{"channel":"/meta/subscribe","id":2,"successful":true,"subscription":["/a","/b"]},"#,
            r#"{"channel":"/c","id":"3","successful":true},"#,
            r#"{"channel":"/c","data":"x"},{"channel":"/d","data":1},{"channel":"/d","data":2}]"#
        )
    );
    let mut out = Vec::new();
    Batch::new(&mut out).end();
    assert_eq!(out, b"[]");
}
