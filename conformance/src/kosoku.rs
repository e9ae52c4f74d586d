//! The Autobahn cases, run by kosoku, and their expected results.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Groups that need compression, which is not offered.
pub const EXCLUDED: [&str; 2] = ["12.*", "13.*"];

/// Returns a command that runs the cases.
pub fn command(mode: &str, reports: &Path, excluded: &[&str], address: &str) -> Command {
    let mut command = Command::new(crate::root().join("target/kosoku/bin/kosoku"));
    command.args(["--mode", mode, "--outdir"]).arg(reports);
    for case in EXCLUDED.iter().chain(excluded) {
        command.args(["--exclude", case]);
    }
    command.arg(address).stderr(Stdio::null());
    command
}

/// Returns the deviations from `kosoku/expected.toml`, one line each, with the description of the case.
///
/// # Panics
/// If there are no reports.
pub fn deviations(section: &str, reports: &Path) -> Vec<String> {
    let expected: toml::Table = include_str!("../kosoku/expected.toml").parse().expect("TOML");
    let expected = expected[section].as_table().expect("a section");
    let count = expected["cases"].as_integer().expect("a number of cases");
    let index = read(&reports.join("index.json"));
    let (_, cases) = index.as_object().and_then(|agents| agents.iter().next()).expect("an agent");
    let cases: BTreeMap<&String, &Value> = cases.as_object().expect("cases").iter().collect();

    let mut deviations = Vec::new();
    if cases.len() as i64 != count {
        deviations.push(format!("{} cases were run, {count} are expected", cases.len()));
    }
    for (case, outcome) in cases {
        let judge = |key: &str| outcome[key].as_str().unwrap_or("nothing").to_owned();
        let (behavior, close) = (judge("behavior"), judge("behaviorClose"));
        let wanted = expected.get(case).and_then(toml::Value::as_str).unwrap_or("OK");
        // For a case that is only informational, the close is reported as informational, too.
        let closed_well = matches!(&close[..], "OK" | "INFORMATIONAL");
        if behavior == wanted && closed_well {
            continue;
        }
        let report = read(&reports.join(outcome["reportfile"].as_str().unwrap_or("index.json")));
        deviations.push(format!(
            "{case}: {behavior}, close {close}, expected {wanted}: {} (result: {})",
            report["description"].as_str().unwrap_or("no description"),
            report["result"].as_str().unwrap_or("none"),
        ));
    }
    deviations
}

fn read(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
