//! A search against a real server with a planted limit, and searches that are refused.

use crate::tool;
use std::time::Duration;

use crate::tool::http::Target;
use crate::tool::{Ended, Tool};
use serde_json::Value;

/// Returns a scenario in which every 25th connection is reset: a crowd of 25 or more is never complete.
/// Other connections (a readiness probe, a publisher) may be the 25th too, so a smaller crowd may fail.
fn limited() -> String {
    let program = tool::program();
    format!(
        "name = \"limited\"\ntransports = [\"sse\"]\n{}
[target.subscribe]
sse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"
[target.publish]
url = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"
body = \"{{message}}\"
[target.process]
start = [{program:?}, \"serve\", \"--port\", \"{{port}}\", \"--refuse\", \"1/25\"]
ready = \"http://127.0.0.1:{{port}}/health\"
",
        tool::LOAD.replace("\"1s\"", "\"400ms\"").replace("\"200ms\"", "\"100ms\"")
    )
}

/// Runs a search for the target's limit. It is repeated, at most three times, if it reports that it ended
/// at the generator's limit.
fn search(tool: &Tool, arguments: &[&str]) -> (Ended, Value) {
    for again in (0..4).rev() {
        let ended = tool.run(&[&["find-max"], arguments, &["-o", "found", "--format", "json"]].concat());
        let file: Value = serde_json::from_str(&ended.out).expect("JSON");
        if again == 0 || file["found"]["ended"] != "generator" {
            return (ended.expect(0), file);
        }
        tool::quiet();
        std::fs::remove_dir_all(tool.path("found")).expect("the last search's folder");
    }
    unreachable!("the last of them is given")
}

#[test]
fn a_planted_limit_is_found() {
    let tool = Tool::new();
    tool.write("limited.toml", &limited());
    // A latency limit of a second: this machine may be busy, and the planted limit does not depend on
    // time.
    let (ended, file) = search(&tool, &["limited.toml", "--within", "1s", "--precision", "20%"]);
    assert_eq!(file["schema"], "pushmark.search/1");
    let (held, not) = (tool::number(&file, "/found/held/at"), tool::number(&file, "/found/not/at"));
    assert!(held < not && not <= 32.0 && held < 25.0, "{held} {not}");
    assert!(not - held <= (held * 0.2).floor().max(1.0), "{held} {not}");
    assert_eq!(file["found"]["confirmed"], true, "{}", file["found"]);
    assert_eq!(tool::number(&file, "/found/held/failed"), 0.0);
    // Every probe that measured is a separate run, beside the search.
    let names = tool.names("found");
    let probes = file["probes"].as_array().expect("probes");
    for run in probes.iter().filter_map(|probe| probe["run"].as_str()) {
        assert!(names.iter().any(|name| name == run), "{run} in {names:?}");
    }
    assert!(names.contains(&"search.json".to_owned()) && names.contains(&"report.html".to_owned()));
    assert_eq!(tool.names("found").len(), probes.len() + 2, "{names:?}");
    // On a busy machine a probe may have no answer, and is made again.
    ended.says(&["probe 1  8 connections (start)", "  held  ", "failed"]);
}

/// A message of 128 bytes and its frame are written at 10 bytes a ms: no connection receives 80 a second.
/// At 128 a second the last message of a second is half a second late, whatever the machine does.
#[test]
fn a_planted_limit_of_the_rate_is_found() {
    let tool = Tool::new();
    let text = limited().replace("\"--refuse\", \"1/25\"", "\"--slow-write\", \"10\"");
    tool.write("slow.toml", &text.replace("\"400ms\"", "\"1s\""));
    let arguments = ["slow.toml", "--over", "rate", "--from", "16/s", "--within", "300ms"];
    let more = ["--precision", "50%", "--set", "load.deadline=300ms"];
    let (ended, file) = search(&tool, &[&arguments[..], &more].concat());
    let (held, not) = (tool::number(&file, "/found/held/at"), tool::number(&file, "/found/not/at"));
    assert!(16.0 <= held && held < not && not <= 128.0, "{held} {not}");
    assert!(not <= held * 1.5, "{held} {not}");
    ended.says(&["16 publications/s on each channel (start)  held"]);
}

/// The target takes 60 publications a second and refuses the others: this is its limit, not the
/// generator's. It takes 40 even if half of them arrive at once after a pause of this machine.
#[test]
fn a_target_that_refuses_publications_has_met_its_own_limit() {
    let taken = std::sync::Mutex::new((std::time::Instant::now(), 0));
    let target = Target::start(move |request, answer| {
        if request.path == "/publish" {
            let mut taken = taken.lock().unwrap();
            if taken.0.elapsed() >= Duration::from_secs(1) {
                *taken = (std::time::Instant::now(), 0);
            }
            taken.1 += 1;
            let refused = taken.1 > 60;
            drop(taken);
            return match refused {
                true => answer.sized("503 Service Unavailable", "", b""),
                false => answer.publish(request),
            };
        }
        let mut seen = answer.hub.count();
        answer.head("text/event-stream")?;
        while !answer.hub.over() {
            for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                std::io::Write::write_all(answer.stream, &[b"data: ", &message[..], b"\n\n"].concat())?;
                seen += 1;
            }
        }
        Ok(())
    });
    let tool = Tool::new();
    let text = format!(
        "transports = [\"sse\"]\n[target.subscribe]\nsse = \"{at}/sse\"\n\
         [target.publish]\nurl = \"{at}/publish\"\n{}",
        tool::LOAD.replace("\"200ms\"", "\"100ms\""),
        at = target.url("")
    );
    tool.write("limited.toml", &text);
    let arguments = ["limited.toml", "--over", "rate", "--from", "10/s", "--within", "1s"];
    let (_, file) = search(&tool, &[&arguments[..], &["--precision", "50%"]].concat());
    assert_ne!(file["found"]["ended"], "generator", "{}", file["found"]);
    let not = tool::number(&file, "/found/not/at");
    assert!(40.0 < not && not <= 80.0, "{}", file["found"]);
    assert!(tool::number(&file, "/found/not/failed") >= 1.0, "{}", file["found"]);
}

#[test]
fn searches_that_cannot_be_made_say_why() {
    let tool = Tool::new();
    tool.write("two.toml", "transports = [\"sse\", \"websocket\"]\n[target]\nserver = \"builtin\"\n");
    tool.write("one.toml", "transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n");
    let refused = |arguments: &[&str], says: &str| {
        tool.run(&[&["find-max"], arguments].concat()).expect(2).says(&[says]);
    };
    refused(&["two.toml"], "the scenario has sse, websocket: choose with -t");
    refused(&["one.toml", "--keep", "delivery.p9o < 5ms"], "did you mean `delivery.p90`?");
    refused(&["one.toml", "--from", "many"], "--from many: accepted: a number of connections");
    refused(&["one.toml", "--from", "10", "--to", "5"], "--from 10 is above --to 5");
    refused(
        &["one.toml", "--over", "rate", "--to", "fast"],
        "accepted: publications per second, such as 50/s",
    );
    refused(&["one.toml", "--precision", "5"], "--precision 5: accepted: a share such as 5%");
    refused(&["none.toml"], "there is no such file");
}
