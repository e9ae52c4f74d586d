//! HTTP/1.1 heads and bodies. Each case runs whole, in pieces, and with bytes of the next message after it.

use pushmark_proto::Failure;
use pushmark_proto::fuzzing::{Pull, agree, machines};
use pushmark_proto::http1::{BodyLength, RequestHead, ResponseHead, write};

/// Checks a message that ends by itself. Following bytes must be left.
fn check<P: Pull>(machine: impl Fn() -> P, input: &[u8], expected: &[&str]) {
    let alone = agree(input, &machine);
    assert_eq!(alone.lines(), expected, "of {}", input.escape_ascii());
    if alone.failure.is_none() {
        let followed = agree(&[input, b"\r\nNEXT"].concat(), &machine);
        assert_eq!(followed.lines(), expected, "when followed, of {}", input.escape_ascii());
        assert_eq!(followed.left, b"\r\nNEXT", "of {}", input.escape_ascii());
    }
}

fn check_response(input: &str, expected: &[&str]) {
    check(machines::response, input.as_bytes(), expected);
}

#[test]
fn chunked_bodies_are_read_as_rfc_9112_says() {
    for (input, expected) in [
        // The simplest one.
        ("3\r\nabc\r\n0\r\n\r\n", &["data abc", "chunk end", "end"][..]),
        // The end of a chunk is reported. It does not separate messages.
        ("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", &["data a", "chunk end", "data bc", "chunk end", "end"]),
        // Digits of either case, with leading zeros.
        ("00A\r\n0123456789\r\n0\r\n\r\n", &["data 0123456789", "chunk end", "end"]),
        ("00a\r\n0123456789\r\n0\r\n\r\n", &["data 0123456789", "chunk end", "end"]),
        // Extensions are skipped (RFC 9112 7.1.1), with or without white space before them.
        ("1;a=b\r\nx\r\n0;last\r\n\r\n", &["data x", "chunk end", "end"]),
        ("1 ; a=\"b;c\"\r\nx\r\n0\r\n\r\n", &["data x", "chunk end", "end"]),
        // Trailers are skipped, too (7.1.2).
        ("0\r\nExpires: never\r\nX: y\r\n\r\n", &["end"]),
        // Content that looks like framing is content.
        ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", &["data 0\\r\\n\\r\\n", "chunk end", "end"]),
    ] {
        check(machines::chunked, input.as_bytes(), expected);
    }
}

#[test]
fn chunked_bodies_that_could_be_read_two_ways_are_refused() {
    for (input, expected) in [
        // No size.
        ("\r\n", &["failure body"][..]),
        // A sign, a prefix, a leading space: all have been used for request smuggling.
        ("+1\r\nx\r\n", &["failure body"]),
        ("0x1\r\nx\r\n", &["failure body"]),
        (" 1\r\nx\r\n", &["failure body"]),
        // More than 64 bits.
        ("10000000000000000\r\n", &["failure body"]),
        // LF alone is not a line end.
        ("1\nx\r\n", &["failure body"]),
        // CR alone is not a line end.
        ("1\rx\r\n", &["failure body"]),
        // White space without an extension.
        ("1 1\r\nx\r\n", &["failure body"]),
        // A chunk longer than its size.
        ("1\r\nxy\r\n", &["failure body"]),
        // NUL in an extension.
        ("1;\0\r\nx\r\n", &["failure body"]),
        // The connection ends before the last chunk, so the body may be incomplete.
        ("1\r\nx\r\n", &["data x", "chunk end", "failure closed_early"]),
    ] {
        check(machines::chunked, input.as_bytes(), expected);
    }
}

#[test]
fn chunk_lines_and_trailers_are_bounded() {
    let long_extension = format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(2000));
    check(machines::chunked, long_extension.as_bytes(), &["failure body"]);
    let long_trailers = format!("0\r\n{}\r\n", format!("X: {}\r\n", "a".repeat(1000)).repeat(9));
    check(machines::chunked, long_trailers.as_bytes(), &["failure body"]);
}

#[test]
fn an_answer_ends_where_its_head_says() {
    for (input, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", &["status 200", "data abc", "end, reusable"][..]),
        // No body, whatever the length (RFC 9112 6.3, rule 1).
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", &["status 304", "end, reusable"]),
        ("HTTP/1.1 204 No Content\r\n\r\n", &["status 204", "end, reusable"]),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &["status 200", "end, reusable"]),
        // No reason phrase, which some servers omit.
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", &["status 200", "end, reusable"]),
        // Any number of 1xx responses may precede the final one.
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
            &["status 204", "end, reusable"],
        ),
        // The server wants the connection closed.
        ("HTTP/1.1 204 No\r\nConnection: foo, Close\r\n\r\n", &["status 204", "end"]),
        // HTTP/1.0 closes by default.
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", &["status 200", "data x", "end"]),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
            &["status 200", "data x", "end, reusable"],
        ),
        // Equal lengths, repeated or joined, are one length.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\nContent-Length: 1\r\n\r\nx",
            &["status 200", "data x", "end, reusable"],
        ),
        // Both lengths: the chunks are used, and the connection is not reused.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            &["status 200", "data x", "end"],
        ),
    ] {
        check_response(input, expected);
    }
}

#[test]
fn an_answer_without_a_length_ends_with_its_connection() {
    let input = b"HTTP/1.1 200 OK\r\n\r\nall of this";
    assert_eq!(agree(input, machines::response).lines(), ["status 200", "data all of this", "end"]);
    let input = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nand this";
    assert_eq!(agree(input, machines::response).lines(), ["status 200", "data and this", "end"]);
}

#[test]
fn an_answer_cut_off_is_closed_early() {
    for input in [
        "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
    ] {
        assert_eq!(agree(input.as_bytes(), machines::response).failure, Some("closed_early"), "{input:?}");
    }
}

#[test]
fn an_answer_with_ambiguous_framing_is_refused() {
    for (input, kind) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "head"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "head"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n", "head"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "head"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "head"),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "head"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "compressed"),
        // A name with white space before its colon (RFC 9112 5.1).
        ("HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", "head"),
        // A folded line (5.2).
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "head"),
        ("SSH-2.0-OpenSSH_9.9\r\n", "head"),
        ("HTTP/1.1 99 Too Low\r\n\r\n", "head"),
    ] {
        assert_eq!(agree(input.as_bytes(), machines::response).failure, Some(kind), "{input:?}");
    }
}

#[test]
fn heads_are_bounded_in_bytes_and_fields() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(17_000));
    assert_eq!(agree(long.as_bytes(), machines::response).failure, Some("head_too_large"));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(65));
    assert_eq!(agree(many.as_bytes(), machines::response).failure, Some("head"));
}

#[test]
fn requests_are_read_with_their_bodies() {
    check(
        machines::request,
        b"GET /lp?channel=a&since= HTTP/1.1\r\nHost: h\r\n\r\n",
        &["GET /lp?channel=a&since= 1.1", "Host: h", "end"],
    );
    check(
        machines::request,
        b"POST /pub HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi",
        &["POST /pub 1.1", "Host: h", "Content-Length: 2", "data hi", "end"],
    );
    check(
        machines::request,
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &["POST / 1.1", "Transfer-Encoding: chunked", "data x", "chunk end", "end"],
    );
}

#[test]
fn requests_that_smuggle_are_refused() {
    for input in [
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        assert_eq!(agree(input.as_bytes(), machines::request).failure, Some("head"), "{input:?}");
    }
}

#[test]
fn a_request_head_gives_its_parts() {
    let bytes =
        b"GET /stream?channel=a?b HTTP/1.1\r\nHost: h\r\nCookie: a\r\ncookie: b\r\nX: \xff\r\n\r\nrest";
    let (head, len) = RequestHead::parse(bytes).unwrap().unwrap();
    assert_eq!((head.path(), head.query(), len), ("/stream", "channel=a?b", bytes.len() - 4));
    assert_eq!(head.headers.text("HOST"), Some("h"));
    assert_eq!(head.headers.all("cookie").collect::<Vec<_>>(), [b"a", b"b"]);
    assert_eq!((head.headers.find("x"), head.headers.text("x")), (Some(&b"\xff"[..]), None));
    assert_eq!((head.body, head.keep_alive), (BodyLength::None, true));
}

#[test]
fn lists_are_split_at_commas() {
    let bytes = b"HTTP/1.1 200 OK\r\nConnection: , Keep-Alive ,, Upgrade\r\nConnection: x\r\n\r\n";
    let (head, _) = ResponseHead::parse(bytes, 1000).unwrap().unwrap();
    assert!(head.headers.has_token("connection", "upgrade"));
    assert!(!head.headers.has_token("connection", "up"));
    assert_eq!(head.headers.list("connection").count(), 3);
}

#[test]
fn what_is_written_is_read_back() {
    let mut out = Vec::new();
    write::status_line(&mut out, 200);
    write::header(&mut out, "Transfer-Encoding", "chunked");
    write::head_end(&mut out);
    write::chunk(&mut out, &[b'x'; 300]);
    write::chunk(&mut out, b"");
    write::last_chunk(&mut out);
    check(machines::response, &out, &["status 200", &format!("data {}", "x".repeat(300)), "end, reusable"]);

    let mut digits = Vec::new();
    write::decimal(&mut digits, u64::MAX);
    digits.push(b' ');
    write::hex(&mut digits, u64::MAX);
    digits.push(b' ');
    write::decimal(&mut digits, 0);
    assert_eq!(digits, b"18446744073709551615 ffffffffffffffff 0");
}

#[test]
fn failures_say_what_came_back() {
    assert_eq!(Failure::Status(503).to_string(), "answered with status 503");
    assert_eq!((Failure::Status(404).kind(), Failure::Status(500).kind()), ("status_4xx", "status_5xx"));
}
