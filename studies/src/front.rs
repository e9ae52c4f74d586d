//! The front page: every finding of the five studies and what the kept runs say of it, and the coverage.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pushmark_chart::words;

use crate::answers::{self, Answer, Verdict};
use crate::lot::Lot;
use crate::study::StudySuite;
use crate::{Drawn, coverage, repeated};

/// A finding and what was seen.
struct Row<'s> {
    study: u32,
    published: &'s str,
    answer: Answer,
}

/// Draws the page.
pub(crate) fn draw(studies: &BTreeMap<u32, Vec<StudySuite>>, lot: &Lot) -> Drawn {
    let suites: Vec<&StudySuite> = studies.values().flatten().collect();
    let rows: Vec<Row<'_>> = suites.iter().flat_map(|suite| rows(suite)).collect();
    let mut text = String::from("# What five studies of server push found, and what is seen today\n\n");
    let out = &mut text;
    out.push_str("<!-- written by `cargo xtask studies` from studies/ and record/: edit those -->\n\n");
    out.push_str(
        "Each row is a finding of a published study in our words, judged by the runs kept in `record/`. A finding holds, or does not, \
         only where cells of three starts or more decide it: their interval (a range below five starts) lies inside or outside of what was published. \
         \"About\" means within a factor of 1.5. Everything else is undecided. [`../README.md`](../README.md) says how each suite is run.\n\n",
    );
    let _ = writeln!(out, "{}\n", counted(&rows));
    out.push_str("| study | finding | today | seen |\n|---|---|---|---|\n");
    for row in &rows {
        let verdict = match row.answer.verdict {
            Verdict::Holds | Verdict::Fails => format!("**{}**", row.answer.verdict.words()),
            other => other.words().to_owned(),
        };
        let _ = writeln!(
            out,
            "| [{0}]({0}.md) | {1} | {verdict} | {2} |",
            row.study, row.published, row.answer.words
        );
    }
    repeated::section(out, lot, &suites);
    out.push_str(
        "\n## Coverage\n\nCells by their number of starts. A cell that this machine cannot hold is refused, with the reason on the page of its study.\n\n",
    );
    coverage::table(out, &suites);
    Drawn { name: "README.md".into(), text }
}

fn rows(suite: &StudySuite) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for question in &suite.questions.questions {
        let Some(published) = &question.published else { continue };
        let answer = answers::of(suite, question);
        rows.push(Row { study: suite.study.number, published, answer });
    }
    rows
}

/// Returns `43 findings: 12 hold, 3 do not …`, by verdict.
fn counted(rows: &[Row<'_>]) -> String {
    let count = |verdict| rows.iter().filter(|row| row.answer.verdict == verdict).count();
    let parts = Verdict::ALL.into_iter().map(|verdict| (count(verdict), verdict.words()));
    let parts: Vec<String> =
        parts.filter(|(n, _)| *n > 0).map(|(n, words)| format!("{words}: {n}")).collect();
    format!("{} — {}.", words::plural(rows.len(), "finding"), parts.join(", "))
}
