//! CONTRACT 5: publishing from inside the server.

use std::time::{Duration, Instant};

use pushmark_model::stamp::Stamp;
use serde_json::{Value, json};

use super::chance::list;
use super::outcome::{Step, failed, holds, same};
use super::subscriber::{PUSHED, Subscriber};
use super::trial::{Trial, now_us, stamps};
use super::{Case, With};

/// An emitter of a case: its name, and the document that sets it.
struct Emitter {
    name: String,
    document: Value,
}

impl Emitter {
    /// Describes an emitter on some channels, with more keys.
    fn new(t: &mut Trial<'_>, channels: &[String], interval_us: u64, more: Value) -> Emitter {
        let name = t.emitter();
        let nonce = t.chance.nonce();
        let mut document =
            json!({"interval_us": interval_us, "size": 64, "channels": channels, "nonce": nonce});
        for (key, value) in more.as_object().into_iter().flatten() {
            document[key] = value.clone();
        }
        Emitter { name, document }
    }

    /// Sets the emitter. Returns the answer.
    fn set(&self, t: &mut Trial<'_>) -> Step<Value> {
        let body = self.document.to_string();
        t.ask("PUT", &format!("/emitters/{}", self.name), body.as_bytes())?.is(200)?.json()
    }
}

/// A transport on which the messages of emitters arrive one at a time.
fn heard_by(t: &Trial<'_>) -> Step<&'static str> {
    let mut pushed = PUSHED.into_iter().rev();
    let found = pushed.find(|name| *name != "long-poll" && t.subject.speaks(name));
    match found {
        Some(transport) => Ok(transport),
        None => t.needs("6.4").map(|()| "stream"),
    }
}

fn start_us(document: &Value) -> Step<u64> {
    document["start_us"].as_u64().ok_or_else(|| failed(format!("start_us: {}", document["start_us"])))
}

fn one_stamp(message: &[u8], size: usize) -> Step<Stamp> {
    same("bytes of a message", &message.len(), &size)?;
    let found = stamps(message);
    match found[..] {
        [stamp] => Ok(stamp),
        _ => Err(failed(format!("{} stamps in one message", found.len()))),
    }
}

fn number(document: &Value, key: &str) -> u64 {
    document[key].as_u64().unwrap_or(0)
}

/// Receives `count` messages and returns their stamps.
fn hear(subscriber: &mut Subscriber, count: usize, size: usize) -> Step<Vec<Stamp>> {
    (0..count).map(|_| one_stamp(&subscriber.hear()?, size)).collect()
}

/// Whether the due instants are exact. The row of a server that re-arms its timer declares that they are not.
fn absolute(t: &Trial<'_>) -> bool {
    t.subject.row.as_ref().is_none_or(|row| row.emitter.as_deref() == Some("absolute"))
}

/// Ticks that the server counted as skipped since then; `None` if it does not count them.
fn skipped_since(t: &mut Trial<'_>, before: &Value) -> Step<Option<u64>> {
    if !t.has("2.3") {
        return Ok(None);
    }
    let after = t.stats()?;
    let count = |stats: &Value| stats["emits"]["skipped"].as_u64();
    Ok(count(&after).zip(count(before)).map(|(after, before)| after.saturating_sub(before)))
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "5.1/1",
        with: With::Others,
        wants: "emitters with different names publish independently",
        run: |t| {
            let transport = heard_by(t)?;
            let channels = t.chance.channels(2);
            let emitters: Vec<Emitter> =
                channels.chunks(1).map(|one| Emitter::new(t, one, 4_000, json!({}))).collect();
            let (mut subscriber, _) = Subscriber::open(t, transport, &channels)?;
            for emitter in &emitters {
                same("changed", &emitter.set(t)?["changed"], &json!(false))?;
            }
            let nonces: Vec<u64> =
                emitters.iter().map(|emitter| number(&emitter.document, "nonce")).collect();
            let started = Instant::now();
            let mut heard = [0; 2];
            while heard.iter().any(|&count| count < 5) {
                let stamp = one_stamp(&subscriber.hear()?, 64)?;
                let at = nonces.iter().position(|&nonce| nonce == u64::from(stamp.nonce));
                heard[at.ok_or_else(|| failed(format!("the nonce of neither: {}", stamp.nonce)))?] += 1;
                holds(started.elapsed() < Duration::from_secs(5), || {
                    format!("{heard:?} messages after 5 s")
                })?;
            }
            Ok(())
        },
    },
    Case {
        id: "5.2/1",
        with: With::Others,
        wants: "an emitter uses the size, nonce, publisher, indexes and count of its document",
        run: |t| {
            let transport = heard_by(t)?;
            let channels = t.chance.channels(3);
            let size = t.chance.between(48, 600) as usize;
            let count = t.chance.between(2, 8);
            let indexes: Vec<u64> = (0..3).map(|n| t.chance.between(0, 500) * 3 + n).collect();
            let publisher = t.chance.between(1, 1_295);
            let more = json!({
                "size": size, "count": count, "publisher": publisher, "channel_indexes": indexes,
            });
            let emitter = Emitter::new(t, &channels, 3_000, more);
            let (mut subscriber, _) = Subscriber::open(t, transport, &channels)?;
            emitter.set(t)?;
            let mut by_channel = vec![Vec::new(); 3];
            for stamp in hear(&mut subscriber, 3 * count as usize, size)? {
                same("nonce", &u64::from(stamp.nonce), &number(&emitter.document, "nonce"))?;
                same("publisher", &u64::from(stamp.publisher), &publisher)?;
                let at = indexes.iter().position(|&index| index == u64::from(stamp.channel));
                let at = at.ok_or_else(|| failed(format!("index {} of no channel", stamp.channel)))?;
                by_channel[at].push(stamp.sequence);
            }
            let all: Vec<u64> = (0..count).collect();
            for sequences in &by_channel {
                same("sequences of a channel", sequences, &all)?;
            }
            // Its end is an end.
            subscriber.wire().is_quiet(Duration::from_millis(60))?;
            Ok(())
        },
    },
    Case {
        id: "5.2/2",
        with: With::Others,
        wants: "defaults: channels are indexed in their order, publisher is 0, the start is now",
        run: |t| {
            let transport = heard_by(t)?;
            let channels = t.chance.channels(2);
            let emitter = Emitter::new(t, &channels, 5_000, json!({}));
            let mut ears = Vec::new();
            for channel in &channels {
                ears.push(Subscriber::open(t, transport, std::slice::from_ref(channel))?.0);
            }
            let before_us = now_us();
            let start_us = start_us(&emitter.set(t)?)?;
            let after_us = now_us();
            if t.subject.row.as_ref().is_none_or(|row| row.clock == "monotonic" && row.grain_us <= 1) {
                holds((before_us..=after_us).contains(&start_us), || {
                    format!("start_us {start_us}, set between {before_us} and {after_us}")
                })?;
            }
            for (index, subscriber) in ears.iter_mut().enumerate() {
                let stamp = hear(subscriber, 1, 64)?[0];
                same("channel index", &(stamp.channel as usize), &index)?;
                same("publisher", &stamp.publisher, &0)?;
                same("sequence", &stamp.sequence, &0)?;
            }
            Ok(())
        },
    },
    Case {
        id: "5.2/3",
        with: With::Others,
        wants: "a changed emitter reports the change and restarts with sequence 0",
        run: |t| {
            let transport = heard_by(t)?;
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let mut emitter = Emitter::new(t, names, 2_000, json!({}));
            let (mut subscriber, _) = Subscriber::open(t, transport, names)?;
            same("changed, the first time", &emitter.set(t)?["changed"], &json!(false))?;
            hear(&mut subscriber, 4, 64)?;
            emitter.document["publisher"] = json!(1);
            emitter.document["interval_us"] = json!(3_000);
            let told = emitter.set(t)?;
            same("changed, the second time", &told["changed"], &json!(true))?;
            let started = Instant::now();
            let first = loop {
                let stamp = hear(&mut subscriber, 1, 64)?[0];
                if stamp.publisher == 1 {
                    break stamp;
                }
                let late =
                    stamp.sent_us > start_us(&told)? + 100_000 || started.elapsed() > Duration::from_secs(3);
                holds(!late, || format!("what it was before goes on with sequence {}", stamp.sequence))?;
            };
            same("the first sequence", &first.sequence, &0)?;
            for (n, stamp) in hear(&mut subscriber, 4, 64)?.iter().enumerate() {
                same("publisher", &stamp.publisher, &1)?;
                same("sequence", &stamp.sequence, &(n as u64 + 1))?;
            }
            Ok(())
        },
    },
    Case {
        id: "5.2/4",
        with: With::Others,
        wants: "an invalid document is refused with 400 and changes nothing",
        run: |t| {
            let transport = heard_by(t)?;
            let channels = t.chance.channels(2);
            let emitter = Emitter::new(t, &channels[..1], 5_000, json!({}));
            let (mut subscriber, _) = Subscriber::open(t, transport, &channels[..1])?;
            emitter.set(t)?;
            let good = Emitter::new(t, &channels[1..], 5_000, json!({}));
            let name = &good.name;
            let mut bad = vec![String::new(), "{}".into(), "[]".into(), "interval".into(), "null".into()];
            let whole = good.document.to_string();
            bad.push(whole[..whole.len() - 1].to_owned());
            for key in ["interval_us", "size", "channels", "nonce"] {
                let mut document = good.document.clone();
                document.as_object_mut().map(|keys| keys.remove(key));
                bad.push(document.to_string());
            }
            let far_us = now_us() + 1_000_000_000_000_000;
            for (key, value) in [
                ("interval_us", json!(0)),
                ("interval_us", json!(-5)),
                ("interval_us", json!("5000")),
                ("size", json!(47)),
                ("size", json!((1 << 20) + 1)),
                ("channels", json!([])),
                ("channels", json!("a")),
                ("channels", json!(["a", "b c"])),
                ("channels", json!(["n".repeat(129)])),
                ("channels", json!([1])),
                ("nonce", json!("x")),
                ("nonce", json!(36u64.pow(6))),
                ("publisher", json!(1_296)),
                ("channel_indexes", json!([])),
                ("channel_indexes", json!([1, 2])),
                ("channel_indexes", json!([36u64.pow(4)])),
                ("phases_us", json!([5_000])),
                ("phases_us", json!([0, 0])),
                ("count", json!(-1)),
                ("start_us", json!(far_us)),
                ("start_us", json!("now")),
            ] {
                let mut document = good.document.clone();
                document[key] = value;
                bad.push(document.to_string());
            }
            for document in &bad {
                t.ask("PUT", &format!("/emitters/{name}"), document.as_bytes())?.refuses(&[400])?;
            }
            // The request must neither create an emitter nor change an existing one.
            t.ask("DELETE", &format!("/emitters/{name}"), b"")?.refuses(&[404])?;
            t.ask("PUT", &format!("/emitters/{}", emitter.name), bad[1].as_bytes())?.refuses(&[400])?;
            let heard = hear(&mut subscriber, 3, 64)?;
            let same_one = heard.iter().all(|s| u64::from(s.nonce) == number(&emitter.document, "nonce"));
            holds(same_one, || "an emitter was changed by a document that was refused".into())?;
            for name in ["a%20b", "%C3%A9", &"n".repeat(129)] {
                t.ask("PUT", &format!("/emitters/{name}"), whole.as_bytes())?.refuses(&[400, 404])?;
            }
            if t.has("2.3") {
                let stats = t.stats()?;
                holds(stats["channels"].get(&channels[1]).is_none(), || {
                    format!("{} is listed, and every emitter of it was refused", channels[1])
                })?;
            }
            Ok(())
        },
    },
    Case {
        id: "5.3/1",
        with: With::Others,
        wants: "publication n is due at start + phase + n × interval, sent no sooner, and arrives no sooner",
        run: |t| {
            let transport = heard_by(t)?;
            let channels = t.chance.channels(2);
            let interval_us = t.chance.between(3_000, 9_000);
            let start = now_us() + t.chance.between(20_000, 60_000);
            let phases = [t.chance.between(0, interval_us - 1), t.chance.between(0, interval_us - 1)];
            let more = json!({"start_us": start, "phases_us": phases, "count": 20});
            let emitter = Emitter::new(t, &channels, interval_us, more);
            let (mut subscriber, _) = Subscriber::open(t, transport, &channels)?;
            same("start_us", &start_us(&emitter.set(t)?)?, &start)?;
            let row = t.subject.row.clone();
            let grain_us = row.as_ref().map_or(1, |row| row.grain_us.max(1));
            let ours = row.is_none_or(|row| row.clock == "monotonic");
            for _ in 0..40 {
                let stamp = hear(&mut subscriber, 1, 64)?[0];
                let phase = phases[stamp.channel as usize % 2];
                let due_us = start + phase + stamp.sequence * interval_us;
                if absolute(t) {
                    same(format!("due of sequence {}", stamp.sequence), &stamp.due_us, &due_us)?;
                }
                holds(stamp.sent_us + grain_us > stamp.due_us, || {
                    format!("sent {} us before it was due", stamp.due_us - stamp.sent_us)
                })?;
                let now = now_us();
                holds(!ours || now + grain_us >= stamp.sent_us, || {
                    format!("it arrived {} us before it was sent", stamp.sent_us - now)
                })?;
            }
            Ok(())
        },
    },
    Case {
        id: "5.3/2",
        with: With::Others,
        wants: "a publication has one `sent` for all its subscribers: all get the same bytes",
        run: |t| {
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let transports: Vec<&str> =
                PUSHED.into_iter().filter(|name| *name != "long-poll" && t.subject.speaks(name)).collect();
            let mut ears = Vec::new();
            for transport in transports.iter().chain(&transports) {
                ears.push((transport, Subscriber::open(t, transport, names)?.0));
            }
            let emitter = Emitter::new(t, names, 4_000, json!({"count": 12}));
            emitter.set(t)?;
            for _ in 0..12 {
                let mut first: Option<Vec<u8>> = None;
                for (transport, subscriber) in &mut ears {
                    let message = subscriber.hear()?;
                    let first = first.get_or_insert_with(|| message.clone());
                    super::outcome::same_bytes(
                        format!("a message by {transport}, and by the first"),
                        &message,
                        first,
                    )?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "5.4/1",
        with: With::Nobody,
        wants: "a late emitter publishes each missed tick with its due and sequence, or counts a skip",
        run: |t| {
            let transport = heard_by(t)?;
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let (mut subscriber, _) = Subscriber::open(t, transport, names)?;
            let before = if t.has("2.3") { t.stats()? } else { Value::Null };
            // Its start is before the request: the first twenty are late.
            let start = now_us() - 100_000;
            let emitter = Emitter::new(t, names, 5_000, json!({"start_us": start, "count": 60}));
            same("start_us", &start_us(&emitter.set(t)?)?, &start)?;
            let mut heard: Vec<Stamp> = Vec::new();
            while heard.last().is_none_or(|stamp| stamp.sequence < 59) {
                match hear(&mut subscriber, 1, 64) {
                    Ok(more) => heard.extend(more),
                    // The last ticks may be among those that it skipped.
                    Err(_) if skipped_since(t, &before)? == Some(60 - heard.len() as u64) => break,
                    Err(miss) => return Err(miss),
                }
            }
            for pair in heard.windows(2) {
                holds(pair[0].sequence < pair[1].sequence, || {
                    format!("sequence {} after {}", pair[1].sequence, pair[0].sequence)
                })?;
            }
            for stamp in heard.iter().filter(|_| absolute(t)) {
                same(
                    format!("due of sequence {}", stamp.sequence),
                    &stamp.due_us,
                    &(start + stamp.sequence * 5_000),
                )?;
            }
            let missed = 60 - heard.len() as u64;
            if missed > 0 || t.has("2.3") {
                let after = t.stats()?;
                if after["emits"]["skipped"].is_null() {
                    holds(missed == 0, || {
                        format!("{missed} ticks are missing, and no count of skipped ones")
                    })?;
                } else {
                    let skipped = number(&after["emits"], "skipped") - number(&before["emits"], "skipped");
                    same("emits.skipped grew by", &skipped, &missed)?;
                    let count = number(&after["emits"], "count") - number(&before["emits"], "count");
                    same("emits.count grew by", &count, &(heard.len() as u64))?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "5.5/1",
        with: With::Nobody,
        wants: "DELETE clears one emitter or all, returns the count, 404 if unknown; no message follows",
        run: |t| {
            let transport = heard_by(t)?;
            t.ask("DELETE", "/emitters", b"")?.is(200)?;
            let channels = t.chance.channels(3);
            let (mut subscriber, _) = Subscriber::open(t, transport, &channels)?;
            let emitters: Vec<Emitter> =
                channels.chunks(1).map(|one| Emitter::new(t, one, 2_000, json!({}))).collect();
            for emitter in &emitters {
                emitter.set(t)?;
            }
            if t.has("2.3") {
                let stats = t.stats()?;
                if !stats["emitters"].is_null() {
                    same("emitters", &number(&stats, "emitters"), &3)?;
                }
            }
            hear(&mut subscriber, 6, 64)?;
            let one = format!("/emitters/{}", emitters[0].name);
            same("cleared", &t.ask("DELETE", &one, b"")?.is(200)?.json()?["cleared"], &json!(1))?;
            t.ask("DELETE", &one, b"")?.refuses(&[404])?;
            let told = t.ask("DELETE", "/emitters", b"")?.is(200)?.json()?;
            let cleared_us = now_us();
            same("cleared", &told["cleared"], &json!(2))?;
            // Messages already on their way may arrive; any message sent later is too late.
            loop {
                match subscriber.wire().is_quiet(Duration::from_millis(80)) {
                    Ok(()) => break,
                    Err(_) => {
                        let stamp = hear(&mut subscriber, 1, 64)?[0];
                        holds(stamp.sent_us <= cleared_us + 1_000, || {
                            format!("a message of {} us after the answer", stamp.sent_us - cleared_us)
                        })?;
                    }
                }
            }
            let told = t.ask("DELETE", "/emitters", b"")?.is(200)?.json()?;
            same("cleared without emitters", &told["cleared"], &json!(0))?;
            let (_, head) = Subscriber::open(t, transport, &channels)?;
            if t.has("3.2") && list(&channels).len() < 8_000 {
                holds(head.acknowledged()?.values().all(Option::is_some), || {
                    "a channel has no stamp".into()
                })?;
            }
            Ok(())
        },
    },
];
