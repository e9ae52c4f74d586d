//! A metric in each cell, against a published range.

use pushmark_model::metrics::{Metric, Unit};
use pushmark_model::stats::{Scale, Spread, Summary};
use pushmark_report::suite::parts::{Cell, Quantity, View};

use super::{Answer, STARTS_MIN, Verdict, nothing, too_few};
use crate::expect::Judged;
use crate::questions::Question;

/// More cells than this are not named.
const NAMED: usize = 3;

/// Answers the question.
pub(super) fn answer(view: &View<'_>, question: &Question, cells: &[&Cell<'_>]) -> Answer {
    let Some(name) = &question.metric else {
        return Answer::new(Verdict::Open, "The question does not say of what.");
    };
    let (Some(metric), Ok(quantity)) = (Metric::find(name), Quantity::find(name)) else {
        return Answer::new(Verdict::Open, format!("There is no metric `{name}`."));
    };
    let scale = if metric.unit == Unit::Micros { Scale::Log } else { Scale::Linear };
    let read = |cell: &&Cell<'_>| {
        let summary = Summary::of(&cell.values(&metric), scale)?;
        Some((cell.words(view.suite, &[]), summary))
    };
    let mut read: Vec<(String, Summary)> = cells.iter().filter_map(read).collect();
    if read.is_empty() {
        return nothing(cells);
    }
    read.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let seen = seen(&read, &quantity);
    let decided: Vec<(f64, f64)> = read.iter().filter_map(|(_, summary)| interval(summary)).collect();
    if decided.is_empty() {
        return too_few(&seen);
    }
    let Some(expect) = question.expect else { return Answer::new(Verdict::Seen, seen) };
    let all: Vec<Judged> = decided.iter().map(|interval| expect.judge(*interval)).collect();
    let words = format!("{seen} Published: {}.", expect.words(Some(&quantity)));
    Answer::new(Verdict::over(&all), words).by(decided)
}

/// The range or interval of enough starts.
fn interval(summary: &Summary) -> Option<(f64, f64)> {
    match summary.spread {
        Spread::Range(low, high) | Spread::Interval(low, high) if summary.n >= STARTS_MIN => {
            Some((low, high))
        }
        _ => None,
    }
}

fn seen(read: &[(String, Summary)], quantity: &Quantity) -> String {
    let one = |(cell, summary): &(String, Summary)| {
        let bounds = interval(summary).map_or(String::new(), |(low, high)| {
            format!(" [{}, {}]", quantity.show(low), quantity.show(high))
        });
        format!("{}{bounds} (n = {}; {cell})", quantity.show(summary.median), summary.n)
    };
    match read {
        few if few.len() <= NAMED => format!("{}.", few.iter().map(one).collect::<Vec<_>>().join("; ")),
        [least, .., most] => {
            format!("In {} cells from {} to {}.", read.len(), one(least), one(most))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_start_has_no_interval_and_three_a_range() {
        let of = |values: &[f64]| interval(&Summary::of(values, Scale::Log).unwrap());
        assert_eq!(of(&[3.0, 4.0]), None);
        assert_eq!(of(&[3.0, 4.0, 5.0]), Some((3.0, 5.0)));
    }

    #[test]
    fn few_cells_are_named_and_many_are_a_range() {
        let quantity = Quantity::find("flood.connected_max").unwrap();
        let cell = |name: &str, value| (name.to_owned(), Summary::of(&[value], Scale::Linear).unwrap());
        let two = [cell("a", 10.0), cell("b", 20.0)];
        assert_eq!(seen(&two, &quantity), "10 (n = 1; a); 20 (n = 1; b).");
        let four = [cell("a", 10.0), cell("b", 20.0), cell("c", 30.0), cell("d", 40.0)];
        assert_eq!(seen(&four, &quantity), "In 4 cells from 10 (n = 1; a) to 40 (n = 1; d).");
    }
}
