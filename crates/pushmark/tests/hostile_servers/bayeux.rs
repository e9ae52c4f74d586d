//! Bayeux replies that are invalid, false, or endless.

use std::time::Duration;

use pushmark_proto::websocket::{Decoder, Role};
use serde_json::{Value, json};

use crate::kind::{Kind, kind};
use crate::websocket;
use crate::wire::Wire;

const BAYEUX: &[&str] = &["bayeux", "bayeux-websocket"];
const HTTP: &[&str] = &["bayeux"];
const HEARD: &[i32] = &[3, 6, 99];

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        body("a reply of 100,000 brackets", |_| "[".repeat(100_000)),
        body("a reply of 100,000 objects in one another", |_| "[{\"data\":".repeat(100_000)),
        body("an advice of 100,000 brackets", |_| format!("[{{\"advice\":{}", "[".repeat(100_000))),
        body("data of 100,000 brackets", |batch| match batch[0]["channel"].as_str() {
            Some("/meta/connect") => {
                format!("[{{\"channel\":\"/a\",\"data\":{}{}}}]", "[".repeat(100_000), "]".repeat(100_000))
            }
            _ => replies(batch, |_, _| {}),
        }),
        body("a reply that is no JSON", |_| "\x1b[31mno\x07".to_owned()),
        body("an empty reply", |_| String::new()),
        body("no messages", |_| "[]".to_owned()),
        body("100,000 messages that say nothing", |_| format!("[{}]", vec!["{}"; 100_000].join(","))),
        body("100,000 replies to one message", |batch| {
            format!("[{}]", vec![reply(&batch[0]).to_string(); 100_000].join(","))
        }),
        body("a number of 100,000 digits", |_| format!("[{{\"id\":{}}}]", "9".repeat(100_000))),
        body("a key of 1 MiB", |_| format!("[{{\"{}\":1}}]", "k".repeat(1 << 20))),
        body("a client id of 1 MiB", |batch| {
            replies(batch, |_, reply| reply["clientId"] = json!("c".repeat(1 << 20)))
        }),
        body("a client id with a line end and quotes in it", |batch| {
            replies(batch, |_, reply| reply["clientId"] = json!("c\r\nX: y\r\n\r\n\"}]\u{0}\u{1b}[2J"))
        }),
        body("an empty client id", |batch| replies(batch, |_, reply| reply["clientId"] = json!(""))),
        body("ids of others", |batch| replies(batch, |_, reply| reply["id"] = json!(4_294_967_295_u32))),
        body("ids that are none", |batch| replies(batch, |_, reply| reply["id"] = json!({ "a": [1] }))),
        body("a success that is a text", |batch| {
            replies(batch, |_, reply| reply["successful"] = json!("true"))
        }),
        body("a success that is a list", |batch| {
            replies(batch, |_, reply| reply["successful"] = json!([true]))
        }),
        body("a refusal with commands for a terminal", |batch| {
            replies(batch, |_, reply| {
                reply["successful"] = json!(false);
                reply["error"] = json!("403:\u{1b}[2J:no\u{7}");
            })
        }),
        body("a session that is forgotten with each connect", |batch| {
            replies(batch, |channel, reply| {
                if channel == "/meta/connect" {
                    reply["successful"] = json!(false);
                    reply["error"] = json!("402::who?");
                    reply["advice"] = json!({ "reconnect": "handshake", "interval": 0 });
                }
            })
        }),
        body("an advice never to come back", |batch| {
            replies(batch, |_, reply| reply["advice"] = json!({ "reconnect": "none" }))
        }),
        body("an interval of 2^63", |batch| advised(batch, json!({ "interval": i64::MAX }))),
        body("an interval of 2^64", |batch| {
            advised(batch, json!({}))
                .replace("\"advice\":{}", "\"advice\":{\"interval\":18446744073709551616}")
        }),
        body("an interval below 0", |batch| advised(batch, json!({ "interval": i64::MIN }))),
        body("an interval that is a text", |batch| advised(batch, json!({ "interval": "\u{1b}[2J" }))),
        body("an interval of 0, and connects that are not held", |batch| {
            advised(batch, json!({ "reconnect": "retry", "interval": 0, "timeout": 0 }))
        }),
        body("a time-out of 2^64", |batch| advised(batch, json!({ "timeout": u64::MAX }))),
        body("an advice that is a list", |batch| advised(batch, json!([{ "reconnect": 5 }]))),
        body("channels nobody knows", |batch| {
            replies(batch, |_, reply| reply["channel"] = json!("/meta/\u{1b}[2J/**"))
        }),
        body("channels that are numbers", |batch| replies(batch, |_, reply| reply["channel"] = json!(17))),
        body("subscriptions to what nobody asked for", |batch| {
            replies(batch, |_, reply| reply["subscription"] = json!(["/a,b=99999999999999999999", "/**"]))
        }),
        body("publications nobody made, with each connect", |batch| {
            let mut all = vec![json!({ "channel": "/0", "data": "junk" }); 1000];
            all.extend(batch.iter().map(reply));
            json!(all).to_string()
        }),
        body("acknowledgements of 2^63", |batch| {
            replies(batch, |_, reply| {
                reply["ext"] =
                    json!({ "ack": i64::MIN, "timesync": { "tc": -1, "ts": u64::MAX, "p": "x", "a": [] } })
            })
        }),
        body("acknowledgements that are granted unasked", |batch| {
            replies(batch, |_, reply| reply["ext"] = json!({ "ack": true }))
        }),
        body("a connection type that nobody has", |batch| {
            replies(batch, |_, reply| reply["supportedConnectionTypes"] = json!(["flash", 7, null]))
        }),
        kind("a reply that does not end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n[{\"channel\":\"/meta/handshake\",\"x\":\"")?;
            wire.flood("x")
        })
        .ends(HEARD),
        kind("white space without end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n")?;
            wire.flood(" \r\n\t")
        })
        .ends(HEARD),
        kind("messages without end in one reply", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n[{}")?;
            wire.flood(",{\"channel\":\"/0\",\"data\":\"junk\"}")
        })
        .ends(HEARD),
        kind("a reply, a byte at a time", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n[")?;
            wire.drip("{\"channel\":\"/0\"},", Duration::from_millis(5))
        })
        .ends(HEARD),
        kind("Bayeux messages without end, unasked", &["bayeux-websocket"], |wire| {
            wire.upgrade()?;
            wire.flood(websocket::text(b"[{\"channel\":\"/meta/connect\",\"successful\":true}]"))
        })
        .ends(HEARD),
    ]
}

/// Answers each request with such a body, over either transport.
fn body(name: &'static str, body: impl Fn(&[Value]) -> String + Send + Sync + 'static) -> Kind {
    kind(name, BAYEUX, move |wire| converse(wire, &body)).ends(HEARD)
}

/// Returns the correct reply of a server.
fn reply(message: &Value) -> Value {
    let mut reply = json!({
        "channel": message["channel"], "id": message["id"], "clientId": "c1", "successful": true,
        "advice": { "reconnect": "retry", "interval": 20, "timeout": 300 },
    });
    match message["channel"].as_str() {
        Some("/meta/handshake") => {
            reply["version"] = json!("1.0");
            reply["supportedConnectionTypes"] = json!(["long-polling", "websocket"]);
        }
        Some("/meta/subscribe") => reply["subscription"] = message["subscription"].clone(),
        _ => {}
    }
    reply
}

/// Returns the correct replies, each with a change; `change` gets the channel.
fn replies(batch: &[Value], change: impl Fn(&str, &mut Value)) -> String {
    let each = batch.iter().map(|message| {
        let mut reply = reply(message);
        change(message["channel"].as_str().unwrap_or(""), &mut reply);
        reply
    });
    Value::Array(each.collect()).to_string()
}

fn advised(batch: &[Value], advice: Value) -> String {
    replies(batch, |_, reply| reply["advice"] = advice.clone())
}

fn converse(wire: &mut Wire, body: &dyn Fn(&[Value]) -> String) -> Option<()> {
    let asked = wire.request()?;
    let upgrades = asked.begins("GET");
    wire.put_back(&asked);
    let batch = |bytes: &[u8]| -> Vec<Value> {
        match serde_json::from_slice(bytes).expect("what we send is JSON") {
            Value::Array(batch) => batch,
            one => vec![one],
        }
    };
    if upgrades {
        wire.upgrade()?;
        let mut frames = Decoder::new(Role::Server, 1 << 20);
        loop {
            let said = wire.text(&mut frames)?;
            wire.send(websocket::text(body(&batch(&said)).as_bytes()))?;
        }
    }
    loop {
        let asked = wire.request()?;
        let body = body(&batch(&asked.body));
        wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))?;
    }
}
