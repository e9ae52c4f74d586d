//! Faults of CONTRACT 7.

use serde_json::{Value, json};

use crate::Row;
use crate::fault::{Fault, Reply};

fn changed(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    Fault::reply(move |request, reply| {
        if request.path() == "/request" && reply.status == 200 {
            reply.change(|document| change(&mut document["response"]));
        }
    })
}

pub const FAULTS: &[Row] = &[
    ("7.1/1", "event.name", || changed(|response| response["event"]["name"] = json!("x"))),
    ("7.1/2", "no document on one line", || {
        Fault::chunk(|_, chunk| vec![String::from_utf8_lossy(&chunk).replace('{', "{\n").into_bytes()])
    }),
    ("7.1/3", "where 400 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/request" && reply.status == 400 {
                *reply = Reply::json(200, &json!({}));
            }
        })
    }),
    ("7.2/1", "request", || changed(|response| response["request"] = json!({}))),
    ("7.2/1", "event.timings", || changed(|response| response["event"]["timings"]["duration"] = json!(60))),
    ("7.2/2", "places", || {
        Fault::chunk(|_, chunk| {
            let mut document: Value = serde_json::from_slice(chunk.trim_ascii()).expect("one document");
            document["response"]["event"]["connections"]["place"] = json!(0);
            vec![format!("{document}\n").into_bytes()]
        })
    }),
    ("7.2/3", "timeout", || changed(|response| response["timeout"] = json!(false))),
];
