//! Suites as they run: in a drawn order, each case once, even if the process is killed; a case that cannot
//! be measured is a row with its reason.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::tool::{Tool, pass};
use pushmark_host::server::registry::Registry;
use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::scenario::Override;
use pushmark_model::suite::Scale;
use pushmark_run::suite::{AskedSuite, SuiteSettings, load, turns};
use rustix::process::Signal;
use serde_json::Value;

/// A suite whose cases take under a second each.
const TINY: &str = r#"
name = "tiny"
analysis = "The smallest suite that is one."
cooldown = { max = "0s" }
[scenario]
target.server = "builtin"
publisher.rate = "20/s"
load = { ramp = { rate = 1000 }, settle = "0s", warmup = "0s", duration = "500ms", drain = "100ms" }
[axes.style]
key = "transports"
values = [{ name = "comet", set = { transports = ["stream"] } }, { name = "sse", set = { transports = ["sse"] } }]
[axes.clients]
key = "load.connections"
values = [4, 8, 12]
[[matrix]]
"#;

/// Reads the kept runs: case and start → the names of their folders.
fn kept(tool: &Tool, folder: &str) -> BTreeMap<(String, u64), Vec<String>> {
    let mut kept: BTreeMap<(String, u64), Vec<String>> = BTreeMap::new();
    if !tool.path(folder).is_dir() {
        return kept;
    }
    for name in tool.names(folder).into_iter().filter(|name| !name.starts_with('.')) {
        if tool.path(folder).join(&name).is_dir() {
            let run = tool.run_json(&format!("{folder}/{name}"));
            assert_eq!(run["id"], name.as_str(), "a run's folder has its name");
            let case =
                (run["case"]["id"].as_str().unwrap().to_owned(), run["case"]["repeat"].as_u64().unwrap());
            kept.entry(case).or_default().push(name);
        }
    }
    kept
}

/// Returns the cases in the order in which they must run.
fn order(path: &Path, repeat: u32) -> Vec<(String, u64)> {
    let repeat = Override::flag("--repeat", "repeat", &repeat.to_string());
    let wishes = SuiteSettings { overrides: vec![repeat], scale: Scale::NONE };
    let loaded = load(AskedSuite::File(path), &wishes, &Registry::embedded(), None).unwrap();
    let suite = &loaded.suite;
    let turns = turns(suite.cases.len(), suite.repeat, loaded.order, suite.seed);
    turns.iter().map(|t| (suite.cases[t.case].id.clone(), u64::from(t.repeat))).collect()
}

/// Accepts an invalid verdict, because these tests are not about the figures.
fn ended_well(code: i32) {
    assert!(matches!(code, 0 | 6), "{code}");
}

#[test]
fn a_suite_killed_at_any_instant_goes_on_and_loses_one_case_at_most() {
    let tool = Tool::new();
    let path = tool.write("tiny.toml", TINY);
    let order = order(&path, 1);
    let mut draw = Draw::new(7, Purpose::Check, 0);
    let mut before = kept(&tool, "out");
    for _ in 0..6 {
        let running = tool.start(&["suite", "tiny.toml", "-o", "out", "--resume"]);
        pass(Duration::from_millis(50 + draw.below(1_600)));
        running.signal(Signal::KILL);
        let said = running.end().err;
        let now = kept(&tool, "out");
        for (case, runs) in &before {
            assert_eq!(now.get(case), Some(runs), "what was kept stays as it was");
        }
        // A reported case is kept: a kill costs only the case that was being measured.
        let ended = said.lines().filter(|line| line.contains("/6  ")).count();
        assert!(now.len() >= before.len() + ended, "{} and {ended}, now {}", before.len(), now.len());
        let first: Vec<_> = order[..now.len()].to_vec();
        assert!(first.iter().all(|case| now.contains_key(case)), "cases are run in their order: {now:?}");
        before = now;
    }
    let ended = tool.run(&["suite", "tiny.toml", "-o", "out", "--resume", "-q"]).never_panicked();
    ended_well(ended.code);
    let all = kept(&tool, "out");
    assert_eq!(all.len(), 6, "none is lost");
    assert!(all.values().all(|runs| runs.len() == 1), "none is doubled: {all:?}");
    let drafts: Vec<String> = tool.names("out").into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
    for file in ["suite.json", "suite.toml", "report.html"] {
        assert!(tool.path("out").join(file).is_file(), "{file}");
    }
    // A further run has nothing to do, and does nothing.
    tool.run(&["suite", "tiny.toml", "-o", "out", "--resume", "-q"]);
    assert_eq!(kept(&tool, "out"), all);
}

#[test]
fn more_repeats_go_on_where_fewer_ended_and_another_suite_does_not() {
    let tool = Tool::new();
    tool.write("tiny.toml", TINY);
    let suite = |more: &[&str]| {
        let mut arguments = vec!["suite", "tiny.toml", "-o", "out", "-q", "--format", "json"];
        arguments.extend_from_slice(more);
        tool.run(&arguments)
    };
    let ended = suite(&["--only", "sse-*", "--only", "comet-4"]);
    ended_well(ended.code);
    let result: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(result["runs"].as_array().unwrap().len(), 4);
    assert_eq!(result["suite"]["cases"].as_array().unwrap().len(), 6, "the others are not forgotten");
    let first = kept(&tool, "out");
    ended_well(suite(&["--only", "sse-4", "--repeat", "2", "--resume"]).code);
    let second = kept(&tool, "out");
    assert!(first.iter().all(|(case, runs)| second.get(case) == Some(runs)));
    assert_eq!(second.len(), first.len() + 1);
    assert!(second.contains_key(&("sse-4".to_owned(), 2)));

    suite(&[]).expect(2).says(&["out: this folder already exists", "--resume"]);
    suite(&["--resume", "--scale", "0.5"]).expect(2).says(&["a different suite", "--scale 1, here 0.5"]);
    suite(&["--resume", "--seed", "7"]).expect(2).says(&["seed     there 42, here 7"]);
    tool.write("tiny.toml", &TINY.replace("20/s", "30/s"));
    suite(&["--resume"]).expect(2).says(&["differs from its suite.toml in `scenario`"]);
    assert_eq!(kept(&tool, "out"), second, "nothing was touched");
}

#[test]
fn a_case_that_cannot_be_measured_is_a_row_with_its_reason() {
    let tool = Tool::new();
    let text = TINY.replace("target.server = \"builtin\"\n", "").replace(
        "[axes.clients]\nkey = \"load.connections\"\nvalues = [4, 8, 12]\n",
        "[axes.server]\nvalues = [\n\
         { name = \"builtin\", set = { \"target.server\" = \"builtin\" } },\n\
         { name = \"dead\", set = { target = { process = { start = [\"sh\", \"-c\", \"echo no luck; exit 3\"] }, \
         subscribe = { sse = \"http://127.0.0.1:{port}/{channel}\", stream = \"http://127.0.0.1:{port}/{channel}\" }, \
         publish = { url = \"http://127.0.0.1:{port}/{channel}\" } } } },\n]\n\
         [axes.clients]\nkey = \"load.connections\"\nvalues = [4, 9000000]\n",
    );
    tool.write("s.toml", &text);
    let ended = tool.run(&["suite", "s.toml", "-o", "out", "--format", "json"]).never_panicked();
    assert!(matches!(ended.code, 5 | 6), "{ended:#?}");
    let result: Value = serde_json::from_str(&ended.out).expect("JSON");
    let refused: Vec<&Value> =
        result["suite"]["cases"].as_array().unwrap().iter().filter(|c| c.get("refused").is_some()).collect();
    assert_eq!(refused.len(), 4);
    assert!(refused.iter().all(|c| c["refused"].as_str().unwrap().contains("open files")), "{refused:#?}");
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4, "two were measured, two could not be: {ended:#?}");
    for run in runs {
        let failed = run["case"].as_str().unwrap().contains("dead");
        assert_eq!(run["error"].is_string(), failed, "{run}");
        let kept = tool.run_json(&format!("out/{}", run["id"].as_str().unwrap()));
        assert_eq!(kept["arms"].as_array().unwrap().len(), 1);
        if failed {
            let error = kept["arms"][0]["error"].as_str().unwrap();
            assert!(error.contains("no luck"), "the server's own words: {error}");
            assert_eq!(kept["verdict"]["state"], "incomplete");
        }
    }
    // The suite is complete: with `--resume` it does not retry a case that has a reason.
    let again = tool.run(&["suite", "s.toml", "-o", "out", "--resume", "--format", "json"]);
    let again: Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(again["runs"], result["runs"]);
    tool.run(&["suite", "s.toml", "--only", "*9000000", "-q"])
        .expect(4)
        .says(&["refuses every selected case", "open files"]);
}

#[test]
fn an_interrupted_suite_keeps_the_case_marks_it_and_measures_it_again() {
    let tool = Tool::new();
    tool.write("tiny.toml", &TINY.replace("500ms", "3s").replace("[4, 8, 12]", "[4]"));
    let mut running = tool.start(&["suite", "tiny.toml", "-o", "out"]);
    running.wait_for("measure");
    running.signal(Signal::INT);
    let ended = running.end().expect(130).never_panicked();
    assert!(ended.out.contains("1 not run"), "{}", ended.out);
    let before = kept(&tool, "out");
    assert_eq!(before.len(), 1);
    let run = tool.run_json(&format!("out/{}", before.values().next().unwrap()[0]));
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["code"] == "interrupted"), "{reasons:#?}");
    ended_well(tool.run(&["suite", "tiny.toml", "-o", "out", "--resume", "-q"]).code);
    let after = kept(&tool, "out");
    assert_eq!(after.len(), 2);
    assert!(after.values().all(|runs| runs.len() == 1), "what was interrupted gave way: {after:?}");
    let (case, runs) = before.iter().next().unwrap();
    assert_ne!(after[case], *runs, "it was measured again");
}

#[test]
fn a_suite_under_the_results_is_listed_and_only_one_process_runs_it() {
    let tool = Tool::new();
    tool.write("tiny.toml", &TINY.replace("500ms", "2s").replace("[4, 8, 12]", "[4]"));
    let mut running = tool.start(&["suite", "tiny.toml"]);
    running.wait_for("measure");
    let folder = tool.names("results").into_iter().find(|name| name.contains("tiny")).expect("its folder");
    let folder = format!("results/{folder}");
    tool.run(&["suite", "tiny.toml", "-o", &folder, "--resume"]).expect(2).says(&["another pushmark"]);
    ended_well(running.end().never_panicked().code);
    let listed = tool.run(&["runs", "list", "--format", "json"]).expect(0).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let of_suite =
        listed.as_array().unwrap().iter().filter(|run| run["folder"].as_str().unwrap().contains("tiny"));
    assert_eq!(of_suite.count(), 2, "{listed}");
    let name = &kept(&tool, &folder)[&("comet-4".to_owned(), 1)][0];
    assert!(name.contains("-comet-4-2s-"), "when, server, type, clients, duration: {name}");
}
