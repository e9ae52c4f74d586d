//! Bayeux in arbitrary pieces: random bodies, with random corruption and random splits.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use pushmark_proto::bayeux::messages;
use pushmark_proto::client::{Config, Transport};
use pushmark_proto::fuzzing::{agree, bayeux, replay};
use pushmark_proto::http1::write;
use pushmark_proto::websocket::{Opcode, encode};

/// A simple JSON value with little nesting.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(vec!["true", "null", "0", "-1.5e+3", "\"\"", "\"[{\"", "\"}],:\"", "\"\\\"\\\\\"", "\"€\""])
            .prop_map(str::to_owned),
        any::<i32>().prop_map(|number| number.to_string()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(" , "))),
            vec(inner, 0..3).prop_map(|items| {
                let members: Vec<_> = items.iter().map(|item| format!("\"data\" : {item}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// A member of a message, known or unknown.
fn member() -> impl Strategy<Value = String> {
    let meaning = select(vec![
        r#""channel":"/meta/connect""#,
        r#""channel":"/meta/handshake""#,
        r#""channel":"/meta/subscribe""#,
        r#""channel":"/meta/disconnect""#,
        r#""channel":"\/c0""#,
        r#""id":"2""#,
        r#""clientId":"k7""#,
        r#""successful":true"#,
        r#""successful":false"#,
        r#""error":"402:k7:Unknown""#,
        r#""advice":{"reconnect":"retry","interval":0}"#,
        r#""advice":{"reconnect":"handshake"}"#,
        r#""advice":{"reconnect":"none","websocket":{"interval":2000}}"#,
        r#""supportedConnectionTypes":["long-polling","websocket"]"#,
        r#""ext":{"ack":7,"timesync":{"tc":1,"ts":2}}"#,
        r#""ext":{"pushmark":{"subscribed":"c0=17"}}"#,
    ]);
    prop_oneof![
        4 => meaning.prop_map(str::to_owned),
        3 => json().prop_map(|value| format!("\"data\":{value}")),
        1 => (select(vec!["id", "other", "timestamp"]), json())
            .prop_map(|(key, value)| format!("\"{key}\" :{value} ")),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let message = vec(member(), 0..5).prop_map(|members| format!("{{{}}}", members.join(",")));
    vec(message, 0..4).prop_map(|messages| format!("[{}]", messages.join(",\n")).into_bytes())
}

/// A position and a value, for bodies with one changed byte.
fn flaw() -> impl Strategy<Value = Option<(Index, u8)>> {
    prop::option::weighted(0.3, (any::<Index>(), prop_oneof![any::<u8>(), select(b"\"\\[]{},: 1t".to_vec())]))
}

fn spoil(mut bytes: Vec<u8>, flaw: Option<(Index, u8)>) -> Vec<u8> {
    if let Some((at, value)) = flaw.filter(|_| !bytes.is_empty()) {
        let at = at.index(bytes.len());
        bytes[at] = value;
    }
    bytes
}

/// Carries bodies: sized, in chunks, as texts, as fragmented texts.
fn carried(transport: Transport, bodies: &[Vec<u8>], piece: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for body in bodies {
        match (transport, piece) {
            (_, 0) => out.extend(bayeux::answer(transport, body)),
            (Transport::Bayeux, _) => {
                write::status_line(&mut out, 200);
                write::header(&mut out, "Transfer-Encoding", "chunked");
                write::head_end(&mut out);
                body.chunks(piece).for_each(|chunk| write::chunk(&mut out, chunk));
                write::last_chunk(&mut out);
            }
            _ => {
                let mut opcode = Opcode::Text;
                for piece in body.chunks(piece) {
                    encode::header(&mut out, opcode, false, piece.len() as u64, None);
                    out.extend_from_slice(piece);
                    encode::frame(&mut out, Opcode::Ping, b"?", None);
                    opcode = Opcode::Continuation;
                }
                encode::header(&mut out, opcode, true, 0, None);
            }
        }
    }
    out
}

#[test]
fn what_is_wrong_first_is_told_however_it_comes() {
    // A field that is too long to be stored, and after its limit an invalid UTF-8 byte.
    for (at, kind) in [(20_000, "bayeux"), (9_000, "utf8")] {
        let mut body = format!("[{{\"id\":\"{}\"}}]", "7".repeat(30_000)).into_bytes();
        body[at] = 0xff;
        let bytes = bayeux::answer(Transport::BayeuxWebSocket, &body);
        let config = Config { message_max: 1 << 20, ..bayeux::config(Transport::BayeuxWebSocket) };
        assert_eq!(agree(&bytes, || bayeux::session(&config, 3)).failure, Some(kind));
    }
}

proptest! {
    #[test]
    fn both_readers_hear_the_same(body in body(), flaw in flaw()) {
        bayeux::body(&spoil(body, flaw));
    }

    #[test]
    fn a_drawn_body_is_one(body in body()) {
        prop_assert!(messages(&body).is_ok());
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..200)) {
        bayeux::body(&bytes);
        bayeux::conversation(&bytes);
    }

    #[test]
    fn pieces_do_not_change_what_a_session_hears(
        bodies in vec(body(), 1..3),
        transport in select(vec![Transport::Bayeux, Transport::BayeuxWebSocket]),
        heard in 0usize..4,
        piece in 0usize..9,
        flaw in flaw(),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let bytes = spoil(carried(transport, &bodies, piece), flaw);
        let config = bayeux::config(transport);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort();
        let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(
            replay([&bytes[..]], bayeux::session(&config, heard)),
            replay(pieces, bayeux::session(&config, heard))
        );
    }
}
