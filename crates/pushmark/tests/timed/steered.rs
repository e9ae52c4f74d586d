//! Runs that are steered while they go on: a warm-up that ends with a steady state, and floods that end
//! when a limit is met. The known answers are the built-in server's faults.

use crate::tool::{Tool, arms, number, whole};
use serde_json::Value;

/// Returns the delays of a server that is slow at first: each second of ten publications has about half
/// the delay of the one before, from 300 ms down to 2 ms after about eight seconds.
fn slow_start(seconds: usize) -> String {
    let mut delays = Vec::new();
    for second in 0..seconds {
        let ms = (300.0 * (-(second as f64) / 1.6).exp()).max(2.0);
        delays.extend(std::iter::repeat_n(format!("{ms:.0}ms"), 10));
    }
    format!("table:{}", delays.join(","))
}

fn scenario(delay: &str, warmup: &str) -> String {
    format!(
        "transports = [\"sse\"]\n[target]\nserver = \"builtin\"\nargs = [\"--delay\", \"{delay}\"]\n\
         [load]\nconnections = 20\nramp = {{ rate = 400 }}\nsettle = \"300ms\"\nwarmup = {warmup}\n\
         duration = \"3s\"\ndrain = \"1s\"\n[publisher]\nrate = \"10/s\"\n"
    )
}

fn span(arm: &Value, name: &str) -> (f64, f64) {
    let phases = arm["phases"].as_array().expect("phases");
    let phase = phases.iter().find(|p| p["name"] == name).expect("the phase");
    (number(phase, "/start_us"), number(phase, "/end_us"))
}

#[test]
fn a_slow_start_is_not_measured_and_nothing_is_lost_at_the_seam() {
    let tool = Tool::new();
    let run = tool.measure(&scenario(&slow_start(60), "{ detect = true, max = \"45s\" }"), &[]);
    let arm = &arms(&run)[0];
    assert_eq!(arm["warmup"]["ended"], "steady", "{}", arm["warmup"]);
    let (length, (from, to)) = (number(arm, "/warmup/length_us"), span(arm, "measure"));
    assert!((5e6..44e6).contains(&length), "{length}");
    assert_eq!(to - from, 3e6, "measure is as long as asked");
    assert_eq!(from % 1e6, 0.0, "it begins with a second");
    // Every publication is due once, in whichever phase: thirty are measured.
    whole(arm);
    assert_eq!((number(arm, "/published/due"), number(arm, "/delivery/intended")), (30.0, 600.0));
    // After five seconds the delay is a twentieth of the first.
    assert!(number(arm, "/delivery/latency/p50_us") < 60e3, "{}", arm["delivery"]["latency"]);
    assert_eq!(span(&run, "measure"), (from, to), "the run says it as it was");
}

#[test]
fn a_server_that_does_not_settle_is_measured_at_last_and_the_run_says_so() {
    let tool = Tool::new();
    // The delay grows by a quarter every second.
    let delays: Vec<String> = (0..90).map(|n| format!("{:.0}ms", 20.0 * 1.25_f64.powi(n / 10))).collect();
    let delay = format!("table:{}", delays.join(","));
    let run = tool.measure(&scenario(&delay, "{ detect = true, max = \"6s\" }"), &[]);
    let arm = &arms(&run)[0];
    assert_eq!(arm["warmup"]["ended"], "max");
    assert_eq!(number(arm, "/warmup/length_us"), 6e6);
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    let reason = reasons.iter().find(|r| r["code"] == "no_steady_state").expect("a reason");
    assert_eq!((reason["state"].as_str(), reason["arm"].as_str()), (Some("suspect"), Some("sse")));
    assert_eq!(number(arm, "/delivery/intended"), 600.0);
}

fn flood(more: &str, args: &str) -> String {
    format!(
        "transports = [\"stream\"]\n[target]\nserver = \"builtin\"\nargs = [{args}]\n\
         [flood]\nrate = \"100/s\"\ninterval = \"2s\"\n{more}\n\
         [publisher]\nmode = \"emitter\"\nrate = \"1/s\"\n"
    )
}

#[test]
fn a_flood_that_meets_no_limit_says_whose_end_it_was() {
    let tool = Tool::new();
    let file = tool.write("t.toml", &flood("limit = 300", "")).display().to_string();
    let held = tool.run_judged(&["flood", &file, "-q", "--format", "json", "-o", "held"]);
    let run: Value = serde_json::from_str(&held.out).expect("a run");
    let flood = &run["arms"][0]["flood"];
    assert_eq!((flood["end"].as_str(), flood["limits"][0]["kind"].as_str()), (Some("limit"), Some("asked")));
    assert_eq!((number(flood, "/offered"), number(flood, "/established")), (300.0, 300.0));
    assert_eq!((number(flood, "/served_max"), number(flood, "/counted_max")), (300.0, 300.0));
    let intervals = flood["intervals"].as_array().expect("intervals");
    let sum: f64 = intervals.iter().map(|i| number(i, "/established")).sum();
    assert_eq!(sum, 300.0, "the curve is the flood");
    assert!(number(&intervals[0], "/established") >= 150.0, "an open flood keeps its rate");
}

#[test]
fn a_server_that_shuts_its_door_to_half_is_said_to_refuse() {
    let tool = Tool::new();
    let file = tool.write("s.toml", &flood("limit = 5000", "\"--refuse\", \"1/2\"")).display().to_string();
    let ended = tool.run(&["flood", &file, "-q", "--format", "json", "-o", "out"]);
    let run: Value = serde_json::from_str(&ended.out).expect("a run");
    let flood = &run["arms"][0]["flood"];
    assert_eq!(flood["end"], "refused", "{flood}");
    assert!(number(flood, "/offered") < 4_000.0, "it ends when that shows");
}

#[test]
fn what_cannot_be_found_or_joined_is_refused_before_anything_starts() {
    let tool = Tool::new();
    for (text, words) in [
        (scenario("1ms", "{ detect = true, max = \"2s\" }"), "too short to find a steady state"),
        (scenario("1ms", "{ detect = true }") + "count = 10\n", "warm-up may use up all publications"),
        (flood("interval = \"10ms\"", "").replacen("interval = \"2s\"\n", "", 1), "whole seconds"),
        (scenario("1ms", "{ until = 3 }"), "until"),
    ] {
        let file = tool.write("s.toml", &text).display().to_string();
        let ended = tool.run(&["run", &file, "-q"]);
        assert_eq!(ended.code, 2, "{ended:#?}");
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
}

#[test]
fn a_server_of_threads_fills_its_heap() {
    // It needs a minute and a JDK, so it runs only if every test is requested.
    if std::env::var_os("PUSHMARK_TEST_ALL").is_none_or(|value| value != "1") {
        return;
    }
    let tool = Tool::new();
    let ended = tool.run(&[
        "probe-threads",
        "jetty-6-threads",
        "--heap",
        "24m",
        "--stack",
        "64k,136k",
        "--rate",
        "100/s",
        "--limit",
        "600",
        "-q",
    ]);
    let ended = ended.expect(0);
    let row = |line: &&str, stack: &str| line.split_whitespace().nth(1) == Some(stack);
    let line = |stack: &str| ended.out.lines().find(|line| row(line, stack)).expect("a row").to_owned();
    assert!(line("64k").contains("not started"), "{}", ended.out);
    assert!(line("136k").trim_end().ends_with("heap"), "{}", ended.out);
    assert!(ended.out.contains("holds most with heap 24m and stack 136k"), "{}", ended.out);
}
