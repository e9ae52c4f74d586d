//! The documents of instrumented requests (CONTRACT 7). They follow the instrumentation plan of the first
//! push studies, in which every answer reports what the server did for it.

use pushmark_net::Nanos;
use serde::Deserialize;

use crate::connection::Registered;
use crate::hub::is_channel_name;
use crate::request::{HOLD_DEFAULT_MS, HOLD_MAX_MS, Refusal};

/// The longest document of a request, bytes. Each answer repeats it.
const ASKED_MAX: usize = 16 * 1024;

/// The document of `POST /request` (CONTRACT 7.1).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegisterSpec {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    /// The channels, sorted, without duplicates.
    pub(crate) events: Vec<String>,
    /// How long a long poll is held, ms.
    #[serde(default = "hold_default_ms")]
    pub(crate) duration_ms: u64,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With every event, without end.
    #[serde(rename = "comet")]
    Comet,
    /// With the first event.
    #[serde(rename = "long-poll")]
    LongPoll,
}

fn hold_default_ms() -> u64 {
    HOLD_DEFAULT_MS
}

impl RegisterSpec {
    /// Parses and checks a document.
    pub(crate) fn parse(body: &[u8]) -> Result<RegisterSpec, Refusal> {
        if body.len() > ASKED_MAX {
            return Err(Refusal::new(413, "a request's document has at most 16 KiB"));
        }
        let mut spec: RegisterSpec =
            serde_json::from_slice(body).map_err(|error| Refusal::new(400, error.to_string()))?;
        if spec.events.is_empty() {
            return Err(Refusal::new(400, "events: at least one channel is needed"));
        }
        if let Some(name) = spec.events.iter().find(|name| !is_channel_name(name)) {
            return Err(Refusal::new(400, format!("events: no such name: {name:?}")));
        }
        if spec.duration_ms > HOLD_MAX_MS {
            let why = format!("duration_ms: found {}, accepted: 0 to {HOLD_MAX_MS}", spec.duration_ms);
            return Err(Refusal::new(400, why));
        }
        spec.events.sort_unstable();
        spec.events.dedup();
        Ok(spec)
    }
}

/// Returns a request's document as received, on one line. In JSON a line end is never inside a string.
pub(crate) fn on_one_line(body: &[u8]) -> Box<[u8]> {
    body.trim_ascii().iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect()
}

/// The event reported in an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) channel: &'a str,
    /// When the loop over the event's requests began.
    pub(crate) began_ns: Nanos,
    /// The number of requests that receive it, and this request's place among them, from 1.
    pub(crate) total: u64,
    pub(crate) place: u64,
    /// The message, a JSON string.
    pub(crate) message: &'a [u8],
}

/// Appends the document that answers `request` at `now_ns` (CONTRACT 7.2). Without an event it reports a
/// timeout. `finish`: registered requests now, including this one.
pub(crate) fn response(
    out: &mut Vec<u8>,
    request: &Registered,
    event: Option<Event<'_>>,
    now_ns: Nanos,
    finish: u64,
) {
    out.extend_from_slice(b"{\"response\":{");
    match event {
        Some(event) => {
            let Event { channel, began_ns, total, place, message } = event;
            let timings = timings(began_ns, now_ns);
            let head = format!(
                r#""event":{{"name":"{channel}",{timings},"connections":{{"total":{total},"place":{place}}},"message":"#
            );
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(message);
            out.extend_from_slice(b"},");
        }
        None => out.extend_from_slice(b"\"timeout\":true,"),
    }
    out.extend_from_slice(b"\"request\":");
    out.extend_from_slice(&request.asked);
    let (timings, start) = (timings(request.since_ns, now_ns), request.start);
    let tail = format!(r#",{timings},"connections":{{"start":{start},"finish":{finish}}}}}}}"#);
    out.extend_from_slice(tail.as_bytes());
}

/// Formats two instants in µs, and their difference in ms with µs precision.
fn timings(created_ns: Nanos, sent_ns: Nanos) -> String {
    let (created_us, sent_us) = (created_ns / 1000, sent_ns.max(created_ns) / 1000);
    let us = sent_us - created_us;
    let (ms, part) = (us / 1000, us % 1000);
    format!(r#""timings":{{"created":{created_us},"sent":{sent_us},"duration":{ms}.{part:03}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |body: &str| RegisterSpec::parse(body.as_bytes()).unwrap_err();
        let table = [
            ("", 400),
            ("[]", 400),
            (r#"{"type":"poll","events":["a"]}"#, 400),
            (r#"{"type":"comet","events":[]}"#, 400),
            (r#"{"type":"comet","events":["a,b"]}"#, 400),
            (r#"{"type":"comet","events":["a"],"other":1}"#, 400),
            (r#"{"type":"long-poll","events":["a"],"duration_ms":-1}"#, 400),
            (r#"{"type":"long-poll","events":["a"],"duration_ms":3600001}"#, 400),
        ];
        for (body, status) in table {
            assert_eq!(refused(body).status, status, "{body}");
        }
        let long = format!(r#"{{"type":"comet","events":["a"{}]}}"#, r#","a""#.repeat(ASKED_MAX / 4));
        assert_eq!(refused(&long).status, 413);
    }

    #[test]
    fn the_document_is_one_line() {
        let request = Registered {
            comet: false,
            keep_alive: true,
            since_ns: 1_000_000,
            until_ns: 9_000_000,
            start: 3,
            asked: on_one_line(b"{\"type\":\r\n \"long-poll\"}\n"),
        };
        let mut out = Vec::new();
        let event = Event { channel: "c", began_ns: 1_500_000, total: 2, place: 1, message: b"\"m\"" };
        response(&mut out, &request, Some(event), 2_250_000, 2);
        let expected = concat!(
            r#"{"response":{"event":{"name":"c","timings":{"created":1500,"sent":2250,"duration":0.750},"#,
            r#""connections":{"total":2,"place":1},"message":"m"},"request":{"type":   "long-poll"},"#,
            r#""timings":{"created":1000,"sent":2250,"duration":1.250},"connections":{"start":3,"finish":2}}}"#
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
