//! Faults of CONTRACT 1 and 4.

use std::sync::Mutex;

use serde_json::json;

use crate::Row;
use crate::fault::{Fault, Reply};

pub const TERMS: &[Row] = &[
    ("1.1/1", "where 200 is wanted", || {
        Fault::request(|request| {
            let odd = request.is("POST", "/publish") && request.argument("channel").contains('%');
            odd.then(|| Reply::json(400, &json!({"error": "an odd name"})))
        })
    }),
    ("1.2/1", "they part at byte", || {
        Fault::request(|request| {
            if request.path() == "/publish" {
                request.body.push(b'!');
            }
            None
        })
    }),
    ("1.2/2", "bytes where 1048576 are wanted", || {
        Fault::request(|request| {
            request.body.truncate(1_000_000);
            None
        })
    }),
];

pub const FAULTS: &[Row] = &[
    ("4.1/1", "what came by", || Fault::chunk(|_, chunk| vec![chunk.clone(), chunk])),
    ("4.1/2", "411", || {
        Fault::request(|request| {
            let chunked = request.header("transfer-encoding").is_some();
            chunked.then(|| Reply::json(411, &json!({"error": "a length is needed"})))
        })
    }),
    ("4.1/3", "where 400 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/publish" && reply.status == 400 {
                *reply = Reply::json(200, &json!({"channel": "a", "subscribers": 0, "queued": 1}));
            }
        })
    }),
    ("4.2/1", "subscribers", || {
        Fault::reply(|request, reply| {
            if request.path() == "/publish" {
                reply.change(|document| document["subscribers"] = json!(0));
            }
        })
    }),
    ("4.2/1", "queued", || {
        Fault::reply(|request, reply| {
            if request.path() == "/publish" {
                reply.change(|document| document["queued"] = json!(0));
            }
        })
    }),
    ("4.2/2", "where 200 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/publish" && reply.document()["subscribers"] == 0 {
                *reply = Reply::json(404, &json!({"error": "nobody listens"}));
            }
        })
    }),
    ("4.3/1", "what came by", || {
        let held = Mutex::new((0, Vec::new()));
        Fault::chunk(move |request, chunk| {
            let mut held = held.lock().expect("a chunk");
            if request.path() != "/stream" {
                return vec![chunk];
            }
            held.0 += 1;
            match held.0 {
                5 => {
                    held.1 = chunk;
                    Vec::new()
                }
                6 => vec![chunk, std::mem::take(&mut held.1)],
                _ => vec![chunk],
            }
        })
    }),
    ("4.4/1", "where 413 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/publish" && reply.status == 413 {
                *reply = Reply::json(200, &json!({"channel": "a", "subscribers": 0, "queued": 1}));
            }
        })
    }),
];
