//! CONTRACT 6.4 and 6.5: answers without end.

use std::time::Duration;

use pushmark_proto::http1::BodyLength;

use super::chance::{encoded, list};
use super::outcome::{Outcome, holds, same, same_bytes};
use super::sse::Events;
use super::trial::Trial;
use super::wire::{Answer, wants_media};
use super::{Case, With};

/// Longer than a server needs that searches once a second for requests to end.
const A_WHILE: Duration = Duration::from_millis(2_500);

fn begins(head: &Answer, media: &str) -> Outcome {
    wants_media(head, media)?;
    same("the length of an answer without end", &head.length, &BodyLength::Chunked)
}

fn refusals(t: &mut Trial<'_>, path: &str) -> Outcome {
    let good = t.chance.channel();
    for query in ["", "?channel=", "?channel=a,,b", "?channel=a%20b", "?channel=a%22b", "?other=1"] {
        t.get(&format!("{path}{query}"))?.refuses(&[400])?;
    }
    t.get(&format!("{path}?channel={good},{}", "n".repeat(129)))?.refuses(&[400])?;
    if !t.has("2.3") {
        return Ok(());
    }
    let stats = t.stats()?;
    holds(stats["channels"].get(&good).is_none(), || {
        format!("{path}?channel={good},… was refused, and /stats lists {good}")
    })
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "6.4/1",
        with: With::Others,
        wants: "the head is sent at once: 200, text/plain, chunked",
        run: |t| {
            let channel = t.chance.channel();
            let (_, head) = t.subscribe(&format!("/stream?channel={channel}"), &[])?;
            begins(&head, "text/plain")
        },
    },
    Case {
        id: "6.4/2",
        with: With::Others,
        wants: "each message and its final LF are one chunk",
        run: |t| {
            let channel = t.chance.odd_channel();
            let (mut wire, _) = t.subscribe(&format!("/stream?channel={}", encoded(&channel)), &[])?;
            let mut messages = vec![b"\n".to_vec(), b"0\r\n\r\n".to_vec(), t.chance.text_message()];
            let len = t.chance.between(1, 4095);
            messages.push(t.chance.bytes(len));
            messages.push(t.chance.line_of(4095));
            for message in messages {
                t.publish(&channel, &message)?;
                same_bytes("a chunk", &wire.chunk()?, &[&message[..], b"\n"].concat())?;
            }
            // Messages that are published together are still one chunk each.
            let mut publisher = t.connect()?;
            let lines: Vec<Vec<u8>> = (0..20).map(|_| t.chance.line()).collect();
            for line in &lines {
                publisher.send("POST", &format!("/publish?channel={}", encoded(&channel)), &[], line)?;
            }
            for line in &lines {
                same_bytes("a chunk of many", &wire.chunk()?, &[&line[..], b"\n"].concat())?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.4/3",
        with: With::Others,
        wants: "an invalid list of channels is refused with 400 and registers nothing",
        run: |t| refusals(t, "/stream"),
    },
    Case {
        id: "6.4/4",
        with: With::Others,
        wants: "a stream without messages for a while does not end",
        run: |t| {
            let channel = t.chance.channel();
            let (mut wire, _) = t.subscribe(&format!("/stream?channel={channel}"), &[])?;
            wire.is_quiet(A_WHILE)?;
            let message = t.chance.line();
            t.publish(&channel, &message)?;
            same_bytes("a chunk", &wire.chunk()?, &[&message[..], b"\n"].concat())
        },
    },
    Case {
        id: "6.5/1",
        with: With::Others,
        wants: "the head is sent at once: 200, text/event-stream",
        run: |t| {
            let channel = t.chance.channel();
            let (_, head) = t.subscribe(&format!("/sse?channel={channel}"), &[])?;
            begins(&head, "text/event-stream")
        },
    },
    Case {
        id: "6.5/2",
        with: With::Others,
        wants: "each message is the data of one event with its own id, however many lines it has",
        run: |t| {
            let channel = t.chance.odd_channel();
            let (wire, _) = t.subscribe(&format!("/sse?channel={}", encoded(&channel)), &[])?;
            let mut events = Events::new(wire);
            let mut messages =
                vec![b"\n".to_vec(), b" x".to_vec(), b"data: x\n\nid: 1\n".to_vec(), b":".to_vec()];
            messages.extend((0..4).map(|_| t.chance.text_message()));
            messages.push(t.chance.line_of(200_000));
            let mut before = String::new();
            for message in messages {
                t.publish(&channel, &message)?;
                let event = events.event()?;
                same_bytes("the data of an event", &event.data, &message)?;
                holds(!event.id.is_empty() && event.id != before, || {
                    format!("the id {:?} after {before:?}", event.id)
                })?;
                before = event.id;
            }
            Ok(())
        },
    },
    Case {
        id: "6.5/3",
        with: With::Others,
        wants: "with Last-Event-ID every newer message is sent first, once each, oldest first",
        run: |t| {
            let channels = t.chance.channels(2);
            let target = format!("/sse?channel={}", list(&channels));
            let (wire, _) = t.subscribe(&target, &[])?;
            let mut events = Events::new(wire);
            let first = t.chance.line();
            t.publish(&channels[0], &first)?;
            let last = events.event()?.id;
            drop(events);
            let missed: Vec<Vec<u8>> = (0..t.chance.between(1, 9)).map(|_| t.chance.line()).collect();
            for (n, message) in missed.iter().enumerate() {
                t.publish(&channels[n % 2], message)?;
            }
            let (wire, _) = t.subscribe(&target, &[&format!("Last-Event-ID: {last}")])?;
            let mut events = Events::new(wire);
            let after = t.chance.line();
            t.publish(&channels[1], &after)?;
            for message in missed.iter().chain([&after]) {
                same_bytes("the data of an event that was missed", &events.event()?.data, message)?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.5/4",
        with: With::Others,
        wants: "a Last-Event-ID that is not a valid cursor is ignored",
        run: |t| {
            let channel = t.chance.channel();
            t.publish(&channel, b"before")?;
            let (wire, _) =
                t.subscribe(&format!("/sse?channel={channel}"), &["Last-Event-ID: of another server!"])?;
            let mut events = Events::new(wire);
            t.publish(&channel, b"after")?;
            same_bytes("the first event", &events.event()?.data, b"after")
        },
    },
    Case {
        id: "6.5/5",
        with: With::Others,
        wants: "a subscription without Last-Event-ID begins with the next publication",
        run: |t| {
            let channel = t.chance.channel();
            t.publish(&channel, b"old")?;
            let (wire, _) = t.subscribe(&format!("/sse?channel={channel}"), &[])?;
            let mut events = Events::new(wire);
            t.publish(&channel, b"new")?;
            let event = events.event()?;
            same_bytes("the first event", &event.data, b"new")?;
            if t.has("6.1") {
                // The id is a cursor (1.5), so a poll takes it too.
                let answer =
                    t.get(&format!("/poll?channel={channel}&since={}", encoded(&event.id)))?.is(200)?;
                same_bytes("what is newer than the event", &answer.body, b"")?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.5/6",
        with: With::Others,
        wants: "an invalid list of channels is refused with 400 and registers nothing",
        run: |t| refusals(t, "/sse"),
    },
];
