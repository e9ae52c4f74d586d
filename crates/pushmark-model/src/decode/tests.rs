//! Any envelope, alignment and split, compared with decoding the whole with a library.

use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use base64::prelude::*;
use proptest::prelude::*;

use super::*;
use crate::stamp::write_payload;

const NONCE: u32 = 123_456;

fn stamp(sequence: u64) -> Stamp {
    Stamp { nonce: NONCE, publisher: 7, channel: 1_002_922, sequence, due_us: 9_000_000, sent_us: 9_000_123 }
}

/// Payloads of these sizes, each behind a piece of the envelope.
fn text(sizes: &[usize], envelope: &str) -> String {
    let mut text = String::new();
    for (n, size) in sizes.iter().enumerate() {
        let mut payload = vec![0; *size];
        write_payload(&stamp(n as u64), &mut payload);
        text += envelope;
        text += std::str::from_utf8(&payload).unwrap();
    }
    text + envelope
}

/// Returns the stamps that a plain search finds in the whole text.
fn plain(text: &[u8]) -> Vec<Stamp> {
    let mut found = Vec::new();
    Scanner::default().scan(text, |stamp| found.push(stamp));
    found
}

fn decoded(decode: Decode, bytes: &[u8], cuts: &[usize]) -> Vec<Stamp> {
    let (mut found, mut decoder) = (Vec::new(), Decoder::new(decode));
    let mut rest = bytes;
    for cut in cuts {
        let (now, later) = rest.split_at(*cut.min(&rest.len()));
        decoder.scan(now, |stamp| found.push(stamp));
        rest = later;
    }
    decoder.scan(rest, |stamp| found.push(stamp));
    found
}

/// Some or all bytes as `%XX`.
fn percent(text: &str, all: bool) -> String {
    let plain = |byte: u8| !all && byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Every character as `\uXXXX`.
fn escaped(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(48usize..120, 0..6)
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..90, 0..40)
}

proptest! {
    #[test]
    fn base64_is_found_at_any_alignment(
        sizes in sizes(), cuts in cuts(), lead in 0usize..7, which in 0usize..4,
        envelope in "[ -~é]{0,40}", wrapped in 0usize..80, outer in "[ -~]{0,20}",
    ) {
        let engine = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD][which];
        let text = "x".repeat(lead) + &text(&sizes, &envelope);
        let encoded = engine.encode(&text);
        // The library decodes the text, and a plain search finds all stamps in it.
        let expected = plain(&engine.decode(&encoded).unwrap());
        prop_assert_eq!(expected.len(), sizes.len());
        let lines: Vec<&str> = match wrapped {
            0..20 => vec![&encoded],
            wide => encoded.as_bytes().chunks(wide).map(|line| std::str::from_utf8(line).unwrap()).collect(),
        };
        let message = format!("{outer}\"{}\"{outer}", lines.join("\r\n"));
        prop_assert_eq!(&decoded(Decode::Base64, message.as_bytes(), &cuts), &expected);
        // As some JSON writers do: line ends as \r\n, and slashes escaped.
        let json = serde_json::to_string(&message).unwrap().replace('/', "\\/").replace('+', "\\u002B");
        prop_assert_eq!(decoded(Decode::Base64, json.as_bytes(), &cuts), expected);
    }

    #[test]
    fn percent_encoding_is_undone(sizes in sizes(), cuts in cuts(), envelope in "[ -~é]{0,40}", all: bool) {
        let text = text(&sizes, &envelope);
        let expected = plain(text.as_bytes());
        let once = percent(&text, all);
        prop_assert_eq!(&decoded(Decode::Percent, once.as_bytes(), &cuts), &expected);
        let twice = percent(&once, false);
        prop_assert_eq!(decoded(Decode::Percent, twice.as_bytes(), &cuts), expected);
    }

    #[test]
    fn json_escapes_are_undone_in_json_in_json(
        sizes in sizes(), cuts in cuts(), envelope in "[ -~éあ😀\n\t]{0,40}", all: bool, depth in 1usize..4,
    ) {
        let text = text(&sizes, &envelope);
        let mut message = match all {
            true => format!("\"{}\"", escaped(&text)),
            false => serde_json::to_string(&text).unwrap(),
        };
        let whole: String = serde_json::from_str(&message).unwrap();
        let expected = plain(whole.as_bytes());
        prop_assert_eq!(expected.len(), sizes.len());
        for _ in 1..depth {
            message = serde_json::to_string(&message).unwrap();
        }
        prop_assert_eq!(decoded(Decode::Json, message.as_bytes(), &cuts), expected);
    }

    #[test]
    fn a_guess_tells_what_it_was(
        size in 48usize..200, cuts in prop::collection::vec(1usize..90, 0..8), envelope in "[ -~]{0,30}",
        how in prop::option::of(0usize..3),
    ) {
        let text = text(&[size], &envelope);
        let message = match how {
            None => text,
            Some(0) => STANDARD.encode(&text),
            Some(1) => percent(&text, true),
            Some(_) => escaped(&text),
        };
        let (mut guess, mut rest, mut told) = (Guess::default(), message.as_bytes(), Guessed::Nothing);
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            rest = later;
            if told == Guessed::Nothing {
                told = guess.look(now, NONCE);
            }
        }
        let expected = match how {
            None => Guessed::Plain,
            Some(how) => Guessed::Coded(Decode::ALL[how], vec![stamp(0)]),
        };
        prop_assert_eq!(told, expected);
        prop_assert_eq!(Guess::default().look(message.as_bytes(), NONCE + 1), Guessed::Nothing);
    }

    #[test]
    fn anything_else_is_nothing(bytes in prop::collection::vec(any::<u8>(), 0..400), cuts in cuts()) {
        for decode in Decode::ALL {
            prop_assert_eq!(decoded(decode, &bytes, &cuts), []);
        }
    }
}

#[test]
fn a_false_start_in_base64_hides_nothing() {
    for lead in 0..3 {
        let text = "x".repeat(lead) + "pm1:pm1:0pm1:" + &text(&[48, 48], "pm1:");
        let expected = plain(text.as_bytes());
        assert_eq!(expected.len(), 2);
        assert_eq!(decoded(Decode::Base64, STANDARD.encode(&text).as_bytes(), &[]), expected);
    }
}

#[test]
fn messages_without_a_stamp_are_told_by_their_looks() {
    let text = text(&[128], "a ");
    for (message, looks) in [
        (STANDARD.encode(&text).into_bytes(), Some("base64")),
        (percent(&text, true).into_bytes(), Some("percent-encoding")),
        (escaped(&text).into_bytes(), Some("\\u escapes")),
        (vec![0x1f, 0x8b, 8, 0, 0], Some("gzip")),
        (vec![0x78, 0x9c, 0x4b], Some("zlib")),
        (b"{\"data\":\"H4sIAAAAAAAA\"}".to_vec(), Some("gzip in base64")),
        (vec![0xff, 0xfe, 0xfd, 0xfc, 0x00], Some("binary data")),
        (b"{\"type\":\"ping\"}".to_vec(), None),
        (b"50 % of 80 % are 40 %, and 10 % of it 4 %".to_vec(), None),
        (Vec::new(), None),
    ] {
        assert_eq!(looks_like(&message), looks, "{}", String::from_utf8_lossy(&message));
    }
}
