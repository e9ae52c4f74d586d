//! Research questions answered from data, by a few rules. An answer reports its number of cells; without
//! cells it says so, and nothing is concluded.

mod bend;
mod ending;

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;
use pushmark_report::suite::parts::{ALIKE, ArmView, Cell, Fate, Quantity, View, stands};

use crate::questions::{AnswerBy, Question};

/// Fewest CPUs for a statement about the use of several.
const CPUS_MIN: u32 = 4;

/// Share of the possible requests from which the clients of a closed model set the rate.
const NEAR_CEILING: f64 = 0.9;

/// Returns the answer, in a sentence or two.
pub(crate) fn answer(view: &View<'_>, question: &Question) -> String {
    match question.answer_by {
        AnswerBy::Compare => compare(view, question),
        AnswerBy::Held => held(view, question),
        AnswerBy::Cores => {
            let cpus = view.run().map_or(0, |run| run.environment.cpus);
            let figures = compare(view, question);
            if cpus >= CPUS_MIN {
                return figures;
            }
            format!(
                "This cannot be answered on {}: the server has half of them, and it takes at least {CPUS_MIN}. What was seen: {figures}",
                words::plural(cpus as usize, "CPU")
            )
        }
        AnswerBy::Ceiling => ceiling(view, question),
        AnswerBy::Knee => match question.metric.as_deref().map(Quantity::find) {
            Some(Ok(quantity)) => bend::answer(view, question, &quantity),
            Some(Err(trouble)) => format!("{trouble}."),
            None => "The question does not say what bends.".into(),
        },
        AnswerBy::Ended => ending::answer(view, question),
    }
}

/// Returns the arm whose figures represent a cell, if the figures of all its arms are usable.
fn shown<'v, 'a>(cell: &'v Cell<'a>) -> Option<&'v ArmView<'a>> {
    cell.arms().iter().all(stands).then(|| cell.arms().first())?
}

fn chosen<'v, 'a>(view: &'v View<'a>, question: &Question) -> Vec<&'v Cell<'a>> {
    let fits = |cell: &&Cell<'_>| {
        question
            .only
            .iter()
            .all(|(axis, values)| cell.axis(axis).is_some_and(|v| values.iter().any(|w| w == v)))
    };
    view.cells.iter().filter(fits).collect()
}

/// Compares a metric of two values, over all pairs of cells that differ in nothing else.
fn compare(view: &View<'_>, question: &Question) -> String {
    let (Some(axis), Some(metric), [a, b]) = (&question.axis, &question.metric, question.values.as_slice())
    else {
        return "The question does not say what is compared.".into();
    };
    let quantity = match Quantity::find(metric) {
        Ok(quantity) => quantity,
        Err(trouble) => return format!("{trouble}."),
    };
    let value = |cell: &Cell<'_>| quantity.value(shown(cell)?);
    let cells = chosen(view, question);
    let mut ratios: Vec<f64> = Vec::new();
    for first in cells.iter().filter(|c| c.axis(axis) == Some(a)) {
        let same = |c: &&&Cell<'_>| {
            c.axis(axis) == Some(b)
                && view.suite.axes.iter().all(|x| x.name == *axis || c.axis(&x.name) == first.axis(&x.name))
        };
        let other = cells.iter().find(same);
        if let Some((x, y)) =
            value(first).zip(other.and_then(|c| value(c))).filter(|(x, y)| *x > 0.0 && *y > 0.0)
        {
            ratios.push(x / y);
        }
    }
    let said = ratios_in_words(&mut ratios, a, b, &quantity.words().0);
    if let Some((printed, ours)) = question.ratio.zip(middle(&ratios)) {
        let crossing = ratios.first() < Some(&1.0) && ratios.last() > Some(&1.0);
        let verdict = match crossing {
            true => {
                format!("The published ratio is {}: here no order holds in all pairs.", PAGE.three(printed))
            }
            false => beside(printed, ours),
        };
        return format!("{said} {verdict}");
    }
    match question.more.as_ref().and_then(|more| in_order(&ratios, more == a)) {
        Some(verdict) => format!("{said} {verdict}"),
        None => said,
    }
}

/// Returns the median of sorted ratios; for an even number the geometric mean of both middle ratios.
fn middle(ratios: &[f64]) -> Option<f64> {
    let n = ratios.len();
    let upper = ratios.get(n / 2)?;
    Some(if n % 2 == 1 { *upper } else { (ratios[n / 2 - 1] * upper).sqrt() })
}

/// Judges an order published in words; `None` if no pair was measured.
fn in_order(ratios: &[f64], first: bool) -> Option<&'static str> {
    let agree = ratios.iter().filter(|r| (**r > 1.0) == first).count();
    match agree {
        _ if ratios.is_empty() => None,
        0 => Some("The study found the other order."),
        n if n == ratios.len() => Some("That is the study's order."),
        _ => Some("The study's order does not hold in all of them."),
    }
}

/// Judges a printed ratio: order first, then whether it is about as large.
fn beside(printed: f64, ours: f64) -> String {
    let times = |r: f64| PAGE.three(r);
    if (printed > 1.0) != (ours > 1.0) {
        return format!("The published ratio is {}: the order is the other way round here.", times(printed));
    }
    let alike = printed.max(ours) / printed.min(ours) <= ALIKE;
    let verdict = match (alike, ours > printed) {
        (true, _) => "order and ratio agree",
        (false, true) => "the order agrees, the ratio is larger here",
        (false, false) => "the order agrees, the ratio is smaller here",
    };
    format!("The published ratio is {}: {verdict}.", times(printed))
}

fn ratios_in_words(ratios: &mut [f64], a: &str, b: &str, about: &str) -> String {
    ratios.sort_by(f64::total_cmp);
    let (Some(least), Some(most), Some(middle)) = (ratios.first(), ratios.last(), middle(ratios)) else {
        return format!(
            "No pair of {a} and {b} that differ in nothing else was measured: there is no answer yet."
        );
    };
    let n = ratios.len();
    let higher = ratios.iter().filter(|r| **r > 1.0).count();
    if n == 1 {
        return format!(
            "In the one pair that was measured, {about} with {a} is {} that with {b}.",
            PAGE.ratio(middle)
        );
    }
    format!(
        "{} is higher for {a} than for {b} in {higher} of {n} pairs; the median ratio is {} ({} to {}).",
        words::capital(about),
        PAGE.three(middle),
        PAGE.three(*least),
        PAGE.three(*most)
    )
}

/// The answer to a question that needs an axis and has none.
const NOTHING_NAMED: &str = "The question does not say of what.";

/// Returns the cells that were run, by the question's value of its axis; `None` without an axis.
fn by_value<'v, 'a>(view: &'v View<'a>, question: &Question) -> Option<Vec<(&'v str, Vec<&'v Cell<'a>>)>> {
    let axis = view.axis(question.axis.as_ref()?)?;
    let cells = chosen(view, question);
    let asked = |v: &&String| question.values.is_empty() || question.values.contains(v);
    let of = |value: &'v String| {
        let run = |c: &&&Cell<'_>| c.axis(&axis.name) == Some(value) && c.n() > 0;
        (value.as_str(), cells.iter().filter(run).copied().collect::<Vec<_>>())
    };
    Some(axis.values.iter().filter(asked).map(of).filter(|(_, cells)| !cells.is_empty()).collect())
}

/// Reports the fates of the cells of each value.
fn held(view: &View<'_>, question: &Question) -> String {
    let Some(groups) = by_value(view, question) else { return NOTHING_NAMED.into() };
    let mut sentences = Vec::new();
    for (value, mine) in groups {
        let died = mine.iter().filter(|c| c.fate() == Fate::Died).count();
        let all = |c: &&&Cell<'_>| {
            c.fate() != Fate::Died
                && c.arms().iter().all(|a| {
                    a.starts
                        .iter()
                        .all(|s| s.connections.opened == s.connections.asked && s.connections.lost == 0)
                })
        };
        let whole = mine.iter().filter(all).count();
        let largest = mine.iter().filter(all).map(|c| c.case.clients).max();
        let up_to = largest.map_or(String::new(), |n| format!(", up to {} clients", PAGE.count(n)));
        sentences.push(format!(
            "{value} kept every client in {whole} of {} cases{up_to}, and died in {died}.",
            mine.len()
        ));
    }
    if sentences.is_empty() { "No case of it was run yet.".into() } else { sentences.join(" ") }
}

/// Reports whether the answers a second approach the possible requests, and which side was busy.
fn ceiling(view: &View<'_>, question: &Question) -> String {
    let (Ok(share), Ok(generator), Ok(server)) = (
        Quantity::find("long_poll.of_ceiling"),
        Quantity::find("generator.busiest_core"),
        Quantity::find("server.cpu_cores"),
    ) else {
        return "The metrics it needs are not known.".into();
    };
    let (mut near, mut ours, mut all) = (0, 0, 0);
    let mut least: Option<f64> = None;
    for arm in chosen(view, question).iter().flat_map(|c| c.arms()) {
        let value = |q: &Quantity| q.value(arm);
        let Some(reached) = value(&share) else { continue };
        all += 1;
        near += usize::from(reached >= NEAR_CEILING);
        least = Some(least.map_or(reached, |l| l.min(reached)));
        // Below the ceiling, with a generator busier than the server, the generator was the limit.
        let busier = value(&generator).zip(value(&server)).is_some_and(|(g, s)| g > s);
        ours += usize::from(reached < NEAR_CEILING && busier);
    }
    let Some(least) = least else { return "No case of it was run yet.".into() };
    let below = all - near;
    let rest = match (below, ours) {
        (0, _) => String::new(),
        (_, 0) => format!(" In the other {below} they did not, and the generator was never the busier side."),
        _ => format!(
            " In {ours} of the other {below} the generator was busier than the server, and may have set it."
        ),
    };
    format!(
        "In {near} of {} the clients got at least {} of the answers they could ask for, so the closed loop itself set the rate; the least was {}.{rest}",
        words::plural(all, "case"),
        PAGE.percent(NEAR_CEILING),
        PAGE.percent(least)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_and_their_ratio_is_a_median() {
        let said = ratios_in_words(&mut [4.0, 0.5, 2.0], "long-poll", "comet", "cores");
        assert_eq!(
            said,
            "Cores is higher for long-poll than for comet in 2 of 3 pairs; the median ratio is 2.00 (0.500 to 4.00)."
        );
        assert!(ratios_in_words(&mut [], "a", "b", "c").contains("no answer yet"));
    }
    #[test]
    fn an_order_told_in_words_is_judged() {
        assert_eq!(in_order(&[2.0, 3.0], true), Some("That is the study's order."));
        assert_eq!(in_order(&[2.0, 3.0], false), Some("The study found the other order."));
        assert_eq!(in_order(&[0.5, 3.0], true), Some("The study's order does not hold in all of them."));
        assert_eq!(in_order(&[], true), None);
    }

    #[test]
    fn a_printed_ratio_is_judged_by_order_first() {
        assert!(beside(4.0, 0.5).ends_with("the order is the other way round here."));
        assert!(beside(4.0, 4.5).ends_with("order and ratio agree."));
        assert!(beside(4.0, 9.0).ends_with("the order agrees, the ratio is larger here."));
    }
}
