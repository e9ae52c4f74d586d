//! The ratio of a metric between two values of an axis, over all pairs of cells that differ in nothing else.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;
use pushmark_model::metrics::Metric;
use pushmark_model::stats::{Scale, Welch};
use pushmark_report::suite::parts::{Cell, Quantity, View};

use super::{Answer, STARTS_MIN, Verdict, nothing, too_few};
use crate::expect::{Expect, Judged};
use crate::questions::Question;

/// Smallest difference that is reported where a study printed none.
const SMALLEST: f64 = 1.05;

/// A ratio of two cells: its value, and its 95 % interval if both have enough starts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Ratio {
    /// `None` if a side has no value above 0.
    fn of(a: &[f64], b: &[f64]) -> Option<Ratio> {
        let log_mean = |side: &[f64]| {
            let all = side.iter().all(|value| *value > 0.0) && !side.is_empty();
            all.then(|| side.iter().map(|value| value.ln()).sum::<f64>() / side.len() as f64)
        };
        let value = (log_mean(a)? - log_mean(b)?).exp();
        let enough = a.len().min(b.len()) >= STARTS_MIN;
        let interval = || match Welch::of(b, a, Scale::Log) {
            Some(welch) => (welch.interval().0.exp(), welch.interval().1.exp()),
            // All starts of a side agree to the last digit, as counts do.
            None => (value, value),
        };
        Some(Ratio { value, interval: enough.then(interval) })
    }
}

/// Answers the question.
pub(super) fn answer(view: &View<'_>, question: &Question, cells: &[&Cell<'_>]) -> Answer {
    let (Some(_), Some(name), [a, b]) = (&question.axis, &question.metric, question.values.as_slice()) else {
        return Answer::new(Verdict::Open, "The question does not say what is compared.");
    };
    let (Some(metric), Ok(quantity)) = (Metric::find(name), Quantity::find(name)) else {
        return Answer::new(Verdict::Open, format!("There is no metric `{name}`."));
    };
    let ratio = |(a, b): (&Cell<'_>, &Cell<'_>)| Ratio::of(&a.values(&metric), &b.values(&metric));
    let mut ratios: Vec<Ratio> = pairs(view, question, cells).into_iter().filter_map(ratio).collect();
    if ratios.is_empty() {
        let two = cells.iter().copied().filter(|cell| question.reads(cell));
        return match nothing(&two.collect::<Vec<_>>()) {
            Answer { verdict: Verdict::NotRun, .. } => Answer::new(
                Verdict::NotRun,
                format!("No pair of {a} and {b} that differ in nothing else was measured."),
            ),
            refused => refused,
        };
    }
    ratios.sort_by(|x, y| x.value.total_cmp(&y.value));
    let about = format!("{} of {a} ÷ that of {b}", words::capital(&quantity.words().0));
    judged(&about, &ratios, question.expect)
}

/// The pairs of cells that are compared: of its two values of the axis, and equal in all else.
pub(crate) fn pairs<'c, 'a>(
    view: &View<'a>,
    question: &Question,
    cells: &[&'c Cell<'a>],
) -> Vec<(&'c Cell<'a>, &'c Cell<'a>)> {
    let (Some(axis), [a, b]) = (&question.axis, question.values.as_slice()) else { return Vec::new() };
    let is = |cell: &&&Cell<'_>, value: &String| cell.axis(axis) == Some(value.as_str());
    let others: Vec<&str> =
        view.suite.axes.iter().map(|other| &other.name[..]).filter(|other| other != axis).collect();
    let alike = |a: &Cell<'_>, b: &Cell<'_>| others.iter().all(|other| a.axis(other) == b.axis(other));
    let second_of = |first: &Cell<'_>| cells.iter().find(|cell| is(cell, b) && alike(first, cell)).copied();
    let firsts = cells.iter().filter(|cell| is(cell, a)).copied();
    firsts.filter_map(|first| Some((first, second_of(first)?))).collect()
}

/// Judges sorted ratios.
fn judged(about: &str, ratios: &[Ratio], expect: Option<Expect>) -> Answer {
    let decided: Vec<(f64, f64)> = ratios.iter().filter_map(|ratio| ratio.interval).collect();
    let seen = format!("{about}: {}.", range(ratios));
    if decided.is_empty() {
        return too_few(&seen);
    }
    let Some(expect) = expect else {
        let higher = decided.iter().filter(|(low, _)| *low > SMALLEST).count();
        let lower = decided.iter().filter(|(_, high)| *high < 1.0 / SMALLEST).count();
        let rest = decided.len() - higher - lower;
        let words = format!("{seen} Higher in {higher}, lower in {lower}, no difference seen in {rest}.");
        return Answer::new(Verdict::Seen, words);
    };
    let all: Vec<Judged> = decided.iter().map(|interval| expect.judge(*interval)).collect();
    let count = |judged| all.iter().filter(|one| **one == judged).count();
    let words = format!(
        "{seen} Published: {}; so in {}, not so in {}, undecided in {}.",
        expect.words(None),
        count(Judged::Inside),
        count(Judged::Outside),
        ratios.len() - count(Judged::Inside) - count(Judged::Outside)
    );
    Answer::new(Verdict::over(&all), words).by(decided)
}

/// Returns `5.26 [4.90, 5.70]` for one pair, `2.10 to 7.41 in 8 pairs, the middle one 5.26 [4.90, 5.70]` for
/// more.
fn range(ratios: &[Ratio]) -> String {
    let one = |ratio: &Ratio| {
        let interval = ratio
            .interval
            .map_or(String::new(), |(low, high)| format!(" [{}, {}]", PAGE.three(low), PAGE.three(high)));
        format!("{}{interval}", PAGE.three(ratio.value))
    };
    match ratios {
        [ratio] => one(ratio),
        [first, .., last] => format!(
            "{} to {} in {} pairs, the middle one {}",
            PAGE.three(first.value),
            PAGE.three(last.value),
            ratios.len(),
            one(&ratios[ratios.len() / 2])
        ),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_starts_claim_nothing_however_far_apart() {
        let ratios = [Ratio::of(&[50.0], &[1.0]).unwrap()];
        let answer = judged("CPU", &ratios, Some(Expect::AtLeast(1.1)));
        assert_eq!(answer.verdict, Verdict::Open);
        assert_eq!(answer.words, "CPU: 50.0. Fewer than 3 starts: nothing is claimed.");
    }

    #[test]
    fn an_interval_decides_a_pair() {
        let clear = Ratio::of(&[4.0, 4.1, 3.9], &[2.0, 2.05, 1.95]).unwrap();
        let loud = Ratio::of(&[4.0, 1.0, 9.0], &[2.0, 2.05, 1.95]).unwrap();
        let judge = |ratios: &[Ratio]| judged("CPU", ratios, Some(Expect::AtLeast(1.1))).verdict;
        assert_eq!(judge(&[clear]), Verdict::Holds);
        assert_eq!(judge(&[loud]), Verdict::Open);
        assert_eq!(judge(&[clear, loud]), Verdict::Holds);
        let other = Ratio::of(&[2.0, 2.05, 1.95], &[4.0, 4.1, 3.9]).unwrap();
        assert_eq!(judge(&[other, clear]), Verdict::InPart);
        assert_eq!(judge(&[other]), Verdict::Fails);
    }

    #[test]
    fn counts_that_all_agree_are_their_own_interval() {
        let equal = Ratio::of(&[20.0; 3], &[10.0; 3]).unwrap();
        assert_eq!(equal.interval, Some((equal.value, equal.value)));
        assert!((equal.value - 2.0).abs() < 1e-9);
        assert_eq!(Ratio::of(&[0.0; 3], &[10.0; 3]), None, "no ratio of nothing");
    }

    #[test]
    fn a_question_of_ours_has_a_smallest_effect() {
        let small = Ratio::of(&[1.02, 1.021, 1.019], &[1.0, 1.001, 0.999]).unwrap();
        let answer = judged("CPU", &[small], None);
        assert_eq!(answer.verdict, Verdict::Seen);
        assert!(
            answer.words.ends_with("Higher in 0, lower in 0, no difference seen in 1."),
            "{}",
            answer.words
        );
    }
}
