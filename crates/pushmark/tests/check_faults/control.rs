//! Faults of CONTRACT 2.

use serde_json::json;

use crate::Row;
use crate::fault::{Fault, Manner, Reply};
use crate::frames::Frame;

pub const FAULTS: &[Row] = &[
    ("2.0/1", "application/json is wanted", || {
        Fault::reply(|_, reply| {
            if reply.status == 404 {
                *reply = Reply::text(404, "not here");
            }
        })
    }),
    ("2.0/1", "where 405 is wanted", || {
        Fault::reply(|_, reply| {
            if reply.status == 405 {
                reply.status = 404;
            }
        })
    }),
    ("2.1/1", "the body", || {
        Fault::reply(|request, reply| {
            if request.path() == "/health" {
                reply.body = b"OK".to_vec();
            }
        })
    }),
    ("2.2/1", "client", || {
        Fault::reply(|request, reply| {
            if request.path() == "/time" {
                reply.change(|document| document["client"] = json!(1));
            }
        })
    }),
    ("2.2/1", "monotonic_us", || {
        Fault::reply(|request, reply| {
            if request.path() == "/time" {
                reply.change(|document| document["monotonic_us"] = document["realtime_us"].clone());
            }
        })
    }),
    ("2.3/1", "nodelay", || {
        Fault::reply(|request, reply| {
            if request.path() == "/stats" {
                reply.change(|document| document["nodelay"] = json!(false));
            }
        })
    }),
    ("2.3/1", "connections is left out", || {
        Fault::reply(|request, reply| {
            if request.path() == "/stats" {
                reply.change(|document| document["connections"] = json!(null));
            }
        })
    }),
    ("2.3/2", "publications grew by", || {
        Fault::reply(|request, reply| {
            if request.path() == "/stats" {
                reply.change(|document| document["publications"] = json!(0));
            }
        })
    }),
    ("2.3/3", "channels listed", || {
        Fault::reply(|request, reply| {
            if request.path() == "/stats" {
                reply.change(|document| {
                    let channels = document["channels"].as_object_mut().expect("channels");
                    let more: Vec<String> = channels.keys().skip(100).cloned().collect();
                    more.iter().for_each(|name| drop(channels.remove(name)));
                });
            }
        })
    }),
    ("2.4/1", "where 400 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/log" && reply.status == 400 {
                *reply = Reply::json(200, &json!({"on": true}));
            }
        })
    }),
    ("2.4/2", "is in its log", || Fault { logs: true, ..Fault::default() }),
    ("2.5/1", "Close(Some(1000))", || {
        Fault::frame(|_, frame| match frame.opcode() {
            8 => vec![Frame::new(8, &1000u16.to_be_bytes())],
            _ => vec![frame],
        })
    }),
    ("2.5/1", "the connection ended before another chunk", || Fault::manner(Manner::NoEnd)),
    ("2.5/1", "timeout of a poll that was held", || {
        Fault::reply(|request, reply| {
            if request.path() == "/long-poll" && !reply.body.is_empty() {
                reply.change(|document| document["timeout"] = json!(false));
            }
        })
    }),
    ("2.5/1", "exit 1", || Fault::ended(|how| how.map(|_| "exit 1".to_owned()))),
    ("2.5/1", "None", || Fault::ended(|_| None)),
    ("2.5/2", "signal 15", || Fault::ended(|how| how.map(|_| "signal 15".to_owned()))),
    ("2.6/1", "no http://HOST:PORT in its first line", || Fault {
        first_line: Some("warming up"),
        ..Fault::default()
    }),
    ("2.6/1", "does not take a connection", || Fault {
        first_line: Some("listening on http://127.0.0.1:1"),
        ..Fault::default()
    }),
];
