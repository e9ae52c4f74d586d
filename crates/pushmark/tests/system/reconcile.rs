//! Runs that are made from what agents have kept, beside runs whose coordinator lived.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::machines::{Bus, SCENARIO, outliving};
use crate::tool::{Ended, Running, Tool, end};

/// The value of a secret.
const TOKEN: &str = "do-not-write-this-token";
/// What of a run must not depend on who has made it.
const SAME: [&str; 3] = ["name", "scenario", "scenario_text"];

/// A bus with two agents, and their spools.
fn bus() -> Option<Bus> {
    let mut bus = Bus::open()?;
    bus.agent("a", &["--spool", "kept-a"]);
    bus.agent("b", &["--spool", "kept-b"]);
    Some(bus)
}

/// A command that measures a scenario over the bus.
fn measuring(bus: &Bus, tool: &Tool, scenario: &str) -> Command {
    tool.write("s.toml", scenario);
    let mut command = tool.command(&["run", "s.toml", "-o", "out", "--nats", &bus.url()]);
    command.env("PUSHMARK_SECRET_TOKEN", TOKEN);
    command
}

/// Kills the coordinator of a run in measure.
fn lose(bus: &Bus, tool: &Tool, scenario: &str) {
    let mut running = Running::of(measuring(bus, tool, scenario));
    running.wait_for("measure");
    running.signal(Signal::KILL);
}

/// Makes the runs that are not made yet, over the bus.
fn collected(bus: &Bus, results: &str) -> Ended {
    bus.tool.run(&["runs", "-o", results, "reconcile", "--nats", &bus.url()]).never_panicked()
}

/// The run of a name among those that were made.
fn made(bus: &Bus, results: &str, name: &str) -> Value {
    let all = bus.tool.names(results).into_iter().filter(|name| name.starts_with("reconciled-"));
    let mut runs = all.map(|folder| bus.tool.run_json(&format!("{results}/{folder}")));
    runs.find(|run| run["name"] == name).expect("a run of this name")
}

/// The agents that work for a run.
fn busy(bus: &Bus) -> Vec<String> {
    let listed = bus.tool.run(&["agents", "--nats", &bus.url(), "--json"]).expect(0);
    let cards: Vec<Value> = serde_json::from_str(&listed.out).expect("JSON");
    assert!(!cards.is_empty());
    cards.iter().filter(|card| !card["busy"].is_null()).map(|card| card["name"].to_string()).collect()
}

/// The thresholds and how they were judged.
fn judged(run: &Value) -> Vec<[String; 3]> {
    let all = run["thresholds"].as_array().expect("thresholds");
    all.iter().map(|one| ["expression", "arm", "ok"].map(|key| one[key].to_string())).collect()
}

#[test]
fn a_run_from_spools_has_the_name_the_scenario_and_the_thresholds_of_a_whole_one() {
    let Some(bus) = bus() else { return };
    let headers = "headers = { x-key = \"quite-secret\", authorization = \"Bearer {secret.token}\" }\n";
    let (_server, load) = outliving(&bus, headers);
    // The server drops a seventh and repeats an eleventh.
    let cases = [
        ("goes-on", "[thresholds]\n\"delivery.unserved\" = \"== 0\"\n\"delivery.duplicate\" = \"> 0\"\n", 0),
        ("falls", "[thresholds]\n\"delivery.missing\" = \"== 0\"\n\"delivery.intended\" = \"> 0\"\n", 99),
        // Without thresholds the default ones hold it to what it was to deliver.
        ("plain", "", 99),
    ];
    for (name, thresholds, code) in cases {
        let scenario = format!("name = \"{name}\"\nanalysis = \"Which of both.\"\n{load}{thresholds}");
        let (whole, lost) = (Tool::new(), Tool::new());
        let ended = end(measuring(&bus, &whole, &scenario)).never_panicked();
        let run = whole.run_json("out");
        lose(&bus, &lost, &scenario);
        let over = collected(&bus, "over");
        let by_hand = format!("{name}-by-hand");
        let copied = ["runs", "-o", &by_hand, "reconcile", "kept-a", "kept-b"];
        let copied = bus.tool.run(&copied).never_panicked();
        for (results, said) in [("over", &over), (&by_hand[..], &copied)] {
            let made = made(&bus, results, name);
            for key in SAME {
                assert_eq!(made[key], run[key], "{name}: {key}");
            }
            assert!(made["scenario_text"].as_str().is_some_and(|text| text.contains("Which of both.")));
            assert_eq!(judged(&made), judged(&run), "{name}");
            assert!(!judged(&run).is_empty(), "{name}");
            let text = made.to_string() + &said.out + &said.err;
            assert!(!text.contains(TOKEN) && !text.contains("quite-secret"), "{text}");
        }
        // Without thresholds of its own it is asked for latencies, and how far the clocks were apart is not known.
        let codes = if thresholds.is_empty() { (ended.code, 6) } else { (code, code) };
        assert_eq!((ended.code, over.code), codes, "{name}\n{}", over.out);
        let kept = bus.tool.all_text("kept-a") + &bus.tool.all_text("kept-b");
        assert!(!kept.contains(TOKEN) && !kept.contains("quite-secret"), "{kept}");
        assert_eq!(busy(&bus), [""; 0], "{name}");
    }
}

/// It stands still until another has collected what its agents have kept, and then goes on with them.
#[test]
fn a_coordinator_that_lives_keeps_its_agents() {
    let Some(bus) = bus() else { return };
    let tool = Tool::new();
    let mut running = Running::of(measuring(&bus, &tool, SCENARIO));
    running.wait_for("measure");
    running.signal(Signal::STOP);
    let other = collected(&bus, "over").measured();
    assert_eq!(busy(&bus).len(), 2, "{other:#?}");
    running.signal(Signal::CONT);
    running.end().measured();
    let run = tool.run_json("out");
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["state"] != "incomplete"), "{reasons:#?}");
    assert_eq!(busy(&bus), [""; 0]);
}

#[test]
fn results_that_cannot_be_written_are_a_wrong_argument_either_way() {
    let Some(bus) = bus() else { return };
    bus.tool.write("file", "");
    bus.tool.run(&["runs", "-o", "file/results", "reconcile", "kept-a"]).expect(2).says(&["-o file/results"]);
    collected(&bus, "file/results").expect(2).says(&["-o file/results"]);
    // The spools have a folder of their own in it.
    let (_server, scenario) = outliving(&bus, "");
    lose(&bus, &Tool::new(), &scenario);
    std::fs::create_dir(bus.tool.path("results")).expect("a folder");
    bus.tool.write("results/spools", "");
    collected(&bus, "results").expect(2).says(&["results/spools"]);
}
