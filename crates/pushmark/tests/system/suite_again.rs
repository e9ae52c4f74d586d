//! The folder of a suite, used again: its page is made again from the folder, and the original suite
//! stays.

use crate::tool::Tool;
use serde_json::Value;

/// Two cases of under a second each; their verdicts are not tested here.
const TINY: &str = r#"
name = "tiny"
analysis = "The smallest suite that is one."
repeat = 1
cooldown = { max = "0s" }
[scenario]
target.server = "builtin"
publisher.rate = "20/s"
load = { connections = 4, ramp = { rate = 1000 }, settle = "0s", warmup = "0s", duration = "500ms", drain = "100ms" }
[axes.style]
key = "transports"
values = [{ name = "comet", set = { transports = ["stream"] } }, { name = "sse", set = { transports = ["sse"] } }]
[[matrix]]
"#;

#[test]
fn the_page_of_a_suite_is_made_again_from_its_folder() {
    let tool = Tool::new();
    tool.write("tiny.toml", TINY);
    let json = |arguments: &[&str]| -> Value {
        let ended = tool.run(arguments).never_panicked();
        assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
        serde_json::from_str(&ended.out).expect("JSON")
    };
    let measured = json(&["suite", "tiny.toml", "-o", "out", "-q", "--format", "json"]);
    assert_eq!(measured["runs"].as_array().map(Vec::len), Some(2));
    let page = tool.path("out/report.html");
    let drawn = std::fs::read_to_string(&page).expect("the suite's page");
    std::fs::remove_file(&page).unwrap();
    assert_eq!(json(&["report", "out", "-o", "out/report.html", "--format", "json"]), measured);
    assert_eq!(std::fs::read_to_string(&page).expect("the page, made again"), drawn);
    let text = tool.run(&["report", "out"]).expect(0);
    assert!(text.out.contains("tiny") && tool.path("report.html").is_file(), "{}", text.out);

    std::fs::create_dir(tool.path("neither")).unwrap();
    tool.run(&["report", "neither"]).expect(2).says(&["neither: no run here"]);
    tool.run(&["report", "out", "out"]).expect(2).says(&["out is a suite: report it alone"]);
    tool.write("neither/suite.json", "{}");
    tool.run(&["report", "neither"]).expect(2).says(&["neither/suite.json is not valid pushmark.suite/1"]);
}

#[test]
fn fewer_starts_than_a_suite_was_begun_with_are_said_to_be_passed_over() {
    let tool = Tool::new();
    tool.write("tiny.toml", TINY);
    let suite = ["suite", "tiny.toml", "-o", "out", "--only", "sse"];
    tool.run(&[&suite[..], &["--repeat", "2"]].concat()).never_panicked();
    let before = tool.names("out");
    let again = tool.run(&[&suite[..], &["--resume"]].concat());
    again.says(&["each case keeps its 2 starts, not 1"]);
    assert_eq!(tool.names("out"), before, "nothing was left to do");
}

#[test]
fn a_suite_is_run_in_parts_of_a_given_length() {
    let tool = Tool::new();
    tool.write("tiny.toml", TINY);
    let suite = ["suite", "tiny.toml", "-o", "out", "--resume"];
    let of = |more: &[&str]| tool.run(&[&suite[..], more].concat()).never_panicked();
    of(&["--for", "100ms"]).says(&["2 starts did not fit into --for: --resume makes them"]);
    let runs = || tool.names("out").iter().filter(|name| name.contains("Z-")).count();
    assert_eq!(runs(), 0, "{:?}", tool.names("out"));
    of(&["--for", "10m", "--only", "sse", "--repeat", "2"]);
    assert_eq!(runs(), 2, "{:?}", tool.names("out"));
    let dry = of(&["--dry-run"]);
    assert!(dry.out.contains("2 of 2 done") && dry.out.contains("1 case to run, 1 done"), "{dry:#?}");
    // Fewer starts than elsewhere in the folder, where that is asked for.
    of(&["--repeat", "1"]);
    assert_eq!(runs(), 3, "{:?}", tool.names("out"));
}
