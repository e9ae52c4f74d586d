//! CONTRACT 2: control requests, and how a server starts and ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::outcome::{Outcome, Step, failed, holds, same};
use super::subscriber::{PUSHED, Subscriber};
use super::trial::{Trial, now_us, stamped};
use super::websocket::Message;
use super::wire::Piece;
use super::{Case, With};

/// Time in which a server must end after a request to shut down (CONTRACT 2.5).
const END_WITHIN: Duration = Duration::from_secs(2);
/// Additional time that the end of a process may take: the system's work and its detection.
const SEEN_WITHIN: Duration = Duration::from_millis(250);
/// Most channels that `/stats` lists (CONTRACT 2.3).
const LISTED_MAX: usize = 4_096;

/// Shuts down a server with subscribers of every transport: each connection ends as its protocol requires.
fn ends_gracefully(t: &mut Trial<'_>, stop: impl FnOnce(&mut Trial<'_>) -> Outcome) -> Outcome {
    let channel = t.chance.channel();
    let names = std::slice::from_ref(&channel);
    let mut ears = Vec::new();
    for transport in PUSHED.into_iter().filter(|name| t.subject.speaks(name)) {
        ears.push(Subscriber::open(t, transport, names)?.0);
    }
    for subscriber in &mut ears {
        if let Subscriber::LongPoll { wire, list, cursor } = subscriber {
            wire.send("GET", &format!("/long-poll?channel={list}&hold=60000&since={cursor}"), &[], b"")?;
        }
    }
    if t.subject.speaks("long-poll") && t.has("2.3") {
        let held = |stats: &Value| stats["transports"]["long-poll"].as_u64().is_none_or(|held| held >= 1);
        t.until_stats("that the poll is held", held)?;
    }
    if t.has("5") {
        let document = json!({"interval_us": 20_000, "size": 48, "channels": ["elsewhere"], "nonce": 1});
        t.ask("PUT", "/emitters/goes-on", document.to_string().as_bytes())?.is(200)?;
    }
    stop(t)?;
    for subscriber in &mut ears {
        match subscriber {
            Subscriber::LongPoll { wire, .. } => {
                let document = wire.answer()?.is(200)?.json()?;
                same("timeout of a poll that was held", &document["timeout"], &json!(true))?;
            }
            Subscriber::Stream(wire) => same("the end of a stream", &wire.piece()?, &Piece::End)?,
            Subscriber::Sse(events) => same("the end of an event stream", &events.event_or_end()?, &None)?,
            Subscriber::WebSocket(socket) => {
                same("the end of a WebSocket", &socket.message()?, &Message::Close(Some(1001)))?;
            }
        }
    }
    Ok(())
}

fn refuses_connections(t: &mut Trial<'_>) -> Outcome {
    let started = Instant::now();
    // The listener may take a moment longer than the answer.
    while t.connect().is_ok_and(|mut wire| wire.ask("GET", "/health", &[], b"").is_ok()) {
        holds(started.elapsed() < END_WITHIN, || "it accepts connections after /shutdown".into())?;
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn number(document: &Value, pointer: &str) -> Step<u64> {
    let value = document.pointer(pointer).unwrap_or(&Value::Null);
    value.as_u64().ok_or_else(|| failed(format!("{}: {value} where a number is wanted", &pointer[1..])))
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "2.0/1",
        with: With::Others,
        wants: "an unknown path is answered 404, an unsupported method 405, each with a document",
        run: |t| {
            let nowhere = format!("/{}", t.chance.channel());
            for (method, target, status) in [
                ("GET", nowhere.as_str(), 404),
                ("GET", "/healthy", 404),
                ("DELETE", "/stats", 405),
                ("POST", "/health", 405),
                ("GET", "/publish?channel=a", 405),
                ("GET", "/shutdown", 405),
            ] {
                t.ask(method, target, b"")?.refuses(&[status])?;
            }
            Ok(())
        },
    },
    Case {
        id: "2.1/1",
        with: With::Others,
        wants: "GET /health → 200, body `ok`",
        run: |t| {
            let answer = t.get("/health")?.is(200)?;
            same("the body", &String::from_utf8_lossy(&answer.body).as_ref(), &"ok")
        },
    },
    Case {
        id: "2.2/1",
        with: With::Others,
        wants: "GET /time?client=US returns US and both clocks, read while the request is handled",
        run: |t| {
            for client in [0, now_us(), t.chance.between(1, 1 << 52)] {
                let before_us = now_us();
                let document = t.get(&format!("/time?client={client}"))?.is(200)?.json()?;
                let after_us = now_us();
                same("client", &document["client"], &json!(client))?;
                let monotonic = number(&document, "/monotonic_us")?;
                let row = t.subject.row.as_ref();
                if row.is_none_or(|row| row.clock == "monotonic") {
                    let grain_us = row.map_or(1_000, |row| row.grain_us.max(1));
                    holds(monotonic + grain_us >= before_us && monotonic <= after_us + grain_us, || {
                        format!("monotonic_us {monotonic}, asked between {before_us} and {after_us}")
                    })?;
                }
                let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let wall_us = wall.map_or(0, |since| since.as_micros() as u64);
                let realtime = number(&document, "/realtime_us")?;
                holds(realtime.abs_diff(wall_us) < 10_000_000, || {
                    format!("realtime_us {realtime} where about {wall_us} is wanted")
                })?;
            }
            Ok(())
        },
    },
    Case {
        id: "2.3/1",
        with: With::Others,
        wants: "GET /stats is one document; its keys have the right types and agree with the row (8.3)",
        run: |t| {
            let stats = t.stats()?;
            let mut numbers = vec!["threads", "connections", "publications", "channels_total", "deliveries"];
            numbers.extend(["grain_us", "dropped", "disconnected", "queue_depth_max", "emitters"]);
            for key in numbers {
                holds(stats[key].is_null() || stats[key].is_u64(), || format!("{key}: {}", stats[key]))?;
            }
            for key in ["connections", "publications", "clock", "nodelay"] {
                holds(!stats[key].is_null(), || format!("{key} is left out"))?;
            }
            for key in ["channels", "transports"] {
                holds(stats[key].is_object(), || format!("{key}: {}", stats[key]))?;
            }
            for key in ["count", "skipped"] {
                let value = &stats["emits"][key];
                holds(value.is_null() || value.is_u64(), || format!("emits.{key}: {value}"))?;
            }
            let Some(row) = &t.subject.row else { return Ok(()) };
            same("clock", &stats["clock"], &json!(row.clock))?;
            same("nodelay", &stats["nodelay"], &json!(row.nodelay))?;
            if !stats["grain_us"].is_null() {
                same("grain_us", &stats["grain_us"], &json!(row.grain_us))?;
            }
            match (&row.emitter, &stats["emitter"]) {
                (Some(emitter), said) => same("emitter", said, &json!(emitter)),
                (None, said) => holds(said.is_null(), || format!("emitter: {said}, and the row has none")),
            }
        },
    },
    Case {
        id: "2.3/2",
        with: With::Nobody,
        wants: "/stats counts connections, subscribers, publications and deliveries",
        run: |t| {
            let channel = t.chance.channel();
            let names = std::slice::from_ref(&channel);
            let transports: Vec<&str> =
                PUSHED.into_iter().filter(|name| *name != "long-poll" && t.subject.speaks(name)).collect();
            // A server sees the end of a connection later, so subscribers of the case before may still be
            // counted. On a server with other clients they never are none.
            let none = |stats: &Value| {
                transports.iter().all(|name| stats["transports"][*name].as_u64().unwrap_or(0) == 0)
            };
            let before = match t.until_stats("no subscribers", none) {
                Ok(stats) => stats,
                Err(_) => t.stats()?,
            };
            let mut ears = Vec::new();
            for transport in &transports {
                for _ in 0..2 {
                    ears.push(Subscriber::open(t, transport, names)?.0);
                }
            }
            let nonce = t.chance.nonce();
            let count = t.chance.between(3, 9);
            for sequence in 0..count {
                let message = stamped(nonce, 0, 40 + sequence, 64);
                t.publish(&channel, &message)?;
                for subscriber in &mut ears {
                    subscriber.hears("a message", &message)?;
                }
            }
            let heard = count * ears.len() as u64;
            let counted = {
                let before = before.clone();
                move |stats: &Value| match (stats["deliveries"].as_u64(), before["deliveries"].as_u64()) {
                    (Some(now), Some(then)) => now - then >= heard,
                    _ => true,
                }
            };
            let after = t.until_stats(&format!("{heard} deliveries more"), counted)?;
            let grew = |t: &Trial<'_>, pointer: &str| -> Step<Option<u64>> {
                match (t.stat(&before, pointer), t.stat(&after, pointer)) {
                    (Ok(then), Ok(now)) => Ok(Some(now.saturating_sub(then))),
                    (_, Err(super::outcome::Miss::Failed(came))) => Err(failed(came)),
                    _ => Ok(None),
                }
            };
            for (pointer, wanted) in [
                ("/publications", count),
                ("/deliveries", heard),
                ("/dropped", 0),
                ("/disconnected", 0),
                ("/channels_total", 1),
            ] {
                if let Some(grew) = grew(t, pointer)? {
                    same(format!("{} grew by", &pointer[1..]), &grew, &wanted)?;
                }
            }
            for transport in transports {
                if let Some(grew) = grew(t, &format!("/transports/{transport}"))? {
                    same(format!("transports.{transport} grew by"), &grew, &2)?;
                }
            }
            let facts = json!({"published": count, "last": 39 + count, "subscribers": ears.len()});
            for (key, wanted) in facts.as_object().into_iter().flatten() {
                let said = &after["channels"][&channel][key];
                holds(said.is_null() && key != "last" || said == wanted, || {
                    format!("channels.{channel}.{key}: {said} where {wanted} is wanted")
                })?;
            }
            let open = number(&after, "/connections")?;
            holds(open > ears.len() as u64, || format!("connections: {open} while {} listen", ears.len()))?;
            drop(ears);
            if after["sees_departures"] == false {
                return Ok(());
            }
            let left =
                move |stats: &Value| stats["channels"][&channel]["subscribers"].as_u64().unwrap_or(0) == 0;
            t.until_stats("that the subscribers left", left).map(drop)
        },
    },
    Case {
        id: "2.3/3",
        with: With::Nobody,
        wants: "at most 4,096 channels are listed, and channels_total says how many there are",
        run: |t| {
            let before = t.stats()?;
            let before = t.stat(&before, "/channels_total")?;
            t.needs("6.1")?;
            let names: Vec<String> = (0..LISTED_MAX + 4).map(|_| t.chance.channel()).collect();
            let mut wire = t.connect()?;
            for names in names.chunks(100) {
                wire.ask("GET", &format!("/poll?channel={}", names.join(",")), &[], b"")?.is(200)?;
            }
            let stats = t.stats()?;
            let listed = stats["channels"].as_object().map_or(0, serde_json::Map::len);
            same("channels listed", &listed, &LISTED_MAX)?;
            same("channels_total", &t.stat(&stats, "/channels_total")?, &(before + names.len() as u64))
        },
    },
    Case {
        id: "2.4/1",
        with: With::Nobody,
        wants: "POST /log switches logging and returns the document; any other document is refused with 400",
        run: |t| {
            for on in [true, false] {
                let document = json!({ "on": on });
                let answer = t.ask("POST", "/log", document.to_string().as_bytes())?.is(200)?;
                same("the answer", &answer.json()?, &document)?;
            }
            for body in
                ["", "on", "{}", "[]", "{\"on\":1}", "{\"on\":\"true\"}", "{\"off\":true}", "{\"on\":true"]
            {
                t.ask("POST", "/log", body.as_bytes())?.refuses(&[400])?;
            }
            Ok(())
        },
    },
    Case {
        id: "2.4/2",
        with: With::OwnServer,
        wants: "a server starts with its log off, and logs no request while the log is off",
        run: |t| {
            let server = t.fresh()?;
            let marks: Vec<String> = (0..6).map(|_| t.chance.channel()).collect();
            t.publish(&marks[0], b"x")?;
            t.get(&format!("/nowhere/{}", marks[1]))?;
            t.ask("POST", "/log", b"{\"on\":true}")?.is(200)?;
            t.ask("POST", "/log", b"{\"on\":false}")?.is(200)?;
            for mark in &marks[2..] {
                t.publish(mark, b"x")?;
                t.get(&format!("/nowhere/{mark}"))?;
            }
            let log = server.log();
            match marks.iter().find(|mark| log.contains(mark.as_str())) {
                Some(mark) => Err(failed(format!("a request with {mark} is in its log\n{log}"))),
                None => Ok(()),
            }
        },
    },
    Case {
        id: "2.5/1",
        with: With::OwnServer,
        wants: "POST /shutdown → 200; polls get the time-out document, streams the last chunk, WebSockets Close 1001; exit 0 within 2 s",
        run: |t| {
            let mut server = t.fresh()?;
            let mut told = Instant::now();
            ends_gracefully(t, |t| {
                let answer = t.ask("POST", "/shutdown", b"")?.is(200)?;
                told = Instant::now();
                answer.json().map(drop)
            })?;
            refuses_connections(t)?;
            let left = (END_WITHIN + SEEN_WITHIN).saturating_sub(told.elapsed());
            same("its end within 2 s", &server.ended(left).as_deref(), &Some("exit 0"))
        },
    },
    Case {
        id: "2.5/2",
        with: With::OwnServer,
        wants: "SIGTERM has the same effect as POST /shutdown",
        run: |t| {
            let mut server = t.fresh()?;
            let mut told = Instant::now();
            ends_gracefully(t, |_| {
                server.terminate();
                told = Instant::now();
                Ok(())
            })?;
            refuses_connections(t)?;
            let left = (END_WITHIN + SEEN_WITHIN).saturating_sub(told.elapsed());
            same("its end within 2 s", &server.ended(left).as_deref(), &Some("exit 0"))
        },
    },
    Case {
        id: "2.6/1",
        with: With::OwnServer,
        wants: "with --port 0 the system chooses the port; the first line on stdout has the address as a URL",
        run: |t| {
            let Some(launch) = &t.subject.launch else {
                return Err(super::outcome::Miss::NotOffered("it runs already".into()));
            };
            let first = launch.first_line().map_err(|error| failed(format!("{error:#}")))?;
            let url = first.line.split_whitespace().find_map(|word| word.strip_prefix("http://"));
            let url = url.map(|url| url.trim_end_matches(['/', '.', ',']));
            let address = url.and_then(|url| url.replace("localhost", "127.0.0.1").parse().ok());
            let address: std::net::SocketAddr = address
                .ok_or_else(|| failed(format!("no http://HOST:PORT in its first line: {:?}", first.line)))?;
            holds(address.port() != 0, || format!("the port is 0: {:?}", first.line))?;
            t.moves_to(address);
            t.journal.note(format!("--port 0, and to {address}"));
            t.get("/health")?.is(200)?;
            drop(first.running);
            Ok(())
        },
    },
];
