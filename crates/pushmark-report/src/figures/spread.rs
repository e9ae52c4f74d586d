//! First, median and last receiver of a broadcast: how long a message takes to reach a crowd,
//! not one client. Only broadcasts received by all are drawn; the others are counted.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, c};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::{bar_across, marker};
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::scale::{Scale, time_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_model::run::{Latency, Spread as Broadcasts};

use crate::case::{ArmView, Case, P, TAIL};
use crate::curve;
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

/// One of the three receivers that are followed.
type Receiver = fn(&Broadcasts) -> &Latency;

const THREE: [(&str, Receiver); 3] =
    [("first", |s| &s.first), ("median", |s| &s.median), ("last", |s| &s.last)];

fn p50(arm: &ArmView<'_>, of: Receiver) -> Option<Estimate> {
    arm.estimate(|a| of(a.delivery.as_ref()?.spread.as_ref()?).p50_us.map(|v| v as f64), true)
}

/// Returns p1 to p99 over broadcasts; each end is the median of the starts.
fn reach(arm: &ArmView<'_>, of: Receiver) -> Option<(f64, f64)> {
    let ends: Option<Vec<(f64, f64)>> = arm
        .starts
        .iter()
        .map(|a| {
            let d = curve::decode(of(a.delivery.as_ref()?.spread.as_ref()?))?;
            Some((d.quantile(0.01)? as f64, d.quantile(0.99)? as f64))
        })
        .collect();
    let (low, high): (Vec<f64>, Vec<f64>) = ends?.into_iter().unzip();
    Some((Estimate::of(&low, true)?.value, Estimate::of(&high, true)?.value))
}

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if !case.arms.iter().any(|a| a.deliveries().any(|d| d.spread.is_some())) {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| draw(case, size));
    let broadcasts: u64 = case
        .arms
        .iter()
        .filter_map(|a| a.total(|d| d.spread.as_ref().map_or(0, |s| s.broadcasts)))
        .max()
        .unwrap_or(0);
    let sampled =
        case.arms.iter().any(|a| a.deliveries().any(|d| d.spread.as_ref().is_some_and(|s| s.sampled)));
    let kept = if sampled { ", a seeded sample" } else { "" };
    Some(Figure {
        id: "broadcasts",
        title: "First, median and last of a broadcast".into(),
        sentence: sentence(case),
        caption: format!(
            "{}; median over up to {} broadcasts received by all{kept}; pale bars, top to bottom: first, median, last, p1 to p99",
            case.statistic(),
            PAGE.count(broadcasts)
        ),
        wide,
        narrow,
        table: table(case),
    })
}

fn absent(arm: &ArmView<'_>) -> Option<&'static str> {
    if arm.total(|_| 0).is_none() {
        return Some("pushmark published nothing");
    }
    p50(arm, THREE[0].1).is_none().then_some("no broadcast reached all")
}

fn draw(case: &Case<'_>, size: Size) -> Drawing {
    let (width, step) = (size.width(), if size.is_narrow() { 36.0 } else { 40.0 });
    let (left, right) = (rows::margin(&case.arms), width - 30.0);
    let (top, bottom) = (20.0, 34.0 + step * case.arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "spread"), width, bottom + 42.0);
    let mut values = Vec::new();
    for arm in case.believed() {
        for (_, of) in THREE {
            values.extend(p50(arm, of).map(|e| e.value));
            values.extend(reach(arm, of).into_iter().flat_map(|r| [r.0, r.1]));
        }
    }
    let x = Scale::log_over(values, left + 4.0, right);
    rows::axis_below(&mut canvas, &x, (left, right), (top, bottom), time_tick, "after due (log) →");
    // Words go over the row with the most room between its marks.
    let room = |a: &ArmView<'_>| match (p50(a, THREE[0].1), p50(a, THREE[2].1)) {
        (Some(first), Some(last)) => x.at(last.value) - x.at(first.value),
        _ => 0.0,
    };
    let named = case.believed().max_by(|a, b| room(a).total_cmp(&room(b))).map(|a| a.name());
    for (i, arm) in case.arms.iter().enumerate() {
        let y = top + 14.0 + step * (i as f64 + 0.5);
        rows::name(&mut canvas, arm, 0.0, y);
        if !rows::instead(&mut canvas, arm, left, y, width - left, absent(arm)) {
            row(&mut canvas, arm, &x, y, named == Some(arm.name()));
        }
    }
    canvas.finish()
}

fn row(canvas: &mut Canvas, arm: &ArmView<'_>, x: &Scale, y: f64, named: bool) {
    let [Some(first), Some(median), Some(last)] = THREE.map(|(_, of)| p50(arm, of)) else { return };
    let paint = arm.mark.paint;
    canvas.open_titled(&format!(
        "{}: first {}, median {}, last {}; {}, n = {}",
        arm.name(),
        PAGE.time(first.value),
        PAGE.time(median.value),
        PAGE.time(last.value),
        arm.state.name(),
        arm.n()
    ));
    for (i, (_, of)) in THREE.iter().enumerate() {
        if let Some((low, high)) = reach(arm, *of) {
            let from = x.at(low);
            canvas.rect(
                from,
                y - 6.0 + 4.0 * i as f64,
                (x.at(high) - from).max(1.0),
                4.0,
                paint,
                r#"opacity=".3""#,
            );
        }
    }
    let (a, m, z) = (x.at(first.value), x.at(median.value), x.at(last.value));
    canvas.line(a, y, z, y, paint, r#"stroke-width="1.8""#);
    canvas.line(a, y - 6.5, a, y + 6.5, paint, r#"stroke-width="2.2""#);
    let tip = format!("M{} {}L{} {}L{} {}", c(z - 6.0), c(y - 6.0), c(z), c(y), c(z - 6.0), c(y + 6.0));
    canvas.path(&tip, "none", paint, r#"stroke-width="2.2""#);
    if let Some((low, high)) = median.bounds() {
        bar_across(canvas, x.at(low), x.at(high), y, matches!(median.spread, Spread::Interval(..)), paint);
    }
    marker(canvas, arm.mark, arm.state, m, y);
    canvas.close();
    if named {
        let places = spread_words(&[(a, "first"), (m, "median"), (z, "last")]);
        for (place, word) in places {
            canvas.text(Text::note(place, y - 12.0, word).middle().halo());
        }
    }
}

/// Moves three words in a line apart where their marks are too near.
fn spread_words<'a>(words: &[(f64, &'a str); 3]) -> Vec<(f64, &'a str)> {
    let half = |w: &str| Kind::Note.width(w) / 2.0 + 3.0;
    let mut out = words.to_vec();
    let between = |a: &str, b: &str| half(a) + half(b);
    out[0].0 = out[0].0.min(out[1].0 - between(out[0].1, out[1].1));
    out[2].0 = out[2].0.max(out[1].0 + between(out[1].1, out[2].1));
    out
}

fn sentence(case: &Case<'_>) -> String {
    let mut last: Vec<(&str, f64)> =
        case.believed().filter_map(|a| Some((a.name(), p50(a, THREE[2].1)?.value))).collect();
    last.sort_by(|a, b| a.1.total_cmp(&b.1));
    match last.as_slice() {
        [] => "No broadcast reached every subscriber.".into(),
        [(name, value)] => format!("{name} reaches the last subscriber {} after due.", PAGE.time(*value)),
        [(fast, a), .., (slow, b)] => {
            format!(
                "{fast} reaches the last subscriber {} after due, {slow} after {}.",
                PAGE.time(*a),
                PAGE.time(*b)
            )
        }
    }
}

fn table(case: &Case<'_>) -> Table {
    let medians: Vec<f64> = case.believed().filter_map(|a| p50(a, THREE[1].1)).map(|e| e.value).collect();
    let unit = TimeUnit::of_median(&medians);
    let head = |name: &str| format!("{name}, {}", unit.name(&PAGE));
    let heads = ["first", "median", "last", "last p99"].map(head);
    let mut columns = vec![
        ("arm", "arm"),
        (heads[0].as_str(), "first_p50_us"),
        (heads[1].as_str(), "median_p50_us"),
        (heads[2].as_str(), "last_p50_us"),
        (heads[3].as_str(), "last_p99_us"),
        ("received by all", "broadcasts"),
        ("not received by all", "not_heard_by_all"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let seen = arm.believed();
        let at = |of| Cell::time(p50(arm, of).filter(|_| seen).map(|e| e.value), unit);
        let last = arm.percentile(|d| Some(&d.spread.as_ref()?.last), P::P99);
        let count = |f: fn(&Broadcasts) -> u64| {
            Cell::count_or_absent(arm.total(|d| d.spread.as_ref().map_or(0, f)).filter(|_| seen))
        };
        let mut row = vec![
            Cell::text(arm.name()),
            at(THREE[0].1),
            at(THREE[1].1),
            at(THREE[2].1),
            Cell::time(last.us().filter(|_| seen), unit),
            count(|s| s.broadcasts),
            count(|s| s.not_heard_by_all),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
