//! Matrices, expanded to their cases.

use super::super::SuiteFile;

/// The shape of the first study: three servers, two styles with four emit intervals, and without events one
/// style unchanged and the other with four holds; five crowds each.
const STUDY: &str = r#"
order_of_axes = ["server", "style", "emit", "hold", "clients"]
[scenario]
load.duration = "600s"
[axes.server]
key = "target.server"
values = ["a", "b-0.8", "c"]
[axes.clients]
key = "load.connections"
values = [1000, 5000, 10000, 15000, 20000]
[[matrix]]
name = "events"
set = { "publisher.mode" = "emitter", "load.hold" = "180s" }
[matrix.axes.style]
label = "push style"
values = [
  { name = "comet", set = { transports = ["stream"] } },
  { name = "long-poll", set = { transports = ["long-poll"] } },
]
[matrix.axes.emit]
key = "publisher.rate"
values = [1, "12/m", "6/m", "2/m"]
[[matrix]]
name = "comet without events"
[matrix.axes.style]
values = [{ name = "comet", set = { transports = ["stream"] } }]
[[matrix]]
name = "long poll without events"
[matrix.axes.style]
values = [{ name = "long-poll", set = { transports = ["long-poll"] } }]
[matrix.axes.hold]
key = "load.hold"
values = ["1s", "5s", "10s", "30s"]
"#;

fn suite(text: &str) -> SuiteFile {
    SuiteFile::parse(text, &[]).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn ids(text: &str) -> Vec<String> {
    suite(text).cells.into_iter().map(|cell| cell.id).collect()
}

#[test]
fn a_matrix_of_195_is_spelled_out_to_the_case() {
    let suite = suite(STUDY);
    assert_eq!(suite.cells.len(), 3 * ((2 * 4 * 5) + 5 + (4 * 5)));
    assert_eq!(suite.cells.len(), 195);
    let mut ids: Vec<&str> = suite.cells.iter().map(|cell| cell.id.as_str()).collect();
    // The last axis changes fastest; cases of a matrix are next to each other.
    assert_eq!(ids[..3], ["a-comet-1-1000", "a-comet-1-5000", "a-comet-1-10000"]);
    assert_eq!((ids[5], ids[20], ids[40]), ("a-comet-12-m-1000", "a-long-poll-1-1000", "b-0.8-comet-1-1000"));
    assert_eq!(
        (ids[120], ids[135], ids[194]),
        ("a-comet-1000", "a-long-poll-1s-1000", "c-long-poll-30s-20000")
    );
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 195, "each has a name of its own");
    let axes: Vec<(&str, &str, usize)> =
        suite.axes.iter().map(|a| (a.name.as_str(), a.label.as_str(), a.values.len())).collect();
    let expected = [
        ("server", "server", 3),
        ("style", "push style", 2),
        ("emit", "emit", 4),
        ("hold", "hold", 4),
        ("clients", "clients", 5),
    ];
    assert_eq!(axes, expected);
    let without = suite.cells.iter().find(|cell| cell.id == "a-comet-1000").unwrap();
    assert_eq!(without.axes.keys().collect::<Vec<_>>(), ["clients", "server", "style"]);
}

#[test]
fn a_case_is_a_scenario_of_its_own() {
    let suite = suite(STUDY);
    let cell = suite.cells.iter().find(|cell| cell.id == "b-0.8-long-poll-12-m-5000").unwrap();
    let table: toml::Table = suite.scenario_text(cell, &[]).parse().unwrap();
    let get =
        |path: &str| path.split('.').try_fold(toml::Value::Table(table.clone()), |v, k| v.get(k).cloned());
    assert_eq!(get("target.server").unwrap().as_str(), Some("b-0.8"));
    assert_eq!(get("transports").unwrap().as_array().unwrap().len(), 1);
    assert_eq!(get("load.hold").unwrap().as_str(), Some("180s"));
    assert_eq!(
        get("load.duration").unwrap().as_str(),
        Some("600s"),
        "what is fixed stays beside what is set"
    );
    assert_eq!(get("load.connections").unwrap().as_integer(), Some(5_000));
    assert_eq!(get("publisher.rate").unwrap().as_str(), Some("12/m"));
    assert_eq!(get("name").unwrap().as_str(), Some("b-0.8-long-poll-12-m-5000"));
    assert_eq!(get("seed").unwrap().as_integer(), Some(42));
}

#[test]
fn own_axes_come_after_the_common_ones_unless_the_order_is_given() {
    let text = "[[matrix]]\n[matrix.axes.z]\nkey = \"load.hold\"\nvalues = [\"1s\"]\n\
        [axes.b]\nkey = \"seed\"\nvalues = [1, 2]\n[axes.a]\nkey = \"threads\"\nvalues = [3]\n";
    assert_eq!(ids(text), ["1-3-1s", "2-3-1s"]);
    assert_eq!(ids(&format!("order_of_axes = [\"a\"]\n{text}")), ["3-1-1s", "3-2-1s"]);
}

#[test]
fn an_own_axis_stands_in_for_the_common_one_of_its_name() {
    let text = "[axes.n]\nkey = \"load.connections\"\nvalues = [1, 2, 3]\n[axes.t]\nkey = \"threads\"\nvalues = [9]\n\
        [[matrix]]\n[[matrix]]\n[matrix.axes.n]\nkey = \"load.connections\"\nvalues = [7]\n";
    assert_eq!(ids(text), ["1-9", "2-9", "3-9", "7-9"]);
    assert_eq!(suite(text).axes[0].values, ["1", "2", "3", "7"]);
}

#[test]
fn an_exclusion_needs_all_of_its_axes_to_match() {
    let text = "[axes.n]\nkey = \"load.connections\"\nvalues = [1, 2, 3]\n\
        [axes.t]\nkey = \"transports\"\nvalues = [\"sse\", \"poll\"]\n\
        [[matrix]]\n[[matrix.exclude]]\nn = [2, 3]\nt = \"sse\"\n[[matrix.exclude]]\nn = 1\nt = [\"poll\"]\n";
    assert_eq!(ids(text), ["1-sse", "2-poll", "3-poll"]);
}

#[test]
fn a_matrix_without_axes_is_one_case() {
    assert_eq!(ids("[[matrix]]\nname = \"The One\"\nset = { load = { hold = \"1s\" } }\n"), ["the-one"]);
    assert_eq!(ids("[[matrix]]\n"), ["case"]);
}

#[test]
fn a_table_that_is_set_leaves_its_neighbours_and_a_dotted_key_replaces() {
    let text = "[scenario.load]\nsettle = \"3s\"\nramp = { rate = 10 }\n[[matrix]]\n\
        set = { load = { hold = \"1s\" }, \"load.ramp\" = { during = true } }\n";
    let suite = suite(text);
    let load = &suite.cells[0].scenario["load"];
    assert_eq!((load["settle"].as_str(), load["hold"].as_str()), (Some("3s"), Some("1s")));
    assert!(load["ramp"].get("rate").is_none() && load["ramp"]["during"].as_bool() == Some(true));
}
