//! Where lines bend, and whether the study's lines bent there. A printed bend beyond the measured range is
//! reported as not reached, never as absent.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;
use pushmark_report::suite::parts::{ALIKE, Cell, Quantity, View, bend, place};

use super::{chosen, shown};
use crate::questions::Question;

/// Fewest points of a line that can bend.
const POINTS: usize = 4;
/// More lines than this are counted, not named.
const NAMED: usize = 6;

/// A line and the place of its bend.
struct Line {
    name: String,
    /// The place of the bend on the axis, if the line bends.
    at: Option<f64>,
    /// The farthest measured place.
    to: f64,
    /// Number of measured points.
    points: usize,
}

/// Returns the answer, in a few sentences.
pub(super) fn answer(view: &View<'_>, question: &Question, quantity: &Quantity) -> String {
    let lines = match &question.axis {
        Some(axis) => along(view, question, quantity, axis),
        None => themselves(view, question, quantity),
    };
    let unit = question.axis.as_ref().and_then(|a| view.axis(a)).map_or("clients", |a| a.label.as_str());
    said(lines, question.knee, unit)
}

/// Returns a line for each setting of the other axes, along this axis.
fn along(view: &View<'_>, question: &Question, quantity: &Quantity, axis: &str) -> Vec<Line> {
    let Some(axis) = view.axis(axis) else { return Vec::new() };
    let cells: Vec<&Cell<'_>> = chosen(view, question).into_iter().filter(|c| c.n() > 0).collect();
    let varied = view.varied(&cells);
    let others = || varied.iter().filter(|a| a.name != axis.name);
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for cell in &cells {
        let Some(x) = cell.axis(&axis.name).and_then(|v| place(axis, v)) else { continue };
        let Some(y) = shown(cell).and_then(|arm| quantity.value(arm)) else {
            continue;
        };
        let name: Vec<String> =
            others().filter_map(|a| cell.axis(&a.name).map(|v| named(v, &a.name, &a.label))).collect();
        let name = name.join(", ");
        match lines.iter_mut().find(|l| l.0 == name) {
            Some(line) => line.1.push((x, y)),
            None => lines.push((name, vec![(x, y)])),
        }
    }
    let line = |(name, mut points): (String, Vec<(f64, f64)>)| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line {
            name,
            at: bend(&points, quantity.is_latency()).map(|i| points[i].0),
            to: points.last().map_or(0.0, |p| p.0),
            points: points.len(),
        }
    };
    lines.into_iter().map(line).collect()
}

/// Names a place. A name needs no axis, a number does: `2 000 users`.
fn named(value: &str, name: &str, label: &str) -> String {
    let axis = if label.len() <= 30 { label } else { name };
    value.parse::<u64>().map_or_else(|_| value.to_string(), |n| format!("{} {axis}", PAGE.count(n)))
}

/// Reads the bend of each case from the metric; without a value the case did not bend.
fn themselves(view: &View<'_>, question: &Question, quantity: &Quantity) -> Vec<Line> {
    let cells: Vec<&Cell<'_>> = chosen(view, question).into_iter().filter(|c| c.n() > 0).collect();
    let held = Quantity::find("flood.connected_max").ok();
    let line = |cell: &&Cell<'_>| {
        let arm = shown(cell)?;
        let value = |q: &Quantity| q.value(arm);
        let to = held.as_ref().and_then(value).unwrap_or(cell.case.clients as f64);
        Some(Line { name: cell.words(view.suite, &[]), at: value(quantity), to, points: POINTS })
    };
    cells.iter().filter_map(line).collect()
}

fn said(lines: Vec<Line>, printed: Option<f64>, unit: &str) -> String {
    if lines.is_empty() {
        return "No case of it has a figure yet: there is no answer.".into();
    }
    let place = |x: f64| format!("{} {unit}", PAGE.count(x.round() as u64));
    let (long, short): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|l| l.points >= POINTS);
    let mut out = Vec::new();
    let name = |l: &Line| if l.name.is_empty() { "the line".to_string() } else { l.name.clone() };
    if long.len() <= NAMED {
        let each = long.iter().map(|l| match l.at {
            Some(at) => format!("{} bends at {}", name(l), place(at)),
            None => format!("{} bends nowhere up to {}", name(l), place(l.to)),
        });
        let each: Vec<String> = each.collect();
        if !each.is_empty() {
            out.push(format!("{}.", words::capital(&each.join("; "))));
        }
    } else {
        let mut at: Vec<f64> = long.iter().filter_map(|l| l.at).collect();
        at.sort_by(f64::total_cmp);
        let between = match (at.first(), at.last()) {
            (Some(least), Some(most)) => format!(", between {} and {}", place(*least), place(*most)),
            _ => String::new(),
        };
        out.push(format!(
            "{} of {} lines bend{between}.",
            words::capital(&words::number(at.len())),
            long.len()
        ));
    }
    if !short.is_empty() {
        let points = short.iter().map(|l| l.points).max().unwrap_or(0);
        out.push(format!(
            "Of {} only {} {} measured so far: a bend takes {POINTS} points.",
            words::plural(short.len(), "line"),
            words::number(points),
            if points == 1 { "point is" } else { "points are at most" }
        ));
    }
    if let Some(printed) = printed {
        out.push(judged(&long, &short, printed, &place(printed)));
    }
    out.join(" ")
}

/// Compares the measured bends with the printed one.
fn judged(long: &[Line], short: &[Line], printed: f64, place: &str) -> String {
    let reached = long.iter().chain(short).map(|l| l.to).fold(0.0, f64::max);
    let near = |at: f64| at.max(printed) / at.min(printed) <= ALIKE;
    let bends: Vec<f64> = long.iter().filter_map(|l| l.at).collect();
    let agree = bends.iter().filter(|at| near(**at)).count();
    if !long.is_empty() && agree == long.len() {
        return format!("The published knee, {place}, is ours too (within a factor of {ALIKE}).");
    }
    let beyond =
        if reached < printed { format!(": {place} was not reached on this machine") } else { String::new() };
    match (bends.is_empty(), agree) {
        (true, _) if reached < printed => {
            format!("The published knee, {place}, was not reached on this machine.")
        }
        (true, _) if long.is_empty() => format!("The published knee, {place}, cannot be judged yet."),
        (true, _) => {
            format!("The published knee, {place}, lies within what was measured and is not seen here.")
        }
        (false, 0) => {
            let earlier = bends.iter().filter(|at| **at < printed).count();
            let which = match earlier {
                n if n == bends.len() => "earlier than published",
                0 => "later than published",
                _ => "elsewhere than published",
            };
            format!("Ours bends {which} ({place}){beyond}.")
        }
        (false, n) => format!(
            "Near the published knee, {place}, bend {} of {} of ours (within a factor of {ALIKE}){beyond}.",
            words::number(n),
            words::plural(long.len(), "line")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, at: Option<f64>, to: f64, points: usize) -> Line {
        Line { name: name.into(), at, to, points }
    }

    #[test]
    fn a_printed_knee_beyond_what_was_measured_is_out_of_reach() {
        let lines = vec![line("node", None, 5_000.0, 4)];
        assert_eq!(
            said(lines, Some(12_000.0), "clients"),
            "Node bends nowhere up to 5\u{202f}000 clients. The published knee, 12\u{202f}000 clients, was not reached on this machine."
        );
    }

    #[test]
    fn a_printed_knee_is_ours_earlier_or_unseen() {
        let of = |at, to| said(vec![line("node", at, to, 5)], Some(1_000.0), "clients");
        assert!(of(Some(900.0), 9_000.0).ends_with("is ours too (within a factor of 1.5)."));
        assert!(of(Some(300.0), 9_000.0).contains("earlier than published"));
        assert!(of(Some(3_000.0), 9_000.0).contains("later than published"));
        assert!(of(None, 9_000.0).ends_with("lies within what was measured and is not seen here."));
        // Two lines that bend on either side of the place do not agree with it.
        let two = vec![line("a", Some(100.0), 9_000.0, 5), line("b", Some(9_000.0), 9_000.0, 5)];
        assert!(said(two, Some(1_000.0), "clients").contains("elsewhere than published"));
    }

    #[test]
    fn few_points_judge_nothing() {
        let said = said(vec![line("node", None, 9_000.0, 2)], Some(1_000.0), "clients");
        assert!(said.contains("a bend takes 4 points"), "{said}");
        assert!(said.ends_with("cannot be judged yet."), "{said}");
    }
}
