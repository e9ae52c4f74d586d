//! Faults of CONTRACT 5.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::Row;
use crate::fault::{Fault, Reply, Request};

fn changed(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    Fault::request(move |request| {
        let mut document = request.json();
        if is_set(request) && document.is_object() {
            change(&mut document);
            request.set_json(&document);
        }
        None
    })
}

fn is_set(request: &Request) -> bool {
    request.method == "PUT" && request.path().starts_with("/emitters/")
}

pub const FAULTS: &[Row] = &[
    ("5.1/1", "changed", || {
        Fault::request(|request| {
            if is_set(request) {
                request.target = "/emitters/one".to_owned();
            }
            None
        })
    }),
    ("5.2/1", "bytes of a message", || changed(|document| document["size"] = json!(601))),
    ("5.2/1", "index", || changed(|document| document["channel_indexes"] = json!([1_600, 1_601, 1_602]))),
    ("5.2/1", "where nothing is wanted", || changed(|document| document["count"] = Value::Null)),
    ("5.2/2", "publisher", || changed(|document| document["publisher"] = json!(1))),
    ("5.2/2", "start_us", || {
        Fault::reply(|request, reply| {
            if is_set(request) {
                reply.change(|told| {
                    told["start_us"] = json!(told["start_us"].as_u64().unwrap_or(0) + 1_000_000)
                });
            }
        })
    }),
    ("5.2/3", "changed, the second time", || {
        Fault::reply(|request, reply| {
            if is_set(request) {
                reply.change(|told| told["changed"] = json!(false));
            }
        })
    }),
    ("5.2/3", "what it was before goes on", || {
        Fault::request(|request| {
            let again = is_set(request) && request.json()["publisher"] == 1;
            again.then(|| Reply::json(200, &json!({"start_us": 1, "changed": true})))
        })
    }),
    ("5.2/4", "where 400 is wanted", || {
        Fault::reply(|request, reply| {
            if is_set(request) && reply.status == 400 {
                *reply = Reply::json(200, &json!({"start_us": 1, "changed": false}));
            }
        })
    }),
    ("5.2/4", "application/json is wanted", || {
        Fault::reply(|request, reply| {
            if is_set(request) && reply.status == 400 {
                *reply = Reply::text(400, "no");
            }
        })
    }),
    ("5.3/1", "due of sequence", || {
        changed(|document| document["interval_us"] = json!(document["interval_us"].as_u64().unwrap_or(0) + 1))
    }),
    ("5.3/1", "before it was due", || {
        // The last field of a stamp is the time of sending: long ago.
        Fault::frame(|_, mut frame| {
            if let Some(at) = frame.payload.len().checked_sub(10).filter(|_| frame.opcode() == 1) {
                frame.payload[at..].copy_from_slice(b"0000000001");
            }
            vec![frame]
        })
    }),
    ("5.3/2", "and by the first", || {
        Fault::chunk(|request, mut chunk| {
            if let Some(at) = chunk.len().checked_sub(2).filter(|_| request.path() == "/stream") {
                chunk[at] = if chunk[at] == b'z' { b'y' } else { b'z' };
            }
            vec![chunk]
        })
    }),
    ("5.4/1", "emits.skipped grew by", || {
        Fault::frame(|_, frame| {
            let third = b":0000003:";
            let lost = frame.payload.windows(third.len()).any(|bytes| bytes == third);
            if lost { Vec::new() } else { vec![frame] }
        })
    }),
    ("5.5/1", "after the answer", || {
        Fault::request(|request| {
            let all = request.is("DELETE", "/emitters");
            // The answer claims two, but nothing is done; the first DELETE of a case must find none.
            all.then(|| Reply::json(200, &json!({"cleared": 2})))
        })
    }),
    ("5.5/1", "where 404 is wanted", || {
        Fault::reply(|request, reply| {
            if request.method == "DELETE" && reply.status == 404 {
                *reply = Reply::json(200, &json!({"cleared": 0}));
            }
        })
    }),
];

/// Returns the fault of a late server, which skips the last tick of an emitter and counts the skip.
pub fn last_tick_skipped() -> Fault {
    let skipped = Arc::new(AtomicBool::new(false));
    let seen = skipped.clone();
    let lost = Fault::frame(move |_, frame| {
        let last = b":000003b:";
        let is_last = frame.payload.windows(last.len()).any(|bytes| bytes == last);
        seen.fetch_or(is_last, Ordering::Relaxed);
        if is_last { Vec::new() } else { vec![frame] }
    });
    let counted = Fault::reply(move |request, reply| {
        if request.path() == "/stats" && skipped.load(Ordering::Relaxed) {
            reply.change(|stats| {
                for (key, by) in [("skipped", 1), ("count", -1)] {
                    let count = stats["emits"][key].as_i64().expect("a count");
                    stats["emits"][key] = json!(count + by);
                }
            });
        }
    });
    Fault { frame: lost.frame, ..counted }
}
