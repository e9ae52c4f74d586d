//! Texts of a target that pushmark uses: cursors, tags, acknowledgements, the target's stamps.

use crate::kind::{EVENT_STREAM, Kind, kind};
use crate::wire::Wire;

const PULL: &[&str] = &["poll", "long-poll"];
const SSE: &[&str] = &["sse"];
const HEARD: &[i32] = &[3, 6, 99];
/// Exit codes for targets that are only observed.
const SEEN: &[i32] = &[0, 3, 6, 99];

/// Answers every request with this body, which may contain a cursor. No cursor may lead to a request that
/// is too long or forged.
fn cursor(name: &'static str, body: impl Fn() -> String + Send + Sync + 'static) -> Kind {
    kind(name, PULL, move |wire| {
        loop {
            let asked = wire.request()?;
            assert!(asked.head.len() < 8 << 10 && !asked.begins("Evil"), "{}", asked.head.len());
            let body = body();
            wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))?;
        }
    })
    .query("&since={cursor}")
    .subscribe(", cursor = \"json:/next\"")
    .ends(HEARD)
}

/// Returns a target without publications that sends this to each client for ever.
fn observed(name: &'static str, again: &'static str) -> Kind {
    kind(name, SSE, move |wire| {
        wire.answer(EVENT_STREAM)?;
        wire.flood(again)
    })
    .target("stamp = { json = \"/ts\", unit = \"ms\" }")
    .observed()
    .ends(SEEN)
}

/// Sends a head with these fields, and then nothing.
fn head(wire: &mut Wire, fields: &str) -> Option<()> {
    wire.answer(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{fields}\r\n"))?;
    wire.silence()
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        cursor("a cursor with a line end in it", || r#"{"next":"1\r\nEvil: yes\r\n\r\nEvil"}"#.to_owned()),
        cursor("a cursor of 1 MiB", || format!("{{\"next\":\"{}\"}}", "7".repeat(1 << 20))),
        cursor("a cursor behind 100,000 brackets", || "[".repeat(100_000)),
        cursor("a cursor in 100,000 objects", || "{\"next\":".repeat(100_000)),
        cursor("a cursor that is said 100,000 times", || {
            format!("{{{}}}", vec!["\"next\":1"; 100_000].join(","))
        }),
        cursor("a cursor of escapes", || format!("{{\"next\":\"{}\"}}", "\\u000a".repeat(100))),
        kind("a cursor that does not end", PULL, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n{\"next\":\"")?;
            wire.flood("7")
        })
        .query("&since={cursor}")
        .subscribe(", cursor = \"json:/next\"")
        .ends(HEARD),
        kind("tags of 8 KiB, another each time", &["poll"], |wire| {
            for n in 0_u64.. {
                let tag = "t".repeat(8 << 10);
                wire.answer(format!("HTTP/1.1 200 OK\r\nETag: \"{n}{tag}\"\r\nContent-Length: 0\r\n\r\n"))?;
            }
            None
        })
        .load("poll_interval = { interval = \"20ms\", conditional = true }")
        .ends(HEARD),
        kind("acknowledgements of what nobody asked for", SSE, |wire| {
            head(wire, &format!("pushmark-subscribed: {}\r\n", "x=99999999999999999999,".repeat(500)))
        })
        .ends(HEARD),
        kind("acknowledgements of all that is to come", SSE, |wire| {
            head(wire, "pushmark-subscribed: 0=18446744073709551615,1=4294967295,=,==,c0=-1,0=\r\n")
        })
        .ends(HEARD),
        observed("stamps of its own, as fast as they are taken", "data: {\"ts\":1e308}\n\n"),
        observed("a stamp of its own without end", "data: {\"ts\":99999999999999999999\n"),
        observed("a stamp of its own in brackets without end", "data: [[[[[[[[{\"ts\":\n"),
        observed(
            "stamps of its own that are none",
            "data: {\"ts\":-1e999}\n\ndata: {\"ts\":\"\x1b[2J\"}\n\n",
        ),
    ]
}
