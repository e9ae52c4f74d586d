//! Reports of runs in which every text is hostile: no text leaves its place, be it markup, an attribute, a
//! drawing or a style sheet.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::run::RunFiles;
use pushmark_report as report;
use serde_json::Value;

#[path = "data/sample.rs"]
#[allow(unreachable_pub)]
mod sample;
#[path = "data/suites.rs"]
#[allow(unreachable_pub)]
mod suites;

/// Keys of `run.json` whose texts come from users, targets or machines.
const TEXTS: [&str; 17] = [
    "name",
    "analysis",
    "command",
    "target",
    "seen",
    "why",
    "try",
    "error",
    "how",
    "version",
    "stands_for",
    "cpu",
    "kernel",
    "scenario_text",
    "family",
    "architecture",
    "generation",
];

/// Each part breaks out of one kind of place; `zEVILz` would then be outside.
const PARTS: [&str; 12] = [
    "\"",
    "'",
    "<zEVILz>",
    "</style>",
    "</script>",
    "\n",
    "\r\n}*{zEVILz:url(http://evil.example/x)}",
    "\\",
    "\u{c}",
    "<img src=x onerror=zEVILz>",
    "\" onload=\"zEVILz",
    "]]>&lt;--",
];

fn hostile(draw: &mut Draw) -> String {
    (0..2 + draw.below(5)).map(|_| PARTS[draw.below(PARTS.len() as u64) as usize]).collect()
}

fn poison(value: &mut Value, draw: &mut Draw) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => *text += &hostile(draw),
                    other => poison(other, draw),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, draw)),
        _ => {}
    }
}

/// Checks for anything that a browser would find outside of texts; tags are parsed as in HTML.
fn assert_harmless(page: &str, of: &str) {
    assert!(!page.contains("<zEVILz") && !page.contains("<img"), "{of}: an element");
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let (mut quoted, mut end) = (None, rest.len());
        for (i, c) in rest.char_indices() {
            match (quoted, c) {
                (None, '"' | '\'') => quoted = Some(c),
                (Some(q), c) if q == c => quoted = None,
                (None, '>') => {
                    end = i + 1;
                    break;
                }
                _ => {}
            }
        }
        let (tag, after) = rest.split_at(end);
        let unquoted: String = tag.split('"').step_by(2).collect();
        assert!(!unquoted.contains("zEVILz"), "{of}: an attribute in {tag}");
        rest = after;
        if tag.starts_with("<style") {
            let (sheet, after) = rest.split_once("</style>").expect("a style sheet ends");
            assert_strings_hold(sheet, of);
            rest = after;
        }
        assert!(!tag.starts_with("<script"), "{of}: a script");
    }
}

/// Checks that hostile text is only inside a style sheet's strings, and that no string ends before its
/// quote.
fn assert_strings_hold(sheet: &str, of: &str) {
    let mut inside = false;
    for piece in sheet.split('"') {
        if inside {
            assert!(!piece.contains(|c: char| c.is_control() || c == '<'), "{of}: a string {piece:?}");
        } else {
            assert!(!piece.contains("zEVILz"), "{of}: a rule {piece:?}");
        }
        inside = !inside;
    }
    assert!(inside, "{of}: quotes come in pairs");
}

#[test]
fn no_text_of_a_run_leaves_its_place() {
    for seed in 0..6 {
        let mut draw = Draw::new(seed, Purpose::Size, 1);
        let samples = [sample::all_arms(0), sample::suspect(1), sample::with_browsers_and_feed()];
        for (n, (run, windows)) in samples.into_iter().enumerate() {
            let mut value = serde_json::to_value(&run).unwrap();
            poison(&mut value, &mut draw);
            let run = serde_json::from_value(value).expect("texts are free");
            let files = [RunFiles { run, windows }];
            let of = format!("sample {n}, seed {seed}");
            assert_harmless(&report::html(&files), &of);
            for id in report::figure_ids(&files) {
                assert_harmless(&report::svg(&files, id).unwrap(), &format!("{of}, {id}"));
            }
        }
    }
}

#[test]
fn no_axis_of_a_suite_leaves_its_place() {
    for seed in 0..12 {
        let mut draw = Draw::new(seed, Purpose::Size, 2);
        let (name, axis, value) = (hostile(&mut draw), hostile(&mut draw), hostile(&mut draw));
        let mut suite = suites::suite(&name, &[(&axis, &[&value, "2", "3"])], Vec::new());
        let runs = suites::run(&mut suite, 1, |_, _, _| {});
        assert_harmless(&report::suite::html(&suite, &runs), &format!("seed {seed}"));
    }
}
