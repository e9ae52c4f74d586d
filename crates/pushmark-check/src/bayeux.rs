//! CONTRACT 6.7: Bayeux, checked with Bayeux messages.

use std::time::{Duration, Instant};

use pushmark_proto::websocket::Opcode;
use serde_json::{Value, json};

use super::outcome::{Outcome, holds, same};
use super::patience::PATIENCE;
use super::session::{
    AT_ONCE, Session, channel, data, exchange, handshake, messages, post, reply, successful, texts, unknown,
};
use super::subscriber::Subscriber;
use super::trial::{Trial, sequences, stamped};
use super::websocket::Socket;
use super::{Case, With};

/// Ends with "not offered" without the `bayeux` transport: the clause covers two transports.
fn long_polling(t: &Trial<'_>) -> Outcome {
    match t.subject.speaks("bayeux") {
        true => Ok(()),
        false => Err(super::outcome::Miss::NotOffered("it has no bayeux".into())),
    }
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "6.7/1",
        with: With::Others,
        wants: "the handshake reply has version, connection types, clientId, advice and the request's id",
        run: |t| {
            long_polling(t)?;
            let mut ids = Vec::new();
            // A single message is equivalent to an array of one.
            for document in [json!([handshake()]), handshake()] {
                let mut wire = t.connect()?;
                post(&mut wire, None, &document)?;
                let all = messages(&wire.answer()?.is(200)?)?;
                let reply = reply(&all, "/meta/handshake", "h")?;
                successful(reply)?;
                same("version", &reply["version"], &json!("1.0"))?;
                let types = reply["supportedConnectionTypes"].as_array().cloned().unwrap_or_default();
                holds(types.contains(&json!("long-polling")), || format!("connection types: {types:?}"))?;
                let socket = t.subject.speaks("bayeux-websocket");
                same("whether websocket is offered", &types.contains(&json!("websocket")), &socket)?;
                let advice = &reply["advice"];
                same("advice.reconnect", &advice["reconnect"], &json!("retry"))?;
                for key in ["interval", "timeout"] {
                    holds(advice[key].is_u64(), || format!("advice.{key}: {}", advice[key]))?;
                }
                ids.push(reply["clientId"].as_str().unwrap_or_default().to_owned());
            }
            holds(!ids[0].is_empty() && ids[0] != ids[1], || format!("clientIds: {ids:?}"))
        },
    },
    Case {
        id: "6.7/2",
        with: With::Others,
        wants: "the first connect is answered at once; a later one is held for the client's timeout",
        run: |t| {
            long_polling(t)?;
            let mut session = Session::open(t)?;
            let hold = t.chance.between(80, 300);
            let started = Instant::now();
            session.connect(&json!({"advice": {"timeout": hold}}))?;
            session.connected()?;
            let took = started.elapsed();
            holds(took + Duration::from_millis(1) >= Duration::from_millis(hold), || {
                format!("held {took:?}")
            })?;
            holds(took < Duration::from_millis(hold) + AT_ONCE, || format!("held {took:?} for {hold} ms"))?;
            let started = Instant::now();
            session.connect(&json!({"advice": {"timeout": 0}}))?;
            session.connected()?;
            holds(started.elapsed() < AT_ONCE, || format!("a timeout of 0 took {:?}", started.elapsed()))?;
            session.connect(&json!({}))?;
            session.connects.is_quiet(Duration::from_millis(120))
        },
    },
    Case {
        id: "6.7/3",
        with: With::Others,
        wants: "a publication answers the held connect: channel `/c`, the message as `data`",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let mut session = Session::open(t)?;
            let name = format!("/{channel}");
            let reply = session.subscribe(json!(name))?;
            same("subscription", &reply["subscription"], &json!(name))?;
            for _ in 0..3 {
                session.connect(&json!({"advice": {"timeout": 10_000}}))?;
                session.connects.is_quiet(Duration::from_millis(60))?;
                let text = String::from_utf8(t.chance.text_message()).unwrap_or_default();
                t.publish(&channel, text.as_bytes())?;
                same("data", &data(&session.connected()?, &name), &vec![text.as_str()])?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.7/4",
        with: With::Others,
        wants: "messages accepted after the subscribe reply arrive in order, also between connects",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let mut session = Session::open(t)?;
            let name = format!("/{channel}");
            session.subscribe(json!(name))?;
            let nonce = t.chance.nonce();
            let mut published = 0;
            for _ in 0..6 {
                let burst = t.chance.between(1, 12);
                for _ in 0..burst {
                    t.publish(&channel, &stamped(nonce, 0, published, 64))?;
                    published += 1;
                }
                let heard = session.hear(&name, burst as usize)?;
                let heard: Vec<u64> = heard.iter().flat_map(|text| sequences(text.as_bytes())).collect();
                same("sequences", &heard, &(published - burst..published).collect())?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.7/5",
        with: With::Others,
        wants: "`subscription` may be an array with one reply; /a/* matches one more segment, /a/** all",
        run: |t| {
            long_polling(t)?;
            let base = channel(t);
            let mut session = Session::open(t)?;
            let (one, other) = (format!("/{base}-1"), format!("/{base}-2"));
            let (_, all) = session.ask("/meta/subscribe", &json!({"subscription": [one, other]}))?;
            let replies = all.iter().filter(|message| message["channel"] == "/meta/subscribe").count();
            same("replies to one subscribe", &replies, &1)?;
            t.publish(&other[1..], b"to the second")?;
            same("data", &session.hear(&other, 1)?, &vec!["to the second".to_owned()])?;
            session.subscribe(json!(format!("/{base}/*")))?;
            t.publish(&format!("{base}/x/y"), b"two segments")?;
            t.publish(&format!("{base}/x"), b"one segment")?;
            session.connect(&json!({"advice": {"timeout": 1_000}}))?;
            let all = session.connected()?;
            same("one further segment", &data(&all, &format!("/{base}/x")), &vec!["one segment"])?;
            same("two, by /*", &data(&all, &format!("/{base}/x/y")), &Vec::new())?;
            session.subscribe(json!(format!("/{base}/**")))?;
            t.publish(&format!("{base}/x/y"), b"two segments")?;
            same("two, by /**", &session.hear(&format!("/{base}/x/y"), 1)?, &vec!["two segments".to_owned()])
        },
    },
    Case {
        id: "6.7/6",
        with: With::Others,
        wants: "after the unsubscribe reply no message of the channel reaches the client",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let name = format!("/{channel}");
            let mut session = Session::open(t)?;
            session.subscribe(json!(name))?;
            t.publish(&channel, b"before")?;
            session.hear(&name, 1)?;
            let (reply, _) = session.ask("/meta/unsubscribe", &json!({"subscription": name}))?;
            successful(&reply)?;
            t.publish(&channel, b"after")?;
            session.hears_nothing(&name)
        },
    },
    Case {
        id: "6.7/7",
        with: With::Others,
        wants: "a publish on /c is answered and reaches channel c on all transports; /service/... on none",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let name = format!("/{channel}");
            let names = std::slice::from_ref(&channel);
            let mut subscribers = Vec::new();
            for transport in super::subscriber::PUSHED {
                if t.subject.speaks(transport) {
                    subscribers.push((transport, Subscriber::open(t, transport, names)?.0));
                }
            }
            let mut hearing = Session::open(t)?;
            hearing.subscribe(json!(name))?;
            let mut peer = Session::open(t)?;
            let text = String::from_utf8(t.chance.text_message()).unwrap_or_default();
            let (reply, _) = peer.ask(&name, &json!({"data": text}))?;
            successful(&reply)?;
            same("data", &hearing.hear(&name, 1)?, &vec![text.clone()])?;
            for (transport, subscriber) in &mut subscribers {
                subscriber.hears(&format!("what came by {transport}"), text.as_bytes())?;
            }
            hearing.subscribe(json!(format!("/service/{channel}")))?;
            let service = format!("/service/{channel}");
            let (reply, _) = peer.ask(&service, &json!({"data": "x"}))?;
            successful(&reply)?;
            hearing.hears_nothing(&service)
        },
    },
    Case {
        id: "6.7/8",
        with: With::Others,
        wants: "a disconnect answers the held connect and removes the client",
        run: |t| {
            long_polling(t)?;
            let mut session = Session::open(t)?;
            session.connect(&json!({"advice": {"timeout": 20_000}}))?;
            session.connects.is_quiet(Duration::from_millis(60))?;
            let (reply, _) = session.ask("/meta/disconnect", &json!({}))?;
            successful(&reply)?;
            session.connects.answer()?.is(200)?;
            let (reply, _) = session.ask("/meta/subscribe", &json!({"subscription": "/gone"}))?;
            unknown(&reply)
        },
    },
    Case {
        id: "6.7/9",
        with: With::Others,
        wants: "a message from an unknown client is answered with 402 and the advice to handshake",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let mut session = Session::open(t)?;
            session.id = format!("{}0", session.id);
            for (on, more) in [
                ("/meta/connect", json!({"connectionType": "long-polling"})),
                ("/meta/subscribe", json!({"subscription": format!("/{channel}")})),
                ("/meta/unsubscribe", json!({"subscription": format!("/{channel}")})),
            ] {
                unknown(&session.ask(on, &more)?.0)?;
            }
            let name = format!("/{channel}");
            let (reply, _) = session.ask(&name, &json!({"data": "forged"}))?;
            unknown(&reply)?;
            let told = t.publish(&channel, b"x")?;
            holds(told["subscribers"].is_null() || told["subscribers"] == 0, || {
                format!("it subscribed: {told}")
            })
        },
    },
    Case {
        id: "6.7/10",
        with: With::Others,
        wants: "a body that is not JSON or Bayeux gets 400, as status or error, and has no effect",
        run: |t| {
            long_polling(t)?;
            let headers = ["Content-Type: application/json"];
            for body in
                ["", "x", "7", "[1]", "[{\"data\":1}]", "[{\"channel\":7}]", "[{\"channel\":\"/a\"", "{"]
            {
                let mut wire = t.connect()?;
                let answer = wire.ask("POST", "/cometd", &headers, body.as_bytes())?;
                if answer.status != 200 {
                    answer.is(400)?;
                    continue;
                }
                let replies = messages(&answer)?;
                holds(!replies.is_empty(), || "an empty answer where 400 is wanted".into())?;
                for reply in replies {
                    same("successful", &reply["successful"], &json!(false))?;
                    let error = reply["error"].as_str().unwrap_or_default();
                    holds(error.starts_with("400"), || format!("error: {error:?} where 400 is wanted"))?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "6.7/11",
        with: With::Others,
        wants: "a GET with an upgrade request opens a WebSocket; its texts are arrays of messages",
        run: |t| {
            if !t.subject.speaks("bayeux-websocket") {
                return Err(super::outcome::Miss::NotOffered("it has no bayeux-websocket".into()));
            }
            let channel = channel(t);
            let name = format!("/{channel}");
            let wire = t.connect()?;
            let (mut socket, _) = Socket::open(wire, "/cometd", &[])?;
            let all = exchange(&mut socket, &json!([handshake()]), "/meta/handshake")?;
            let shaken = reply(&all, "/meta/handshake", "h")?;
            successful(shaken)?;
            let id = shaken["clientId"].clone();
            let connect = |id: &Value, n: &str, hold: u64| {
                json!([{"channel": "/meta/connect", "id": n, "clientId": id,
                        "connectionType": "websocket", "advice": {"timeout": hold}}])
            };
            exchange(&mut socket, &connect(&id, "1", 0), "/meta/connect")?;
            let subscribe =
                json!([{"channel": "/meta/subscribe", "id": "s", "clientId": id, "subscription": name}]);
            let all = exchange(&mut socket, &subscribe, "/meta/subscribe")?;
            successful(reply(&all, "/meta/subscribe", "s")?)?;
            socket.send(Opcode::Text, connect(&id, "2", 4_000).to_string().as_bytes())?;
            let text = String::from_utf8(t.chance.text_message()).unwrap_or_default();
            t.publish(&channel, text.as_bytes())?;
            let mut heard: Vec<String> = Vec::new();
            while heard.is_empty() {
                heard.extend(data(&texts(&mut socket)?, &name).into_iter().map(str::to_owned));
            }
            same("data", &heard, &vec![text])
        },
    },
    Case {
        id: "6.7/12",
        with: With::Others,
        wants: "a second connect of the same client ends the first",
        run: |t| {
            long_polling(t)?;
            let mut session = Session::open(t)?;
            session.connect(&json!({"advice": {"timeout": 20_000}}))?;
            session.connects.is_quiet(Duration::from_millis(60))?;
            let again = t.connect()?;
            let mut first = std::mem::replace(&mut session.connects, again);
            session.connect(&json!({"advice": {"timeout": 20_000}}))?;
            // On two connections either request may reach the server first: the later one ends the other.
            let started = Instant::now();
            let look = Duration::from_millis(5);
            let (mut ended, mut held) = loop {
                holds(started.elapsed() < PATIENCE, || "both connects are held".into())?;
                if first.is_quiet(look).is_err() {
                    break (first, session.connects);
                }
                if session.connects.is_quiet(look).is_err() {
                    break (session.connects, first);
                }
            };
            ended.head().map(drop)?;
            held.is_quiet(Duration::from_millis(60))
        },
    },
    Case {
        id: "6.7/13",
        with: With::Others,
        wants: "a message that is not UTF-8 does not reach Bayeux subscribers; those after it do",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let name = format!("/{channel}");
            let mut session = Session::open(t)?;
            session.subscribe(json!(name))?;
            let bytes = t.chance.bytes(200);
            t.publish(&channel, &bytes)?;
            t.publish(&channel, b"text")?;
            same("data", &session.hear(&name, 1)?, &vec!["text".to_owned()])
        },
    },
    Case {
        id: "6.7/14",
        with: With::Others,
        wants: "several messages in one request get one response, with the id of each message",
        run: |t| {
            long_polling(t)?;
            let channel = channel(t);
            let name = format!("/{channel}");
            let mut session = Session::open(t)?;
            let (subscribe, first) = session.message("/meta/subscribe", &json!({"subscription": name}));
            let (publish, second) = session.message(&name, &json!({"data": "own"}));
            post(&mut session.commands, session.cookie.as_deref(), &json!([subscribe, publish]))?;
            let all = messages(&session.commands.answer()?.is(200)?)?;
            successful(reply(&all, "/meta/subscribe", &first)?)?;
            successful(reply(&all, &name, &second)?)?;
            if data(&all, &name).is_empty() {
                session.hear(&name, 1)?;
            }
            Ok(())
        },
    },
];
