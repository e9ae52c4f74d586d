//! CONTRACT 3: connections, acknowledgements, bounds.

use std::time::{Duration, Instant};

use serde_json::json;

use super::chance::{encoded, list};
use super::outcome::{Miss, Outcome, failed, holds, same, same_bytes};
use super::subscriber::{PUSHED, Subscriber};
use super::trial::{Trial, counts_up, sequences, stamped};
use super::websocket::Socket;
use super::wire::Answer;
use super::{Case, With};

/// Longest head that a server must accept (CONTRACT 3.4).
const HEAD_TAKEN: usize = 16 * 1024;
/// Bytes of a message in the cases about slow consumers.
const SLOW_MESSAGE: usize = 16 * 1024;
/// Messages that exceed both bounds of 3.5 (1,024 messages and 16 MiB) in addition to what sockets buffer.
const SLOW_COUNT: u64 = 1_700;
/// Longest time that a request may take while the server writes to other clients.
const MEANWHILE: Duration = Duration::from_secs(2);

/// The answer to a subscription of each kind; the connections stay open.
fn subscribe_all(
    t: &mut Trial<'_>,
    channels: &[String],
) -> Result<Vec<(&'static str, Answer, Subscriber)>, Miss> {
    let offered = PUSHED.into_iter().filter(|name| t.subject.speaks(name)).collect::<Vec<_>>();
    let open = |transport| {
        let (subscriber, head) = Subscriber::open(t, transport, channels)?;
        Ok((transport, head, subscriber))
    };
    offered.into_iter().map(open).collect()
}

fn acknowledges(what: &str, answer: &Answer, channels: &[String], wanted: &[Option<u64>]) -> Outcome {
    let wanted = channels.iter().cloned().zip(wanted.iter().copied()).collect();
    same(format!("pushmark-subscribed of {what}"), &answer.acknowledged()?, &wanted)
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "3.1/1",
        with: With::Others,
        wants: "a connection is kept alive for many requests",
        run: |t| {
            let channel = t.chance.channel();
            let mut wire = t.connect()?;
            let goes_on = |answer: Answer| {
                let says = answer.header("connection").unwrap_or_default().to_ascii_lowercase();
                holds(says != "close", || format!("{} says that the connection ends", answer.words()))
            };
            for _ in 0..5 {
                goes_on(wire.ask("GET", "/health", &[], b"")?.is(200)?)?;
                let line = t.chance.line();
                goes_on(wire.ask("POST", &format!("/publish?channel={channel}"), &[], &line)?.is(200)?)?;
                wire.ask("GET", "/nowhere", &[], b"")?.is(404)?;
            }
            Ok(())
        },
    },
    Case {
        id: "3.1/2",
        with: With::Others,
        wants: "after a request with Connection: close the answer has that header and the connection ends",
        run: |t| {
            let channel = t.chance.channel();
            for (method, target) in
                [("GET", "/health".to_owned()), ("POST", format!("/publish?channel={channel}"))]
            {
                let mut wire = t.connect()?;
                let body = if method == "POST" { &b"x"[..] } else { b"" };
                let answer = wire.ask(method, &target, &["Connection: close"], body)?.is(200)?;
                same(
                    "connection",
                    &answer.wants_header("connection")?.to_ascii_lowercase().as_str(),
                    &"close",
                )?;
                wire.ends()?;
            }
            Ok(())
        },
    },
    Case {
        id: "3.1/3",
        with: With::Others,
        wants: "pipelined requests are answered in the order in which they were sent",
        run: |t| {
            let channel = t.chance.odd_channel();
            let line = t.chance.line();
            let mut wire = t.connect()?;
            let first = t.chance.between(1, 1 << 40);
            let mut bytes = wire.request("GET", &format!("/time?client={first}"), &[], b"");
            bytes.extend(wire.request(
                "POST",
                &format!("/publish?channel={}", encoded(&channel)),
                &[],
                &line,
            ));
            bytes.extend(wire.request("GET", "/nowhere", &[], b""));
            bytes.extend(wire.request("GET", &format!("/time?client={}", first + 1), &[], b""));
            wire.send_raw("four requests at once", &bytes)?;
            same("client", &wire.answer()?.is(200)?.json()?["client"], &json!(first))?;
            same("channel", &wire.answer()?.is(200)?.json()?["channel"], &json!(channel))?;
            wire.answer()?.is(404)?;
            same("client", &wire.answer()?.is(200)?.json()?["client"], &json!(first + 1))
        },
    },
    Case {
        id: "3.1/4",
        with: With::Nobody,
        wants: "TCP_NODELAY is set: a message does not wait for the TCP acknowledgement of the previous one",
        run: |t| {
            if t.subject.row.as_ref().is_some_and(|row| !row.nodelay) {
                return Err(Miss::NotOffered("its row says nodelay = false".into()));
            }
            t.needs("6.4")?;
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let (mut subscriber, _) = Subscriber::open(t, "stream", names)?;
            let nonce = t.chance.nonce();
            let mut publisher = t.connect()?;
            // Delayed acknowledgements hold a small write back for 40 ms, every second one.
            let mut took = Vec::new();
            for sequence in 0..60 {
                let started = Instant::now();
                for twin in 0..2 {
                    let message = stamped(nonce, 0, 2 * sequence + twin, 64);
                    let target = format!("/publish?channel={channel}");
                    publisher.ask("POST", &target, &[], &message)?.is(200)?;
                }
                subscriber.hear()?;
                subscriber.hear()?;
                took.push(started.elapsed());
            }
            took.sort_unstable();
            let slow = took[took.len() / 2];
            holds(slow < Duration::from_millis(30), || {
                format!("two messages take {slow:?}, the median of 60")
            })
        },
    },
    Case {
        id: "3.1/5",
        with: With::Others,
        wants: "input that is not HTTP is answered with 400 or ends the connection; the server keeps running",
        run: |t| {
            for bytes in [
                &b"NOT HTTP\r\n\r\n"[..],
                b"GET /health\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01",
                b"GET / HTTP/9.9\r\n\r\n",
            ] {
                let mut wire = t.connect()?;
                wire.send_raw("no request", bytes)?;
                if bytes.ends_with(b"\n") {
                    // An answer of an older HTTP may be no answer of 1.1: only 200 is wrong.
                    if let Ok(answer) = wire.head() {
                        holds(answer.status >= 400, || format!("{} in answer to no HTTP", answer.words()))?;
                    }
                }
            }
            t.get("/health")?.is(200).map(drop)
        },
    },
    Case {
        id: "3.2/1",
        with: With::Others,
        wants: "the head of a subscription lists each channel with its highest sequence, `-` if none",
        run: |t| {
            let mut channels = vec![t.chance.channel(), t.chance.odd_channel(), t.chance.channel()];
            channels.sort_unstable();
            let (nonce, last) = (t.chance.nonce(), t.chance.between(0, 1 << 30));
            t.publish(&channels[0], &stamped(nonce, 0, last, 64))?;
            // Without a stamp there is no sequence to acknowledge.
            t.publish(&channels[1], b"no stamp")?;
            let wanted = [Some(last), None, None];
            for (transport, head, _ear) in subscribe_all(t, &channels)? {
                acknowledges(transport, &head, &channels, &wanted)?;
            }
            if t.has("6.1") {
                let answer = t.get(&format!("/poll?channel={}", list(&channels)))?.is(200)?;
                acknowledges("poll", &answer, &channels, &wanted)?;
            }
            Ok(())
        },
    },
    Case {
        id: "3.2/2",
        with: With::Others,
        wants: "messages published after the acknowledgement arrive, from the next sequence on",
        run: |t| {
            // Fewer than a server must keep: a client that polls receives them all.
            const COUNT: u64 = 250;
            let channel = t.chance.channel();
            let nonce = t.chance.nonce();
            let names = std::slice::from_ref(&channel);
            // A publisher that does not wait, and subscriptions while it publishes.
            let mut publisher = t.connect()?;
            let target = format!("/publish?channel={channel}");
            std::thread::scope(|scope| {
                let publishing = scope.spawn(move || {
                    for sequence in 0..COUNT {
                        publisher.ask("POST", &target, &[], &stamped(nonce, 0, sequence, 64))?.is(200)?;
                    }
                    Ok::<(), Miss>(())
                });
                let mut listening = Vec::new();
                for _ in 0..4 {
                    listening.extend(subscribe_all(t, names)?);
                }
                publishing.join().map_err(|_| failed("a publisher ended"))??;
                for (transport, head, mut subscriber) in listening {
                    let told = head.acknowledged()?.remove(&channel);
                    let last = told.ok_or_else(|| failed("the channel is not acknowledged"))?;
                    let first = last.map_or(0, |last| last + 1);
                    let mut heard = Vec::new();
                    while first + (heard.len() as u64) < COUNT {
                        heard.extend(sequences(&subscriber.hear()?));
                    }
                    let count = (COUNT - first) as usize;
                    counts_up(&format!("after {last:?} by {transport}"), &heard, first, count)?;
                }
                Ok(())
            })
        },
    },
    Case {
        id: "3.2/3",
        with: With::Others,
        wants: "the highest sequence starts again with another nonce or publisher incarnation",
        run: |t| {
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let nonce = t.chance.nonce();
            for (nonce, publisher, sequence, wanted) in [
                (nonce, 0, 70, 70),
                (nonce, 0, 69, 70), // the highest, not the latest
                (nonce, 1, 5, 5),
                ((nonce + 1) % pushmark_model::stamp::NONCES, 1, 2, 2),
            ] {
                t.publish(&channel, &stamped(nonce, publisher, sequence, 48))?;
                for (transport, head, _ear) in subscribe_all(t, names)? {
                    acknowledges(transport, &head, names, &[Some(wanted)])?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "3.2/4",
        with: With::Others,
        wants: "the acknowledgement of a long poll is of the instant at which the request was registered",
        run: |t| {
            t.needs("6.2")?;
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let nonce = t.chance.nonce();
            let mut wire = t.connect()?;
            for sequence in [7, 20] {
                t.publish(&channel, &stamped(nonce, 0, sequence, 64))?;
                wire.send("GET", &format!("/long-poll?channel={channel}&hold=4000"), &[], b"")?;
                wire.is_quiet(Duration::from_millis(60))?;
                t.until_registered(&channel, 1)?;
                t.publish(&channel, &stamped(nonce, 0, sequence + 1, 64))?;
                let answer = wire.answer()?.is(200)?;
                same("what it was held for", &sequences(&answer.body), &vec![sequence + 1])?;
                acknowledges("the held poll", &answer, names, &[Some(sequence)])?;
            }
            Ok(())
        },
    },
    Case {
        id: "3.3/1",
        with: With::Others,
        wants: "up to 256 channels are acknowledged; with more, the header is absent",
        run: |t| {
            t.needs("3.2")?;
            let channels = t.chance.channels(257);
            for (transport, head, _ear) in subscribe_all(t, &channels[..256])? {
                let count = head.acknowledged()?.len();
                same(format!("channels acknowledged by {transport}"), &count, &256)?;
            }
            for (transport, head, _ear) in subscribe_all(t, &channels)? {
                holds(head.header("pushmark-subscribed").is_none(), || {
                    format!("257 channels are acknowledged by {transport}")
                })?;
            }
            Ok(())
        },
    },
    Case {
        id: "3.4/1",
        with: With::Others,
        wants: "no answer is compressed, even if the client accepts compression",
        run: |t| {
            let channel = t.chance.channel();
            let message = vec![b'a'; 20_000];
            t.publish(&channel, &message)?;
            let accept = "Accept-Encoding: gzip, deflate, br, zstd";
            let mut targets = vec!["/stats".to_owned()];
            if t.has("6.1") {
                targets.push(format!("/poll?channel={channel}"));
            }
            for target in targets {
                // An answer with a coding fails when its head is read.
                t.connect()?.ask("GET", &target, &[accept], b"")?.is(200)?;
            }
            for (clause, path) in [("6.4", "stream"), ("6.5", "sse")] {
                if t.has(clause) {
                    t.subscribe(&format!("/{path}?channel={channel}"), &[accept])?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "3.4/2",
        with: With::Others,
        wants: "no WebSocket extension is accepted",
        run: |t| {
            t.needs("6.6")?;
            let channel = t.chance.channel();
            let wire = t.connect()?;
            let offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x-webkit-deflate-frame";
            let (mut socket, _) = Socket::open(wire, &format!("/ws?channel={channel}"), &[offer])?;
            let message = vec![b'a'; 3_000];
            t.publish(&channel, &message)?;
            socket.hears("a message", &super::websocket::Message::Text(message))
        },
    },
    Case {
        id: "3.4/3",
        with: With::Others,
        wants: "a request head of 16 KiB is accepted",
        run: |t| {
            let mut wire = t.connect()?;
            let plain = wire.request("GET", "/health", &["X-Long: "], b"").len();
            let long = format!("X-Long: {}", "x".repeat(HEAD_TAKEN - plain));
            same_bytes("the body", &wire.ask("GET", "/health", &[&long], b"")?.is(200)?.body, b"ok")
        },
    },
    Case {
        id: "3.5/1",
        with: With::Nobody,
        wants: "the queue of a slow consumer is bounded; drops and disconnects are counted",
        run: |t| {
            t.needs("6.4")?;
            let channel = t.chance.channel();
            let target = format!("/stream?channel={channel}");
            let before = t.stats()?;
            let mut sleeper = t.connect_sleeper()?;
            sleeper.send("GET", &target, &[], b"")?;
            sleeper.head()?.is(200)?;
            let (mut awake, _) = t.subscribe(&target, &[])?;
            let nonce = t.chance.nonce();
            let mut publisher = t.connect()?;
            for sequence in 0..SLOW_COUNT {
                let message = stamped(nonce, 0, sequence, SLOW_MESSAGE);
                publisher.ask("POST", &format!("/publish?channel={channel}"), &[], &message)?.is(200)?;
                // 3.5 is about one subscriber: the others receive everything.
                let mut heard = awake.chunk()?;
                while heard.len() <= SLOW_MESSAGE {
                    heard.extend(awake.chunk()?);
                }
                same("what a subscriber that reads received", &sequences(&heard), &vec![sequence])?;
            }
            let after = t.stats()?;
            let dropped = t.stat(&after, "/dropped")?.saturating_sub(t.stat(&before, "/dropped")?);
            let disconnected =
                t.stat(&after, "/disconnected")?.saturating_sub(t.stat(&before, "/disconnected")?);
            let mut heard = Vec::new();
            let ended = loop {
                match sleeper.piece() {
                    Ok(super::wire::Piece::Chunk(data)) => heard.extend(sequences(&data)),
                    Ok(super::wire::Piece::End) => break true,
                    Err(_) => break disconnected > 0,
                }
                if heard.last() == Some(&(SLOW_COUNT - 1)) {
                    break false;
                }
            };
            let waited = heard.len() as u64;
            holds(waited < SLOW_COUNT, || {
                format!("a sleeper got all {SLOW_COUNT} messages of {SLOW_MESSAGE} bytes once it woke up")
            })?;
            match (ended, dropped) {
                (true, _) => holds(disconnected > 0, || "its disconnect is not counted".into()),
                (false, dropped) => same("dropped", &dropped, &(SLOW_COUNT - waited)),
            }
        },
    },
    Case {
        id: "3.6/1",
        with: With::Nobody,
        wants: "messages that become due for one client at one time are sent in one write",
        run: |t| {
            t.needs("5")?;
            t.needs("6.4")?;
            let channels = t.chance.channels(4);
            let (mut wire, _) = t.subscribe(&format!("/stream?channel={}", list(&channels)), &[])?;
            let name = t.emitter();
            let document = json!({
                "interval_us": 15_000, "size": 64, "channels": channels, "nonce": t.chance.nonce(), "count": 20,
            });
            t.ask("PUT", &format!("/emitters/{name}"), document.to_string().as_bytes())?.is(200)?;
            // The kernel may join two writes, but it never cuts a write of this size.
            let mut read = std::mem::take(&mut wire.pending);
            while sequences(&read).len() < 80 {
                let more = wire.read_more(Instant::now() + super::patience::PATIENCE)?;
                holds(more, || "the stream ended".into())?;
                read.append(&mut wire.pending);
                let whole = sequences(&read).len();
                holds(whole.is_multiple_of(4), || {
                    format!("a read ended after {} of 4 messages of a tick", whole % 4)
                })?;
            }
            Ok(())
        },
    },
    Case {
        id: "3.7/1",
        with: With::Nobody,
        wants: "publishing and subscribing do not wait for writes to subscribers that do not read",
        run: |t| {
            t.needs("6.4")?;
            let channel = t.chance.channel();
            let target = format!("/stream?channel={channel}");
            let mut sleepers = Vec::new();
            for _ in 0..32 {
                let mut sleeper = t.connect_sleeper()?;
                sleeper.send("GET", &target, &[], b"")?;
                sleeper.head()?.is(200)?;
                sleepers.push(sleeper);
            }
            // More than their sockets buffer: a server that blocks on one of them is now stuck.
            let message = t.chance.line_of(256 * 1024);
            let publish = format!("/publish?channel={channel}");
            for round in 0..24 {
                let started = Instant::now();
                let mut wire = t.connect()?;
                wire.ask("POST", &publish, &[], &message)?.is(200)?;
                holds(started.elapsed() < MEANWHILE, || {
                    format!("publication {round} to 32 sleepers was accepted after {:?}", started.elapsed())
                })?;
                let started = Instant::now();
                let (_, head) = t.subscribe(&target, &[])?;
                same("status", &head.status, &200)?;
                t.get("/health")?.is(200)?;
                holds(started.elapsed() < MEANWHILE, || {
                    format!("a subscription beside 32 sleepers took {:?}", started.elapsed())
                })?;
            }
            drop(sleepers);
            Ok(())
        },
    },
    Case {
        id: "3.8/1",
        with: With::Others,
        wants: "a request pipelined behind a held poll waits for the poll's answer",
        run: |t| {
            t.needs("6.2")?;
            let channel = t.chance.channel();
            let mut wire = t.connect()?;
            let mut bytes = wire.request("GET", &format!("/long-poll?channel={channel}&hold=4000"), &[], b"");
            bytes.extend(wire.request("GET", "/health", &[], b""));
            wire.send_raw("a long poll, and a request behind it", &bytes)?;
            wire.is_quiet(Duration::from_millis(80))?;
            t.until_registered(&channel, 1)?;
            t.publish(&channel, b"first")?;
            same_bytes("the answer of the poll", &wire.answer()?.is(200)?.body, b"first")?;
            same_bytes("the answer after it", &wire.answer()?.is(200)?.body, b"ok")
        },
    },
];
