//! CONTRACT 4: publishing from outside.

use serde_json::json;

use super::outcome::{failed, holds, same, same_bytes};
use super::subscriber::Subscriber;
use super::terms::{MESSAGE_MAX, latest, offered};
use super::trial::{counts_up, sequences, stamped};
use super::{Case, With};

pub(super) const CASES: &[Case] = &[
    Case {
        id: "4.1/1",
        with: With::Others,
        wants: "a message reaches all subscribers of its channel once, and no other subscribers",
        run: |t| {
            let transports = offered(t);
            let channels = t.chance.channels(2);
            let mut ears = Vec::new();
            for transport in transports.iter().chain(&transports) {
                ears.push((*transport, 0, Subscriber::open(t, transport, &channels[..1])?.0));
                ears.push((*transport, 1, Subscriber::open(t, transport, &channels[1..])?.0));
            }
            for _ in 0..3 {
                let messages = [t.chance.line(), t.chance.line()];
                t.publish(&channels[0], &messages[0])?;
                t.publish(&channels[1], &messages[1])?;
                for (transport, at, subscriber) in &mut ears {
                    subscriber.hears(&format!("what came by {transport}"), &messages[*at])?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "4.1/2",
        with: With::Others,
        wants: "the body may be chunked",
        run: |t| {
            let channel = t.chance.channel();
            let message = t.chance.text_message();
            let mut body = Vec::new();
            for part in message.chunks(t.chance.between(1, 100) as usize) {
                body.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                body.extend_from_slice(part);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            let mut wire = t.connect()?;
            let head = format!(
                "POST /publish?channel={channel} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            );
            wire.send_raw("chunked", &[head.as_bytes(), &body].concat())?;
            wire.answer()?.is(200)?;
            same_bytes("what was published", &latest(t, &channel)?, &message)
        },
    },
    Case {
        id: "4.1/3",
        with: With::Others,
        wants: "no channel, two channels or an invalid name is refused with 400 and registers nothing",
        run: |t| {
            let good = t.chance.channel();
            for query in
                ["", "?channel=", "?channel=a,b", "?channel=a%20b", "?channel=a%5Cb", "?channel=%C3%A9"]
            {
                t.ask("POST", &format!("/publish{query}"), b"x")?.refuses(&[400])?;
            }
            t.ask("POST", &format!("/publish?channel={good},{}", "n".repeat(129)), b"x")?.refuses(&[400])?;
            t.ask("POST", &format!("/publish?channel={}", "n".repeat(129)), b"x")?.refuses(&[400])?;
            if !t.has("2.3") {
                return Ok(());
            }
            let stats = t.stats()?;
            holds(stats["channels"].get(&good).is_none(), || format!("a refused publication made {good}"))
        },
    },
    Case {
        id: "4.2/1",
        with: With::Others,
        wants: "the answer has the channel, its number of subscriptions and of queued messages",
        run: |t| {
            let channel = t.chance.odd_channel();
            let mut ears = Vec::new();
            // The server may or may not count a long poll between two requests.
            let transports: Vec<&str> = offered(t).into_iter().filter(|name| *name != "long-poll").collect();
            for round in 0..3 {
                let told = t.publish(&channel, b"x")?;
                same("channel", &told["channel"], &json!(channel))?;
                same("subscribers", &told["subscribers"], &json!(round * transports.len()))?;
                holds(told["queued"].as_u64().is_some_and(|queued| queued >= 1), || {
                    format!("queued: {} where at least 1 is wanted", told["queued"])
                })?;
                for transport in &transports {
                    ears.push(Subscriber::open(t, transport, std::slice::from_ref(&channel))?.0);
                }
            }
            Ok(())
        },
    },
    Case {
        id: "4.2/2",
        with: With::Others,
        wants: "a publication without subscribers is accepted",
        run: |t| {
            let channel = t.chance.channel();
            let told = t.publish(&channel, b"x")?;
            same("subscribers", &told["subscribers"], &json!(0))?;
            same_bytes("the latest message", &latest(t, &channel)?, b"x")
                .map_err(|_| failed("it is not the latest message of its channel"))
        },
    },
    Case {
        id: "4.3/1",
        with: With::Others,
        wants: "messages from one connection reach each subscriber of a channel once and in order",
        run: |t| {
            const COUNT: usize = 200;
            let channel = t.chance.channel();
            let mut ears = Vec::new();
            for transport in offered(t) {
                ears.push((transport, Subscriber::open(t, transport, std::slice::from_ref(&channel))?.0));
            }
            let nonce = t.chance.nonce();
            let mut publisher = t.connect()?;
            for sequence in 0..COUNT as u64 {
                // Pipelined: the server has the next request before it has answered the last.
                let size = t.chance.between(48, 300) as usize;
                let message = stamped(nonce, 0, sequence, size);
                publisher.send("POST", &format!("/publish?channel={channel}"), &[], &message)?;
            }
            for _ in 0..COUNT {
                publisher.answer()?.is(200)?;
            }
            for (transport, subscriber) in &mut ears {
                let mut heard = Vec::new();
                while heard.len() < COUNT {
                    heard.extend(sequences(&subscriber.hear()?));
                }
                counts_up(&format!("what came by {transport}"), &heard, 0, COUNT)?;
            }
            Ok(())
        },
    },
    Case {
        id: "4.4/1",
        with: With::Others,
        wants: "a body that is not a valid message is refused with 413, and nothing is published",
        run: |t| {
            let channel = t.chance.channel();
            let target = format!("/publish?channel={channel}");
            t.publish(&channel, b"before")?;
            t.ask("POST", &target, b"")?.refuses(&[413])?;
            let long = vec![b'x'; MESSAGE_MAX + 1];
            match t.ask("POST", &target, &long) {
                Ok(answer) => answer.refuses(&[413])?,
                // The server may refuse by the head and leave the rest unread: its answer may then be lost.
                Err(_) => {
                    let mut wire = t.connect()?;
                    let head = format!(
                        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
                        long.len()
                    );
                    wire.send_raw("the head alone", head.as_bytes())?;
                    wire.answer()?.refuses(&[413])?;
                }
            }
            same_bytes("the latest message", &latest(t, &channel)?, b"before")?;
            if t.has("2.3") {
                let stats = t.stats()?;
                let published = &stats["channels"][&channel]["published"];
                holds(published.is_null() || *published == json!(1), || format!("published: {published}"))?;
            }
            Ok(())
        },
    },
];
