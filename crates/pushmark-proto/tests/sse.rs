//! Event streams: the vectors of web-platform-tests' eventsource suite, and our own, as data.

use pushmark_proto::fuzzing::{agree, machines};
use pushmark_proto::sse::encode;

fn check(input: &[u8], expected: &[&str]) {
    assert_eq!(agree(input, machines::sse).lines(), expected, "of {}", input.escape_ascii());
}

#[test]
fn streams_are_read_as_the_standard_says() {
    for (input, expected) in [
        ("data: a\n\n", &["data a", "end"][..]),
        // The example of WHATWG HTML 9.2.6: YHOO.
        ("data: YHOO\ndata: +2\ndata: 10\n\n", &["data YHOO\\n+2\\n10", "end"]),
        // Its second example: comment, id, empty id, and an extra space.
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            &["comment", "data first event", "end", "data second event", "end", "data  third event", "end"],
        ),
        // Its third example: empty data dispatches, and the last block is discarded.
        ("data\n\ndata\ndata\n\ndata:", &["end", "data \\n", "end"]),
        // Its fourth example: one space after the colon is dropped, if there is one.
        ("data:test\n\ndata: test\n\n", &["data test", "end", "data test", "end"]),
        // One space only.
        ("data:   a\n\n", &["data   a", "end"]),
        // A tab is not a space.
        ("data:\ta\n\n", &["data \\ta", "end"]),
        // All three kinds of line ends, mixed (format-newlines).
        ("data:test\r\ndata\ndata:test\r\n\r\n", &["data test\\n\\ntest", "end"]),
        ("data:a\r\rdata:b\n\ndata:c\r\n\r\n", &["data a", "end", "data b", "end", "data c", "end"]),
        // LF CR are two line ends: the second is a blank line.
        ("data:a\n\rdata:b\n\r", &["data a", "end", "data b", "end"]),
        // Blank lines without data dispatch nothing.
        ("\n\r\n\r\n\n", &[]),
        // A BOM is dropped (format-bom). A second one belongs to an unknown field (format-bom-2).
        ("\u{feff}data:1\n\n", &["data 1", "end"]),
        ("\u{feff}\u{feff}data:1\n\ndata:2\n\n", &["data 2", "end"]),
        // A later BOM is not dropped either.
        ("data:1\n\n\u{feff}data:2\n\ndata:3\n\n", &["data 1", "end", "data 3", "end"]),
        // Comments (format-comments), even with a NUL or a field in them.
        (
            "data:1\r:\0\n:\r\ndata:2\n:abc\rdata:3\r:data:fail\rdata:4\n\n",
            &[
                "data 1",
                "comment",
                "comment",
                "data \\n2",
                "comment",
                "data \\n3",
                "comment",
                "data \\n4",
                "end",
            ],
        ),
        // Names are compared exactly (format-field-parsing, format-leading-space, field-unknown).
        (
            "data:\0\n data:2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\ndata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
            &["data \\x00\\n1\\n3\\n\\n4", "end"],
        ),
        (
            "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
            &["data test\\n", "comment", "data \\ntest", "end"],
        ),
        // A field without a colon (format-field-data).
        ("data:\n\ndata\ndata\n\ndata:test\n\n", &["end", "data \\n", "end", "data test", "end"]),
        // Types are reported. An empty one is not (format-field-event, -empty).
        ("event:test\ndata:x\n\ndata:x\n\n", &["name test", "data x", "end", "data x", "end"]),
        ("event: \ndata:data\n\n", &["data data", "end"]),
        // Bytes pass unchanged, whether valid UTF-8 or not.
        ("data:ok…\n\n", &["data ok\\xe2\\x80\\xa6", "end"]),
        // NUL in data stays (format-null-character).
        ("data:\0\n\n\n\n", &["data \\x00", "end"]),
        // A colon in a value is part of it.
        ("data:a:b\n\n", &["data a:b", "end"]),
        // An event without its blank line is discarded: no `end`.
        ("data:whole\n\ndata:half\n", &["data whole", "end", "data half"]),
    ] {
        // Ids are checked below. Here they would be in every result.
        let transcript = agree(input.as_bytes(), machines::sse);
        let lines: Vec<_> = transcript.lines().into_iter().filter(|l| !l.starts_with("last id")).collect();
        assert_eq!(lines, expected, "of {input:?}");
    }
}

#[test]
fn invalid_utf8_passes_through() {
    check(b"data:\xff\xfe\n\n", &["data \\xff\\xfe", "end"]);
}

#[test]
fn retry_takes_digits_and_nothing_else() {
    for (input, expected) in [
        ("retry:3000\n", &["retry 3000"][..]),
        ("retry: 03000\n", &["retry 3000"]),
        // format-field-retry-bogus, -empty.
        ("retry:1000x\n", &[]),
        ("retry:x1000\n", &[]),
        ("retry:-1\n", &[]),
        ("retry:1 0\n", &[]),
        ("retry\n", &[]),
        ("retry:\n", &[]),
        // Far beyond any pause: the largest value.
        ("retry:99999999999999999999999\n", &["retry 18446744073709551615"]),
        // An invalid one does not affect the next.
        ("retry:bogus\nretry:5\n", &["retry 5"]),
    ] {
        check(input.as_bytes(), expected);
    }
}

#[test]
fn ids_count_from_their_blank_line() {
    for (input, expected) in [
        ("id: 7\ndata:x\n\n", &["data x", "end", "last id 7"][..]),
        // The same without data.
        ("id: 7\n\n", &["last id 7"]),
        // It applies until the next id.
        ("id:7\ndata:x\n\ndata:y\n\n", &["data x", "end", "data y", "end", "last id 7"]),
        // The last of two in one event.
        ("id:7\nid:8\n\n", &["last id 8"]),
        // An id with a NUL is ignored (format-field-id-null).
        ("id:7\nid:8\0\n\n", &["last id 7"]),
        // The id of a discarded event does not count: that event must be sent again.
        ("id:7\n\nid:8\ndata:x\n", &["data x", "last id 7"]),
        // An empty id clears it.
        ("id:7\n\nid\n\n", &[]),
        ("id: …\n\n", &["last id …"]),
    ] {
        check(input.as_bytes(), expected);
    }
    check(b"id:\xff\n\n", &["last id \u{fffd}"]);
    check(format!("id:{}\n\n", "x".repeat(1025)).as_bytes(), &["failure frame"]);
}

#[test]
fn what_is_encoded_is_decoded() {
    let mut out = Vec::new();
    encode::retry(&mut out, 1500);
    encode::comment(&mut out, b"hello");
    encode::id(&mut out, b"42");
    encode::name(&mut out, b"tick");
    encode::data(&mut out, b"one\r\ntwo\rthree\n\nfour\n");
    encode::data(&mut out, b"");
    check(
        &out,
        &[
            "retry 1500",
            "comment",
            "name tick",
            "data one\\ntwo\\nthree\\n\\nfour\\n",
            "end",
            "end",
            "last id 42",
        ],
    );
}
