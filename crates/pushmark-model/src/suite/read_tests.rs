//! Mistakes of a case are reported at their place in the suite.

use super::*;

const TEXT: &str = r#"
[scenario]
load.settle = "1s"
[axes.n]
key = "load.connections"
values = [1, 2]
[axes.style]
values = [{ name = "a", set = { "load.hold" = "1s", load = { drain = "2s" } } }]
[[matrix]]
set = { "load.ramp" = { rate = 5 } }
"#;

/// Returns the text at which an error of a case is reported.
fn marked(key: &str, on_key: bool) -> &'static str {
    let suite = SuiteFile::parse(TEXT, &[]).unwrap();
    let error = ScenarioError { on_key, ..ScenarioError::at(key, "wrong") };
    let located = suite.blame(&suite.cells[1], error);
    &TEXT[located.span.expect("it is in the file")]
}

#[test]
fn a_wrong_value_is_marked_where_it_stands() {
    assert_eq!(marked("load.settle", false), "\"1s\"");
    assert_eq!(marked("load.connections", false), "2");
    assert_eq!(marked("load.hold", false), "\"1s\"");
    assert_eq!(marked("load.drain", false), "\"2s\"");
    assert_eq!(marked("load.ramp.rate", false), "5");
}

#[test]
fn a_wrong_key_is_marked_where_it_is_named() {
    assert_eq!(marked("load.connections", true), "\"load.connections\"");
    assert_eq!(marked("load.hold", true), "\"load.hold\"");
    assert_eq!(marked("load.drain", true), "drain");
    assert_eq!(marked("load.ramp.rate", true), "rate");
    assert_eq!(marked("load.settle", true), "settle");
}

#[test]
fn what_nothing_sets_is_marked_at_the_nearest_table() {
    assert_eq!(marked("load.deadline", false), "load");
    assert_eq!(marked("target", false), "scenario");
}
