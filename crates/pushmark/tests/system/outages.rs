//! Accounts of failures, against the target's own knowledge: outages followed by a replay, and refused
//! publications.

use std::io::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::tool::http::{Answer, Request, Target};
use crate::tool::{LOAD, Tool, arms, came, number};

const CROWD: f64 = 8.0;
const BACK: &str = "reconnect = { backoff = \"full-jitter\", base = \"50ms\", max = \"400ms\" }\n";
const RATE: &str = "[publisher]\nrate = \"50/s\"\nconnections = 1\n";

/// While its count of publications is in this range, the target refuses all clients: 1.5 s.
const DOWN: Range<usize> = 40..115;
/// In this range it ends each connection right after its head.
const FLAPS: Range<usize> = 115..140;

/// Whether the target takes a publication and never sends it: one in ten, and none in the outage.
fn lost(index: usize) -> bool {
    index % 10 == 3 && !(30..150).contains(&index)
}

/// Serves numbered events; a client that comes back receives the missed ones.
fn events(request: &Request, answer: &mut Answer<'_>) -> std::io::Result<()> {
    if DOWN.contains(&answer.hub.count()) {
        return answer.sized("503 Service Unavailable", "", b"");
    }
    answer.head("text/event-stream")?;
    let mut next = request.header("last-event-id").parse().map_or(0, |last: usize| last + 1);
    while !answer.hub.over() {
        let count = answer.hub.count();
        if DOWN.contains(&count) || FLAPS.contains(&count) {
            break;
        }
        for message in answer.hub.after(next, Duration::from_millis(500)).unwrap_or_default() {
            if !lost(next) {
                let id = format!("id: {next}\ndata: ");
                answer.stream.write_all(&[id.as_bytes(), &message[..], b"\n\n"].concat())?;
            }
            next += 1;
        }
    }
    Err(std::io::ErrorKind::ConnectionAborted.into())
}

/// Answers to long polls; a client that comes back with a cursor receives all it missed.
fn next(request: &Request, answer: &mut Answer<'_>) -> std::io::Result<()> {
    let down = |answer: &mut Answer<'_>| answer.sized("503 Service Unavailable", "", b"");
    if DOWN.contains(&answer.hub.count()) {
        return down(answer);
    }
    let cursor = |next: usize| format!("X-Cursor: {next}\r\n");
    let Ok(since) = request.argument("since").parse::<usize>() else {
        let now = answer.hub.count();
        return answer.sized("200 OK", &cursor(now), b"");
    };
    let hold = Duration::from_millis(request.argument("hold").parse().expect("a hold"));
    let came = answer.hub.after(since, hold).unwrap_or_default();
    if DOWN.contains(&answer.hub.count()) {
        // A client whose request was held when the outage began is refused as well.
        return down(answer);
    }
    let body: Vec<u8> = came
        .iter()
        .enumerate()
        .filter(|(n, _)| !lost(since + n))
        .flat_map(|(_, message)| [&message[..], b"\n"].concat())
        .collect();
    answer.sized("200 OK", &cursor(since + came.len()), &body)
}

fn scenario(target: &Target, reconnect: &str) -> String {
    let at = target.url("");
    format!(
        "[target.subscribe]\nsse = \"{at}/sse\"\n[target.publish]\nurl = \"{at}/publish\"\n{LOAD}{reconnect}{RATE}"
    )
}

#[track_caller]
fn accounts_hold(run: &serde_json::Value) {
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["code"] != "accounts"), "{reasons:#?}");
}

#[test]
fn what_is_replayed_after_many_attempts_was_served_and_what_was_lost_is_missing() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => events(request, answer),
    });
    let run = Tool::new().measure(&scenario(&target, BACK), &["-d", "5s"]);
    let connections = &arms(&run)[0]["connections"];
    assert!(number(connections, "/failed/status_5xx") >= CROWD, "{connections:#}");
    assert!(number(connections, "/lost") >= 2.0 * CROWD, "it flapped: {connections:#}");
    fates_are_true(&run, &target);
}

#[test]
fn what_a_cursor_brings_after_an_outage_was_served_and_what_was_lost_is_missing() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => next(request, answer),
    });
    let at = target.url("");
    let template =
        format!("{{ url = \"{at}/next?since={{cursor}}&hold={{hold_ms}}\", cursor = \"header:X-Cursor\" }}");
    let scenario =
        scenario(&target, BACK).replace(&format!("sse = \"{at}/sse\""), &format!("long-poll = {template}"));
    let run = Tool::new().measure(&scenario, &["-d", "5s"]);
    let connections = &arms(&run)[0]["connections"];
    assert!(number(connections, "/failed/status_5xx") >= CROWD, "{connections:#}");
    assert_eq!(number(connections, "/lost"), CROWD, "each was sent away once: {connections:#}");
    assert_eq!(number(connections, "/lost_with/HTTP 503"), CROWD, "{connections:#}");
    fates_are_true(&run, &target);
}

/// Checks that every publication that the target took was received, at once or by the replay, except those
/// it lost.
#[track_caller]
fn fates_are_true(run: &serde_json::Value, target: &Target) {
    let arm = &arms(run)[0];
    let delivery = &arm["delivery"];
    let published = target.hub.count();
    assert_eq!(number(delivery, "/intended"), published as f64 * CROWD);
    let lost = (0..published).filter(|&index| lost(index)).count() as f64 * CROWD;
    assert_eq!(came(arm), published as f64 * CROWD - lost, "{delivery:#}");
    assert_eq!(number(delivery, "/missing"), lost, "{delivery:#}");
    for fate in ["unserved", "excused", "unpublished", "duplicate"] {
        assert_eq!(number(delivery, &format!("/{fate}")), 0.0, "{fate}: {delivery:#}");
    }
    let clients = &delivery["clients"];
    assert_eq!(number(clients, "/heard_some"), CROWD, "{clients:#}");
    assert_eq!(number(clients, "/missing_max"), lost / CROWD, "{clients:#}");
    accounts_hold(run);
}

#[test]
fn a_refusal_excuses_its_own_deliveries_and_no_other_loss() {
    // Taken and lost, refused and sent all the same, refused: each by the number of the publication.
    let kind = |n: usize| match n {
        n if n % 25 == 3 => "lost",
        n if n % 20 == 7 => "refused and sent",
        n if n % 20 == 14 => "refused",
        _ => "sent",
    };
    let posts = AtomicUsize::new(0);
    let target = Target::start(move |request, answer| {
        if request.path != "/publish" {
            answer.head("text/event-stream")?;
            let mut seen = 0;
            while !answer.hub.over() {
                for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                    answer.stream.write_all(&[b"data: ", &message[..], b"\n\n"].concat())?;
                    seen += 1;
                }
            }
            return Ok(());
        }
        match kind(posts.fetch_add(1, Ordering::Relaxed)) {
            "lost" => answer.sized("204 No Content", "", b""),
            "refused" => answer.sized("503 Service Unavailable", "", b""),
            "sent" => answer.publish(request),
            _ => {
                answer.hub.publish(&request.body);
                answer.sized("503 Service Unavailable", "", b"")
            }
        }
    });
    // With one connection, publications are counted in the order in which they became due, however late.
    let one = ["--set", "threads=2", "--set", "publisher.connections=1"];
    let run = Tool::new().measure(&scenario(&target, ""), &[&["-d", "4s"], &one[..]].concat());
    let arm = &arms(&run)[0];
    let delivery = &arm["delivery"];
    let published = number(arm, "/published/due") as usize;
    let of = |what: &str| (0..published).filter(|&n| kind(n) == what).count() as f64;
    assert_eq!(number(arm, "/published/failed"), of("refused") + of("refused and sent"));
    assert_eq!(came(arm), (of("sent") + of("refused and sent")) * CROWD, "{delivery:#}");
    assert_eq!(number(delivery, "/excused"), of("refused") * CROWD, "{delivery:#}");
    assert_eq!(number(delivery, "/missing"), of("lost") * CROWD, "{delivery:#}");
    assert_eq!(number(delivery, "/clients/missing_max"), of("lost"), "{delivery:#}");
    accounts_hold(&run);
}
