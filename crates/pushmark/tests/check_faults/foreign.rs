//! Faults of targets without a contract.

use std::sync::Mutex;

use crate::Row;
use crate::fault::{Fault, Manner};
use crate::frames::{Frame, Way};

/// Swaps the fourth and the fifth message that a transport delivers.
fn swapped(path: &'static str) -> Fault {
    let held = Mutex::new((0, Vec::new()));
    Fault::chunk(move |request, chunk| {
        let mut held = held.lock().expect("a chunk");
        held.0 += u32::from(request.path() == path);
        match held.0 {
            4 => {
                held.1 = chunk;
                Vec::new()
            }
            5 => vec![chunk, std::mem::take(&mut held.1)],
            _ => vec![chunk],
        }
    })
}

fn frames(change: impl Fn(u32, Frame) -> Vec<Frame> + Send + Sync + 'static) -> Fault {
    let count = Mutex::new(0);
    Fault::frame(move |way, frame| {
        if way == Way::Up {
            return vec![frame];
        }
        let mut count = count.lock().expect("a count");
        *count += 1;
        change(*count, frame)
    })
}

fn answers(path: &'static str, change: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Fault {
    Fault::reply(move |request, reply| {
        if request.path() == path && reply.status == 200 {
            change(&mut reply.body);
        }
    })
}

pub const FAULTS: &[Row] = &[
    ("poll/delivers", "did not come", || {
        answers("/poll", |body| body.truncate(body.len().saturating_sub(1)))
    }),
    ("long-poll/delivers", "came 2 times", || {
        answers("/long-poll", |body| *body = [&body[..], &body[..]].concat())
    }),
    ("long-poll/orders", "the order", || {
        answers("/long-poll", |body| {
            let mut lines: Vec<&[u8]> = body.split(|&byte| byte == b'\n').collect();
            lines.reverse();
            *body = lines.join(&b'\n');
        })
    }),
    ("long-poll/frames", "a compressed answer", || {
        Fault::reply(|request, reply| {
            if request.path() == "/long-poll" && reply.body.len() > 10_000 {
                reply.set("Content-Encoding", "br");
            }
        })
    }),
    ("long-poll/resumes", "did not come", || {
        Fault::request(|request| {
            let since = request.argument("since").to_owned();
            if !since.is_empty() {
                request.target = request.target.replace(&format!("since={since}"), "since=");
            }
            None
        })
    }),
    ("stream/delivers", "came 2 times", || Fault::chunk(|_, chunk| vec![chunk.clone(), chunk])),
    ("stream/orders", "the order", || swapped("/stream")),
    ("stream/frames", "breaks its framing", || Fault::manner(Manner::Broken)),
    ("sse/delivers", "did not come", || {
        Fault::chunk(|_, chunk| vec![String::from_utf8_lossy(&chunk).replace("pm1:", "pm2:").into_bytes()])
    }),
    ("sse/orders", "the order", || swapped("/sse")),
    ("sse/frames", "did not come", || {
        // A line end within the data starts another event or another line.
        Fault::chunk(|_, chunk| {
            vec![String::from_utf8_lossy(&chunk).replace("pm1", "\n\ndata: pm1").into_bytes()]
        })
    }),
    ("sse/resumes", "did not come", || {
        Fault::request(|request| {
            request.remove("last-event-id");
            None
        })
    }),
    ("websocket/delivers", "did not come", || {
        frames(|count, frame| if count == 3 { Vec::new() } else { vec![frame] })
    }),
    ("websocket/orders", "the order", || {
        let held = Mutex::new(None);
        frames(move |count, frame| match count {
            4 => {
                *held.lock().expect("a frame") = Some(frame);
                Vec::new()
            }
            5 => [Some(frame), held.lock().expect("a frame").take()].into_iter().flatten().collect(),
            _ => vec![frame],
        })
    }),
    ("websocket/frames", "a broken WebSocket", || {
        frames(|_, mut frame| {
            if frame.payload.len() > 125 {
                frame.first |= 0x40;
            }
            vec![frame]
        })
    }),
    ("websocket/pings", "a Pong", || {
        frames(|_, mut frame| {
            if frame.opcode() == 10 {
                frame.payload.push(b'!');
            }
            vec![frame]
        })
    }),
];
