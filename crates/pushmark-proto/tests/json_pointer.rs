//! Values found in streamed JSON: RFC 6901's own examples, and misleading texts.

use pushmark_proto::json_pointer::{Scan, TEXT_MAX};

fn find(pointer: &str, text: &str) -> Option<String> {
    let mut scan = Scan::default();
    scan.look(pointer, text.as_bytes());
    let whole = scan.finish().map(<[u8]>::to_vec);
    scan.restart();
    text.as_bytes().iter().for_each(|byte| scan.look(pointer, &[*byte]));
    assert_eq!(whole.as_deref(), scan.finish(), "byte by byte, {pointer} in {text}");
    whole.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn values_are_found() {
    for (pointer, text, expected) in [
        ("/cursor", r#"{"cursor":"a17"}"#, Some("a17")),
        ("/cursor", r#" { "messages" : [ 1 , 2 ] , "cursor" : 17 } "#, Some("17")),
        // The whole text.
        ("", "17", Some("17")),
        ("", "\"x\"", Some("x")),
        // Nested, and in arrays.
        ("/a/b/c", r#"{"a":{"x":{"c":1},"b":{"c":2}}}"#, Some("2")),
        ("/0", "[5]", Some("5")),
        ("/2/at", r#"[{"at":0},[{"at":1},2],{"no":[],"at":3}]"#, Some("3")),
        // A key in another object or in a string does not match.
        ("/cursor", r#"{"x":{"cursor":1},"y":"\"cursor\":2","cursor":3}"#, Some("3")),
        // Brackets in strings do not count.
        ("/b", r#"{"a":"}]{[\\","b":1}"#, Some("1")),
        // Escapes in values, keys and pointers (RFC 6901 5).
        ("/a", r#"{"a":"\"\\\/\n\u00e9"}"#, Some("\"\\/\né")),
        ("/a", r#"{"a":"\ud83d\ude00\ud83dx"}"#, Some("😀x")),
        ("/é", r#"{"\u00e9":1}"#, Some("1")),
        ("/a~1b", r#"{"a/b":1}"#, Some("1")),
        ("/m~0n", r#"{"m~n":8}"#, Some("8")),
        ("/", r#"{"":0}"#, Some("0")),
        ("/t", r#"{"t":true}"#, Some("true")),
        ("/t", r#"{"t":"null"}"#, Some("null")),
        // No value, or one that cannot be a cursor.
        ("/cursor", r#"{"other":1}"#, None),
        ("/cursor", r#"{"cursor":null}"#, None),
        ("/cursor", r#"{"cursor":{"x":1}}"#, None),
        ("/cursor", r#"{"cursor":[]}"#, None),
        ("/a/b", r#"{"a":1,"b":2}"#, None),
        ("/3", "[1,2,3]", None),
        ("/0", "[]", None),
        ("/x", "[1]", None),
        ("/cursor", "", None),
        // Cut off within the value: a partial cursor would be wrong.
        ("/cursor", r#"{"cursor":"a1"#, None),
    ] {
        assert_eq!(find(pointer, text).as_deref(), expected, "{pointer} in {text}");
    }
}

#[test]
fn a_long_value_is_cut() {
    let text = format!("\"{}\"", "x".repeat(TEXT_MAX + 9));
    assert_eq!(find("", &text).map(|value| value.len()), Some(TEXT_MAX));
}
