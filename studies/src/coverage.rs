//! How much of the suites was run: cells by their number of starts, per suite and per figure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pushmark_model::suite::Figure;
use pushmark_report::suite::parts::{Cell, View};

use crate::study::StudySuite;

/// Cells by what they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    all: usize,
    /// Five starts and more: an interval.
    many: usize,
    /// Three or four: a range.
    some: usize,
    /// One or two: a point.
    few: usize,
    refused: usize,
}

impl Counts {
    fn of<'c>(cells: impl Iterator<Item = (usize, bool)> + 'c) -> Counts {
        let mut counts = Counts::default();
        for (starts, refused) in cells {
            counts.all += 1;
            match starts {
                0 => counts.refused += usize::from(refused),
                1 | 2 => counts.few += 1,
                3 | 4 => counts.some += 1,
                _ => counts.many += 1,
            }
        }
        counts
    }

    fn cells(cells: &[&Cell<'_>]) -> Counts {
        Counts::of(cells.iter().map(|cell| (cell.n(), cell.case.refused.is_some())))
    }

    fn row(&self) -> String {
        let run = self.many + self.some + self.few;
        format!(
            "{} | {run} | {} | {} | {} | {} | {}",
            self.all,
            self.many,
            self.some,
            self.few,
            self.refused,
            self.all - run - self.refused
        )
    }
}

/// Writes the table of all suites.
pub(crate) fn table(out: &mut String, suites: &[&StudySuite]) {
    out.push_str(
        "| study | suite | figure | cells | run | ≥ 5 starts | 3 or 4 | 1 or 2 | refused here | not run |\n",
    );
    out.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
    for suite in suites {
        let head = format!("| {} | `{}` |", suite.study.number, suite.name);
        let Some(kept) = suite.kept.first() else {
            let none = Counts { all: suite.cases, ..Counts::default() };
            let _ = writeln!(out, "{head} all | {} |", none.row());
            continue;
        };
        let _ = writeln!(out, "{head} all | {} |", anywhere(suite).row());
        for figure in &kept.suite.figures {
            let of = suite.of(|cell| cell.fits(&figure.only)).unwrap_or(kept);
            let view = View::new(&of.suite, &of.runs);
            let _ =
                writeln!(out, "{head} {} | {} |", named(figure), Counts::cells(&view.chosen(figure)).row());
        }
    }
}

/// Counts the cells of a suite; each with the starts of the machine that has most of them.
fn anywhere(suite: &StudySuite) -> Counts {
    let views: Vec<View<'_>> = suite.kept.iter().map(|kept| View::new(&kept.suite, &kept.runs)).collect();
    let mut cells: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for cell in views.iter().flat_map(|view| &view.cells) {
        let known = cells.entry(&cell.case.id).or_default();
        *known = (known.0.max(cell.n()), known.1 || cell.case.refused.is_some());
    }
    Counts::of(cells.into_values())
}

fn named(figure: &Figure) -> String {
    match &figure.number {
        Some(number) => format!("{number} ({})", figure.id),
        None => figure.id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_counted_once() {
        let cells = [(0, true), (0, false), (1, false), (3, false), (5, false), (7, true)];
        let counts = Counts::of(cells.into_iter());
        assert_eq!(counts, Counts { all: 6, many: 2, some: 1, few: 1, refused: 1 });
        assert_eq!(counts.row(), "6 | 4 | 2 | 1 | 1 | 1 | 1");
    }
}
