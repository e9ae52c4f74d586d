//! Faults of CONTRACT 3.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::Row;
use crate::fault::{Fault, Manner, Reply, Request};
use crate::tool::pass;

const SUBSCRIBED: &str = "pushmark-subscribed";

/// Changes each number of an acknowledgement.
fn told(reply: &mut Reply, change: impl Fn(u64) -> u64) {
    let Some(told) = reply.header(SUBSCRIBED) else { return };
    let changed = told.split(',').map(|pair| {
        let (name, last) = pair.rsplit_once('=').expect("NAME=LAST");
        let last = last.parse().map_or_else(|_| last.to_owned(), |last| change(last).to_string());
        format!("{name}={last}")
    });
    let changed = changed.collect::<Vec<_>>().join(",");
    reply.set(SUBSCRIBED, &changed);
}

fn is_long(request: &Request) -> bool {
    request.body.len() > 100_000
}

pub const FAULTS: &[Row] = &[
    ("3.1/1", "the connection ended", || Fault::manner(Manner::CloseEach)),
    ("3.1/1", "says that the connection ends", || Fault::reply(|_, reply| reply.set("Connection", "close"))),
    ("3.1/2", "without connection", || {
        Fault::request(|request| {
            request.remove("connection");
            None
        })
    }),
    ("3.1/3", "client", || Fault::manner(Manner::Reverse)),
    ("3.1/4", "two messages take", || {
        let count = AtomicU64::new(0);
        Fault::chunk(move |_, chunk| {
            if count.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                pass(Duration::from_millis(40));
            }
            vec![chunk]
        })
    }),
    ("3.1/5", "in answer to no HTTP", || Fault { no_http: Some(Reply::text(200, "ok")), ..Fault::default() }),
    ("3.2/1", "without pushmark-subscribed", || Fault::reply(|_, reply| reply.remove(SUBSCRIBED))),
    ("3.2/1", "pushmark-subscribed of poll", || {
        Fault::reply(|request, reply| {
            if request.path() == "/poll" {
                told(reply, |last| last + 1);
            }
        })
    }),
    ("3.2/2", "another chunk did not come", || {
        let first = Mutex::new(true);
        Fault::chunk(move |request, chunk| {
            let lost = request.path() == "/stream" && std::mem::take(&mut *first.lock().expect("a flag"));
            if lost { Vec::new() } else { vec![chunk] }
        })
    }),
    ("3.2/3", "pushmark-subscribed of", || {
        let highest = AtomicU64::new(0);
        Fault::reply(move |_, reply| told(reply, |last| highest.fetch_max(last, Ordering::Relaxed).max(last)))
    }),
    ("3.2/4", "pushmark-subscribed of the held poll", || {
        Fault::reply(|_, reply| told(reply, |last| last + 1))
    }),
    ("3.3/1", "257 channels are acknowledged", || {
        Fault::reply(|request, reply| {
            if request.argument("channel").split(',').count() > 256 {
                reply.set(SUBSCRIBED, "a=-");
            }
        })
    }),
    ("3.4/1", "a compressed answer", || {
        Fault::reply(|request, reply| {
            if request.header("accept-encoding").is_some_and(|accepted| accepted.contains("gzip")) {
                reply.set("Content-Encoding", "gzip");
            }
        })
    }),
    ("3.4/2", "an extension", || {
        Fault::reply(|request, reply| {
            if let Some(offered) = request.header("sec-websocket-extensions") {
                let first = offered.split([',', ';']).next().expect("an extension").to_owned();
                reply.set("Sec-WebSocket-Extensions", &first);
            }
        })
    }),
    ("3.4/3", "431", || {
        Fault::request(|request| {
            (request.head_len > 8 * 1024).then(|| Reply::json(431, &json!({"error": "too long"})))
        })
    }),
    ("3.5/1", "a sleeper got all", || Fault::manner(Manner::Unbounded)),
    ("3.5/1", "dropped", || {
        Fault::reply(|request, reply| {
            if request.path() == "/stats" {
                reply.change(|document| document["dropped"] = json!(0));
            }
        })
    }),
    ("3.6/1", "messages of a tick", || Fault::manner(Manner::Apart)),
    ("3.7/1", "was accepted after", || {
        let count = AtomicU64::new(0);
        Fault::request(move |request| {
            if is_long(request) && count.fetch_add(1, Ordering::Relaxed) == 2 {
                pass(Duration::from_millis(2_100));
            }
            None
        })
    }),
    ("3.7/1", "a subscription beside 32 sleepers took", || {
        let count = AtomicU64::new(0);
        Fault::request(move |request| {
            if request.path() == "/stream" && count.fetch_add(1, Ordering::Relaxed) == 34 {
                pass(Duration::from_millis(2_100));
            }
            None
        })
    }),
    ("3.8/1", "where nothing is wanted", || Fault::manner(Manner::Reverse)),
    ("3.8/1", "where nothing is wanted", || Fault::manner(Manner::Reverse)),
];
