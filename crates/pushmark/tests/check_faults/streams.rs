//! Faults of CONTRACT 6.4 and 6.5.

use std::sync::Mutex;

use serde_json::json;

use crate::Row;
use crate::fault::{Fault, Manner, Reply};

fn media(path: &'static str) -> Fault {
    Fault::reply(move |request, reply| {
        if request.path() == path && reply.status == 200 {
            reply.set("Content-Type", "text/html");
        }
    })
}

fn accepts(path: &'static str) -> Fault {
    Fault::reply(move |request, reply| {
        if request.path() == path && reply.status == 400 {
            *reply = Reply::text(200, "");
        }
    })
}

pub const FAULTS: &[Row] = &[
    ("6.4/1", "content type", || media("/stream")),
    ("6.4/1", "the length of an answer without end", || {
        Fault::request(|request| (request.path() == "/stream").then(|| Reply::text(200, "")))
    }),
    ("6.4/2", "a chunk", || {
        Fault::chunk(|_, chunk| {
            let (first, rest) = chunk.split_at(chunk.len() / 2);
            vec![first.to_vec(), rest.to_vec()]
        })
    }),
    ("6.4/2", "a chunk of many", || {
        // Two chunks that arrive together are joined.
        let held = Mutex::new((0, Vec::new()));
        Fault::chunk(move |_, chunk| {
            let mut held = held.lock().expect("a chunk");
            held.0 += 1;
            match held.0 {
                7 => {
                    held.1 = chunk;
                    Vec::new()
                }
                8 => vec![[std::mem::take(&mut held.1), chunk].concat()],
                _ => vec![chunk],
            }
        })
    }),
    ("6.4/3", "where 400 is wanted", || accepts("/stream")),
    ("6.4/4", "did not come within", || Fault::chunk(|_, _| Vec::new())),
    ("6.4/4", "the connection ended", || Fault::manner(Manner::Impatient)),
    ("6.5/1", "content type", || media("/sse")),
    ("6.5/2", "the id", || {
        Fault::chunk(|_, chunk| {
            let lines = chunk.split_inclusive(|&byte| byte == b'\n');
            vec![lines.filter(|line| !line.starts_with(b"id: ")).collect::<Vec<_>>().concat()]
        })
    }),
    ("6.5/2", "the data of an event", || {
        Fault::chunk(|_, chunk| {
            let text = String::from_utf8_lossy(&chunk).replace("\ndata: ", "\ndata:");
            vec![text.into_bytes()]
        })
    }),
    ("6.5/3", "the data of an event that was missed", || {
        Fault::request(|request| {
            request.remove("last-event-id");
            None
        })
    }),
    ("6.5/4", "where 200 is wanted", || {
        Fault::request(|request| {
            let strange = request.header("last-event-id").is_some_and(|id| id.parse::<u64>().is_err());
            strange.then(|| Reply::json(400, &json!({"error": "no cursor"})))
        })
    }),
    ("6.5/5", "the first event", || {
        Fault::chunk(|_, chunk| vec![[b"id: 1\ndata: old\n\n", &chunk[..]].concat()])
    }),
    ("6.5/6", "where 400 is wanted", || accepts("/sse")),
];
