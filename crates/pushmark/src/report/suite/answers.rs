//! Research questions answered from data, by four rules. An answer names how many cells it rests
//! on; where there are none it says so, and nothing is concluded.

use pushmark_model::suite::{AnswerBy, Question};

use super::super::numbers::PAGE;
use super::super::words;
use super::cells::{Cell, Fate, View};
use super::quantity::Quantity;

/// Below so many CPUs nothing can be said about using several.
const CPUS_MIN: u32 = 4;

/// A closed loop that asks this share of what it could is set by its clients.
const NEAR_CEILING: f64 = 0.9;

/// The answer, in a sentence or two.
pub(super) fn answer(view: &View<'_>, question: &Question) -> String {
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
    }
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

/// A metric of two values, over all pairs of cells that differ in nothing else.
fn compare(view: &View<'_>, question: &Question) -> String {
    let (Some(axis), Some(metric), [a, b]) = (&question.axis, &question.metric, question.values.as_slice())
    else {
        return "The suite does not say what is compared.".into();
    };
    let quantity = match Quantity::find(metric) {
        Ok(quantity) => quantity,
        Err(trouble) => return format!("{trouble}."),
    };
    let value = |cell: &Cell<'_>| {
        let arm = cell.arms().first().filter(|_| cell.fate().has_value())?;
        Some(quantity.read(arm).estimate()?.value)
    };
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
    ratios_in_words(&mut ratios, a, b, quantity.about())
}

fn ratios_in_words(ratios: &mut [f64], a: &str, b: &str, about: &str) -> String {
    ratios.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else {
        return format!(
            "No pair of {a} and {b} that differ in nothing else was measured: there is no answer yet."
        );
    };
    let n = ratios.len();
    let middle = if n % 2 == 1 { ratios[n / 2] } else { (ratios[n / 2 - 1] * ratios[n / 2]).sqrt() };
    let higher = ratios.iter().filter(|r| **r > 1.0).count();
    format!(
        "{} ({about}) is higher for {a} than for {b} in {higher} of {}; the median ratio is {} ({} to {}).",
        "The figure",
        words::plural(n, "pair"),
        PAGE.three(middle),
        PAGE.three(*least),
        PAGE.three(*most)
    )
}

/// What became of the cells of each value.
fn held(view: &View<'_>, question: &Question) -> String {
    let Some(axis) = question.axis.as_ref().and_then(|name| view.axis(name)) else {
        return "The suite does not say of what.".into();
    };
    let cells = chosen(view, question);
    let values = axis.values.iter().filter(|v| question.values.is_empty() || question.values.contains(v));
    let mut sentences = Vec::new();
    for value in values {
        let mine: Vec<&&Cell<'_>> =
            cells.iter().filter(|c| c.axis(&axis.name) == Some(value) && c.n() > 0).collect();
        if mine.is_empty() {
            continue;
        }
        let died = mine.iter().filter(|c| c.fate() == Fate::Died).count();
        let all = |c: &&&&Cell<'_>| {
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

/// Whether the answers a second come near what the clients could ask, and who was busy.
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
        let value = |q: &Quantity| Some(q.read(arm).estimate()?.value);
        let Some(reached) = value(&share) else { continue };
        all += 1;
        near += usize::from(reached >= NEAR_CEILING);
        least = Some(least.map_or(reached, |l| l.min(reached)));
        // Below its ceiling with a generator busier than the server, the generator was in the way.
        let busier = value(&generator).zip(value(&server)).is_some_and(|(g, s)| g > s);
        ours += usize::from(reached < NEAR_CEILING && busier);
    }
    let Some(least) = least else { return "No case of it was run yet.".into() };
    format!(
        "In {near} of {} the clients got at least {} of the answers they could ask for, so the closed loop itself set the rate; the least was {}. In {ours} of the others the generator was busier than the server, and may have set it.",
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
            "The figure (cores) is higher for long-poll than for comet in 2 of 3 pairs; the median ratio is 2.00 (0.500 to 4.00)."
        );
        assert!(ratios_in_words(&mut [], "a", "b", "c").contains("no answer yet"));
    }
}
