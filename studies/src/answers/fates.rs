//! Whether servers kept their clients, or died. A cell is decided if all its starts ended alike.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;
use pushmark_model::run::{Arm, Outcome};
use pushmark_report::suite::parts::{Cell, View};

use super::{Answer, STARTS_MIN, Verdict, nothing, too_few};
use crate::expect::Judged;
use crate::questions::Question;

/// Whether the server kept every client to the end.
fn kept(arm: &Arm) -> bool {
    arm.outcome != Outcome::Died
        && arm.connections.opened == arm.connections.asked
        && arm.connections.lost == 0
}

/// Answers whether every client was kept.
pub(super) fn held(view: &View<'_>, question: &Question, cells: &[&Cell<'_>]) -> Answer {
    answer(view, question, cells, "kept every client", kept)
}

/// Answers whether the server died.
pub(super) fn crashed(view: &View<'_>, question: &Question, cells: &[&Cell<'_>]) -> Answer {
    answer(view, question, cells, "died", |arm| arm.outcome == Outcome::Died)
}

fn answer(
    view: &View<'_>,
    question: &Question,
    cells: &[&Cell<'_>],
    did: &str,
    is: impl Fn(&Arm) -> bool,
) -> Answer {
    let mut counted = Vec::new();
    for cell in cells {
        let starts = cell.arms().first().map_or(&[][..], |arm| &arm.starts);
        if !starts.is_empty() {
            counted.push((*cell, starts.iter().filter(|start| is(start)).count(), starts.len()));
        }
    }
    if counted.is_empty() {
        return nothing(cells);
    }
    let (so, of) = counted.iter().fold((0, 0), |(so, of), (_, n, all)| (so + n, of + all));
    let largest = counted.iter().filter(|(_, n, all)| n == all).map(|(cell, ..)| cell.case.clients).max();
    let largest = largest.map_or(String::new(), |most| format!(", up to {} clients", PAGE.count(most)));
    let mixed = counted.iter().find(|(_, n, _)| *n > 0).filter(|_| so < of);
    let first = mixed.map_or(String::new(), |(cell, ..)| format!(" ({})", cell.words(view.suite, &[])));
    let seen = format!(
        "The server {did} in {so} of {} of {}{largest}{first}.",
        words::plural(of, "start"),
        words::plural(counted.len(), "cell")
    );
    let judged: Vec<Judged> =
        counted.iter().filter(|(.., all)| *all >= STARTS_MIN).map(|(_, n, all)| judge(*n, *all)).collect();
    if judged.is_empty() {
        return too_few(&seen);
    }
    let verdict = if question.published.is_some() { Verdict::over(&judged) } else { Verdict::Seen };
    Answer::new(verdict, seen)
}

fn judge(so: usize, of: usize) -> Judged {
    match so {
        0 => Judged::Outside,
        all if all == of => Judged::Inside,
        _ => Judged::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_that_differ_decide_nothing() {
        assert_eq!((judge(3, 3), judge(0, 3), judge(1, 3)), (Judged::Inside, Judged::Outside, Judged::Open));
    }
}
