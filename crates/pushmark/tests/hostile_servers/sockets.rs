//! Connections that are accepted and then misused.

use std::time::Duration;

use crate::kind::{EVENT_STREAM, HTTP, Kind, kind};
use crate::websocket;

const ALL: &[&str] = &["sse", "stream", "long-poll", "poll", "websocket", "bayeux", "bayeux-websocket"];
const HEARD: &[i32] = &[3, 6, 99];
const BACK: &str = "reconnect = { backoff = \"full-jitter\", base = \"10ms\", max = \"20ms\" }";

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        kind("an accept, and not a word", ALL, |wire| wire.silence()).ends(HEARD),
        kind("an accept, and nothing is read", ALL, |wire| wire.stand_still()).ends(HEARD),
        kind("an accept and an end", ALL, |_| None),
        kind("an accept and a reset", ALL, |wire| wire.reset()),
        kind("an accept and an end, and they come back", ALL, |_| None).load(BACK).ends(HEARD),
        kind("an end of one direction", ALL, |wire| wire.half_close()),
        kind("a request, and an end", ALL, |wire| wire.request().map(drop)),
        kind("a request, and a reset", ALL, |wire| {
            wire.request()?;
            wire.reset()
        }),
        kind("half a head, and a reset", ALL, |wire| {
            wire.answer("HTTP/1.1 200 O")?;
            wire.reset()
        }),
        kind("a head, and a reset", HTTP, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.reset()
        })
        .ends(HEARD),
        kind("a head, and a reset, and they come back", HTTP, |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.reset()
        })
        .load(BACK)
        .ends(HEARD),
        kind("a reset within each message", &["sse"], |wire| {
            wire.answer(EVENT_STREAM)?;
            let published = wire.published(1)?;
            wire.send([b"data: ", &published[0][..published[0].len() / 2]].concat())?;
            wire.reset()
        })
        .load(BACK)
        .ends(HEARD),
        kind("a reset within a frame", &["websocket"], |wire| {
            wire.upgrade()?;
            let published = wire.published(1)?;
            let frame = websocket::text(&published[0]);
            wire.send(&frame[..frame.len() / 2])?;
            wire.reset()
        })
        .load(BACK)
        .ends(HEARD),
        kind("messages, a byte at a time", &["sse"], |wire| {
            wire.answer(EVENT_STREAM)?;
            let published = wire.published(1)?;
            wire.drip([b"data: ", &published[0][..], b"\n\n"].concat(), Duration::from_millis(1))
        })
        .ends(HEARD),
        kind("half the clients are reset again and again", &["sse"], |wire| {
            wire.answer(EVENT_STREAM)?;
            wire.reset()
        })
        .load(BACK)
        .half(),
        kind("half the clients meet silence", &["sse", "websocket"], |wire| wire.silence()).half(),
    ]
}
