//! A search against a real server whose limit is planted, and searches that cannot be made.

mod tool;

use tool::Tool;

/// Every 25th connection is reset: a crowd of 25 and more is never whole. Whatever else connects
/// (a look whether the server is there, a publisher) may be the 25th too, so less may fail.
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

#[test]
fn a_planted_limit_is_found() {
    let tool = Tool::new();
    tool.write("limited.toml", &limited());
    // A second: this machine may be busy, and the limit is not one of time.
    let arguments = [
        "find-max",
        "limited.toml",
        "--within",
        "1s",
        "--precision",
        "20%",
        "-o",
        "found",
        "--format",
        "json",
    ];
    let ended = tool.run(&arguments).expect(0);
    let file: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(file["schema"], "pushmark.search/1");
    let (held, not) = (tool::number(&file, "/found/held/at"), tool::number(&file, "/found/not/at"));
    assert!(held < not && not <= 32.0 && held < 25.0, "{held} {not}");
    assert!(not - held <= (held * 0.2).floor().max(1.0), "{held} {not}");
    assert_eq!(file["found"]["confirmed"], true, "{}", file["found"]);
    assert_eq!(tool::number(&file, "/found/held/failed"), 0.0);
    // Every probe that measured is a run of its own, beside the search.
    let names = tool.names("found");
    let probes = file["probes"].as_array().expect("probes");
    for run in probes.iter().filter_map(|probe| probe["run"].as_str()) {
        assert!(names.iter().any(|name| name == run), "{run} in {names:?}");
    }
    assert!(names.contains(&"search.json".to_owned()) && names.contains(&"report.html".to_owned()));
    assert_eq!(tool.names("found").len(), probes.len() + 2, "{names:?}");
    ended.says(&["probe 1  8 connections (start)  held", "failed"]);
}

/// A message of 128 bytes and its frame leave at 10 bytes a ms: no connection takes 80 a second.
/// At 128 a second the last of one second is half a second behind, whatever else the machine does.
#[test]
fn a_planted_limit_of_the_rate_is_found() {
    let tool = Tool::new();
    let text = limited().replace("\"--refuse\", \"1/25\"", "\"--slow-write\", \"10\"");
    tool.write("slow.toml", &text.replace("\"400ms\"", "\"1s\""));
    let arguments = ["find-max", "slow.toml", "--over", "rate", "--from", "16/s", "--within", "300ms"];
    let more = ["--precision", "50%", "--set", "load.deadline=300ms", "-o", "found", "--format", "json"];
    let ended = tool.run(&[&arguments[..], &more].concat()).expect(0);
    let file: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    let (held, not) = (tool::number(&file, "/found/held/at"), tool::number(&file, "/found/not/at"));
    assert!(16.0 <= held && held < not && not <= 128.0, "{held} {not}");
    assert!(not <= held * 1.5, "{held} {not}");
    ended.says(&["16 publications/s on each channel (start)  held"]);
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
    refused(&["one.toml", "--keep", "delivery.p98 < 5ms"], "did you mean `delivery.p90`?");
    refused(&["one.toml", "--from", "many"], "--from many: accepted: a number of connections");
    refused(&["one.toml", "--from", "10", "--to", "5"], "--from 10 is above --to 5");
    refused(&["one.toml", "--over", "rate", "--to", "fast"], "accepted: publications a second, such as 50/s");
    refused(&["one.toml", "--precision", "5"], "--precision 5: accepted: a share such as 5%");
    refused(&["none.toml"], "there is no such file");
}
