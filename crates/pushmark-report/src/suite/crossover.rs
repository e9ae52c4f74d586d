//! For each accepted latency, the largest crowd that each transport serves within it. The crossover is
//! where one transport overtakes another. Served means attainment: nearly all *intended* deliveries
//! arrived in time; skipped, lost and unpublished deliveries count against it. A transport that was run in
//! several ways (a poll at several intervals) counts as the best of its ways.

mod plot;
mod serve;

use pushmark_chart::numbers::PAGE;
use pushmark_chart::table::{Cell as Field, Table};
use pushmark_chart::words;
use pushmark_model::suite::Figure;

use super::super::figure::FULL;
use super::super::figure::both;
use super::cells::View;
use super::drawn::{Body, Drawn};
use serve::{Crossing, Curve, Served, crossings, curves};

/// The latencies to try, µs: evenly over the decades from 0.1 to 30 s.
const LIMITS_US: [u64; 16] = [
    100_000, 150_000, 200_000, 300_000, 500_000, 700_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000,
    5_000_000, 7_000_000, 10_000_000, 15_000_000, 20_000_000, 30_000_000,
];

/// The share of intended deliveries that must arrive in time: the 99th percentile over all intended
/// deliveries.
const ATTAINMENT: f64 = 0.99;

/// One panel: a value of the figure's `panel` axis.
struct Panel {
    title: String,
    curves: Vec<Curve>,
    crossings: Vec<Crossing>,
}

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let crowd = if figure.x.is_empty() { "clients" } else { &figure.x };
    if view.axis(crowd).is_none() {
        return Err(format!("the suite has no axis `{crowd}`, over which the crowd grows"));
    }
    let cells = view.chosen(figure);
    let titles: Vec<String> = match &figure.panel {
        None => vec![String::new()],
        Some(axis) => match view.axis(axis) {
            None => return Err(format!("the suite has no axis `{axis}`")),
            Some(axis) => axis
                .values
                .iter()
                .filter(|value| cells.iter().any(|cell| cell.axis(&axis.name) == Some(value)))
                .cloned()
                .collect(),
        },
    };
    let panel = |title: String| {
        let own = cells
            .iter()
            .copied()
            .filter(|cell| figure.panel.as_ref().is_none_or(|axis| cell.axis(axis) == Some(title.as_str())));
        let curves = curves(&own.collect::<Vec<_>>(), crowd, figure.line.as_deref());
        Panel { crossings: crossings(&curves), curves, title }
    };
    let panels: Vec<Panel> = titles.into_iter().map(panel).filter(|panel| !panel.curves.is_empty()).collect();
    if panels.is_empty() {
        return Err("no crowd was measured".into());
    }
    let (wide, narrow) = both(FULL, |size| plot::draw(&figure.id, &panels, size));
    Ok(Drawn {
        says: panels.iter().flat_map(says).collect(),
        caption: caption(view, figure),
        body: Body::Drawing { wide, narrow },
        table: table(&panels),
    })
}

/// Reports which transport serves the most at both ends, and which overtakes which between.
fn says(panel: &Panel) -> Vec<String> {
    let of = if panel.title.is_empty() { String::new() } else { format!("{}: ", panel.title) };
    let mut says = Vec::new();
    for (i, limit_us) in [(0, LIMITS_US[0]), (LIMITS_US.len() - 1, LIMITS_US[LIMITS_US.len() - 1])] {
        let most = panel.curves.iter().filter_map(|curve| curve.at[i].kept).max();
        let limit = PAGE.time(limit_us as f64);
        says.push(match most {
            None => format!("{of}within {limit} no transport serves any crowd that was tried."),
            Some(most) => {
                let first = panel.curves.iter().filter(|curve| curve.at[i].kept == Some(most));
                let names: Vec<&str> = first.map(|curve| curve.mark.name).collect();
                let serve = if names.len() == 1 { "serves" } else { "serve" };
                format!("{of}within {limit} {} {serve} the most: {}.", words::list(&names), PAGE.count(most))
            }
        });
    }
    if panel.crossings.is_empty() && panel.curves.len() > 1 {
        says.push(format!("{of}none overtakes another between the two."));
    }
    says.extend(panel.crossings.iter().map(|crossing| format!("{of}{}.", crossing.words())));
    says.iter().map(|sentence| words::capital(sentence)).collect()
}

fn caption(view: &View<'_>, figure: &Figure) -> String {
    let starts = match view.starts() {
        Some((1, 1)) | None => "one start a crowd, n = 1".to_owned(),
        Some((_, most)) => format!("median of up to {most} starts a crowd"),
    };
    let rule =
        format!("served: {} % of intended deliveries within the limit", PAGE.three(ATTAINMENT * 100.0));
    let bars = "bars: from the largest crowd that was served to the smallest that was not";
    [Some(rule), Some(bars.to_owned()), Some(starts), figure.note.clone()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

fn table(panels: &[Panel]) -> Table {
    let columns = [
        ("of", "panel"),
        ("transport", "transport"),
        ("accepted", "limit_us"),
        ("served", "served"),
        ("not served", "not_served"),
        ("with", "with"),
        ("why not more", "end"),
    ];
    let mut table = Table::new(&columns);
    for panel in panels {
        for curve in &panel.curves {
            for (served, limit_us) in curve.at.iter().zip(LIMITS_US) {
                let Served { kept, broke, with, end, .. } = served;
                table.push(vec![
                    Field::text(panel.title.clone()),
                    Field::text(curve.mark.name),
                    Field { shown: PAGE.time(limit_us as f64), plain: limit_us.to_string() },
                    Field::count_or_absent(*kept),
                    Field::count_or_absent(*broke),
                    Field::text(with.clone()),
                    Field::text(end.words()),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
#[path = "crossover/tests.rs"]
mod tests;
