//! A metric against an axis of the suite or against another metric: a panel for each value of an axis, a
//! line a transport (or a value of another axis), cells without a result as bands.

mod curves;

use pushmark_chart::table::Table;
use pushmark_model::suite::Figure;

use super::super::figure::{FULL, both};
use super::cells::{Cell, Fate, View};
use super::chart::{Axis, Band, Chart, Column, Line, Open, Panel, Point};
use super::drawn::{Body, Drawn};
use super::matrix::long_table;
use super::places::{Places, titled};
use super::quantity::{Quantity, Reading};
use super::{published, says};
use curves::{Curves, Item, Kind};

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let cells = view.asked(figure)?;
    let names = std::iter::once(&figure.y).chain(figure.joint.iter().filter(|j| **j != figure.y));
    let rows: Vec<Quantity> = names.map(|n| Quantity::find(n)).collect::<Result<_, _>>()?;
    let across = match view.axis(&figure.x) {
        Some(axis) => Across::Axis {
            name: axis.name.clone(),
            label: axis_name(view, &axis.name, &axis.label),
            places: Places::of(axis, |v| cells.iter().any(|c| c.axis(&axis.name) == Some(v))),
        },
        None => Across::Metric {
            quantity: Quantity::find(&figure.x)?,
            offered: figure.offered.as_deref().map(Quantity::find).transpose()?,
        },
    };
    let curves = Curves::of(view, figure, &cells, &across);
    let (panels, unrun) = panel_values(view, figure, &cells);
    let mut homeless = 0;
    let columns: Vec<Column> = panels
        .iter()
        .map(|value| Column {
            title: panel_title(view, figure, value.as_deref()),
            panels: rows
                .iter()
                .enumerate()
                .map(|(i, quantity)| {
                    let mut panel = panel(&curves, &across, value.as_deref(), quantity, &mut homeless);
                    if i == 0 {
                        panel.published = open(figure, &across, value.as_deref(), quantity);
                    }
                    panel
                })
                .collect(),
        })
        .collect();
    let chart = Chart {
        id: format!("f-{}", super::drawn::plain(&figure.id)),
        x: across.axis(&cells),
        rows: rows.iter().map(|q| axis_of(q, &cells)).collect(),
        series: curves.series.clone(),
        columns,
    };
    if chart.is_empty() {
        return Err(says::nothing(&cells));
    }
    let (wide, narrow) = both(FULL, |size| chart.draw(size));
    let told = says::against(view, published::sentence(view, figure), &chart, &rows[0], &cells);
    Ok(Drawn {
        says: told,
        caption: caption(view, figure, &chart, &cells, homeless, &unrun),
        body: Body::Drawing { wide, narrow },
        table: table(view, &rows, &across, &cells),
    })
}

/// The quantity on x.
pub(super) enum Across {
    Axis { name: String, label: String, places: Places },
    Metric { quantity: Quantity, offered: Option<Quantity> },
}

impl Across {
    fn axis(&self, cells: &[&Cell<'_>]) -> Axis {
        match self {
            Across::Axis { label, places, .. } => Axis {
                name: label.clone(),
                short: label.clone(),
                log: places.log,
                places: places.labels(),
                names: places.names,
                tick: Box::new(pushmark_chart::scale::plain_tick),
                unit: 1.0,
            },
            Across::Metric { quantity, .. } => axis_of(quantity, cells),
        }
    }
}

/// Returns the label of an axis; if crowds are shrunk, the axis shows the crowd as written.
fn axis_name(view: &View<'_>, name: &str, label: &str) -> String {
    if name == "clients" && view.suite.scale != 1.0 {
        return format!("{label} as written, × {} here", pushmark_chart::scale::plain_tick(view.suite.scale));
    }
    label.to_string()
}

/// Returns an axis for a metric: log for times and for values that span a factor of 100.
fn axis_of(quantity: &Quantity, cells: &[&Cell<'_>]) -> Axis {
    let (words, short) = quantity.words();
    let values = cells.iter().flat_map(|c| c.arms()).filter_map(|a| Some(quantity.read(a).estimate()?.value));
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    let log = quantity.is_latency() || (quantity.is_rate() && low > 0.0 && high / low > 100.0);
    let (quantity, unit) = (quantity.clone(), quantity.round_in(high));
    Axis {
        name: words,
        short,
        log,
        places: Vec::new(),
        names: false,
        tick: Box::new(move |v| quantity.tick(v)),
        unit,
    }
}

/// Returns the values that have a panel (one panel without a value if the figure names no axis), and the
/// values without a panel because none of their cells was run.
fn panel_values(view: &View<'_>, figure: &Figure, cells: &[&Cell<'_>]) -> (Vec<Option<String>>, Vec<String>) {
    let Some(axis) = figure.panel.as_deref().and_then(|p| view.axis(p)) else {
        return (vec![None], Vec::new());
    };
    let occurs = axis.values.iter().filter(|v| cells.iter().any(|c| c.axis(&axis.name) == Some(v.as_str())));
    let run =
        |v: &String| cells.iter().any(|c| c.axis(&axis.name) == Some(v.as_str()) && c.fate() != Fate::NotRun);
    let (drawn, unrun): (Vec<_>, Vec<_>) = occurs.cloned().partition(run);
    (drawn.into_iter().map(Some).collect(), unrun)
}

/// Returns `5 000 users`; a name needs no axis.
fn panel_title(view: &View<'_>, figure: &Figure, value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    let label = figure.panel.as_deref().and_then(|p| view.axis(p)).map_or("", |a| a.label.as_str());
    titled(value, label)
}

fn panel(
    curves: &Curves<'_, '_>,
    across: &Across,
    value: Option<&str>,
    quantity: &Quantity,
    homeless: &mut usize,
) -> Panel {
    let mut panel = Panel::default();
    let mut gaps: Vec<(usize, Band)> = Vec::new();
    let mut filled: Vec<f64> = Vec::new();
    for series in 0..curves.series.len() {
        let mut segments: Vec<Vec<Point>> = vec![Vec::new()];
        for item in curves.items(value, series, quantity, across) {
            match item {
                Item { kind: Kind::Point(point), .. } => {
                    filled.push(point.x);
                    segments.last_mut().expect("a segment").push(*point);
                }
                Item { kind: Kind::Gap(fate, reason), x: Some(x), cell } => {
                    segments.push(Vec::new());
                    gaps.push((series, band(x, fate, &reason, cell)));
                }
                Item { kind: Kind::Gap(..), x: None, .. } => {
                    segments.push(Vec::new());
                    *homeless += 1;
                }
            }
        }
        segments.retain(|s| !s.is_empty());
        panel.lines.push(Line { series, segments, markers: true });
    }
    // The same gap in several lines is one band; if other lines have a value there, the band is a small
    // box.
    let mut seen: Vec<(f64, Fate)> = Vec::new();
    for (_, mut band) in gaps {
        band.small = filled.iter().any(|x| (x - band.x).abs() < 1e-9);
        if band.small || !seen.contains(&(band.x, band.fate)) {
            // If several fates share a place, the band shows the first; the table has all.
            if !band.small && seen.iter().any(|s| s.0 == band.x) {
                continue;
            }
            seen.push((band.x, band.fate));
            panel.bands.push(band);
        }
    }
    panel
}

fn band(x: f64, fate: Fate, reason: &str, cell: &Cell<'_>) -> Band {
    let glyph = fate.glyph();
    let words = match fate {
        Fate::Refused => vec!["not run: refused".into(), "refused".into()],
        Fate::NotRun => vec!["not run".into(), "–".into()],
        Fate::Valid | Fate::Suspect | Fate::Incomplete => {
            vec![format!("not given: {reason}"), "not given".into(), "–".into()]
        }
        _ => vec![
            format!("{glyph} {}: {reason}", fate.name()),
            format!("{glyph} {}", fate.name()),
            glyph.to_string(),
        ],
    };
    let name = if fate.has_value() { "not given" } else { fate.name() };
    Band { x, fate, words, small: false, title: format!("{}: {name}: {reason}", cell.case.id) }
}

/// Returns the values that the study printed for this panel, a line for each set of the other axes.
fn open(figure: &Figure, across: &Across, value: Option<&str>, quantity: &Quantity) -> Vec<Vec<Open>> {
    let mut lines: Vec<(published::Key<'_>, Vec<Open>)> = Vec::new();
    for printed in &figure.published {
        let own = figure.panel.as_ref().and_then(|p| printed.only.get(p));
        if own.is_some() && own.map(String::as_str) != value {
            continue;
        }
        let at = match across {
            Across::Axis { name, places, .. } => {
                printed.x.or_else(|| printed.only.get(name).and_then(|v| places.place(v)))
            }
            Across::Metric { .. } => printed.x,
        };
        let (Some(x), Some(y)) = (at, printed.y) else { continue };
        let along = match across {
            Across::Axis { name, .. } => Some(name),
            Across::Metric { .. } => None,
        };
        let key: published::Key<'_> = printed.only.iter().filter(|(k, _)| Some(*k) != along).collect();
        let of: Vec<&str> = printed.only.values().map(String::as_str).collect();
        let open = Open { x, y, title: format!("published, {}: {}", of.join(" · "), quantity.show(y)) };
        match lines.iter_mut().find(|l| l.0 == key) {
            Some(line) => line.1.push(open),
            None => lines.push((key, vec![open])),
        }
    }
    let sorted = |(_, mut line): (_, Vec<Open>)| {
        line.sort_by(|a, b| a.x.total_cmp(&b.x));
        line
    };
    lines.into_iter().map(sorted).collect()
}

fn caption(
    view: &View<'_>,
    figure: &Figure,
    chart: &Chart,
    cells: &[&Cell<'_>],
    homeless: usize,
    unrun: &[String],
) -> String {
    let mut parts = Vec::new();
    if let (Some(number), Some(study)) = (&figure.number, &view.suite.study) {
        parts.push(format!("{number} of study {}", study.number));
    }
    let n: Vec<usize> = cells.iter().map(|c| c.n()).filter(|n| *n > 0).collect();
    parts.push(match (n.iter().min(), n.iter().max()) {
        (Some(1), Some(1)) => "one start a cell, n = 1: no interval".into(),
        (Some(least), Some(most)) if least == most && *most < 5 => {
            format!("median of {least} starts, thin bars their range")
        }
        (Some(least), Some(most)) if least == most => format!("median of {least} starts, bars 95 % interval"),
        (Some(least), Some(most)) => {
            format!(
                "median of {least} to {most} starts; bars: 95 % interval from 5, range from 2, none at n = 1"
            )
        }
        _ => "nothing was run".into(),
    });
    if let [only] = chart.series.as_slice() {
        parts.push(format!("line: {}", only.label));
    }
    parts.push(published::caption(figure));
    let bands: Vec<Fate> =
        chart.columns.iter().flat_map(|c| &c.panels).flat_map(|p| p.bands.iter().map(|b| b.fate)).collect();
    if bands.iter().any(|f| matches!(f, Fate::Invalid | Fate::Failed)) {
        parts.push("hatched: no result".into());
    }
    if bands.iter().any(|f| matches!(f, Fate::Refused | Fate::NotRun)) {
        parts.push("dotted outline: not run".into());
    }
    if bands.contains(&Fate::Died) {
        parts.push("†: the server died".into());
    }
    if homeless > 0 {
        let cells = pushmark_chart::words::plural(homeless, "cell");
        parts.push(format!("{cells} without a result and so without a place: see the table"));
    }
    if !unrun.is_empty() {
        let values: Vec<String> = unrun.iter().map(|v| panel_title(view, figure, Some(v))).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        parts.push(format!("no panel for {}: not run", pushmark_chart::words::list(&values)));
    }
    parts.extend(figure.note.clone());
    parts.retain(|p| !p.is_empty());
    parts.join("; ")
}

/// Returns a row an arm; several metrics are one block after the other.
fn table(view: &View<'_>, rows: &[Quantity], across: &Across, cells: &[&Cell<'_>]) -> Table {
    let mut table = long_table(view, &rows[0], cells);
    let more: Vec<&Quantity> = match across {
        Across::Metric { quantity, offered } => std::iter::once(quantity).chain(offered).collect(),
        Across::Axis { .. } => Vec::new(),
    };
    for quantity in more.into_iter().chain(&rows[1..]) {
        let other = long_table(view, quantity, cells);
        let value = other.columns.iter().position(|c| c.1 == quantity.column()).expect("its value");
        for column in [value, value + 1, value + 2] {
            let heading = match column - value {
                0 => other.columns[column].0.clone(),
                1 => "from".into(),
                _ => "to".into(),
            };
            table.columns.push((heading, other.columns[column].1.clone()));
            for (row, from) in table.rows.iter_mut().zip(&other.rows) {
                row.push(from[column].clone());
            }
        }
    }
    table
}

/// Returns the text of a reading without a number.
pub(super) fn absent(reading: &Reading) -> Option<String> {
    match reading {
        Reading::Absent(reason) => Some(reason.clone()),
        _ => None,
    }
}
