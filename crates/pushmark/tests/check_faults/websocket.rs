//! Faults of CONTRACT 6.6.

use crate::Row;
use crate::fault::{Fault, Reply};
use crate::frames::{Frame, Way};

pub const FAULTS: &[Row] = &[
    ("6.6/1", "a text message", || {
        Fault::frame(|way, mut frame| {
            if way == Way::Down && frame.opcode() == 1 {
                frame.first = 0x82;
            }
            vec![frame]
        })
    }),
    ("6.6/2", "a broken WebSocket", || {
        Fault::frame(|way, mut frame| {
            if way == Way::Down && frame.opcode() == 2 {
                frame.first = 0x81;
            }
            vec![frame]
        })
    }),
    ("6.6/3", "a Pong", || {
        Fault::frame(|way, mut frame| {
            if way == Way::Down && frame.opcode() == 10 {
                frame.payload = b"pong".to_vec();
            }
            vec![frame]
        })
    }),
    ("6.6/4", "what a peer published in many frames", || {
        Fault::frame(|way, mut frame| {
            // The end of a fragmented message is lost.
            if way == Way::Up && frame.opcode() == 0 && frame.first & 0x80 != 0 {
                frame.payload.clear();
            }
            vec![frame]
        })
    }),
    ("6.6/5", "the first thing after texts that mean nothing", || Fault {
        answers_frames: true,
        ..Fault::frame(|way, frame| {
            let strange = way == Way::Up && frame.opcode() == 1 && !frame.payload.starts_with(b"publish ");
            if strange { vec![Frame::new(1, b"what?")] } else { vec![frame] }
        })
    }),
    ("6.6/6", "the connection ended", || {
        Fault::frame(
            |way, frame| if way == Way::Down && frame.opcode() == 8 { Vec::new() } else { vec![frame] },
        )
    }),
    ("6.6/7", "where 400 or 426 is wanted", || {
        Fault::reply(|request, reply| {
            if request.path() == "/ws" && reply.status >= 400 {
                *reply = Reply::text(200, "hello");
            }
        })
    }),
    ("6.6/8", "came back", || Fault {
        answers_frames: true,
        ..Fault::frame(|way, frame| {
            let wrong = way == Way::Up && (!frame.masked || frame.first & 0x70 != 0 || frame.opcode() == 3);
            if wrong { vec![Frame::new(1, b"fine")] } else { vec![frame] }
        })
    }),
];
