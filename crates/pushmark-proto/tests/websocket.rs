//! WebSocket frames and handshakes: the examples and the rules of RFC 6455.

use pushmark_proto::Failure;
use pushmark_proto::fuzzing::{agree, machines};
use pushmark_proto::http1::{RequestHead, ResponseHead};
use pushmark_proto::websocket::{Opcode, Role, encode, handshake, mask};

fn check(role: Role, input: &[u8], expected: &[&str]) {
    let whole = agree(input, || machines::websocket(role));
    assert_eq!(whole.lines(), expected, "of {}", input.escape_ascii());
}

/// Server to client: no key.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 126);
    [&[first, payload.len() as u8], payload].concat()
}

#[test]
fn the_examples_of_section_5_7() {
    check(Role::Client, b"\x81\x05Hello", &["data Hello", "text"]);
    check(Role::Server, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", &["data Hello", "text"]);
    check(Role::Client, b"\x01\x03Hel\x80\x02lo", &["data Hello", "text"]);
    check(Role::Client, b"\x89\x05Hello", &["ping Hello"]);
    check(Role::Server, b"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", &["pong Hello"]);
    let bytes = vec![b'x'; 256];
    let data = format!("data {}", "x".repeat(256));
    check(Role::Client, &[b"\x82\x7e\x01\x00", &bytes[..]].concat(), &[&data, "binary"]);
    let bytes = vec![b'x'; 65536];
    let data = format!("data {}", "x".repeat(65536));
    check(
        Role::Client,
        &[b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", &bytes[..]].concat(),
        &[&data, "binary"],
    );
}

#[test]
fn messages_are_told_from_frames() {
    for (input, expected) in [
        // A control frame may be inside a message (5.4).
        (&b"\x01\x03Hel\x89\x01!\x80\x02lo"[..], &["data Hel", "ping !", "data lo", "text"][..]),
        // Empty messages and empty frames are legal.
        (b"\x81\x00", &["text"]),
        (b"\x01\x00\x00\x00\x80\x00", &["text"]),
        (b"\x01\x01a\x00\x00\x80\x01b", &["data ab", "text"]),
        // A character may be split between frames (8.1), but not at the end of the message.
        (b"\x01\x01\xe2\x80\x02\x82\xac", &["data \\xe2\\x82\\xac", "text"]),
        // A message that has not ended reports no end.
        (b"\x01\x01a", &["data a"]),
        // Binary messages are not checked.
        (b"\x82\x01\xff", &["data \\xff", "binary"]),
        // Input after a Close is ignored.
        (b"\x88\x00\x81\x01a", &["close None \"\""]),
        (b"\x88\x05\x03\xe8bye", &["close Some(1000) \"bye\""]),
    ] {
        check(Role::Client, input, expected);
    }
}

#[test]
fn broken_rules_fail_the_connection() {
    for (input, kind) in [
        // Each reserved bit without an extension (5.2).
        (&b"\xc1\x00"[..], "frame"),
        (b"\xa1\x00", "frame"),
        (b"\x91\x00", "frame"),
        // Reserved opcodes.
        (b"\x83\x00", "frame"),
        (b"\x8b\x00", "frame"),
        // A server must not mask (5.1).
        (b"\x81\x80\x00\x00\x00\x00", "frame"),
        // Control frames: not fragmented, not long (5.5).
        (b"\x09\x00", "frame"),
        (b"\x89\x7e\x00\x7e", "frame"),
        // Fragments in order (5.4).
        (b"\x80\x00", "frame"),
        (b"\x01\x01a\x81\x01b", "frame"),
        // Lengths must have their shortest form, and at most 63 bits.
        (b"\x82\x7e\x00\x7d", "frame"),
        (b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", "frame"),
        (b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", "frame"),
        // Beyond our own limit, detected from the length alone.
        (b"\x82\x7f\x00\x00\x00\x00\x00\x10\x00\x01", "message_too_large"),
        // Text that is not UTF-8 fails at once, without waiting for the end.
        (b"\x81\x7e\xff\xff\xff", "utf8"),
        // An overlong form, a surrogate, beyond U+10FFFF.
        (b"\x81\x02\xc0\xaf", "utf8"),
        (b"\x81\x03\xed\xa0\x80", "utf8"),
        (b"\x81\x04\xf4\x90\x80\x80", "utf8"),
        // A character cut by the end of the message.
        (b"\x81\x02\xe2\x82", "utf8"),
        // A fragment that cannot be completed to a character.
        (b"\x01\x01\xe2\x00\x01\x28", "utf8"),
        // Close: half a code, forbidden codes, a reason that is not UTF-8.
        (b"\x88\x01\x03", "frame"),
        (b"\x88\x02\x03\xed", "frame"),
        (b"\x88\x02\x03\xee", "frame"),
        (b"\x88\x02\x03\xf7", "frame"),
        (b"\x88\x02\x00\x00", "frame"),
        (b"\x88\x02\x13\x88", "frame"),
        (b"\x88\x03\x03\xe8\xff", "utf8"),
    ] {
        let heard = agree(input, || machines::websocket(Role::Client));
        assert_eq!(heard.failure, Some(kind), "of {}", input.escape_ascii());
    }
    // A client must mask.
    assert_eq!(agree(b"\x81\x00", || machines::websocket(Role::Server)).failure, Some("frame"));
}

#[test]
fn a_fragmented_message_is_bounded_as_a_whole() {
    let half = [&b"\x02\x7f\x00\x00\x00\x00\x00\x08\x00\x01"[..], &vec![0; 0x8_0001]].concat();
    let more = [&half[..], b"\x00\x7f\x00\x00\x00\x00\x00\x08\x00\x01"].concat();
    // In pieces of one byte this would take long, so it runs whole.
    let whole = pushmark_proto::fuzzing::replay([&more[..]], machines::websocket(Role::Client));
    assert_eq!(whole.failure, Some("message_too_large"));
}

#[test]
fn close_codes_that_may_be_sent_are_heard() {
    for code in [1000u16, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
        let close = frame(0x88, &code.to_be_bytes());
        check(Role::Client, &close, &[&format!("close Some({code}) \"\"")]);
    }
}

#[test]
fn what_one_role_writes_the_other_reads() {
    for len in [0, 1, 125, 126, 127, 65535, 65536] {
        for (role, key) in [(Role::Client, None), (Role::Server, Some([1, 2, 3, 4]))] {
            let mut out = Vec::new();
            encode::frame(&mut out, Opcode::Binary, &vec![b'p'; len], key);
            let heard = pushmark_proto::fuzzing::replay([&out[..]], machines::websocket(role)).lines();
            let data = format!("data {}", "p".repeat(len));
            assert_eq!(heard, if len == 0 { vec!["binary"] } else { vec![&data[..], "binary"] });
        }
    }
    let mut out = Vec::new();
    encode::close(&mut out, 1001, &"é".repeat(100), Some([9, 8, 7, 6]));
    check(Role::Server, &out, &[&format!("close Some(1001) {:?}", "é".repeat(61))]);
}

#[test]
fn masking_by_words_is_masking_by_bytes() {
    let key = [0x12, 0x34, 0x56, 0x78];
    for offset in 0..9 {
        for len in 0..40 {
            let mut bytes: Vec<u8> = (0..len).collect();
            mask::apply(key, offset, &mut bytes);
            let expected: Vec<u8> = (0..len).map(|i| i ^ key[(usize::from(i) + offset) % 4]).collect();
            assert_eq!(bytes, expected, "offset {offset}, length {len}");
        }
    }
}

#[test]
fn the_handshake_of_section_1_3() {
    assert_eq!(&handshake::accept(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(&handshake::key(*b"the sample nonce"), b"dGhlIHNhbXBsZSBub25jZQ==");
}

const REQUEST: &str = "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

const ANSWER: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn upgrade(request: &str) -> Result<bool, Failure> {
    let (head, _) = RequestHead::parse(request.as_bytes()).unwrap().unwrap();
    Ok(handshake::Upgrade::parse(&head)?.is_some())
}

#[test]
fn a_server_grants_what_is_an_upgrade() {
    assert_eq!(upgrade(REQUEST), Ok(true));
    assert_eq!(upgrade("GET /ws HTTP/1.1\r\nHost: h\r\n\r\n"), Ok(false));
    for (part, instead) in [
        ("GET", "POST"),
        ("HTTP/1.1", "HTTP/1.0"),
        (", Upgrade", ""),
        (": 13", ": 8"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZQ=="),
        ("dGhlIHNhbXBsZSBub25jZQ==", "!!!"),
        ("Sec-WebSocket-Key", "X"),
    ] {
        let broken = REQUEST.replacen(part, instead, 1);
        assert!(matches!(upgrade(&broken), Err(Failure::Handshake(_))), "{part} -> {instead}");
    }
}

#[test]
fn a_client_checks_what_was_granted() {
    let key = b"dGhlIHNhbXBsZSBub25jZQ==";
    let check = |answer: &str, offered: &str| {
        let (head, _) = ResponseHead::parse(answer.as_bytes(), 16384).unwrap().unwrap();
        handshake::check_response(&head, key, offered)
    };
    let with = |line: &str| ANSWER.replacen("\r\n\r\n", &format!("\r\n{line}\r\n\r\n"), 1);
    assert_eq!(check(ANSWER, ""), Ok(()));
    assert_eq!(check(&with("Sec-WebSocket-Protocol: b"), "a, b"), Ok(()));
    for (answer, offered) in [
        (ANSWER.replacen("101", "200", 1), ""),
        (ANSWER.replacen("Upgrade: websocket", "Upgrade: h2c", 1), ""),
        (ANSWER.replacen("Connection: Upgrade", "Connection: close", 1), ""),
        (ANSWER.replacen("s3pP", "S3pP", 1), ""),
        (with("Sec-WebSocket-Extensions: permessage-deflate"), ""),
        (with("Sec-WebSocket-Protocol: a"), ""),
        (with("Sec-WebSocket-Protocol: c"), "a, b"),
        (ANSWER.to_owned(), "a"),
    ] {
        assert!(matches!(check(&answer, offered), Err(Failure::Handshake(_))), "{offered:?} {answer}");
    }
}
