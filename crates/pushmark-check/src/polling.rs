//! CONTRACT 6.1 to 6.3: polls and long polls.

use std::time::{Duration, Instant};

use serde_json::json;

use super::chance::{encoded, list};
use super::outcome::{Outcome, failed, holds, same, same_bytes};
use super::patience::PATIENCE;
use super::trial::{Trial, counts_up, now_us, sequences, stamped};
use super::wire::wants_media;
use super::{Case, With};

/// Most that an answer "at once" may take on a busy machine.
const AT_ONCE: Duration = Duration::from_millis(1_500);

fn joined(messages: &[Vec<u8>]) -> Vec<u8> {
    messages.join(&b'\n')
}

fn refusals(t: &mut Trial<'_>, path: &str, more: &[&str]) -> Outcome {
    let good = t.chance.channel();
    let long = format!("?channel={good},{}", "n".repeat(129));
    let lists =
        ["", "?channel=", "?channel=a,,b", "?channel=a%20b", "?channel=a%3Db", "?channel=%C3%A9", &long];
    let others = more.iter().map(|query| format!("?channel={good}&{query}"));
    for query in lists.into_iter().map(str::to_owned).chain(others) {
        t.get(&format!("{path}{query}"))?.refuses(&[400])?;
    }
    if !t.has("2.3") {
        return Ok(());
    }
    let stats = t.stats()?;
    holds(stats["channels"].get(&good).is_none(), || {
        format!("each request with {good} was refused, and /stats lists it")
    })
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "6.1/1",
        with: With::Others,
        wants: "the latest message of each channel, sorted by channel name, separated by line ends",
        run: |t| {
            let channels = t.chance.channels(3);
            let mut asked = channels.clone();
            asked.rotate_left(t.chance.between(0, 2) as usize);
            let target = format!("/poll?channel={}", list(&asked));
            same_bytes("a poll before any message", &t.get(&target)?.is(200)?.body, b"")?;
            let lines: Vec<Vec<u8>> = (0..3).map(|_| t.chance.line()).collect();
            for at in [2, 0, 1] {
                t.publish(&channels[at], b"older")?;
                t.publish(&channels[at], &lines[at])?;
            }
            same_bytes("the latest of three channels", &t.get(&target)?.is(200)?.body, &joined(&lines))
        },
    },
    Case {
        id: "6.1/2",
        with: With::Others,
        wants: "the ETag changes with the answer; a matching If-None-Match gets 304",
        run: |t| {
            let channel = t.chance.odd_channel();
            let target = format!("/poll?channel={}", encoded(&channel));
            t.publish(&channel, b"one")?;
            let mut wire = t.connect()?;
            let first = wire.ask("GET", &target, &[], b"")?.is(200)?;
            let tag = first.wants_header("etag")?.to_owned();
            let matching = format!("If-None-Match: {tag}");
            let unchanged = wire.ask("GET", &target, &[&matching], b"")?.is(304)?;
            same_bytes("the body of a 304", &unchanged.body, b"")?;
            let several = format!("If-None-Match: \"no\", {tag}");
            wire.ask("GET", &target, &[&several], b"")?.is(304)?;
            wire.ask("GET", &target, &["If-None-Match: \"no\""], b"")?.is(200)?;
            t.publish(&channel, b"two")?;
            let second = wire.ask("GET", &target, &[&matching], b"")?.is(200)?;
            same_bytes("the latest", &second.body, b"two")?;
            holds(second.wants_header("etag")? != tag, || format!("the ETag {tag} again for another message"))
        },
    },
    Case {
        id: "6.1/3",
        with: With::Others,
        wants: "`since=` returns only the first cursor; a cursor returns all newer messages, oldest first",
        run: |t| {
            let channels = t.chance.channels(2);
            let target = format!("/poll?channel={}&since=", list(&channels));
            t.publish(&channels[0], b"before")?;
            let first = t.get(&target)?.is(200)?;
            same_bytes("the answer to an empty cursor", &first.body, b"")?;
            let mut cursor = first.cursor()?;
            for _ in 0..3 {
                let count = t.chance.between(0, 6);
                let lines: Vec<Vec<u8>> = (0..count).map(|_| t.chance.line()).collect();
                for line in &lines {
                    let at = t.chance.between(0, 1) as usize;
                    t.publish(&channels[at], line)?;
                }
                let answer = t.get(&format!("{target}{}", encoded(&cursor)))?.is(200)?;
                same_bytes("everything after the cursor", &answer.body, &joined(&lines))?;
                cursor = answer.cursor()?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.1/4",
        with: With::Others,
        wants: "at least the last 256 messages of a channel since the first cursor are kept",
        run: |t| {
            let channel = t.chance.channel();
            let target = format!("/poll?channel={channel}&since=");
            let cursor = t.get(&target)?.is(200)?.cursor()?;
            let nonce = t.chance.nonce();
            let mut publisher = t.connect()?;
            for sequence in 0..256 {
                let publish = format!("/publish?channel={channel}");
                publisher.ask("POST", &publish, &[], &stamped(nonce, 0, sequence, 64))?.is(200)?;
            }
            let answer = t.get(&format!("{target}{}", encoded(&cursor)))?.is(200)?;
            counts_up("what is remembered", &sequences(&answer.body), 0, 256)
        },
    },
    Case {
        id: "6.1/5",
        with: With::Others,
        wants: "no channel, a bad name or a bad cursor is refused with 400 and registers nothing",
        run: |t| refusals(t, "/poll", &["since=%20no+cursor!"]),
    },
    Case {
        id: "6.2/1",
        with: With::Others,
        wants: "with an empty `since=` a long poll is answered at once, with the first cursor and no message",
        run: |t| {
            let channel = t.chance.odd_channel();
            t.publish(&channel, b"before")?;
            let started = Instant::now();
            let answer =
                t.get(&format!("/long-poll?channel={}&hold=30000&since=", encoded(&channel)))?.is(200)?;
            holds(started.elapsed() < AT_ONCE, || format!("answered after {:?}", started.elapsed()))?;
            same_bytes("the body", &answer.body, b"")?;
            answer.cursor().map(drop)
        },
    },
    Case {
        id: "6.2/2",
        with: With::Others,
        wants: "with a cursor a long poll is answered at once, like a poll, if there is a newer message",
        run: |t| {
            let channels = t.chance.channels(3);
            let target = format!("/long-poll?channel={}&hold=30000&since=", list(&channels));
            let cursor = t.get(&target)?.is(200)?.cursor()?;
            let lines: Vec<Vec<u8>> = (0..t.chance.between(2, 6)).map(|_| t.chance.line()).collect();
            for (n, line) in lines.iter().enumerate() {
                t.publish(&channels[n % 3], line)?;
            }
            let started = Instant::now();
            let answer = t.get(&format!("{target}{}", encoded(&cursor)))?.is(200)?;
            holds(started.elapsed() < AT_ONCE, || format!("answered after {:?}", started.elapsed()))?;
            same_bytes("everything newer", &answer.body, &joined(&lines))?;
            answer.cursor().map(drop)
        },
    },
    Case {
        id: "6.2/3",
        with: With::Others,
        wants: "otherwise a long poll is held until, and answered with, a message on its channels",
        run: |t| {
            let channels = t.chance.channels(2);
            let target = format!("/long-poll?channel={}&hold=30000&since=", list(&channels));
            let mut wire = t.connect()?;
            let mut cursor = wire.ask("GET", &target, &[], b"")?.is(200)?.cursor()?;
            let elsewhere = t.chance.channel();
            for at in [0, 1, 1] {
                wire.send("GET", &format!("{target}{}", encoded(&cursor)), &[], b"")?;
                t.until_held(&mut wire, &channels[at])?;
                t.publish(&elsewhere, b"for others")?;
                wire.is_quiet(Duration::from_millis(60))?;
                let message = t.chance.text_message();
                t.publish(&channels[at], &message)?;
                let answer = wire.answer()?.is(200)?;
                same_bytes("the message it was held for", &answer.body, &message)?;
                cursor = answer.cursor()?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.2/4",
        with: With::Others,
        wants: "without `since` a long poll is held for the next publication, even after missed ones",
        run: |t| {
            let channel = t.chance.channel();
            let target = format!("/long-poll?channel={channel}&hold=30000");
            let mut wire = t.connect()?;
            for _ in 0..2 {
                t.publish(&channel, b"missed")?;
                wire.send("GET", &target, &[], b"")?;
                wire.is_quiet(Duration::from_millis(60))?;
                t.until_held(&mut wire, &channel)?;
                let message = t.chance.bytes(300);
                t.publish(&channel, &message)?;
                let answer = wire.answer()?.is(200)?;
                same_bytes("the next publication", &answer.body, &message)?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.2/5",
        with: With::Others,
        wants: "with the cursor of each answer in the next request no message is lost or repeated",
        run: |t| {
            const COUNT: u64 = 150;
            let channel = t.chance.channel();
            let target = format!("/long-poll?channel={channel}&hold=4000&since=");
            let mut wire = t.connect()?;
            let mut cursor = wire.ask("GET", &target, &[], b"")?.is(200)?.cursor()?;
            let nonce = t.chance.nonce();
            let mut publisher = t.connect()?;
            let (mut published, mut heard) = (0, Vec::new());
            while (heard.len() as u64) < COUNT {
                wire.send("GET", &format!("{target}{}", encoded(&cursor)), &[], b"")?;
                // A few at a time, so that answers and requests cross publications.
                let burst = t.chance.between(1, 6).min(COUNT - published);
                for _ in 0..burst {
                    let publish = format!("/publish?channel={channel}");
                    publisher.send("POST", &publish, &[], &stamped(nonce, 0, published, 64))?;
                    published += 1;
                }
                let answer = wire.answer()?.is(200)?;
                cursor = answer.cursor()?;
                let more = sequences(&answer.body);
                holds(!more.is_empty(), || format!("{} where a message is wanted", answer.words()))?;
                heard.extend(more);
            }
            counts_up("the messages received", &heard, 0, COUNT as usize)
        },
    },
    Case {
        id: "6.2/6",
        with: With::Others,
        wants: "no channel, a bad name, cursor or hold is refused with 400 and registers nothing",
        run: |t| {
            let bad = ["hold=x", "hold=-1", "hold=3600001", "hold=1.5", "since=%20no+cursor!"];
            refusals(t, "/long-poll", &bad)
        },
    },
    Case {
        id: "6.3/1",
        with: With::Others,
        wants: "after `hold` ms the answer is the document with timeout, hold_ms and held_us, not a close",
        run: |t| {
            let channel = t.chance.channel();
            let hold = t.chance.between(40, 400);
            let mut wire = t.connect()?;
            let first =
                wire.ask("GET", &format!("/long-poll?channel={channel}&since="), &[], b"")?.is(200)?;
            for since in [String::new(), format!("&since={}", encoded(&first.cursor()?))] {
                let started_us = now_us();
                let target = format!("/long-poll?channel={channel}&hold={hold}{since}");
                let answer = wire.ask("GET", &target, &[], b"")?.is(200)?;
                let took_us = now_us() - started_us;
                wants_media(&answer, "application/json")?;
                let document = answer.json()?;
                same("timeout", &document["timeout"], &json!(true))?;
                same("hold_ms", &document["hold_ms"], &json!(hold))?;
                let held_us = document["held_us"].as_u64();
                let held_us = held_us.ok_or_else(|| failed(format!("held_us: {}", document["held_us"])))?;
                // A timer of ms may fire up to 1 ms early by its own clock.
                holds(held_us + 1_000 >= hold * 1_000 && held_us <= took_us, || {
                    format!("held_us {held_us} of {took_us} us that passed, for a hold of {hold} ms")
                })?;
                let bounds = hold * 1_000..hold * 1_000 + PATIENCE.as_micros() as u64;
                holds(bounds.contains(&(took_us + 1_000)), || format!("answered after {took_us} us"))?;
                answer.cursor()?;
                if t.has("3.2") {
                    answer.acknowledged()?;
                }
            }
            // The cursor of a time-out continues like any other.
            let last =
                wire.ask("GET", &format!("/long-poll?channel={channel}&hold=20"), &[], b"")?.cursor()?;
            t.publish(&channel, b"after")?;
            let since = encoded(&last);
            let answer = t.get(&format!("/long-poll?channel={channel}&hold=3000&since={since}"))?.is(200)?;
            same_bytes("what came after a time-out", &answer.body, b"after")
        },
    },
];
