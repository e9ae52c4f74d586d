//! Event streams as browsers test them: our decoder against the standard's vectors, and the vectors against
//! npm `eventsource-parser` as an independent check.

use conformance::{own, tools};
use pushmark_proto::client::{Client, Config, Event as Told, Request, Transport};
use pushmark_proto::sse::{Decoder, Event};
use serde_json::{Value, json};

fn vectors() -> Value {
    let text = std::fs::read(own("eventsource.json")).expect("the vectors are there");
    serde_json::from_slice(&text).expect("the vectors are JSON")
}

fn list<'v>(vectors: &'v Value, key: &str) -> &'v [Value] {
    vectors[key].as_array().expect("a list of vectors")
}

fn bytes(vector: &Value) -> Vec<u8> {
    match vector["hex"].as_str() {
        Some(hex) => {
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
            (0..hex.len()).step_by(2).map(byte).collect()
        }
        None => vector["stream"].as_str().expect("a stream").as_bytes().to_vec(),
    }
}

/// The events of a stream, in the form of the vectors.
#[derive(Debug, Default, PartialEq)]
struct Said {
    /// Type, data, last event id.
    events: Vec<(String, String, String)>,
    retry_ms: Option<u64>,
}

impl Said {
    fn of(value: &Value) -> Said {
        let text =
            |event: &Value, key: &str, default: &str| event[key].as_str().unwrap_or(default).to_owned();
        let event =
            |event: &Value| (text(event, "type", "message"), text(event, "data", ""), text(event, "id", ""));
        Said {
            events: value["events"].as_array().expect("events").iter().map(event).collect(),
            retry_ms: value["retry_ms"].as_u64(),
        }
    }

    fn without_types(mut self) -> Said {
        self.events.iter_mut().for_each(|(kind, _, _)| kind.clear());
        self
    }
}

/// Feeds a stream in pieces of at most `size` bytes. Returns the events and the last id.
fn decode(stream: &[u8], size: usize) -> (Said, String) {
    let mut decoder = Decoder::default();
    let (mut said, mut name, mut data) = (Said::default(), Vec::new(), Vec::new());
    for piece in stream.chunks(size) {
        let mut input = piece;
        while let Some(event) = decoder.next(&mut input).expect("nothing in these streams fails") {
            match event {
                Event::Data(bytes) => data.extend_from_slice(bytes),
                Event::Name(bytes) => name.extend_from_slice(bytes),
                Event::Retry(ms) => said.retry_ms = Some(ms),
                Event::Comment => {}
                Event::MessageEnd => {
                    let text =
                        |bytes: &mut Vec<u8>| String::from_utf8_lossy(&std::mem::take(bytes)).into_owned();
                    let kind = if name.is_empty() { "message".to_owned() } else { text(&mut name) };
                    said.events.push((kind, text(&mut data), decoder.last_event_id().to_owned()));
                }
            }
        }
    }
    (said, decoder.last_event_id().to_owned())
}

#[test]
fn streams_are_heard_as_the_standard_says() {
    let vectors = vectors();
    for vector in list(&vectors, "streams") {
        let stream = bytes(vector);
        for size in [stream.len(), 1, 2, 3, 7] {
            let (said, last) = decode(&stream, size);
            let expected = Said::of(vector);
            let (said, expected) = match vector["types"].as_bool() {
                Some(false) => (said.without_types(), expected.without_types()),
                _ => (said, expected),
            };
            let name = &vector["name"];
            assert_eq!(said, expected, "{name} in pieces of {size}");
            let last_expected = vector["last_event_id"].as_str().unwrap_or_default();
            assert_eq!(last, last_expected, "last id of {name} in pieces of {size}");
        }
    }
}

#[test]
fn answers_are_event_streams_or_failures_as_the_standard_says() {
    let vectors = vectors();
    for vector in list(&vectors, "responses") {
        let status = &vector["status"];
        let content_type = match vector["content_type"].as_str() {
            Some(content_type) => format!("Content-Type: {content_type}\r\n"),
            None => String::new(),
        };
        let mut answer = format!("HTTP/1.1 {status} x\r\n{content_type}\r\n").into_bytes();
        let config = Config::new(Transport::Sse);
        let mut client = Client::new(&config, 1);
        let mut out = Vec::new();
        client.write_request(&config, &Request::get("/", "a"), &mut out);
        let outcome = match client.handle_input(&config, &mut &mut answer[..], &mut out) {
            Ok(Some(Told::Opened { .. })) => "opens",
            Ok(other) => panic!("{}: {other:?}", vector["name"]),
            Err(_) => "fails",
        };
        assert_eq!(json!(outcome), vector["outcome"], "{}", vector["name"]);
    }
}

#[test]
fn a_request_for_an_event_stream_says_what_a_browser_says() {
    let config = Config::new(Transport::Sse);
    let mut out = Vec::new();
    Client::new(&config, 1).write_request(&config, &Request::get("/", "a"), &mut out);
    let head = String::from_utf8(out).expect("a head is text").to_lowercase();
    // web-platform-tests: request-accept, request-cache-control.
    assert!(head.contains("\r\naccept: text/event-stream\r\n"), "{head}");
    assert!(head.contains("\r\ncache-control: no-cache\r\n"), "{head}");
    assert!(!head.contains("last-event-id"), "{head}");
}

#[test]
fn eventsource_parser_hears_the_same() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    // Deviations of the parser itself from the standard.
    let deviations = [(
        "newlines-cr",
        "keeps the last CR back until it knows that no LF follows, so the last event waits",
    )];
    let output = tools::node("parse.mjs").arg(own("eventsource.json")).output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let heard = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let heard: Vec<Value> = heard.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let vectors = vectors();
    let streams = list(&vectors, "streams");
    assert_eq!(heard.len(), streams.len());
    let mut wrong = Vec::new();
    for (vector, heard) in streams.iter().zip(&heard) {
        let expected = Said::of(vector);
        for manner in ["whole", "bytewise"] {
            let same = Said::of(&heard[manner]) == expected;
            let name = vector["name"].as_str().expect("a name");
            let known = deviations.iter().any(|(deviating, _)| *deviating == name);
            match (same, known) {
                (true, false) | (false, true) => {}
                (true, true) => wrong.push(format!("{name}, {manner}: deviates no longer")),
                (false, false) => wrong.push(format!("{name}, {manner}: {}", heard[manner])),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
