//! Every transport delivers the publications, and acknowledges the starting point (CONTRACT 3 and 6).

mod common;

use std::sync::Arc;

use common::{Server, message, sequences, stamps};
use pushmark_builtin::Options;
use pushmark_proto::websocket::Opcode;

// 3.2
#[test]
fn the_acknowledgement_tells_each_channels_last_sequence() {
    let server = Server::plain();
    server.publish("a", &message(17, 64));
    let expected = "a=17,b=-";
    for target in ["/poll", "/stream", "/sse", "/long-poll"] {
        let target = format!("{target}?channel=b,a&since=");
        let head = server.client().subscribe(&target, &[]);
        assert_eq!((head.status, head.header("pushmark-subscribed")), (200, expected), "{target}");
    }
    let head = server.client().upgrade("/ws?channel=b,a");
    assert_eq!(head.header("pushmark-subscribed"), expected);
    // A restarted publisher begins a new count. An older message does not lower it.
    server.publish("a", &message(3, 64));
    assert_eq!(server.ask("GET", "/poll?channel=a", "").header("pushmark-subscribed"), "a=17");
}

// 3.3
#[test]
fn more_than_256_channels_are_not_acknowledged() {
    let names: Vec<String> = (0..257).map(|n| format!("c{n}")).collect();
    let target = format!("/stream?channel={}", names.join(","));
    let server = Server::plain();
    assert_eq!(server.client().subscribe(&target, &[]).header("pushmark-subscribed"), "");
    assert_eq!(server.stats()["channels_total"], 257);
}

// 6.1
#[test]
fn poll_shows_the_latest_of_each_channel() {
    let server = Server::plain();
    let empty = server.ask("GET", "/poll?channel=a,b", "");
    assert_eq!((empty.status, empty.text()), (200, ""));
    for (channel, text) in [("b", "old"), ("b", "new"), ("a", "first")] {
        server.publish(channel, text.as_bytes());
    }
    let mut client = server.client();
    let answer = client.ask("/poll?channel=a,b");
    assert_eq!(answer.text(), "first\nnew");
    let known = format!("If-None-Match: {}", answer.header("etag"));
    client.request("GET", "/poll?channel=a,b", &[&known], b"");
    assert_eq!(client.answer().status, 304);
    server.publish("a", b"second");
    client.request("GET", "/poll?channel=a,b", &[&known], b"");
    assert_eq!(client.answer().text(), "second\nnew");
}

#[test]
fn poll_with_a_cursor_gives_everything_since() {
    let server = Server::plain();
    let mut client = server.client();
    let mut cursor = client.ask("/poll?channel=a&since=").cursor().to_owned();
    for round in 0..3 {
        (0..5).for_each(|n| drop(server.publish("a", &message(round * 5 + n, 48))));
        server.publish("other", &message(99, 48));
        let answer = client.ask(&format!("/poll?channel=a&since={cursor}"));
        assert_eq!(answer.sequences(), (round * 5..round * 5 + 5).collect::<Vec<_>>());
        cursor = answer.cursor().to_owned();
    }
}

#[test]
fn what_the_history_lost_is_counted() {
    let server = Server::start(Options { history_max: 3, ..Options::default() });
    let cursor = server.ask("GET", "/poll?channel=a&since=", "").cursor().to_owned();
    (0..5).for_each(|n| drop(server.publish("a", &message(n, 48))));
    let answer = server.ask("GET", &format!("/poll?channel=a&since={cursor}"), "");
    assert_eq!(answer.sequences(), [2, 3, 4]);
    assert_eq!(server.stats()["history_gaps"], 1);
}

// 6.2
#[test]
fn long_poll_with_a_cursor_misses_nothing() {
    let server = Server::plain();
    let mut client = server.client();
    let first = client.ask("/long-poll?channel=a&since=");
    assert_eq!((first.status, first.text()), (200, ""), "acknowledged at once");
    let mut cursor = first.cursor().to_owned();
    let mut seen = Vec::new();
    // Published in turns while the client is away and while it is held.
    for n in 0..10 {
        let target = format!("/long-poll?channel=a&since={cursor}");
        let away = n % 2 == 0;
        if away {
            server.publish("a", &message(n, 48));
        }
        client.get(&target);
        if !away {
            server.wait_until("held", |stats| stats["transports"]["long-poll"] == 1);
            server.publish("a", &message(n, 48));
        }
        let answer = client.answer();
        seen.extend(answer.sequences());
        cursor = answer.cursor().to_owned();
    }
    assert_eq!(seen, (0..10).collect::<Vec<_>>());
}

#[test]
fn long_poll_without_a_cursor_is_deaf_between_two_requests() {
    let server = Server::plain();
    let mut client = server.client();
    for n in 0..3 {
        client.get("/long-poll?channel=a");
        server.wait_until("held", |stats| stats["transports"]["long-poll"] == 1);
        server.publish("a", &message(2 * n, 48));
        assert_eq!(client.answer().sequences(), [2 * n]);
        server.publish("a", &message(2 * n + 1, 48)); // between two requests
    }
}

// 6.3
#[test]
fn a_hold_ends_with_the_time_out_document() {
    let server = Server::plain();
    let mut client = server.client();
    client.ask("/long-poll?channel=a&since=");
    for target in ["/long-poll?channel=a&hold=30", "/long-poll?channel=a&hold=30&since=0"] {
        let answer = client.ask(target);
        let document = answer.json();
        assert_eq!((answer.status, &document["timeout"]), (200, &true.into()));
        assert_eq!(document["hold_ms"], 30);
        let held_us = document["held_us"].as_u64().unwrap();
        assert!((30_000..1_000_000).contains(&held_us), "held {held_us} us");
        assert_eq!(answer.cursor(), "0");
    }
    assert_eq!(server.stats()["long_poll_timeouts"], 2);
}

#[test]
fn a_request_sent_ahead_waits_for_the_answer_before_it() {
    let server = Server::plain();
    let mut client = server.client();
    client.get("/long-poll?channel=a");
    client.get("/health");
    server.wait_until("held", |stats| stats["transports"]["long-poll"] == 1);
    server.publish("a", b"news");
    assert_eq!(client.answer().text(), "news");
    assert_eq!(client.answer().text(), "ok");
}

// 6.4
#[test]
fn a_stream_is_one_chunk_a_message() {
    let server = Server::plain();
    let mut client = server.client();
    let head = client.subscribe("/stream?channel=a", &[]);
    assert_eq!(head.header("transfer-encoding"), "chunked");
    for text in ["one", "two"] {
        server.publish("a", text.as_bytes());
    }
    let mut body = Vec::new();
    client.stream_while(&mut body, |body| body.len() < 8);
    assert_eq!(body, b"one\ntwo\n");
}

// 6.5
#[test]
fn an_event_stream_resumes_where_it_was_lost() {
    let server = Server::plain();
    let mut client = server.client();
    let head = client.subscribe("/sse?channel=a", &[]);
    assert_eq!(head.header("content-type"), "text/event-stream");
    server.publish("a", b"two\nlines");
    let mut body = Vec::new();
    client.stream_while(&mut body, |body| !body.ends_with(b"\n\n"));
    assert_eq!(body, b"id: 1\ndata: two\ndata: lines\n\n");
    drop(client);
    (0..3).for_each(|n| drop(server.publish("a", &message(n, 48))));
    let mut again = server.client();
    again.subscribe("/sse?channel=a", &["Last-Event-ID: 1"]);
    server.publish("a", &message(3, 48));
    assert_eq!(sequences(&again.stream_until(4).0), [0, 1, 2, 3]);
}

// 6.6
#[test]
fn peers_publish_over_their_websocket() {
    let server = Server::plain();
    let (mut speaker, mut hearer) = (server.client(), server.client());
    speaker.upgrade("/ws");
    hearer.upgrade("/ws?channel=room");
    speaker.send_frame(Opcode::Text, b"publish room\nhello");
    speaker.send_frame(Opcode::Text, b"not for the server");
    speaker.send_frame(Opcode::Text, b"publish room\nagain");
    assert_eq!(hearer.messages(2), [Some(b"hello".to_vec()), Some(b"again".to_vec())]);
    speaker.send_frame(Opcode::Ping, b"there?");
    assert_eq!(speaker.messages(1), [Some(b"there?".to_vec())]);
    speaker.send_frame(Opcode::Close, &1000u16.to_be_bytes());
    assert_eq!(speaker.messages(1), [None]);
    assert!(speaker.is_lost());
    server.wait_until("it left", |stats| stats["transports"]["websocket"] == 1);
}

#[test]
fn a_broken_frame_ends_the_websocket_with_its_code() {
    let server = Server::plain();
    let mut client = server.client();
    client.upgrade("/ws?channel=a");
    // RFC 6455 5.1: a server must close on an unmasked frame.
    std::io::Write::write_all(&mut client.socket, b"\x81\x01x").unwrap();
    client.read_more();
    assert_eq!(&client.pending[..1], b"\x88");
    assert_eq!(&client.pending[2..4], &1002u16.to_be_bytes());
}

#[test]
fn all_transports_together_hear_the_same() {
    let server = Arc::new(Server::plain());
    let (mut stream, mut sse, mut socket) = (server.client(), server.client(), server.client());
    stream.subscribe("/stream?channel=a", &[]);
    sse.subscribe("/sse?channel=a", &[]);
    socket.upgrade("/ws?channel=a");
    let poller = std::thread::spawn({
        let mut client = server.client();
        let mut cursor = client.ask("/long-poll?channel=a&since=").cursor().to_owned();
        move || {
            let mut seen = Vec::new();
            while seen.len() < 200 {
                let answer = client.ask(&format!("/long-poll?channel=a&since={cursor}"));
                cursor = answer.cursor().to_owned();
                seen.extend(answer.sequences());
            }
            seen
        }
    });
    server.emit(&["a"], 500, r#","count":200"#);
    let all: Vec<u64> = (0..200).collect();
    assert_eq!(sequences(&stream.stream_until(200).0), all);
    assert_eq!(sequences(&sse.stream_until(200).0), all);
    let messages = socket.messages(200);
    assert_eq!(messages.iter().map(|m| stamps(m.as_ref().unwrap())[0].sequence).collect::<Vec<_>>(), all);
    assert_eq!(poller.join().unwrap(), all);
}

#[test]
fn several_threads_serve_one_crowd() {
    let server = Server::start(Options { threads: 3, ..Options::default() });
    let mut crowd: Vec<_> = (0..24)
        .map(|n| {
            let mut client = server.client();
            client.subscribe(&format!("/stream?channel=all,own{n}"), &[]);
            client
        })
        .collect();
    assert_eq!(server.stats()["channels"]["all"]["subscribers"], 24);
    server.emit(&["all"], 1_000, r#","count":20"#);
    for n in 0..24 {
        server.publish(&format!("own{n}"), &message(1_000 + n, 48));
    }
    for (n, client) in crowd.iter_mut().enumerate() {
        let mut seen = sequences(&client.stream_until(21).0);
        seen.sort_unstable();
        assert_eq!(seen, (0..20).chain([1_000 + n as u64]).collect::<Vec<_>>());
    }
    // A cursor has the same meaning in every thread, whichever accepts the connection.
    let cursor = server.ask("GET", "/poll?channel=all&since=", "").cursor().to_owned();
    assert_eq!(cursor, "44");
    assert_eq!(server.stats()["threads"], 3);
}
