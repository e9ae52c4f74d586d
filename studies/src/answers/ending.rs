//! How floods ended: the likeliest limit of each start, against the published one.

use pushmark_model::run::Flood;
use pushmark_report::suite::parts::Cell;

use super::{Answer, STARTS_MIN, Verdict, nothing, too_few};
use crate::expect::Judged;
use crate::questions::Question;

/// Answers the question: a clause for each value of the axis that has a published limit.
pub(super) fn answer(question: &Question, cells: &[&Cell<'_>]) -> Answer {
    let Some(axis) = &question.axis else {
        return Answer::new(Verdict::Open, "The question does not say of what.");
    };
    let (mut clauses, mut judged) = (Vec::new(), Vec::new());
    for (value, limit) in &question.limits {
        let mine = cells.iter().filter(|cell| cell.axis(axis) == Some(value));
        let floods: Vec<&Flood> = mine
            .flat_map(|cell| cell.arms())
            .flat_map(|arm| arm.starts.iter().filter_map(|start| start.flood.as_ref()))
            .collect();
        if floods.is_empty() {
            continue;
        }
        clauses.push(format!("{value}: {} (published: {})", ends(&floods), limit.replace('_', " ")));
        if floods.len() >= STARTS_MIN {
            let met = |flood: &&&Flood| flood.limits.first().is_some_and(|l| l.kind == *limit && !l.ours);
            judged.push(match floods.iter().filter(met).count() {
                0 => Judged::Outside,
                all if all == floods.len() => Judged::Inside,
                _ => Judged::Open,
            });
        }
    }
    if clauses.is_empty() {
        return nothing(cells);
    }
    let seen = format!("{}.", clauses.join("; "));
    if judged.is_empty() { too_few(&seen) } else { Answer::new(Verdict::over(&judged), seen) }
}

/// Returns `heap in 2 of 3, latency in 1 of 3`; a limit that all share has no count.
fn ends(floods: &[&Flood]) -> String {
    let mut ends: Vec<(String, usize)> = Vec::new();
    for flood in floods {
        let limit = flood.limits.first();
        let end = limit.map_or("no limit shows".to_string(), |l| {
            format!("{}{}", l.kind.replace('_', " "), if l.ours { ", which is ours" } else { "" })
        });
        match ends.iter_mut().find(|known| known.0 == end) {
            Some(known) => known.1 += 1,
            None => ends.push((end, 1)),
        }
    }
    match ends.as_slice() {
        [(end, n)] => format!("{end}, n = {n}"),
        _ => {
            let of = floods.len();
            let each: Vec<String> = ends.iter().map(|(end, n)| format!("{end} in {n} of {of}")).collect();
            each.join(", ")
        }
    }
}
