//! CONTRACT 7: instrumented requests, each of whose answers reports the work done for it.

use std::time::Duration;

use pushmark_proto::http1::BodyLength;
use serde_json::{Value, json};

use super::outcome::{Outcome, Step, failed, holds, same};
use super::patience::PATIENCE;
use super::trial::{Trial, now_us, sequences, stamped};
use super::wire::Wire;
use super::{Case, With};

/// Asks for the events of some channels.
fn register(t: &mut Trial<'_>, document: &Value) -> Step<Wire> {
    let mut wire = t.connect()?;
    let headers = ["Content-Type: application/json"];
    wire.send("POST", "/request", &headers, document.to_string().as_bytes())?;
    Ok(wire)
}

/// Registers a request without end, and reads the head that arrives at once.
fn comet(t: &mut Trial<'_>, channels: &[String]) -> Step<Wire> {
    let mut wire = register(t, &json!({"type": "comet", "events": channels}))?;
    let head = wire.head()?.is(200)?;
    same("the length of an answer without end", &head.length, &BodyLength::Chunked)?;
    Ok(wire)
}

/// The next line of an answer without end.
fn line(wire: &mut Wire, rest: &mut Vec<u8>) -> Step<Value> {
    loop {
        if let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let document: Value = serde_json::from_slice(line)
                .map_err(|_| failed(format!("no document on one line: {}", line.escape_ascii())))?;
            return Ok(document["response"].clone());
        }
        rest.extend(wire.chunk()?);
    }
}

/// Two instants since then, and the time between them.
fn timings(what: &str, timings: &Value, from_us: u64, t: &Trial<'_>) -> Outcome {
    let instant = |key: &str| {
        timings[key].as_u64().ok_or_else(|| failed(format!("{what}: no instant {key} in {timings}")))
    };
    let (created, sent) = (instant("created")?, instant("sent")?);
    let row = t.subject.row.as_ref();
    let grain_us = row.map_or(1_000, |row| row.grain_us.max(1));
    let ours = row.is_none_or(|row| row.clock == "monotonic");
    let inside = !ours || (created + grain_us >= from_us && sent <= now_us() + grain_us);
    holds(created <= sent && inside, || format!("{what}: {timings}, from {from_us} until {}", now_us()))?;
    let duration_ms = timings["duration"].as_f64();
    let duration_ms = duration_ms.ok_or_else(|| failed(format!("{what}: no duration in {timings}")))?;
    // Whole ms, or a fraction: either is the time between them.
    holds((duration_ms - (sent - created) as f64 / 1_000.0).abs() <= 1.0, || {
        format!("{what}: a duration of {duration_ms} ms in {timings}")
    })
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "7.1/1",
        with: With::Others,
        wants: "a long-poll request is held until, and answered with, the first event on its channels",
        run: |t| {
            let channels = t.chance.channels(2);
            let asked = json!({"type": "long-poll", "events": channels, "duration_ms": 30_000});
            for at in [1, 0] {
                let mut wire = register(t, &asked)?;
                t.until_held(&mut wire, &channels[at])?;
                wire.is_quiet(Duration::from_millis(60))?;
                let text = String::from_utf8(t.chance.text_message()).unwrap_or_default();
                t.publish(&channels[at], text.as_bytes())?;
                let response = wire.answer()?.is(200)?.json()?["response"].clone();
                same("event.name", &response["event"]["name"], &json!(channels[at]))?;
                same("event.message", &response["event"]["message"], &json!(text))?;
                t.until_registered(&channels[at], 0)?;
            }
            Ok(())
        },
    },
    Case {
        id: "7.1/2",
        with: With::Others,
        wants: "a comet request is answered with an endless stream: one document on one line for each event",
        run: |t| {
            let channels = t.chance.channels(2);
            let mut wire = comet(t, &channels)?;
            let mut rest = Vec::new();
            let nonce = t.chance.nonce();
            for sequence in 0..12 {
                let channel = &channels[(sequence % 2) as usize];
                t.publish(channel, &stamped(nonce, 0, sequence, 90))?;
            }
            for sequence in 0..12 {
                let event = line(&mut wire, &mut rest)?["event"].clone();
                same("event.name", &event["name"], &json!(channels[(sequence % 2) as usize]))?;
                let message = event["message"].as_str().unwrap_or_default();
                same("the stamp of event.message", &sequences(message.as_bytes()), &vec![sequence])?;
            }
            Ok(())
        },
    },
    Case {
        id: "7.1/3",
        with: With::Others,
        wants: "an invalid document is refused with 400 and registers nothing",
        run: |t| {
            let channel = t.chance.channel();
            let good = json!({"type": "long-poll", "events": [channel], "duration_ms": 1_000});
            let whole = good.to_string();
            let mut bad = vec![
                String::new(),
                "{}".into(),
                "[]".into(),
                "x".into(),
                whole[..whole.len() - 1].to_owned(),
            ];
            for (key, value) in [
                ("type", json!("poll")),
                ("type", json!(1)),
                ("events", json!([])),
                ("events", json!("a")),
                ("events", json!([channel, "b c"])),
                ("events", json!([1])),
                ("duration_ms", json!("soon")),
                ("duration_ms", json!(-1)),
                ("duration_ms", json!(3_600_001)),
            ] {
                let mut document = good.clone();
                document[key] = value;
                bad.push(document.to_string());
            }
            for key in ["type", "events"] {
                let mut document = good.clone();
                document.as_object_mut().map(|keys| keys.remove(key));
                bad.push(document.to_string());
            }
            for document in bad {
                t.ask("POST", "/request", document.as_bytes())?.refuses(&[400])?;
            }
            t.get("/request")?.refuses(&[405])?;
            if !t.has("2.3") {
                return Ok(());
            }
            let stats = t.stats()?;
            holds(stats["channels"].get(&channel).is_none(), || format!("a refused request made {channel}"))
        },
    },
    Case {
        id: "7.2/1",
        with: With::Others,
        wants: "the document has the request as received, its instants and the instants of its event",
        run: |t| {
            let channel = t.chance.odd_channel();
            let asked = json!({"type": "long-poll", "events": [channel], "duration_ms": 30_000});
            let registered_us = now_us();
            let mut wire = register(t, &asked)?;
            t.until_registered(&channel, 1)?;
            let published_us = now_us();
            t.publish(&channel, b"news")?;
            let answer = wire.answer()?.is(200)?;
            holds(!answer.body.trim_ascii_end().contains(&b'\n'), || "more than one line".into())?;
            let response = answer.json()?["response"].clone();
            same("request", &response["request"], &asked)?;
            timings("timings", &response["timings"], registered_us, t)?;
            timings("event.timings", &response["event"]["timings"], published_us, t)?;
            holds(response.get("timeout").is_none_or(|timeout| *timeout == false), || {
                format!("timeout: {} beside an event", response["timeout"])
            })
        },
    },
    Case {
        id: "7.2/2",
        with: With::Nobody,
        wants: "event.connections: the number of requests that get the event and this one's position, from 1",
        run: |t| {
            let channels = t.chance.channels(2);
            let mut crowd = Vec::new();
            for n in 0..6 {
                // Four subscribe to the first channel, all to the second.
                let events = if n < 4 { &channels[..] } else { &channels[1..] };
                crowd.push((comet(t, events)?, Vec::new()));
            }
            t.publish(&channels[0], b"news")?;
            // If the server does not notice departures, it still counts clients that left.
            let counts_now = !t.has("2.3") || t.stats()?["sees_departures"] != false;
            let mut places = Vec::new();
            for (n, (wire, rest)) in crowd.iter_mut().take(4).enumerate() {
                let response = line(wire, rest)?;
                same("event.connections.total", &response["event"]["connections"]["total"], &json!(4))?;
                places.push(response["event"]["connections"]["place"].as_u64().unwrap_or(0));
                let counts = &response["connections"];
                let left =
                    if counts_now { 0 } else { counts["finish"].as_u64().unwrap_or(6).saturating_sub(6) };
                same("connections.start", &counts["start"], &json!(left + n as u64 + 1))?;
                same("connections.finish", &counts["finish"], &json!(left + 6))?;
            }
            places.sort_unstable();
            same("places", &places, &vec![1, 2, 3, 4])
        },
    },
    Case {
        id: "7.2/3",
        with: With::Others,
        wants: "the answer to a time-out is the same document without `event` and with \"timeout\": true",
        run: |t| {
            let channel = t.chance.channel();
            let hold = t.chance.between(40, 300);
            let asked = json!({"type": "long-poll", "events": [channel], "duration_ms": hold});
            let started_us = now_us();
            let mut wire = register(t, &asked)?;
            let response = wire.answer()?.is(200)?.json()?["response"].clone();
            let took_us = now_us() - started_us;
            same("timeout", &response["timeout"], &json!(true))?;
            holds(response.get("event").is_none_or(Value::is_null), || {
                format!("event: {}", response["event"])
            })?;
            same("request", &response["request"], &asked)?;
            timings("timings", &response["timings"], started_us, t)?;
            let bounds = hold * 1_000..hold * 1_000 + PATIENCE.as_micros() as u64;
            // A timer of ms may fire up to 1 ms early by its own clock.
            holds(bounds.contains(&(took_us + 1_000)), || format!("answered after {took_us} us"))
        },
    },
];
