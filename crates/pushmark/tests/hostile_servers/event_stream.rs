//! Event streams in which nothing ever ends.

use std::time::Duration;

use crate::kind::{EVENT_STREAM, Kind, kind};

const SSE: &[&str] = &["sse"];
const HEARD: &[i32] = &[3, 6, 99];
const BACK: &str = "reconnect = { backoff = \"full-jitter\", base = \"10ms\", max = \"50ms\" }";

/// Sends the head of an event stream, and then this for ever.
fn endless(name: &'static str, begin: &'static str, again: &'static [u8]) -> Kind {
    kind(name, SSE, move |wire| {
        wire.answer(EVENT_STREAM)?;
        wire.send(begin)?;
        wire.flood(again)
    })
    .ends(HEARD)
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        endless("an event's line without end", "data: ", b"x"),
        endless("an event's field name without end", "", b"x"),
        endless("an event's data lines without end", "", b"data: more\n"),
        endless("an event's empty data lines without end", "", b"data\n"),
        endless("an event's id without end", "id: ", b"7"),
        endless("an event's type without end", "event: ", b"e"),
        endless("a retry without end", "retry: ", b"9"),
        endless("a comment without end", ": ", b"x"),
        endless("comments without end", "", b":\n"),
        endless("ids without end", "", b"id: 18446744073709551616\n\n"),
        endless("empty events without end", "", b"\n"),
        endless("carriage returns without end", "", b"\r"),
        endless("byte order marks without end", "", b"\xef\xbb\xbf"),
        endless("events that are not UTF-8", "", b"data: \xff\xfe\xc0\x80\xed\xa0\x80\n\n"),
        endless("events with commands for a terminal", "", b"event: \x1b[2J\ndata: \x1b[31m\x07\n\n"),
        endless("events nobody published, as fast as they are taken", "", b"data: junk junk junk\n\n"),
        kind("an event's id of 1 MiB, given back", SSE, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.send(format!("id: {}\ndata: x\n\n", "7".repeat(1 << 20)))?;
            wire.reset()
        })
        .load(BACK)
        .ends(HEARD),
        kind("an event's id with a line end in it, given back", SSE, |wire| {
            let asked = wire.request()?;
            assert!(!asked.head.windows(4).any(|four| four == b"Evil"), "{asked:?}");
            wire.send(EVENT_STREAM)?;
            wire.send("id: 1\0\u{b}Evil: yes\ndata: x\n\nid: 2\rEvil: yes\ndata: y\n\n")?;
            None
        })
        .load(BACK)
        .ends(HEARD),
        kind("a retry of 2^64", SSE, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.send("retry: 18446744073709551616\n\nretry: 18446744073709551615\n\nretry: -1\n\n")?;
            None
        })
        .load(BACK)
        .ends(HEARD),
        kind("a retry of nothing, and an end after each head", SSE, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.send("retry: 0\n\n")
        })
        .load(BACK)
        .ends(HEARD),
        kind("an event stream, a byte at a time", SSE, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.drip("data: x\n\n", Duration::from_millis(5))
        })
        .ends(HEARD),
        kind("an event stream in chunks of 1 byte", SSE, |wire| {
            wire.answer(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n",
            )?;
            wire.flood(b"1\r\nd\r\n1\r\na\r\n1\r\nt\r\n1\r\na\r\n1\r\n\n\r\n1\r\n\n\r\n")
        })
        .ends(HEARD),
        kind("a ready text that is looked for without end", SSE, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.flood("data: connecconnecconnecc\n\n")
        })
        .subscribe(", ready = \"connected\"")
        .says("timeout_"),
        kind("messages whose content is looked at, without end", SSE, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.send("data: ")?;
            wire.flood("x")
        })
        .publisher("check = true")
        .ends(HEARD),
        endless("half the clients hear a line without end", "data: ", b"x").half(),
        endless("half the clients hear comments without end", "", b":\n").half(),
        endless("half the clients hear what nobody published", "", b"data: junk junk\n\n").half(),
    ]
}
