//! Differences between the sides other than the compared one: keys of the scenario, the machine, the
//! versions. Values that must differ from run to run (seed, time, names) are left out.

use std::collections::{BTreeMap, BTreeSet};

use pushmark_model::compare::Setting;
use pushmark_model::run::Run;
use serde_json::Value;

/// Keys of a scenario that do not affect the measurement.
const WORDS: [&str; 6] = ["name", "analysis", "seed", "repeat", "thresholds", "transports"];

/// Settings that differ with every start, and those of a server that follow from its name, which the scenario
/// has.
const FOLLOWS: [&str; 8] = [
    "settings.cooldown_s",
    "settings.cooldown_busy",
    "server.name",
    "server.stands_for",
    "server.generation",
    "server.architecture",
    "server.family",
    "server.checked",
];

/// Written if a side has no value.
const NONE: &str = "–";

/// A key and the values it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

/// Keys of the scenario that are not the same in all these runs.
pub(super) fn of_scenario(runs: &[&Run]) -> Vec<Values> {
    let all: Vec<BTreeMap<String, String>> = runs.iter().map(|run| scenario(run)).collect();
    let keys: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    keys.into_iter()
        .filter_map(|key| {
            let values = distinct(all.iter().map(|one| one.get(key).map_or(NONE, String::as_str)));
            (values.len() > 1).then(|| Values { key: key.clone(), values })
        })
        .collect()
}

/// Returns the differences between two sides: cell by cell if both have cells, each line once.
pub(super) fn differing(a: &[Run], b: &[Run]) -> Vec<Setting> {
    let mut found: BTreeSet<Setting> = BTreeSet::new();
    let case = |run: &Run| run.case.as_ref().map(|case| case.id.clone());
    let cells: BTreeSet<Option<String>> = a.iter().map(case).collect();
    for cell in cells {
        let of = |side: &[Run]| -> Vec<BTreeMap<String, String>> {
            side.iter().filter(|run| case(run) == cell).map(all_of).collect()
        };
        let (of_a, of_b) = (of(a), of(b));
        if of_b.is_empty() {
            continue;
        }
        let keys: BTreeSet<&String> = of_a.iter().chain(&of_b).flat_map(BTreeMap::keys).collect();
        for key in keys {
            let values = |side: &[BTreeMap<String, String>]| {
                distinct(side.iter().map(|one| one.get(key).map_or(NONE, String::as_str))).join(", ")
            };
            let (a, b) = (values(&of_a), values(&of_b));
            if a != b {
                found.insert(Setting { key: key.clone(), a, b });
            }
        }
    }
    found.into_iter().collect()
}

fn scenario(run: &Run) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    flatten("", &run.scenario, &mut out);
    out.retain(|key, _| !WORDS.contains(&key.split('.').next().unwrap_or(key)));
    out
}

/// Scenario, machine and versions of a run.
fn all_of(run: &Run) -> BTreeMap<String, String> {
    let mut out = scenario(run);
    let mut environment = BTreeMap::new();
    flatten("", &serde_json::to_value(&run.environment).unwrap_or(Value::Null), &mut environment);
    environment.retain(|key, _| !FOLLOWS.contains(&key.as_str()));
    out.extend(environment.into_iter().map(|(key, value)| (format!("environment.{key}"), value)));
    out.insert("pushmark".to_owned(), run.pushmark_version.clone());
    out
}

/// `{"load": {"connections": 5}}` as `load.connections` → `5`.
fn flatten(prefix: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&key, inner, out);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            out.insert(prefix.to_owned(), text.clone());
        }
        other => {
            out.insert(prefix.to_owned(), other.to_string());
        }
    }
}

fn distinct<'v>(values: impl Iterator<Item = &'v str>) -> Vec<String> {
    let all: BTreeSet<&str> = values.collect();
    all.into_iter().map(str::to_owned).collect()
}
