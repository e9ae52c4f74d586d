//! Our delivery times beside those of CometD's own Java client, which publishes and receives on the same
//! server.
//!
//! A client reports the server's time plus the time of its own work: on a fast server, a client with more
//! work reports longer times. So there are two tests. On a server that holds every delivery back by a
//! known time, both must report that time. On CometD our times must not be later than theirs: the
//! difference is the work of their client.

use std::process::Command;

use crate::tool::{Tool, arms, number, whole};
use conformance::{own, tools};
use serde_json::Value;

/// The server holds each delivery back by this, ms.
const DELAY_MS: f64 = 200.0;
/// Two clients agree if their medians differ by at most this share.
const AGREE: f64 = 0.1;
/// Other activity on this machine may move a median by this much, ms.
const NOISE_MS: f64 = 1.0;
/// The most pairs of runs; the test ends at the first pair in which ours is not later.
const PAIRS_MAX: u32 = 4;
const TRANSPORTS: [(&str, &str); 2] = [("bayeux", "long-polling"), ("bayeux-websocket", "websocket")];

const LOAD: &str = "[load]
connections = 20
ramp = { rate = 100 }
settle = \"1s\"
warmup = \"2s\"
duration = \"3s\"
drain = \"2s\"
[publisher]
rate = \"10/s\"
size = \"128B\"
";

#[test]
fn a_second_opinion_on_delivery_times() {
    if !tools::present(&["javac", "maven", "cometd client"]) {
        return;
    }
    // One after the other, because they share this machine's cores.
    let tool = Tool::new();
    for (transport, theirs) in TRANSPORTS {
        a_known_delay_is_told_alike(&tool, transport, theirs);
        on_cometd_ours_is_not_later(&tool, transport, theirs);
    }
}

fn a_known_delay_is_told_alike(tool: &Tool, transport: &str, theirs: &str) {
    let (ours, theirs) = medians(tool, "builtin", "args = [\"--delay\", \"200ms\"]", transport, theirs);
    for (whose, median) in [("ours", ours), ("theirs", theirs)] {
        let near = (median - DELAY_MS).abs() <= DELAY_MS * AGREE;
        assert!(near, "{transport}: {whose} is {median:.2} ms where the server holds back {DELAY_MS} ms");
    }
    assert!((ours - theirs).abs() <= theirs * AGREE, "{transport}: ours {ours:.2}, theirs {theirs:.2} ms");
}

fn on_cometd_ours_is_not_later(tool: &Tool, transport: &str, theirs: &str) {
    // Medians are a few ms: another program that needs a core during one of the two runs decides a pair. A
    // client that is really later is later in every pair.
    let mut pairs = Vec::new();
    for _ in 0..PAIRS_MAX {
        let (ours, theirs) = medians(tool, "cometd-8", "", transport, theirs);
        if ours <= theirs * (1.0 + AGREE) + NOISE_MS {
            return;
        }
        pairs.push(format!("ours {ours:.2} ms, theirs {theirs:.2} ms"));
    }
    panic!("{transport}: {}", pairs.join("; "));
}

/// Returns the medians from due, ms, of pushmark and of CometD's client, one after the other on servers
/// started alike.
fn medians(tool: &Tool, server: &str, more: &str, transport: &str, theirs: &str) -> (f64, f64) {
    let text = format!("transports = [\"{transport}\"]\n[target]\nserver = \"{server}\"\n{more}\n{LOAD}");
    let out = tool.path("out");
    if out.exists() {
        std::fs::remove_dir_all(&out).expect("the last run's folder");
    }
    let run = tool.measure(&text, &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    let ours = number(arm, "/delivery/latency/p50_us") / 1_000.0;
    (ours, their_median(tool, server, more, theirs))
}

fn their_median(tool: &Tool, server: &str, more: &str, transport: &str) -> f64 {
    let mut arguments = vec!["servers", "start", server];
    if !more.is_empty() {
        arguments.extend(["--", "--delay", "200ms"]);
    }
    let mut started = tool.start(&arguments);
    let line = started.wait_for("/cometd");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an URL");
    let folder = own("java/target");
    let path = format!("{0}/classes:{0}/lib/*", folder.display());
    let mut command: Command = tools::command("java");
    // The same crowd, rate, warm-up, duration and size as ours.
    command.args(["-cp", &path, "pushmark.Measure", transport, url, "20", "10", "2", "3", "128"]);
    let output = command.output().expect("java");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let document: Value = serde_json::from_str(said.trim())
        .unwrap_or_else(|_| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(document["delivered"], document["expected"], "{document}");
    number(&document, "/from_due/median_us") / 1_000.0
}
