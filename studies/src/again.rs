//! What a figure was drawn from: its runs, and the command that measures them again.

use std::fmt::Write as _;

use pushmark_report::suite::parts::{Cell, View};

use crate::study::SUITES;

/// More cells than this are chosen by a pattern.
const NAMED_MAX: usize = 4;

/// Writes the runs of some cells, and the command that makes them again, to be unfolded.
pub(crate) fn unfolded(out: &mut String, view: &View<'_>, cells: &[&Cell<'_>], folder: &str) {
    let _ = writeln!(
        out,
        "<details><summary>made by, and its runs</summary>\n\n```\n{}\n```\n",
        command(view, cells)
    );
    for cell in cells.iter().filter(|cell| cell.n() > 0) {
        let _ = writeln!(out, "- `{}`: {}", cell.case.id, runs(cell, folder));
    }
    out.push_str("\n</details>\n\n");
}

/// Returns links to the runs of a cell, by their numbers.
pub(crate) fn runs(cell: &Cell<'_>, folder: &str) -> String {
    let link = |(n, id): (usize, &&str)| format!("[{}](../../{folder}/{id}/run.json)", n + 1);
    cell.run_ids().iter().enumerate().map(link).collect::<Vec<_>>().join(" ")
}

/// Returns the command that measures these cells.
fn command(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let suite = view.suite;
    let mut words = format!("pushmark suite {SUITES}/{0}.toml -o results/{0}", suite.name);
    for pattern in patterns(view, cells) {
        let _ = write!(words, " --only '{pattern}'");
    }
    for (flag, share) in [("--scale", suite.scale), ("--scale-time", suite.scale_time)] {
        if share < 1.0 {
            let _ = write!(words, " {flag} {share}");
        }
    }
    let starts = cells.iter().map(|cell| cell.n()).max().unwrap_or(1);
    if starts > 1 {
        let _ = write!(words, " --repeat {starts}");
    }
    words
}

/// Returns the patterns of case ids that choose these cells, and none if they are all.
fn patterns(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    if cells.len() == view.cells.len() {
        return Vec::new();
    }
    // An id is the values of a case, joined.
    let of = |axis: &str| cells.iter().map(|cell| cell.axis(axis)).collect::<Vec<_>>();
    let pattern = pattern(view.suite.axes.iter().map(|axis| common(of(&axis.name))));
    match cells.len() > NAMED_MAX && cells.iter().all(|cell| fits(&pattern, &cell.case.id)) {
        true => vec![pattern],
        false => cells.iter().map(|cell| cell.case.id.clone()).collect(),
    }
}

/// Whether a case is chosen by a pattern.
fn fits(pattern: &str, id: &str) -> bool {
    let mut rest = id;
    for (n, part) in pattern.split('*').enumerate() {
        match rest.find(part) {
            Some(at) if n > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || pattern.ends_with('*')
}

/// Returns the value that all of them have; `None` if they differ; empty if none has one.
fn common(values: Vec<Option<&str>>) -> Option<&str> {
    match values.first() {
        Some(first) if values.iter().all(|value| value == first) => Some(first.unwrap_or_default()),
        _ => None,
    }
}

/// Joins values; one star for all that differ and stand together.
fn pattern<'v>(values: impl Iterator<Item = Option<&'v str>>) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for value in values {
        match value {
            Some("") => {}
            Some(value) => parts.push(value),
            None if parts.last() == Some(&"*") => {}
            None => parts.push("*"),
        }
    }
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_have_is_named_and_the_rest_is_a_star() {
        let of = |values: &[&[Option<&'static str>]]| pattern(values.iter().map(|v| common(v.to_vec())));
        let (node, tomcat, comet) = (Some("node"), Some("tomcat"), Some("comet"));
        assert_eq!(of(&[&[node, tomcat], &[comet, comet], &[Some("1s"), Some("5s")]]), "*-comet-*");
        assert_eq!(of(&[&[node, tomcat], &[comet, None], &[Some("1s"), Some("1s")]]), "*-1s");
        assert_eq!(of(&[&[node, node], &[None, None], &[Some("1s"), Some("5s")]]), "node-*");
    }

    #[test]
    fn a_pattern_chooses_what_it_says() {
        for (pattern, id, chosen) in [
            ("*-comet-*", "node-0.8-comet-1s-1000", true),
            ("*-comet-*", "node-0.8-long-poll-1s-1000", false),
            ("node-*", "node-0.8-comet", true),
            ("node-*", "a-node-0.8", false),
            ("*-1s", "a-1s", true),
            ("*-1s", "a-1s-5", false),
            ("a", "a", true),
        ] {
            assert_eq!(fits(pattern, id), chosen, "{pattern} {id}");
        }
    }
}
