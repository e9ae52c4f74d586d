//! Client conversations: their events for a response, and their requests.

use pushmark_proto::client::{
    Client, Config, CursorSource, Event, Exchange, ExchangeEvent, Request, Transport,
};
use pushmark_proto::fuzzing::{agree, machines};
use pushmark_proto::http1::RequestHead;
use pushmark_proto::websocket::handshake::Upgrade;
use pushmark_proto::websocket::{Opcode, Role, encode};

fn check(config: &Config, input: &str, expected: &[&str]) {
    check_bytes(config, input.as_bytes(), expected);
}

fn check_bytes(config: &Config, input: &[u8], expected: &[&str]) {
    let heard = agree(input, || machines::client(config));
    assert_eq!(heard.lines(), expected, "of {}", input.escape_ascii());
}

/// Returns the request of a client for a plain GET.
fn written(client: &mut Client, config: &Config) -> String {
    let mut out = Vec::new();
    client.write_request(config, &Request::get("/x", "h:1"), &mut out);
    String::from_utf8(out).unwrap()
}

/// Feeds a client. Returns its events in their `Debug` form.
fn hear(client: &mut Client, config: &Config, input: &str) -> Vec<String> {
    let mut bytes = input.as_bytes().to_vec();
    let mut input = &mut bytes[..];
    let mut heard = Vec::new();
    while let Some(event) = client.handle_input(config, &mut input, &mut Vec::new()).unwrap() {
        heard.push(format!("{event:?}"));
    }
    assert!(input.is_empty());
    heard
}

const ALL: [Transport; 5] =
    [Transport::Poll, Transport::LongPoll, Transport::Stream, Transport::Sse, Transport::WebSocket];

#[test]
fn a_client_is_small() {
    // Two cache lines.
    assert!(size_of::<Client>() <= 128, "a client takes {} bytes", size_of::<Client>());
    assert!(size_of::<Exchange>() <= 32, "an exchange takes {} bytes", size_of::<Exchange>());
    // An event is passed in registers or one cache line.
    assert!(size_of::<Event<'_>>() <= 32);
}

#[test]
fn refusals_are_told_apart_on_every_transport() {
    for transport in ALL {
        let config = Config::new(transport);
        for (head, kind) in [
            ("302 Found\r\nLocation: /elsewhere", "redirect"),
            ("401 Unauthorized", "auth"),
            ("407 Proxy Authentication Required", "auth"),
            ("404 Not Found", "status_4xx"),
            ("429 Too Many Requests", "status_4xx"),
            ("503 Service Unavailable", "status_5xx"),
        ] {
            let mut client = Client::new(&config, 1);
            written(&mut client, &config);
            let mut answer = format!("HTTP/1.1 {head}\r\nContent-Length: 3\r\n\r\nabc").into_bytes();
            let failure =
                client.handle_input(&config, &mut &mut answer[..], &mut Vec::new()).expect_err("a refusal");
            assert_eq!(failure.kind(), kind, "{transport:?}");
            assert!(!client.reusable());
        }
    }
}

#[test]
fn a_compressed_answer_is_a_failure() {
    for transport in [Transport::Poll, Transport::LongPoll, Transport::Stream, Transport::Sse] {
        let config = Config::new(transport);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: ";
        check(&config, &format!("{head}gzip\r\n\r\n"), &["failure compressed"]);
        let identity = agree(format!("{head}identity\r\n\r\n").as_bytes(), || machines::client(&config));
        assert_eq!(identity.failure, None);
    }
}

#[test]
fn an_answer_to_a_poll_is_one_message() {
    let opened = "Opened { status: 200, acknowledged: None }";
    let answered = "Answered { status: 200, cursor_advanced: false }";
    for transport in [Transport::Poll, Transport::LongPoll] {
        let config = Config::new(transport);
        for (input, expected) in [
            // With any number of chunks and segments.
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
                &[opened, "data abc", "end", answered][..],
            ),
            // Two responses in a row on one connection.
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb",
                &[opened, "data a", "end", answered, opened, "data b", "end", answered],
            ),
            // A body until close, as HTTP/1.0 servers send it.
            ("HTTP/1.0 200 OK\r\n\r\nabc", &[opened, "data abc", "end", answered]),
            // An empty body is not a message.
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &[opened, answered]),
        ] {
            check(&config, input, expected);
        }
    }
}

#[test]
fn a_time_out_is_an_answer() {
    let config = Config::new(Transport::LongPoll);
    for status in [204, 304, 408] {
        check(
            &config,
            &format!(
                "HTTP/1.1 {status} x\r\n{}",
                if status == 408 { "Content-Length: 4\r\n\r\nlate" } else { "\r\n" }
            ),
            &[
                &format!("Opened {{ status: {status}, acknowledged: None }}"),
                &format!("Answered {{ status: {status}, cursor_advanced: false }}"),
            ],
        );
    }
    // For a poll that is not held, 408 is a failure.
    check(
        &Config::new(Transport::Poll),
        "HTTP/1.1 408 x\r\nContent-Length: 0\r\n\r\n",
        &["failure status_4xx"],
    );
}

#[test]
fn the_cursor_comes_from_a_header_or_from_json() {
    let header =
        Config { cursor: CursorSource::Header("X-Cursor".into()), ..Config::new(Transport::LongPoll) };
    let json = Config { cursor: CursorSource::Json("/meta/next".into()), ..Config::new(Transport::LongPoll) };
    for (config, input) in [
        (&header, "HTTP/1.1 200 OK\r\nx-cursor: a17\r\nContent-Length: 1\r\n\r\nx"),
        (
            &json,
            "HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\n{\"data\":[{}, \"]}\"],\"meta\":{\"next\":\"a17\"}}",
        ),
    ] {
        let mut client = Client::new(config, 1);
        written(&mut client, config);
        assert_eq!(client.cursor(), "");
        let heard = hear(&mut client, config, input);
        assert_eq!(heard.last().unwrap(), "Answered { status: 200, cursor_advanced: true }");
        assert_eq!(client.cursor(), "a17");
        // The same cursor again: received, not advanced, and kept when the connection is lost.
        client.connection_lost();
        written(&mut client, config);
        let heard = hear(&mut client, config, input);
        assert_eq!(heard.last().unwrap(), "Answered { status: 200, cursor_advanced: false }");
        assert_eq!(client.cursor(), "a17");
    }
    let long = format!("HTTP/1.1 204 x\r\nX-Cursor: {}\r\n\r\n", "c".repeat(1025));
    check(&header, &long, &["failure cursor"]);
}

#[test]
fn a_poll_revalidates_and_keeps_cookies() {
    let config = Config { conditional: true, cookies: true, ..Config::new(Transport::Poll) };
    let mut client = Client::new(&config, 1);
    assert!(!written(&mut client, &config).contains("If-None-Match"));
    hear(
        &mut client,
        &config,
        "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n",
    );
    let request = written(&mut client, &config);
    assert!(request.contains("\r\nIf-None-Match: \"v1\"\r\n"), "{request}");
    assert!(request.contains("\r\nCookie: a=1; b=2\r\n"), "{request}");
    hear(&mut client, &config, "HTTP/1.1 304 x\r\nSet-Cookie: a=3\r\nSet-Cookie: b=; Max-Age=0\r\n\r\n");
    let request = written(&mut client, &config);
    assert!(request.contains("\r\nCookie: a=3\r\n"), "{request}");
    assert!(request.contains("If-None-Match: \"v1\""), "a 304 without ETag keeps it");
}

#[test]
fn a_stream_hands_out_bytes_until_it_ends() {
    let config = Config { ready: Some(b"aab".to_vec()), ..Config::new(Transport::Stream) };
    let opened = "Opened { status: 200, acknowledged: Some(\"news=7\") }";
    let head = "HTTP/1.1 200 OK\r\nPushmark-Subscribed: news=7\r\n";
    // A chunk splits the ready text, and its beginning repeats.
    let chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nxaa\r\n2\r\nab\r\n1\r\nz\r\n0\r\n\r\n";
    check(
        &config,
        &format!("{head}{chunked}"),
        &[opened, "data xaaabz", "ready", "Closed { code: None, reason: \"\" }"],
    );
    check(
        &config,
        &format!("{head}\r\nuntil close"),
        &[opened, "data until close", "Closed { code: None, reason: \"\" }"],
    );
    check(
        &config,
        &format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\nxaa\r\n"),
        &[opened, "failure closed_early"],
    );
}

#[test]
fn an_event_stream_is_decoded_through_its_chunks() {
    let config = Config { ready: Some(b"hello".to_vec()), ..Config::new(Transport::Sse) };
    let opened = "Opened { status: 200, acknowledged: None }";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
    // Chunks split a field name, a value and a line end. The ready text is an event's type.
    let body = "2\r\nda\r\n5\r\nta: o\r\n3\r\nne\r\r\n1\r\n\n\r\n1\r\n\r\r\n\
                e\r\nretry: 5\n: hi\n\r\n14\r\nevent:hello\ndata:x\n\n\r\n0\r\n\r\n";
    check(
        &config,
        &format!("{head}{body}"),
        &[
            opened,
            "data one",
            "end",
            "Retry(5)",
            "Comment",
            "ready",
            "data x",
            "end",
            "Closed { code: None, reason: \"\" }",
        ],
    );
}

#[test]
fn an_event_stream_must_say_that_it_is_one() {
    let config = Config::new(Transport::Sse);
    for (head, expected) in [
        ("200 OK\r\nContent-Type: text/html", &["failure handshake"][..]),
        ("200 OK", &["failure handshake"]),
        ("202 Accepted\r\nContent-Type: text/event-stream", &["failure handshake"]),
        ("304 Not Modified", &["failure redirect"]),
        // 204 tells a client not to reconnect.
        (
            "204 No Content",
            &["Opened { status: 204, acknowledged: None }", "Closed { code: None, reason: \"\" }"],
        ),
    ] {
        check(&config, &format!("HTTP/1.1 {head}\r\n\r\n"), expected);
    }
}

#[test]
fn a_websocket_answers_pings_heartbeats_and_the_close() {
    let config = Config {
        ready: Some(b"ok".to_vec()),
        answers: vec![(b"2".to_vec(), Some(b"3".to_vec())), (b"22".to_vec(), Some(b"33".to_vec()))],
        ..Config::new(Transport::WebSocket)
    };
    let input = b"\x81\x02ok\x89\x01p\x81\x012\x81\x0222\x82\x012\x81\x0223\x8a\x00\x88\x02\x03\xe9";
    let heard = agree(input, || machines::client(&config));
    assert_eq!(
        heard.lines(),
        [
            "data ok",
            "ready",
            "end",
            // The ping is answered without an event.
            "data 2",
            "Heartbeat",
            "data 22",
            "Heartbeat",
            // A binary message may be a heartbeat; a message that only begins like one is not.
            "data 2",
            "Heartbeat",
            "data 23",
            "end",
            "Pong",
            "Closed { code: Some(1001), reason: \"\" }",
        ]
    );
    let answered = agree(&heard.out, || machines::websocket(Role::Server));
    let answers =
        ["pong p", "data 3", "text", "data 33", "text", "data 3", "binary", "close Some(1001) \"\""];
    assert_eq!(answered.lines(), answers);
}

#[test]
fn of_a_flood_of_pings_the_last_is_answered() {
    let config = Config::new(Transport::WebSocket);
    let mut client = Client::new(&config, 1);
    let asked = written(&mut client, &config);
    let (head, _) = RequestHead::parse(asked.as_bytes()).unwrap().unwrap();
    let mut input = Vec::new();
    Upgrade::parse(&head).unwrap().unwrap().write_response(&mut input, "", "");
    let mut out = Vec::new();
    client.handle_input(&config, &mut &mut input[..], &mut out).unwrap();
    let mut pings = b"\x89\x00".repeat(32 << 10);
    pings.extend_from_slice(b"\x89\x04last");
    let mut input = &mut pings[..];
    assert_eq!(client.handle_input(&config, &mut input, &mut out), Ok(None));
    assert!(input.is_empty() && out.len() < 17 << 10, "{} bytes of pongs", out.len());
    let pongs = agree(&out, || machines::websocket(Role::Server));
    assert_eq!(pongs.lines().last().map(|line| line.to_string()), Some("pong last".to_owned()));
}

#[test]
fn a_websocket_is_failed_with_its_code() {
    let config = Config::new(Transport::WebSocket);
    for (input, code) in
        [(&b"\x81\x01\xff"[..], 1007), (b"\xc1\x00", 1002), (b"\x82\x7f\0\0\0\0\x7f\0\0\0", 1009)]
    {
        let heard = agree(input, || machines::client(&config));
        assert!(heard.failure.is_some());
        let said = agree(&heard.out, || machines::websocket(Role::Server));
        assert_eq!(said.lines(), [format!("close Some({code}) \"\"")]);
    }
}

#[test]
fn a_websocket_that_ends_without_a_close_is_closed_early() {
    let config = Config::new(Transport::WebSocket);
    check_bytes(&config, b"\x81\x01a", &["data a", "end", "failure closed_early"]);
    check_bytes(&config, b"\x88\x00", &["Closed { code: None, reason: \"\" }"]);
}

#[test]
fn a_refused_upgrade_is_a_handshake_failure() {
    let config = Config::new(Transport::WebSocket);
    let mut client = Client::new(&config, 1);
    written(&mut client, &config);
    let mut answer = *b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let failure = client.handle_input(&config, &mut &mut answer[..], &mut Vec::new()).unwrap_err();
    assert_eq!(failure.kind(), "handshake");
}

#[test]
fn no_two_messages_are_masked_alike_and_a_seed_repeats_them() {
    let config = Config::new(Transport::WebSocket);
    let write = |seed| {
        let mut client = open_websocket(&config, seed);
        let mut out = Vec::new();
        assert!(client.write_text(b"same", &mut out));
        assert!(client.write_text(b"same", &mut out));
        out
    };
    let out = write(1);
    assert_ne!(out[..10], out[10..]);
    assert_eq!((out == write(1), out == write(2)), (true, false));
    let mut expected = Vec::new();
    encode::frame(&mut expected, Opcode::Text, b"same", out[2..6].try_into().ok());
    assert_eq!(out[..10], expected);
}

#[test]
fn nothing_is_written_before_the_upgrade_or_after_the_close() {
    let config = Config::new(Transport::WebSocket);
    let mut out = Vec::new();
    assert!(!Client::new(&config, 1).write_text(b"early", &mut out));
    let mut client = open_websocket(&config, 1);
    client.write_close(1000, &mut out);
    let close_len = out.len();
    client.write_close(1000, &mut out);
    assert!(!client.write_text(b"late", &mut out) && !client.write_ping(b"", &mut out));
    let mut ping = *b"\x89\x00";
    assert_eq!(client.handle_input(&config, &mut &mut ping[..], &mut out), Ok(None));
    assert_eq!(out.len(), close_len);
    // Other transports write nothing.
    assert!(!Client::new(&Config::new(Transport::Sse), 1).write_text(b"", &mut out));
}

/// A client past its handshake.
fn open_websocket(config: &Config, seed: u64) -> Client {
    let mut client = Client::new(config, seed);
    let request = written(&mut client, config);
    let (head, _) = RequestHead::parse(request.as_bytes()).unwrap().unwrap();
    let mut answer = Vec::new();
    Upgrade::parse(&head).unwrap().unwrap().write_response(&mut answer, "", "");
    assert_eq!(hear(&mut client, config, &String::from_utf8(answer).unwrap()).len(), 1);
    client
}

#[test]
fn a_cursor_that_would_split_a_request_is_refused() {
    let config = Config { cursor: CursorSource::Json("".into()), ..Config::new(Transport::LongPoll) };
    let opened = "Opened { status: 200, acknowledged: None }";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n\"a\\r\\n\"";
    check(&config, answer, &[opened, "failure cursor"]);
}

#[test]
fn requests_carry_what_the_transport_needs_and_no_more() {
    for (transport, fields) in [
        (Transport::Poll, "Accept: */*\r\n"),
        (Transport::LongPoll, "Accept: */*\r\nCache-Control: no-cache\r\n"),
        (Transport::Stream, "Accept: */*\r\nCache-Control: no-cache\r\n"),
        (Transport::Sse, "Accept: text/event-stream\r\nCache-Control: no-cache\r\n"),
    ] {
        let config = Config::new(transport);
        assert_eq!(
            written(&mut Client::new(&config, 1), &config),
            format!("GET /x HTTP/1.1\r\nHost: h:1\r\nAccept-Encoding: identity\r\n{fields}\r\n")
        );
    }
}

#[test]
fn a_field_of_the_scenario_replaces_ours() {
    let config = Config::new(Transport::Sse);
    let request = Request {
        headers: "Authorization: Bearer x\r\naccept: text/plain\r\nHost: other\r\n",
        ..Request::get("/x", "h:1")
    };
    let mut out = Vec::new();
    Client::new(&config, 1).write_request(&config, &request, &mut out);
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.to_lowercase().matches("accept: ").count(), 1, "{out}");
    assert_eq!(out.matches("Host: ").count(), 1, "{out}");
}

#[test]
fn publishing_reuses_its_connection() {
    let mut exchange = Exchange::default();
    let request = Request { method: "POST", body: b"hello", ..Request::get("/pub", "h") };
    for (answer, reusable) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", true),
        // The caller judges the status. The connection is still usable.
        ("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops", true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false),
    ] {
        let mut out = Vec::new();
        exchange.write_request(&request, &mut out);
        assert!(out.ends_with(b"Content-Length: 5\r\n\r\nhello"));
        assert!(!exchange.reusable(), "an answer is outstanding");
        let mut bytes = answer.as_bytes().to_vec();
        let mut input = &mut bytes[..];
        let mut last = None;
        while let Some(event) = exchange.handle_input(&mut input).unwrap() {
            last = Some(event);
        }
        assert!(matches!(last, Some(ExchangeEvent::End { .. })));
        assert_eq!(exchange.reusable(), reusable, "{answer}");
    }
}

#[test]
fn bytes_that_nobody_asked_for_are_a_failure() {
    let mut exchange = Exchange::default();
    let mut bytes = *b"HTTP/1.1 408 Request Timeout\r\n\r\n";
    assert_eq!(exchange.handle_input(&mut &mut bytes[..]).unwrap_err().kind(), "head");
    assert!(!exchange.reusable());
}

#[test]
fn messages_are_bounded_one_by_one() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    for (transport, within, beyond) in [
        (Transport::Poll, format!("{head}Content-Length: 4\r\n\r\nabcd"), format!("{head}\r\nabcde")),
        (
            Transport::Sse,
            format!("{head}\r\ndata:abcd\n\ndata:a\ndata:cd\n\n"),
            format!("{head}\r\ndata:ab\ndata:cd\n\n"),
        ),
        (
            Transport::WebSocket,
            "\x01\x02ab\x00\x01c\u{0}\x01d".to_owned(),
            "\x01\x02ab\x00\x03cde".to_owned(),
        ),
    ] {
        let config = Config { message_max: 4, ..Config::new(transport) };
        let heard = agree(within.as_bytes(), || machines::client(&config));
        assert_ne!(heard.failure, Some("message_too_large"), "{transport:?}");
        let heard = agree(beyond.as_bytes(), || machines::client(&config));
        assert_eq!(heard.failure, Some("message_too_large"), "{transport:?}");
    }
    // The body that ends a hold is not a message, but it has the same length limit.
    let config = Config { message_max: 4, ..Config::new(Transport::LongPoll) };
    for (length, failure) in [(4, None), (5, Some("message_too_large"))] {
        let answer = format!("HTTP/1.1 408 x\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
        let heard = agree(answer.as_bytes(), || machines::client(&config));
        assert_eq!(heard.failure, failure, "{length} bytes");
    }
    // Two messages within the limit do not add up.
    let config = Config { message_max: 4, ..Config::new(Transport::WebSocket) };
    let two = b"\x81\x03abc\x81\x03def\x88\x00";
    check_bytes(&config, two, &["data abc", "end", "data def", "end", "Closed { code: None, reason: \"\" }"]);
}

#[test]
fn the_beginning_of_a_heartbeat_is_a_message() {
    let answers = vec![(b"ping".to_vec(), Some(b"pong".to_vec()))];
    let config = Config { answers, ..Config::new(Transport::WebSocket) };
    check_bytes(
        &config,
        b"\x81\x02pi\x81\x00\x88\x00",
        &["data pi", "end", "end", "Closed { code: None, reason: \"\" }"],
    );
}
