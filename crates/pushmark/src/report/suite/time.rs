//! A column of `windows.csv` over the seconds of an arm, from its start, as the first study drew
//! its runs: the start nearest the median, small multiples by server and crowd. CPU and memory of
//! the server's own processes, and the whole host's, which that study drew, as a thin grey line.

use pushmark_model::run::Window;
use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::super::figure::{FULL, both};
use super::super::numbers::PAGE;
use super::super::scale::{plain_tick, time_tick};
use super::super::table::{Cell as Field, Table};
use super::cells::{Cell, Fate, View, fate_of, reason_of};
use super::drawn::{Body, Drawn};
use super::ended;
use super::grid::{Axis, Grid, Line, Panel, Row};
use super::panels::{Panels, alike, drawn, empty};

/// Points of a line beyond these are joined.
const POINTS: usize = 120;

/// A column as it is drawn.
struct Column {
    name: String,
    kind: Kind,
    /// The whole host's of it.
    host: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// CPU time of a second, in cores.
    Cores,
    /// Bytes above the first second's.
    Grown,
    /// A time, log.
    Time,
    Count,
}

impl Column {
    fn of(name: &str) -> Column {
        let kind = match name {
            n if n.ends_with("_cpu_us") || n == "softirq_us" || n == "steal_us" => Kind::Cores,
            n if n.ends_with("_rss_bytes") || n == "host_active_bytes" => Kind::Grown,
            n if n.ends_with("_us") => Kind::Time,
            _ => Kind::Count,
        };
        let host = match name {
            "server_cpu_us" => Some("host_cpu_us"),
            "server_rss_bytes" => Some("host_active_bytes"),
            _ => None,
        };
        Column { name: name.to_owned(), kind, host }
    }

    fn about(&self) -> String {
        let name = &self.name;
        match self.kind {
            Kind::Cores => format!("{name}, cores busy in each second"),
            Kind::Grown => format!("{name}, its value in the first second subtracted"),
            Kind::Time => format!("{name} (log)"),
            Kind::Count => name.clone(),
        }
    }

    fn axis(&self) -> Axis {
        let tick: Box<dyn Fn(f64) -> String> = match self.kind {
            Kind::Cores => Box::new(|v| PAGE.three(v)),
            Kind::Grown => Box::new(|v| PAGE.bytes(v)),
            Kind::Time => Box::new(time_tick),
            Kind::Count => Box::new(plain_tick),
        };
        let name = match self.kind {
            Kind::Cores => "↑ cores busy".to_owned(),
            Kind::Grown => "↑ above the first second".to_owned(),
            Kind::Time => format!("↑ {} (log)", words_of(&self.name)),
            Kind::Count => format!("↑ {}", words_of(&self.name)),
        };
        Axis { name, log: self.kind == Kind::Time, binary: false, tick }
    }

    fn show(&self, value: f64) -> String {
        match self.kind {
            Kind::Cores => format!("{} core", PAGE.three(value)),
            Kind::Grown => PAGE.bytes(value),
            Kind::Time => PAGE.time(value),
            Kind::Count => PAGE.three(value),
        }
    }

    /// Seconds and values of one start, as drawn.
    fn points(&self, name: &str, windows: &[&Window]) -> Vec<(f64, f64)> {
        let read = |w: &&&Window| Some((f64::from(w.second), column(w, name)?));
        let mut points: Vec<(f64, f64)> = windows.iter().filter_map(|w| read(&w)).collect();
        match self.kind {
            Kind::Cores => points.iter_mut().for_each(|p| p.1 /= 1e6),
            Kind::Grown => {
                let first = points.first().map_or(0.0, |p| p.1);
                points.iter_mut().for_each(|p| p.1 = (p.1 - first).max(0.0));
            }
            // What a log axis cannot hold was below the clock's grain.
            Kind::Time => points.retain(|p| p.1 > 0.0),
            Kind::Count => {}
        }
        points
    }

    /// Neighbours become one point: a time its longest, all else its mean.
    fn joined(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let each = points.len().div_ceil(POINTS).max(1);
        let one = |chunk: &[(f64, f64)]| {
            let longest = chunk.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
            let mean = chunk.iter().map(|p| p.1).sum::<f64>() / chunk.len() as f64;
            (chunk[0].0, if self.kind == Kind::Time { longest } else { mean })
        };
        points.chunks(each).map(one).collect()
    }
}

/// A column's name as words: `emit_duration_max_us` is "emit duration max".
fn words_of(name: &str) -> String {
    name.trim_end_matches("_us").trim_end_matches("_bytes").replace('_', " ")
}

/// The value of a column, by its name in the file's first line.
fn column(window: &Window, name: &str) -> Option<f64> {
    serde_json::to_value(window).ok()?.get(name)?.as_f64()
}

/// What an arm was over its measured seconds.
struct Measured {
    median: f64,
    highest: f64,
}

fn measured(column_of: &Column, arm: &ArmView<'_>) -> Option<Measured> {
    let windows = arm.windows.get(arm.median_start())?;
    let phase = |second: f64| windows.iter().any(|w| f64::from(w.second) == second && w.phase == "measure");
    let mut values: Vec<f64> =
        column_of.points(&column_of.name, windows).into_iter().filter(|p| phase(p.0)).map(|p| p.1).collect();
    values.sort_by(f64::total_cmp);
    Some(Measured { median: *values.get(values.len() / 2)?, highest: *values.last()? })
}

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let column = Column::of(&figure.y);
    let cells = view.chosen(figure);
    if cells.is_empty() {
        return Err("no case is what it asks for".into());
    }
    let panels = Panels::of(view, figure, &cells);
    let rows = panels
        .rows
        .iter()
        .map(|row| Row {
            title: row.title.clone(),
            panels: row.panels.iter().map(|(title, cells)| panel(&column, figure, title, cells)).collect(),
        })
        .collect();
    let seconds = Axis {
        name: "seconds since the start, ramp among them →".into(),
        log: false,
        binary: false,
        tick: Box::new(|v| PAGE.fixed(v, 0)),
    };
    let grid = Grid { id: figure.id.clone(), x: seconds, y: column.axis(), rows };
    if grid.is_empty() {
        return Err("no case of it has a line yet".into());
    }
    let (wide, narrow) = both(FULL, |size| grid.draw(size));
    Ok(Drawn {
        says: sentences(view, &column, &cells),
        caption: caption(view, figure, &column),
        body: Body::Drawing { wide, narrow },
        table: table(view, &column, &cells),
    })
}

fn panel(column: &Column, figure: &Figure, title: &str, cells: &[&Cell<'_>]) -> Panel {
    let mut panel = empty(title, cells);
    for (cell, arm) in drawn(cells) {
        let Some(windows) = arm.windows.get(arm.median_start()) else { continue };
        let measure: Vec<f64> =
            windows.iter().filter(|w| w.phase == "measure").map(|w| f64::from(w.second)).collect();
        panel.bounds = panel.bounds.or(measure.first().copied().zip(measure.last().map(|s| s + 1.0)));
        let host = column.host.map(|host| column.joined(&column.points(host, windows)));
        if let Some(points) = host.filter(|points| !points.is_empty()) {
            panel.lines.push(Line {
                points,
                mark: None,
                name: "whole host".into(),
                title: format!("whole host; {}", cell.case.id),
            });
        }
        let points = column.joined(&column.points(&column.name, windows));
        if !points.is_empty() {
            panel.lines.push(Line {
                points,
                mark: Some(arm.mark),
                name: arm.transport.name().to_owned(),
                title: format!("{}; {}, {}, n = {}", cell.case.id, arm.transport, arm.state.name(), arm.n()),
            });
        }
    }
    // Beside a line, a style that was not run is told by its absence.
    if !panel.lines.is_empty() && !cells.iter().any(|c| c.fate() == Fate::Died) {
        panel.words.clear();
    }
    if panel.lines.is_empty() && panel.words.is_empty() {
        panel.words = "– not measured".into();
    }
    let here = |p: &&pushmark_model::suite::Published| {
        cells.iter().any(|cell| p.only.iter().all(|(axis, value)| cell.axis(axis) == Some(value)))
    };
    panel.published = figure.published.iter().filter(here).filter_map(|p| p.y).collect();
    panel.published.sort_by(f64::total_cmp);
    panel.published.dedup();
    panel
}

fn sentences(view: &View<'_>, column: &Column, cells: &[&Cell<'_>]) -> Vec<String> {
    let mut all: Vec<(f64, String)> = Vec::new();
    for (cell, arm) in drawn(cells) {
        if let Some(m) = measured(column, arm) {
            all.push((m.median, cell.words(view.suite, &alike(view, cells))));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = Vec::new();
    match all.as_slice() {
        [] => out.push("No second of measure has it.".into()),
        [(value, who)] => out.push(format!("One case has it: {} ({who}).", column.show(*value))),
        [(low, least), .., (high, most)] => out.push(format!(
            "Half of a case's seconds lie below {} at least ({least}) and {} at most ({most}).",
            column.show(*low),
            column.show(*high)
        )),
    }
    out.extend(ended::says(view, cells));
    out
}

fn caption(view: &View<'_>, figure: &Figure, column: &Column) -> String {
    let mut parts = vec![column.about()];
    if column.host.is_some() {
        parts.push("grey: the whole host, generator and all".into());
    }
    parts.push(match view.starts() {
        Some((1, 1)) => "one start a case".into(),
        _ => "the start nearest the median".into(),
    });
    parts.push("dotted uprights: where measure begins and ends".into());
    if figure.published.is_empty() {
        parts.push("no values were printed".into());
    }
    parts.extend(figure.note.as_ref().map(|n| n.trim_end_matches('.').to_owned()));
    parts.join("; ")
}

fn table(view: &View<'_>, column: &Column, cells: &[&Cell<'_>]) -> Table {
    let mut heads: Vec<(String, String)> =
        view.suite.axes.iter().map(|a| (a.label.clone(), a.name.clone())).collect();
    let unit = if column.kind == Kind::Cores { "cores".to_owned() } else { column.name.clone() };
    for (shown, plain) in [
        ("transport", "transport".to_owned()),
        ("median second", format!("median_{unit}")),
        ("highest second", format!("highest_{unit}")),
        ("verdict", "verdict".to_owned()),
        ("reason", "reason".to_owned()),
        ("n", "n".to_owned()),
    ] {
        heads.push((shown.to_owned(), plain));
    }
    let heads: Vec<(&str, &str)> = heads.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let mut table = Table::new(&heads);
    for cell in cells {
        let axes =
            || view.suite.axes.iter().map(|a| Field::text(cell.axis(&a.name).unwrap_or("–"))).collect();
        if cell.arms().is_empty() {
            let mut row: Vec<Field> = axes();
            row.extend([Field::absent(), Field::absent(), Field::absent()]);
            row.extend([Field::text(cell.fate().name()), Field::text(cell.reason()), Field::count(0)]);
            table.push(row);
        }
        for arm in cell.arms() {
            let fate = fate_of(arm);
            let measured =
                measured(column, arm).filter(|_| drawn(&[*cell]).any(|(_, a)| std::ptr::eq(a, arm)));
            let number = |value: Option<f64>| {
                value
                    .map_or_else(Field::absent, |v| Field { shown: column.show(v), plain: format!("{v:.3}") })
            };
            let mut row: Vec<Field> = axes();
            row.push(Field::text(arm.transport.name()));
            row.push(number(measured.as_ref().map(|m| m.median)));
            row.push(number(measured.as_ref().map(|m| m.highest)));
            row.push(Field::text(fate.name()));
            row.push(Field::text(reason_of(arm)));
            row.push(Field::count(arm.n() as u64));
            table.push(row);
        }
    }
    table
}
