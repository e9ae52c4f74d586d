//! Faults of CONTRACT 6.1 to 6.3.

use serde_json::json;

use crate::Row;
use crate::fault::{Fault, Reply, Request};

/// Changes the lines of a body.
fn lines(
    concerns: impl Fn(&Request) -> bool + Send + Sync + 'static,
    change: impl Fn(&mut Vec<&[u8]>) + Send + Sync + 'static,
) -> Fault {
    Fault::reply(move |request, reply| {
        if concerns(request) && reply.status == 200 && !reply.body.starts_with(b"{") {
            let body = reply.body.clone();
            let mut lines: Vec<&[u8]> = body.split(|&byte| byte == b'\n').collect();
            change(&mut lines);
            reply.body = lines.join(&b'\n');
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

fn since(request: &Request) -> bool {
    !request.argument("since").is_empty()
}

pub const FAULTS: &[Row] = &[
    ("6.1/1", "the latest of three channels", || {
        lines(|request| request.path() == "/poll", |lines| lines.reverse())
    }),
    ("6.1/2", "where 304 is wanted", || {
        Fault::request(|request| {
            request.remove("if-none-match");
            None
        })
    }),
    ("6.1/2", "without etag", || Fault::reply(|_, reply| reply.remove("etag"))),
    ("6.1/3", "everything after the cursor", || lines(since, |lines| lines.reverse())),
    ("6.1/3", "without pushmark-cursor", || Fault::reply(|_, reply| reply.remove("pushmark-cursor"))),
    ("6.1/4", "what is remembered", || {
        lines(since, |lines| drop(lines.drain(..lines.len().saturating_sub(100))))
    }),
    ("6.1/5", "where 400 is wanted", || accepts("/poll")),
    ("6.2/1", "answered after", || {
        Fault::request(|request| {
            if request.path() == "/long-poll" {
                request.target = request.target.replace("hold=30000&since=", "hold=1600");
            }
            None
        })
    }),
    ("6.2/2", "everything newer", || {
        lines(|request| request.path() == "/long-poll", |lines| drop(lines.drain(..lines.len() - 1)))
    }),
    ("6.2/3", "where nothing is wanted", || {
        Fault::request(|request| {
            request.target = request.target.replace("hold=30000", "hold=1");
            None
        })
    }),
    ("6.2/4", "where nothing is wanted", || {
        Fault::request(|request| {
            let unsaid = request.path() == "/long-poll" && !request.has("since");
            unsaid.then(|| Reply::text(200, "missed"))
        })
    }),
    ("6.2/5", "where a message is wanted", || {
        lines(since, |lines| lines.retain(|line| !line.windows(9).any(|bytes| bytes == b":000002a:")))
    }),
    ("6.2/6", "where 400 is wanted", || accepts("/long-poll")),
    ("6.3/1", "application/json", || {
        Fault::reply(|request, reply| {
            if request.path() == "/long-poll" && reply.body.starts_with(b"{") {
                reply.body.clear();
                reply.set("Content-Type", "text/plain");
            }
        })
    }),
    ("6.3/1", "the connection ended", || {
        Fault::reply(|request, reply| {
            reply.dropped = request.path() == "/long-poll" && reply.body.starts_with(b"{");
        })
    }),
    ("6.3/1", "held_us", || {
        Fault::reply(|request, reply| {
            if request.path() == "/long-poll" && reply.body.starts_with(b"{") {
                reply.change(|document| document["held_us"] = json!(7));
            }
        })
    }),
];
