//! The result of a gate for a target that refuses, and on a machine whose latencies are invalid.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::tool::http::Target;
use crate::tool::{LOAD, Tool, arms, number};

/// Starts an event stream whose target answers one publication in `one_in` with 503, and sends the others.
fn limiting(one_in: usize) -> Target {
    let asked = AtomicUsize::new(0);
    Target::start(move |request, answer| {
        if request.path == "/publish" {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            return match number % one_in {
                0 => answer.sized("503 Service Unavailable", "", b"slow down"),
                _ => answer.publish(request),
            };
        }
        let mut seen = answer.hub.count();
        answer.head("text/event-stream")?;
        while !answer.hub.over() {
            for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                answer.stream.write_all(&[b"data: ", &message[..], b"\n\n"].concat())?;
                seen += 1;
            }
        }
        Ok(())
    })
}

#[test]
fn a_target_that_refuses_publications_is_degraded_and_not_invalid() {
    let target = limiting(10);
    let tool = Tool::new();
    let scenario = format!(
        "[target.subscribe]\nsse = \"{at}/sse\"\n[target.publish]\nurl = \"{at}/publish\"\n{LOAD}\
         [publisher]\nrate = \"100/s\"\n",
        at = target.url("")
    );
    tool.write("s.toml", &format!("{scenario}[thresholds]\n\"delivery.missing\" = \"== 0\"\n"));
    let ended = tool.run_judged(&["run", "s.toml", "-q", "-o", "out"]).expect(0);
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    assert_eq!(arm["outcome"], "degraded");
    assert!(number(arm, "/published/failed") >= 9.0, "{}", arm["published"]);
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| reason["code"] != "excused"), "{reasons:?}");
    let told = ended.out.lines().find(|line| line.contains("the target refused"));
    assert!(told.is_some_and(|line| line.contains("of 100 publications")), "{}", ended.out);
    assert!(!ended.out.contains("longer settle"), "{}", ended.out);
    // A target that takes nine of ten publications does not pass the default thresholds.
    tool.write("s.toml", &scenario);
    let ended = tool.run(&["run", "s.toml", "-q", "-o", "held"]);
    assert!(matches!(ended.code, 99 | 6), "{ended:#?}");
}

#[test]
fn counts_are_judged_where_latency_is_invalid() {
    let tool = Tool::new();
    let builtin = format!("transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n{LOAD}");
    let batched = format!("{}[thresholds]\n\"delivery.missing\" = \"== 0\"\n", builtin);
    tool.write("s.toml", &batched);
    // Messages are left unread for longer than they take: every percentile is the generator's.
    let counts = tool.run_judged(&["run", "s.toml", "-q", "--batch", "40ms", "-o", "counts"]).expect(0);
    let run = tool.run_json("counts");
    assert_eq!(run["verdict"]["state"], "invalid", "{}", counts.out);
    assert_eq!(run["thresholds"][0]["ok"], true);
    let asked = ["--set", "thresholds.delivery.p90=< 10s"];
    let latency = [&["run", "s.toml", "-q", "--batch", "40ms", "-o", "latency"][..], &asked].concat();
    tool.run(&latency).expect(6);
}
