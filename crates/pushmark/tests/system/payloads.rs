//! Received payloads differ from the published ones, or nothing is received: the target encodes payloads,
//! refuses publications, or clients were never subscribed. None of this counts as loss.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::tool::http::{Answer, Request, Target};
use crate::tool::{LOAD, Tool, arms, number};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The encoding with which a target sends a publication.
type Say = fn(&[u8]) -> Vec<u8>;

fn base64(message: &[u8]) -> Vec<u8> {
    format!(
        "{{\"data\":\"{}\"}}",
        STANDARD.encode([b"0".repeat(message.len() % 5), message.to_vec()].concat())
    )
    .into_bytes()
}

fn percent(message: &[u8]) -> Vec<u8> {
    message.iter().flat_map(|byte| format!("%{byte:02x}").into_bytes()).collect()
}

fn json(message: &[u8]) -> Vec<u8> {
    let units: String = message.iter().map(|byte| format!("\\u{byte:04x}")).collect();
    format!("{{\"text\":\"{units}\"}}").into_bytes()
}

fn reversed(message: &[u8]) -> Vec<u8> {
    message.iter().rev().copied().collect()
}

/// Starts a target that sends publications in this encoding, as events or as answers to long polls.
fn encoding(say: Say) -> Target {
    Target::start(move |request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        "/sse" => {
            answer.head("text/event-stream")?;
            let mut seen = 0;
            while !answer.hub.over() {
                for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                    answer.stream.write_all(&[b"data: ", &say(&message)[..], b"\n\n"].concat())?;
                    seen += 1;
                }
            }
            Ok(())
        }
        _ => next(request, answer, say),
    })
}

/// Answers with one publication after the cursor, or empty at the end of the hold.
fn next(request: &Request, answer: &mut Answer<'_>, say: Say) -> io::Result<()> {
    let Ok(seen) = request.argument("since").parse::<usize>() else {
        let now = answer.hub.count();
        return answer.sized("200 OK", &format!("X-Cursor: {now}\r\n"), b"");
    };
    let hold = Duration::from_millis(request.argument("hold").parse().unwrap_or(1_000));
    match answer.hub.after(seen, hold).unwrap_or_default().first() {
        Some(message) => answer.sized("200 OK", &format!("X-Cursor: {}\r\n", seen + 1), &say(message)),
        None => answer.sized("200 OK", &format!("X-Cursor: {seen}\r\n"), b""),
    }
}

fn scenario(target: &Target, transport: &str, more: &str) -> String {
    let at = target.url("");
    let template = match transport {
        "sse" => format!("\"{at}/sse\""),
        _ => format!(
            "{{ url = \"{at}/next?since={{cursor}}&hold={{hold_ms}}\", cursor = \"header:X-Cursor\" }}"
        ),
    };
    format!(
        "[target]\n{more}\n[target.subscribe]\n{transport} = {template}\n[target.publish]\nurl = \"{at}/publish\"\n\
         {LOAD}hold = \"20s\"\n[publisher]\nrate = \"20/s\"\n"
    )
}

/// Checks that every message of the measure phase was received, though it was encoded.
fn heard_all(arm: &Value, decoded: &str) {
    assert_eq!(arm["delivery"]["decoded"], decoded, "{}", arm["delivery"]);
    let expected = number(arm, "/delivery/expected");
    assert!(expected >= 100.0, "{}", arm["delivery"]);
    assert_eq!(number(arm, "/delivery/delivered") + number(arm, "/delivery/late"), expected);
    assert_eq!(number(arm, "/delivery/missing"), 0.0);
    assert_eq!(number(arm, "/delivery/unstamped"), 0.0);
}

#[test]
fn what_a_target_encodes_is_decoded_by_itself_and_nothing_is_lost() {
    for (say, decoded) in [(base64 as Say, "base64"), (percent, "percent"), (json, "json")] {
        for transport in ["sse", "long-poll"] {
            let (target, tool) = (encoding(say), Tool::new());
            let run = tool.measure(&scenario(&target, transport, ""), &[]);
            heard_all(&arms(&run)[0], decoded);
        }
    }
}

#[test]
fn an_encoding_that_is_named_is_undone_from_the_first_message_on() {
    let (target, tool) = (encoding(base64), Tool::new());
    tool.write("scenario.toml", &scenario(&target, "sse", "stamp = { decode = \"base64\" }"));
    let ended = tool.run(&["run", "scenario.toml", "-o", "out", "-q"]).never_panicked();
    heard_all(&arms(&tool.run_json("out"))[0], "base64");
    // The result reports the encoding.
    assert!(ended.out.contains("payloads arrived as base64 and were decoded"), "{}", ended.out);
}

#[test]
fn publications_refused_in_warm_up_are_no_failures_of_measure() {
    let published = AtomicUsize::new(0);
    let target = Target::start(move |request, answer| match &*request.path {
        // Refuses every second of the first eighteen; warm-up has twenty.
        "/publish" => match published.fetch_add(1, Ordering::Relaxed) {
            n if n < 18 && n % 2 == 1 => answer.sized("503 Service Unavailable", "", b"warming up"),
            _ => answer.publish(request),
        },
        _ => {
            answer.head("text/event-stream")?;
            let mut seen = 0;
            while !answer.hub.over() {
                for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                    answer.stream.write_all(&[b"data: ", &message[..], b"\n\n"].concat())?;
                    seen += 1;
                }
            }
            Ok(())
        }
    });
    let text = scenario(&target, "sse", "").replace("warmup = \"0s\"", "warmup = \"1s\"");
    let run = Tool::new().measure(&text, &[]);
    let published = &arms(&run)[0]["published"];
    assert_eq!(published["due"], 20, "{published:#}");
    assert_eq!(published["failed"], 0, "{published:#}");
    assert!(published["failed_by"].as_object().is_none_or(|kinds| kinds.is_empty()), "{published:#}");
}

#[test]
fn messages_that_hold_no_stamp_end_the_run_and_are_shown() {
    for transport in ["sse", "long-poll"] {
        let (target, tool) = (encoding(reversed), Tool::new());
        // A long run, so that only an early end is quick.
        let text = scenario(&target, transport, "").replace("duration = \"1s\"", "duration = \"300s\"");
        tool.write("scenario.toml", &text);
        let ended = tool.run(&["run", "scenario.toml", "-o", "out", "-q"]);
        ended.expect(3).says(&[
            "the target changes what is published",
            &format!("messages of {transport} came and none holds a stamp"),
            ":1mp",
            "(128 bytes)",
        ]);
    }
}

#[test]
fn a_target_that_refuses_all_publications_ends_the_run_at_once() {
    for status in ["401 Unauthorized", "404 Not Found", "422 Unprocessable", "503 Service Unavailable"] {
        let target = Target::start(move |request, answer| match &*request.path {
            "/publish" => answer.sized(status, "", b"{\"error\":\"no\x1b such room\"}"),
            _ => {
                answer.head("text/event-stream")?;
                while !answer.hub.over() {
                    answer.hub.after(0, Duration::from_millis(200));
                }
                Ok(())
            }
        });
        let tool = Tool::new();
        let text = scenario(&target, "sse", "headers = { authorization = \"Bearer tok-anna\" }");
        tool.write("scenario.toml", &text.replace("duration = \"1s\"", "duration = \"300s\""));
        let ended = tool.run(&["run", "scenario.toml", "-o", "out", "-q"]);
        assert!(!ended.err.contains("tok-anna"), "{}", ended.err);
        ended.expect(3).says(&[
            "the target refused all ",
            "POST /publish HTTP/1.1 to 127.0.0.1:",
            &format!("status {}: ", &status[..3]),
            "no\\u{1b} such room",
        ]);
    }
}

#[test]
fn a_target_that_nobody_was_subscribed_to_is_no_measurement() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            answer.head("text/event-stream")?;
            answer.stream.write_all(b"data: {\"hello\":\"who are you?\"}\n\n")?;
            while !answer.hub.over() {
                answer.hub.after(usize::MAX, Duration::from_millis(200));
            }
            Ok(())
        }
    });
    let tool = Tool::new();
    tool.write("scenario.toml", &scenario(&target, "sse", ""));
    let ended = tool.run(&["run", "scenario.toml", "-o", "out", "-q"]);
    assert!(ended.out.contains("no sign of a subscription: none of 8 clients of sse"), "{}", ended.out);
    assert!(ended.out.contains("who are you?"), "{}", ended.out);
    ended.expect(6);
    let run = tool.run_json("out");
    assert_eq!(arms(&run)[0]["outcome"], "degraded", "it lives");
}

#[test]
fn a_long_poll_that_is_answered_at_once_is_told_and_no_time_out() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            // The target knows what is new, and does not hold requests.
            answer.hub.after(usize::MAX, Duration::from_millis(20));
            let seen: usize = request.argument("since").parse().unwrap_or(answer.hub.count());
            let new = answer.hub.after(seen, Duration::ZERO).unwrap_or_default();
            let cursor = format!("X-Cursor: {}\r\n", seen + new.len());
            answer.sized("200 OK", &cursor, &new.concat())
        }
    });
    let tool = Tool::new();
    let run = tool.measure(&scenario(&target, "long-poll", ""), &[]);
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/delivery/missing"), 0.0, "{}", arm["delivery"]);
    assert_eq!(number(arm, "/long_poll/timeouts"), 0.0);
    assert_eq!(number(arm, "/long_poll/hold_overshoot/count"), 0.0);
    // With holds, no client would have had an early answer in this second.
    assert!(number(arm, "/long_poll/early") > 8.0, "{}", arm["long_poll"]);
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["code"] == "not_held"), "{reasons:?}");
}
