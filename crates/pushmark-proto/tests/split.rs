//! Any split of a byte stream produces the same events, for random streams with random splits.
//!
//! The tables split evenly. Here the splits are arbitrary, and the streams are valid output of the encoders,
//! or such output with a changed byte.

use proptest::collection::vec;
use proptest::prelude::*;
use pushmark_proto::client::Transport;
use pushmark_proto::fuzzing::{Pull, machines, replay};
use pushmark_proto::http1::write;
use pushmark_proto::sse::encode as sse;
use pushmark_proto::websocket::{Opcode, Role, encode};

/// Split positions, as shares of the whole.
fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    vec(any::<prop::sample::Index>(), 0..12)
}

/// A position and a value, for streams with one changed byte.
fn flaw() -> impl Strategy<Value = Option<(prop::sample::Index, u8)>> {
    prop::option::weighted(0.3, any::<(prop::sample::Index, u8)>())
}

fn spoil(mut bytes: Vec<u8>, flaw: Option<(prop::sample::Index, u8)>) -> Vec<u8> {
    if let Some((at, value)) = flaw.filter(|_| !bytes.is_empty()) {
        let at = at.index(bytes.len());
        bytes[at] = value;
    }
    bytes
}

fn check<P: Pull>(
    bytes: &[u8],
    cuts: &[prop::sample::Index],
    machine: impl Fn() -> P,
) -> Result<(), TestCaseError> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort();
    let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
    prop_assert_eq!(replay([bytes], machine()), replay(pieces, machine()));
    Ok(())
}

/// Text with every kind of line end and the bytes that control an event stream.
fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(b"ab: \n\r\0\xef\xbb\xbf\xe2\x82\xac".to_vec()), 0..40)
}

fn event_stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => text().prop_map(|text| { let mut out = Vec::new(); sse::data(&mut out, &text); out }),
        1 => any::<u16>().prop_map(|ms| { let mut out = Vec::new(); sse::retry(&mut out, ms.into()); out }),
        2 => any::<u16>().prop_map(|id| { let mut out = Vec::new(); sse::id(&mut out, id.to_string().as_bytes()); out }),
        1 => Just(b": ping\r\n\r\n".to_vec()),
        1 => Just(b"event: aab\r".to_vec()),
        2 => text(),
    ];
    vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// Bytes as the content of chunks of random sizes.
fn chunked(content: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (content, vec(1usize..20, 1..4)).prop_map(|(content, sizes)| {
        let mut out = Vec::new();
        let mut rest = &content[..];
        for size in sizes.into_iter().cycle() {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            write::chunk(&mut out, chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        write::last_chunk(&mut out);
        out
    })
}

fn answer(content: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (chunked(content), prop::sample::select(vec![200u16, 204, 304, 408, 503])).prop_map(|(body, status)| {
        let mut out = Vec::new();
        write::status_line(&mut out, status);
        write::header(&mut out, "Content-Type", "text/event-stream");
        write::header(&mut out, "Cursor", "17");
        write::header(&mut out, "ETag", "\"x\"");
        if !matches!(status, 204 | 304) {
            write::header(&mut out, "Transfer-Encoding", "chunked");
        }
        write::head_end(&mut out);
        if !matches!(status, 204 | 304) {
            out.extend_from_slice(&body);
        }
        out
    })
}

fn frames(role: Role) -> impl Strategy<Value = Vec<u8>> {
    let opcode = prop::sample::select(vec![
        Opcode::Text,
        Opcode::Text,
        Opcode::Binary,
        Opcode::Continuation,
        Opcode::Ping,
        Opcode::Pong,
        Opcode::Close,
    ]);
    let payload = prop_oneof![text(), Just(b"ping".to_vec()), Just(b"2".to_vec()), vec(any::<u8>(), 0..200)];
    let frame = (opcode, prop::bool::weighted(0.8), payload, any::<[u8; 4]>());
    vec(frame, 0..8).prop_map(move |frames| {
        let mut out = Vec::new();
        for (opcode, fin, payload, key) in frames {
            let key = (role == Role::Server).then_some(key);
            let header_at = out.len();
            encode::frame(&mut out, opcode, &payload, key);
            if !fin && matches!(opcode, Opcode::Text | Opcode::Binary | Opcode::Continuation) {
                out[header_at] &= 0x7F;
            }
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn of_a_chunked_body(bytes in chunked(vec(any::<u8>(), 0..80)), flaw in flaw(), cuts in cuts()) {
        check(&spoil(bytes, flaw), &cuts, machines::chunked)?;
    }

    #[test]
    fn of_an_answer(bytes in answer(text()), flaw in flaw(), cuts in cuts()) {
        check(&spoil(bytes, flaw), &cuts, machines::response)?;
    }

    #[test]
    fn of_a_request(body in chunked(text()), flaw in flaw(), cuts in cuts()) {
        let head = b"POST /pub?channel=a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&spoil([head, &body[..]].concat(), flaw), &cuts, machines::request)?;
    }

    #[test]
    fn of_an_event_stream(bytes in event_stream(), flaw in flaw(), cuts in cuts()) {
        check(&spoil(bytes, flaw), &cuts, machines::sse)?;
    }

    #[test]
    fn of_frames_to_a_client(bytes in frames(Role::Client), flaw in flaw(), cuts in cuts()) {
        check(&spoil(bytes, flaw), &cuts, || machines::websocket(Role::Client))?;
    }

    #[test]
    fn of_frames_to_a_server(bytes in frames(Role::Server), flaw in flaw(), cuts in cuts()) {
        check(&spoil(bytes, flaw), &cuts, || machines::websocket(Role::Server))?;
    }

    #[test]
    fn of_a_polling_conversation(bytes in vec(answer(text()), 1..4), flaw in flaw(), cuts in cuts()) {
        let bytes = spoil(bytes.concat(), flaw);
        for transport in [Transport::Poll, Transport::LongPoll] {
            let config = machines::busy_config(transport);
            check(&bytes, &cuts, || machines::client(&config))?;
        }
    }

    #[test]
    fn of_a_json_answer(cursor in 0u32..100, flaw in flaw(), cuts in cuts()) {
        let json = format!(r#"{{"messages":["\"","}}",[{{}}]],"cursor":"\u00e9{cursor}"}}"#);
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{json}", json.len());
        let config = machines::busy_config(Transport::LongPoll);
        check(&spoil(bytes.into_bytes(), flaw), &cuts, || machines::client(&config))?;
    }

    #[test]
    fn of_a_streaming_conversation(bytes in answer(event_stream()), flaw in flaw(), cuts in cuts()) {
        let bytes = spoil(bytes, flaw);
        for transport in [Transport::Stream, Transport::Sse] {
            let config = machines::busy_config(transport);
            check(&bytes, &cuts, || machines::client(&config))?;
        }
    }

    #[test]
    fn of_a_websocket_conversation(bytes in frames(Role::Client), flaw in flaw(), cuts in cuts()) {
        let config = machines::busy_config(Transport::WebSocket);
        check(&spoil(bytes, flaw), &cuts, || machines::client(&config))?;
    }
}
