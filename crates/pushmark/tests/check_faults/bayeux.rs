//! Faults of CONTRACT 6.7.

use serde_json::{Value, json};

use crate::Row;
use crate::fault::{Fault, Reply};
use crate::frames::Way;

/// Changes the messages of each answer.
fn answers(change: impl Fn(&mut Vec<Value>) + Send + Sync + 'static) -> Fault {
    Fault::reply(move |request, reply| {
        if request.path() == "/cometd" {
            reply.change(|document| {
                if let Some(messages) = document.as_array_mut() {
                    change(messages);
                }
            });
        }
    })
}

fn replies(on: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    answers(move |messages| messages.iter_mut().filter(|message| message["channel"] == on).for_each(&change))
}

/// Changes the messages of each request.
fn asked(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    Fault::request(move |request| {
        let mut document = request.json();
        if let Some(messages) = document.as_array_mut().filter(|_| request.target == "/cometd") {
            messages.iter_mut().for_each(&change);
            request.set_json(&document);
        }
        None
    })
}

/// Answers a message in the server's place; the server never receives it.
fn forged(on: &'static str) -> Fault {
    Fault::request(move |request| {
        let document = request.json();
        let first = document.get(0).filter(|message| message["channel"] == on)?;
        let reply = json!([{"channel": on, "id": first["id"], "successful": true}]);
        Some(Reply::json(200, &reply))
    })
}

fn is_data(message: &Value) -> bool {
    message.get("data").is_some()
}

pub const FAULTS: &[Row] = &[
    ("6.7/1", "version", || replies("/meta/handshake", |reply| reply["version"] = json!("0.9"))),
    ("6.7/1", "no reply on /meta/handshake", || {
        replies("/meta/handshake", |reply| reply["id"] = Value::Null)
    }),
    ("6.7/2", "held", || asked(|message| message["advice"] = json!({"timeout": 0}))),
    ("6.7/3", "data", || {
        answers(|messages| {
            messages
                .iter_mut()
                .filter(|message| is_data(message))
                .for_each(|message| message["data"] = json!("x"));
        })
    }),
    ("6.7/4", "are wanted", || {
        answers(|messages| {
            if let Some(at) = messages.iter().position(is_data) {
                messages.remove(at);
            }
        })
    }),
    ("6.7/5", "0 messages where 1", || {
        asked(|message| {
            let one = message["subscription"].as_str().map(|name| name.replace("/**", "/*"));
            if let Some(name) = one {
                message["subscription"] = json!(name);
            }
        })
    }),
    ("6.7/6", "what came of", || forged("/meta/unsubscribe")),
    ("6.7/7", "not successful", || {
        answers(|messages| {
            let published = messages.iter_mut().filter(|message| {
                message["channel"].as_str().is_some_and(|name| !name.starts_with("/meta/"))
                    && !is_data(message)
            });
            published.for_each(|reply| reply["successful"] = json!(false));
        })
    }),
    ("6.7/8", "the head of an answer", || forged("/meta/disconnect")),
    ("6.7/9", "402 is wanted", || {
        answers(|messages| {
            messages.iter_mut().filter(|message| message["successful"] == false).for_each(|reply| {
                reply["error"] = json!("500::something");
            });
        })
    }),
    ("6.7/10", "where 400 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/cometd" && reply.status == 400 {
                *reply = Reply::json(200, &json!([]));
            }
        })
    }),
    ("6.7/11", "no array of messages", || {
        Fault::frame(|way, mut frame| {
            if way == Way::Down && frame.opcode() == 1 {
                frame.payload = frame.payload[1..frame.payload.len() - 1].to_vec();
            }
            vec![frame]
        })
    }),
    ("6.7/12", "the connection ended before the head", || {
        // The connect that was held for long is the one that the second connect ends.
        Fault::reply(|request, reply| {
            reply.dropped = String::from_utf8_lossy(&request.body).contains("\"timeout\":20000");
        })
    }),
    ("6.7/13", "2 messages where 1", || {
        answers(|messages| {
            if let Some(at) = messages.iter().position(is_data) {
                let mut garbled = messages[at].clone();
                garbled["data"] = json!("\u{fffd}");
                messages.insert(at, garbled);
            }
        })
    }),
    ("6.7/14", "no reply on", || answers(|messages| messages.truncate(1))),
];
