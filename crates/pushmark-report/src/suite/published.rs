//! What a study printed beside what was measured. Agreement is judged on order, ratio and knee,
//! never on values: machines, crowds and clocks differ.

use maud::{Markup, html};
use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::table::{Cell as Field, Table};
use pushmark_model::suite::{Figure, Published};

use super::cells::{Cell, Fate, View, fate_of, stands};
use super::places::{Places, number};
use super::quantity::{Quantity, Reading};
use super::says::knee::{self, ALIKE};

/// Printed values nearer than this count as equal in the study.
const SAME: f64 = 1.05;

/// Axis and value that are constant on a printed line: its cells differ in x alone.
pub(crate) type Key<'p> = Vec<(&'p String, &'p String)>;

/// x, published, measured.
type Triples = Vec<(f64, f64, f64)>;

/// A printed value and its cell.
struct Row<'p> {
    printed: &'p Published,
    /// The measured value of the one arm of the one named cell.
    measured: Option<Estimate>,
    /// The fate of the cell; absent if the suite has no such cell, or several.
    fate: Option<Fate>,
    shown: String,
}

/// Returns the caption's text about printed values.
pub(crate) fn caption(figure: &Figure) -> String {
    let drawn = figure.published.iter().any(|p| p.y.is_some());
    let words = figure.published.iter().any(|p| p.y.is_none());
    match (drawn, words) {
        (true, _) => "○ published, no interval printed".into(),
        (false, true) => "published in words, below".into(),
        (false, false) if figure.number.is_some() => "no values were printed for it".into(),
        _ => String::new(),
    }
}

/// Describes the agreement in one sentence, for the paragraph of the figure.
pub(crate) fn sentence(view: &View<'_>, figure: &Figure) -> Option<String> {
    judge(view, figure).into_iter().next()
}

/// Renders the section of the page; nothing if nothing was printed.
pub(crate) fn section(view: &View<'_>, figures: &[&Figure]) -> Markup {
    let with: Vec<&&Figure> = figures.iter().filter(|f| !f.published.is_empty()).collect();
    html! {
        @if !with.is_empty() {
            section.part {
                h2 { "Published against measured" }
                p.s { "Judged are order, ratio and knee: which of two cells is the higher, whether ours is the same multiple of theirs in all cells (within a factor of " (ALIKE) "), and where a line bends. Values are not expected to agree." }
                (table(view, &with).html("published"))
                ul.method { @for figure in &with { @for said in judge(view, figure) { li { b { (title(figure)) } ": " (said) } } } }
            }
        }
    }
}

fn title(figure: &Figure) -> String {
    figure.number.clone().unwrap_or_else(|| figure.title.clone())
}

/// Returns a row a printed value.
fn table(view: &View<'_>, figures: &[&&Figure]) -> Table {
    let mut table = Table::new(&[
        ("figure", "figure"),
        ("cell", "cell"),
        ("published", "published"),
        ("measured", "measured"),
        ("measured ÷ published", "ratio"),
        ("agrees?", "agrees"),
    ]);
    for figure in figures {
        let quantity = Quantity::find(&figure.y).ok();
        let show = |y: f64| quantity.as_ref().map_or_else(|| PAGE.three(y), |q| q.show(y));
        for row in rows(view, figure) {
            let printed: Vec<String> =
                row.printed.y.map(show).into_iter().chain(row.printed.words.clone()).collect();
            let fields = [
                title(figure),
                cell_words(view, row.printed),
                printed.join("; "),
                row.shown.clone(),
                ratio(&row).map_or_else(|| "–".to_string(), |r| PAGE.ratio(r)),
                agrees(figure, view, &row),
            ];
            table.push(fields.map(Field::text).to_vec());
        }
    }
    table
}

/// Returns the values of the cell in the order of the suite's axes.
fn cell_words(view: &View<'_>, printed: &Published) -> String {
    let known = view.suite.axes.iter().filter_map(|a| printed.only.get(&a.name));
    let other = printed.only.iter().filter(|(k, _)| view.axis(k).is_none()).map(|(_, v)| v);
    known.chain(other).map(String::as_str).collect::<Vec<_>>().join(" · ")
}

/// Words can be judged if they report a crash; numbers by their order among the other cells of the figure.
fn agrees(figure: &Figure, view: &View<'_>, row: &Row<'_>) -> String {
    let crashed = row.printed.words.as_deref().is_some_and(|w| w.contains("crash") || w.contains("died"));
    if crashed {
        return match row.fate {
            Some(Fate::Died) => "yes: it died here too".into(),
            Some(fate) if fate.has_value() => "no: it held here".into(),
            _ => "not known".into(),
        };
    }
    let all = rows(view, figure);
    let mut kept = (0, 0);
    for other in &all {
        if let Some(same) = same_order(row, other) {
            kept.1 += 1;
            kept.0 += usize::from(same);
        }
    }
    match kept {
        (_, 0) => "not known".into(),
        (same, all) if same == all => format!("order yes, {same} of {all}"),
        (0, all) => format!("order no, 0 of {all}"),
        (same, all) => format!("order in {same} of {all}"),
    }
}

fn rows<'p>(view: &View<'_>, figure: &'p Figure) -> Vec<Row<'p>> {
    figure.published.iter().map(|printed| row(view, figure, printed)).collect()
}

fn row<'p>(view: &View<'_>, figure: &Figure, printed: &'p Published) -> Row<'p> {
    let fits = |c: &&Cell<'_>| {
        printed.only.iter().all(|(axis, value)| axis == "transport" || c.axis(axis) == Some(value))
    };
    let cells: Vec<&Cell<'_>> = view.chosen(figure).into_iter().filter(fits).collect();
    let absent = |shown: &str, fate| Row { printed, measured: None, fate, shown: shown.to_string() };
    let cell = match cells.as_slice() {
        [] => return absent("– no such cell", None),
        [one] => *one,
        _ => return absent("– several cells", None),
    };
    let named = printed.only.get("transport");
    let mut arms = cell.arms().iter().filter(|a| named.is_none_or(|t| a.name() == t));
    let (arm, more) = (arms.next(), arms.next());
    if more.is_some() {
        return absent("– several transports", None);
    }
    let fate = arm.map_or_else(|| cell.fate(), fate_of);
    let Some(arm) = arm.filter(|a| stands(a)) else {
        return absent(&format!("{} {}", fate.glyph(), fate.name()), Some(fate));
    };
    let Ok(quantity) = Quantity::find(&figure.y) else { return absent("see the figure", Some(fate)) };
    let doubt =
        if fate == Fate::Valid { String::new() } else { format!(" {} {}", fate.glyph(), fate.name()) };
    match quantity.read(arm) {
        Reading::Value(e) => {
            Row { printed, measured: Some(e), fate: Some(fate), shown: quantity.show_estimate(&e) + &doubt }
        }
        Reading::AtLeast(us) => absent(&format!("≥ {}", quantity.show(us)), Some(fate)),
        Reading::Absent(reason) => absent(&format!("– {reason}"), Some(fate)),
    }
}

fn ratio(row: &Row<'_>) -> Option<f64> {
    let printed = row.printed.y.filter(|y| *y > 0.0)?;
    Some(row.measured.filter(is_several)?.value / printed)
}

/// Whether a value is of several starts, which give an interval. One start carries no judgement.
fn is_several(estimate: &Estimate) -> bool {
    estimate.bounds().is_some()
}

/// Returns whether two cells are in the order of the study; `None` if the study printed the same value for
/// both, if our bars touch, or if one of our values is of a single start.
fn same_order(a: &Row<'_>, b: &Row<'_>) -> Option<bool> {
    let (was_a, was_b) = (a.printed.y?, b.printed.y?);
    let (is_a, is_b) = (a.measured.filter(is_several)?, b.measured.filter(is_several)?);
    let (low, high) = (was_a.min(was_b), was_a.max(was_b));
    if std::ptr::eq(a.printed, b.printed) || low <= 0.0 || high / low < SAME {
        return None;
    }
    super::super::figures::age_cost::apart(&is_a, &is_b)
        .then_some((is_a.value > is_b.value) == (was_a > was_b))
}

/// Judges order, ratio and knee of a figure, a sentence each.
fn judge(view: &View<'_>, figure: &Figure) -> Vec<String> {
    let rows = rows(view, figure);
    [order(&rows), alike(&rows), knees(view, figure, &rows)].into_iter().flatten().collect()
}

fn order(rows: &[Row<'_>]) -> Option<String> {
    let (mut kept, mut all) = (0, 0);
    for (i, a) in rows.iter().enumerate() {
        for same in rows[i + 1..].iter().filter_map(|b| same_order(a, b)) {
            all += 1;
            kept += usize::from(same);
        }
    }
    match (kept, all) {
        (_, 0) => None,
        (_, 1) if kept == 1 => {
            Some("The two cells that can be compared stand in the published order.".to_owned())
        }
        (_, 1) => {
            Some("The two cells that can be compared stand in the other order than published.".to_owned())
        }
        (kept, all) => Some(format!("{kept} of {all} pairs of cells stand in the published order.")),
    }
}

fn alike(rows: &[Row<'_>]) -> Option<String> {
    let ratios: Vec<f64> = rows.iter().filter_map(ratio).filter(|r| *r > 0.0).collect();
    if ratios.len() < 2 {
        return None;
    }
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(l, m), r| (l.min(*r), m.max(*r)));
    let (least_shown, most_shown) = (PAGE.three(least), PAGE.ratio(most));
    let verdict = if most / least <= ALIKE { "alike in all cells" } else { "not alike" };
    Some(format!("Ours is {least_shown} to {most_shown} the published value: {verdict}."))
}

/// Knees of the longest printed line, and of the measured line over the same cells.
fn knees(view: &View<'_>, figure: &Figure, rows: &[Row<'_>]) -> Option<String> {
    let axis = view.axis(&figure.x)?;
    let places = Places::of(axis, |_| true);
    let quantity = Quantity::find(&figure.y).ok()?;
    let mut lines: Vec<(Key<'_>, Triples)> = Vec::new();
    for row in rows {
        let at =
            row.printed.only.get(&axis.name).and_then(|v| places.place(v).filter(|_| number(v).is_some()));
        let (Some(x), Some(was), Some(is)) = (at, row.printed.y, row.measured.filter(is_several)) else {
            continue;
        };
        let key: Key<'_> = row.printed.only.iter().filter(|(k, _)| **k != axis.name).collect();
        match lines.iter_mut().find(|l| l.0 == key) {
            Some(line) => line.1.push((x, was, is.value)),
            None => lines.push((key, vec![(x, was, is.value)])),
        }
    }
    let mut line = lines.into_iter().map(|l| l.1).max_by_key(Vec::len).filter(|l| l.len() >= 4)?;
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of = |y: fn(&(f64, f64, f64)) -> f64| {
        let points: Vec<(f64, f64)> = line.iter().map(|p| (p.0, y(p))).collect();
        knee::of(&points, quantity.is_latency()).map(|at| points[at].0)
    };
    let called = |x: f64| places.all.iter().find(|p| p.1 == x).map_or_else(String::new, |p| p.2.clone());
    Some(match (of(|p| p.1), of(|p| p.2)) {
        (None, None) => "Neither line has a knee.".into(),
        (Some(was), Some(is)) if was == is => format!("Both lines bend at {}.", called(was)),
        (Some(was), Some(is)) => {
            format!("The published line bends at {}, ours at {}.", called(was), called(is))
        }
        (Some(was), None) => format!("The published line bends at {}, ours nowhere.", called(was)),
        (None, Some(is)) => format!("Ours bends at {}, the published line nowhere.", called(is)),
    })
}
