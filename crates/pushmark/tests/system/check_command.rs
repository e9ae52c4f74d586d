//! `pushmark check` as users run it: its output, its exit code, its saved state. `check_faults` shows what
//! the cases find.

use crate::tool;
use crate::tool::Tool;
use crate::tool::http::Target;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one document")
}

/// The program's own server by its registry row, which is data here.
const SERVER: &str = "builtin";

#[test]
fn a_server_that_keeps_the_contract_passes_by_number() {
    let ended =
        Tool::new().run(&["check", SERVER, "--only", "2.1", "--only", "6.3/1", "--seed", "5"]).expect(0);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].starts_with("✓ 2.1/1   GET /health"), "{}", ended.out);
    assert!(lines[1].starts_with("✓ 6.3/1"), "{}", ended.out);
    let summary = format!("{SERVER}: 2 of 2 cases passed, in ");
    assert!(ended.out.contains(&summary) && ended.out.ends_with(" with --seed 5\n"), "{}", ended.out);
}

#[test]
fn a_section_means_all_its_clauses_and_json_tells_them() {
    let ended = Tool::new().run(&["check", SERVER, "--only", "4", "--format", "json"]).expect(0);
    let document = json(&ended.out);
    assert_eq!((&document["schema"], &document["passed"]), (&"pushmark.check/1".into(), &true.into()));
    let cases = document["cases"].as_array().expect("cases");
    let clauses: Vec<&str> = cases.iter().filter_map(|case| case["clause"].as_str()).collect();
    assert!(clauses.len() > 5 && clauses.iter().all(|clause| clause.starts_with("4.")), "{clauses:?}");
    assert!(clauses.contains(&"4.1") && clauses.contains(&"4.4"), "{clauses:?}");
    assert!(cases.iter().all(|case| case["verdict"] == "pass"), "{document:#}");
}

#[test]
fn what_fails_says_what_was_sent_what_came_and_what_is_wanted_and_ends_with_99() {
    // The target answers every request alike.
    let target = Target::start(|_, answer| answer.sized("200 OK", "Content-Type: text/plain\r\n", b"fine"));
    let url = target.url("");
    let ended = Tool::new().run(&["check", "--contract", &url, "--only", "2.1", "--only", "2.5"]).expect(99);
    for part in [
        "✕ 2.1/1   GET /health → 200, body `ok`",
        "sent   GET /health",
        "came   the body: \"fine\" where \"ok\" is wanted",
        // The server ran before, so it is left running.
        "not offered: it runs already",
        "1 failed (2.1/1), 2 not offered",
    ] {
        assert!(ended.out.contains(part), "no {part:?} in\n{}", ended.out);
    }
    let document =
        Tool::new().run(&["check", "--contract", &url, "--only", "2.1/1", "--format", "json"]).expect(99);
    let case = &json(&document.out)["cases"][0];
    assert_eq!((&case["verdict"], &case["sent"][0]), (&"fail".into(), &"GET /health".into()));
}

#[test]
fn mistakes_say_what_is_accepted() {
    let tool = Tool::new();
    tool.run(&["check", SERVER, "--only", "9.9"]).expect(2).says(&[
        "9.9: no case has this number",
        "6.2",
        "sse",
    ]);
    tool.run(&["check", "bultin"]).expect(2).says(&[
        "there is no server `bultin`",
        SERVER,
        "a scenario file",
    ]);
    tool.run(&["check", "http://127.0.0.1:1"]).expect(2).says(&["--contract", "[target.publish]"]);
    tool.run(&["check", "--contract", "ftp://x"]).expect(2).says(&["expected http://HOST:PORT"]);
    tool.run(&["check"]).expect(2);
    tool.run(&["check", "--contract", "http://127.0.0.1:1"]).expect(3).says(&["cannot be reached"]);
}

#[test]
fn a_target_without_a_contract_is_asked_what_its_transports_promise() {
    let tool = Tool::new();
    let target = Target::start(|request, answer| match request.path.as_str() {
        "/pub" => answer.publish(request),
        _ => {
            let mut seen = answer.hub.count();
            answer.head("text/event-stream")?;
            while let Some(news) = answer.hub.after(seen, tool::PATIENCE) {
                seen += news.len();
                for message in news {
                    use std::io::Write as _;
                    let event = [b"data: ", &message[..], b"\n\n"].concat();
                    answer.stream.write_all(&event)?;
                }
            }
            Ok(())
        }
    });
    let scenario = format!(
        "[target.subscribe]\nsse = \"{}\"\n[target.publish]\nurl = \"{}\"\nbody = \"{{message}}\"\n",
        target.url("/sse"),
        target.url("/pub"),
    );
    tool.write("target.toml", &scenario);
    let ended = tool.run(&["check", "target.toml", "--only", "sse"]).expect(0);
    assert!(ended.out.contains("✓ sse/delivers") && ended.out.contains("✓ sse/orders"), "{}", ended.out);
    assert!(ended.out.contains("not offered: it gives no cursor and no event id"), "{}", ended.out);
    // A target without a way to publish promises nothing that can be checked.
    let observed = scenario.split("[target.publish]").next().expect("the first part");
    tool.write("target.toml", observed);
    let ended = tool.run(&["check", "target.toml", "--only", "sse/delivers"]).expect(0);
    assert!(ended.out.contains("not offered: nothing says how to publish"), "{}", ended.out);
}

#[test]
fn a_pass_of_everything_is_remembered_and_a_part_is_not() {
    let tool = Tool::new();
    let folder = tool.path("servers");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::copy(tool::servers().join("servers.toml"), folder.join("servers.toml")).expect("the registry");
    let folder = folder.display().to_string();
    let kept = tool.path("servers").join(format!(".state/{SERVER}.check.json"));
    tool.run(&["check", SERVER, "--servers", &folder, "--only", "2.1"]).expect(0);
    assert!(!kept.exists(), "a part of the checks says nothing of the rest");
    let ended = tool.run(&["check", SERVER, "--servers", &folder, "-q"]).expect(0);
    let record = json(&std::fs::read_to_string(&kept).expect("a record"));
    let summary = record["summary"].as_str().expect("a summary");
    assert!(ended.out.contains(summary) && summary.contains("cases passed"), "{record} {}", ended.out);
}
