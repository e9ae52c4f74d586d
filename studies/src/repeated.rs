//! The part of the front page about what was measured again: each finding of the lot, as it was seen first and as
//! it was seen in another sitting.

use std::fmt::Write as _;

use pushmark_chart::numbers::PAGE;
use pushmark_model::suite::Suite;
use pushmark_report::suite::parts::{Quantity, View};

use crate::answers::{Answer, answer};
use crate::lot::{Finding, Lot};
use crate::questions::{AnswerBy, Question};
use crate::study::{Kept, StudySuite};

/// A finding of the lot in one sitting.
struct Sitting {
    answer: Answer,
    cpu: String,
    day: String,
}

/// Writes the section; nothing if none of the lot was measured again.
pub(crate) fn section(out: &mut String, lot: &Lot, suites: &[&StudySuite]) {
    let rows: Vec<Row> = lot.drawn.iter().filter_map(|finding| row(finding, suites)).collect();
    if rows.is_empty() {
        return;
    }
    let agreeing = rows.iter().filter(|row| row.agrees).count();
    let _ = writeln!(
        out,
        "\n## Measured again\n\n{} of the findings that hold or do not were drawn by lot (seed {}), and of each one cell or pair \
         that decides it. These were measured again in another sitting, three starts each, and judged by the same rule. \
         A row agrees if the verdict is the same and the intervals overlap; of two ranges of three starts of the same thing, \
         one pair in ten does not. {agreeing} of {} agree.\n",
        lot.drawn.len(),
        lot.seed,
        rows.len()
    );
    out.push_str("| finding | cells | first | again | agrees |\n|---|---|---|---|---|\n");
    for row in rows {
        let _ = writeln!(out, "{}", row.line);
    }
}

struct Row {
    line: String,
    agrees: bool,
}

fn row(finding: &Finding, suites: &[&StudySuite]) -> Option<Row> {
    let suite = suites.iter().find(|suite| suite.name == finding.suite)?;
    let question = suite.questions.questions.iter().find(|question| question.ask == finding.ask)?;
    let of = |kept: &Kept| sitting(kept, question, &finding.cases);
    let first = of(suite.of(|cell| question.reads(cell))?)?;
    let again = suite.again.iter().find_map(of)?;
    let same = first.answer.verdict == again.answer.verdict;
    let (apart, how) = match (&first.answer.decided[..], &again.answer.decided[..]) {
        ([a], [b]) => apart(*a, *b),
        _ => (false, String::new()),
    };
    let agrees = same && !apart;
    let says = match (same, apart) {
        (true, false) => "yes".to_owned(),
        (true, true) => format!("verdict yes, intervals no: {how}"),
        (false, _) => "**no**".to_owned(),
    };
    let cases: Vec<String> = finding.cases.iter().map(|case| format!("`{case}`")).collect();
    let line = format!(
        "| {} | {} | {} | {} | {says} |",
        question.published.as_deref().unwrap_or(&question.ask),
        cases.join(", "),
        shown(&first, question),
        shown(&again, question)
    );
    Some(Row { line, agrees })
}

/// Answers the question from these cases alone; `None` if one of them was not run.
fn sitting(kept: &Kept, question: &Question, cases: &[String]) -> Option<Sitting> {
    let mut suite: Suite = kept.suite.clone();
    suite.cases.retain(|case| cases.contains(&case.id));
    let view = View::new(&suite, &kept.runs);
    if view.cells.len() != cases.len() || view.cells.iter().any(|cell| cell.n() == 0) {
        return None;
    }
    let run = view.run()?;
    let day = run.started_at.get(..10).unwrap_or(&run.started_at).to_owned();
    Some(Sitting { answer: answer(&view, question), cpu: run.environment.cpu.clone(), day })
}

/// Whether two intervals lie apart, and by which factor.
fn apart(a: (f64, f64), b: (f64, f64)) -> (bool, String) {
    let gap = if a.1 < b.0 {
        b.0 / a.1
    } else if b.1 < a.0 {
        a.0 / b.1
    } else {
        return (false, String::new());
    };
    (true, format!("{} × between them", PAGE.three(gap)))
}

fn shown(sitting: &Sitting, question: &Question) -> String {
    let quantity = question.metric.as_deref().and_then(|name| Quantity::find(name).ok());
    let show = |value: f64| match (question.answer_by, &quantity) {
        (AnswerBy::Value, Some(quantity)) => quantity.show(value),
        _ => PAGE.three(value),
    };
    let seen = match &sitting.answer.decided[..] {
        [(low, high)] => format!("[{}, {}]", show(*low), show(*high)),
        _ => sitting.answer.words.clone(),
    };
    format!("{}: {seen} ({}, {})", sitting.answer.verdict.words(), sitting.day, sitting.cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_overlap_or_lie_apart_by_a_factor() {
        assert_eq!(apart((1.0, 2.0), (1.5, 3.0)), (false, String::new()));
        assert_eq!(apart((1.0, 2.0), (2.0, 3.0)), (false, String::new()), "they touch");
        assert_eq!(apart((1.0, 2.0), (3.0, 4.0)), (true, "1.50 × between them".to_owned()));
        assert_eq!(apart((3.0, 4.0), (1.0, 2.0)).1, "1.50 × between them");
    }
}
