//! A column of `windows.csv` over the seconds of an arm, from its start, as the first study drew its runs:
//! the start nearest the median, small multiples by server and crowd. CPU and memory are those of the
//! server's processes; the whole host's, which the study drew, is a thin grey line.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::{byte_tick, plain_tick, time_tick};
use pushmark_chart::table::{Cell as Field, Table};
use pushmark_model::run::{ColumnUnit, Window, WindowColumn};
use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::cells::{Cell, View};
use super::drawn::Drawn;
use super::ended;
use super::grid::{Axis, Line, Panel};
use super::multiples;
use super::panels::{alike, drawn};

/// Points of a line beyond these are joined.
const POINTS: usize = 120;

/// A column as it is drawn.
struct Column {
    of: &'static WindowColumn,
    /// The same quantity of the whole host.
    host: Option<&'static WindowColumn>,
}

impl Column {
    fn find(name: &str) -> Result<Column, String> {
        let of = WindowColumn::find(name).ok_or_else(|| format!("windows.csv has no column `{name}`"))?;
        let host = match name {
            "server_cpu_us" => WindowColumn::find("host_cpu_us"),
            "server_rss_bytes" => WindowColumn::find("host_used_bytes"),
            _ => None,
        };
        Ok(Column { of, host })
    }

    fn about(&self) -> String {
        let title = self.of.title;
        match self.of.unit {
            ColumnUnit::Cpu => format!("{title}: cores busy in each second"),
            ColumnUnit::Memory => format!("{title}, above that of its first second"),
            ColumnUnit::Time => format!("{title}, on a log scale"),
            ColumnUnit::Bytes => format!("bytes {title} in each second"),
            ColumnUnit::Count => title.to_owned(),
        }
    }

    fn axis(&self) -> Axis {
        let tick: Box<dyn Fn(f64) -> String> = match self.of.unit {
            ColumnUnit::Memory | ColumnUnit::Bytes => Box::new(byte_tick),
            ColumnUnit::Time => Box::new(time_tick),
            ColumnUnit::Cpu | ColumnUnit::Count => Box::new(plain_tick),
        };
        let title = self.of.title;
        let name = match self.of.unit {
            ColumnUnit::Cpu => "↑ cores busy".to_owned(),
            ColumnUnit::Memory => "↑ memory above the first second's".to_owned(),
            ColumnUnit::Time => format!("↑ {title} (log)"),
            ColumnUnit::Bytes | ColumnUnit::Count => format!("↑ {title}"),
        };
        let bytes = matches!(self.of.unit, ColumnUnit::Memory | ColumnUnit::Bytes);
        Axis { name, log: self.of.unit == ColumnUnit::Time, bytes, tick }
    }

    fn show(&self, value: f64) -> String {
        match self.of.unit {
            ColumnUnit::Cpu => format!("{} cores", PAGE.three(value)),
            ColumnUnit::Memory | ColumnUnit::Bytes => PAGE.bytes(value),
            ColumnUnit::Time => PAGE.time(value),
            ColumnUnit::Count => PAGE.three(value),
        }
    }

    /// Seconds and values of one start, as drawn.
    fn points(of: &WindowColumn, windows: &[&Window]) -> Vec<(f64, f64)> {
        let read = |w: &&Window| Some((f64::from(w.second), of.value(w)?));
        let mut points: Vec<(f64, f64)> = windows.iter().filter_map(read).collect();
        match of.unit {
            ColumnUnit::Cpu => points.iter_mut().for_each(|p| p.1 /= 1e6),
            ColumnUnit::Memory => {
                let first = points.first().map_or(0.0, |p| p.1);
                points.iter_mut().for_each(|p| p.1 = (p.1 - first).max(0.0));
            }
            // A value that a log axis cannot show was below the clock's resolution.
            ColumnUnit::Time => points.retain(|p| p.1 > 0.0),
            ColumnUnit::Bytes | ColumnUnit::Count => {}
        }
        points
    }

    /// Joins neighbours into one point: the longest of times, the mean of all else.
    fn joined(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let each = points.len().div_ceil(POINTS).max(1);
        let one = |chunk: &[(f64, f64)]| {
            let longest = chunk.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
            let mean = chunk.iter().map(|p| p.1).sum::<f64>() / chunk.len() as f64;
            (chunk[0].0, if self.of.unit == ColumnUnit::Time { longest } else { mean })
        };
        points.chunks(each).map(one).collect()
    }
}

/// Summarises an arm over its measured seconds.
struct Measured {
    median: f64,
    highest: f64,
}

fn measured(column: &Column, arm: &ArmView<'_>) -> Option<Measured> {
    let windows = arm.windows.get(arm.median_start())?;
    let phase = |second: f64| windows.iter().any(|w| f64::from(w.second) == second && w.phase == "measure");
    let mut values: Vec<f64> =
        Column::points(column.of, windows).into_iter().filter(|p| phase(p.0)).map(|p| p.1).collect();
    values.sort_by(f64::total_cmp);
    Some(Measured { median: *values.get(values.len() / 2)?, highest: *values.last()? })
}

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let column = Column::find(&figure.y)?;
    let seconds = Axis {
        name: "seconds since the start, ramp among them →".into(),
        log: false,
        bytes: false,
        tick: Box::new(|v| PAGE.fixed(v, 0)),
    };
    let fill = |panel: &mut Panel, cells: &[&Cell<'_>]| fill(panel, &column, figure, cells);
    let axes = (seconds, column.axis());
    let body = multiples::grid(view, figure, axes, &fill, "no case of it has a line yet")?;
    let cells = view.chosen(figure);
    Ok(Drawn {
        says: sentences(view, &column, &cells),
        caption: caption(view, figure, &column),
        body,
        table: table(view, &column, &cells),
    })
}

fn fill(panel: &mut Panel, column: &Column, figure: &Figure, cells: &[&Cell<'_>]) {
    for (cell, arm) in drawn(cells) {
        let Some(windows) = arm.windows.get(arm.median_start()) else { continue };
        let measure: Vec<f64> =
            windows.iter().filter(|w| w.phase == "measure").map(|w| f64::from(w.second)).collect();
        panel.bounds = panel.bounds.or(measure.first().copied().zip(measure.last().map(|s| s + 1.0)));
        let host = column.host.map(|host| column.joined(&Column::points(host, windows)));
        if let Some(points) = host.filter(|points| !points.is_empty()) {
            let title = format!("whole host; {}", cell.case.id);
            panel.lines.push(Line { points, mark: None, name: "whole host".into(), title });
        }
        let points = column.joined(&Column::points(column.of, windows));
        if !points.is_empty() {
            panel.lines.push(multiples::line(cell, arm, points));
        }
    }
    let here = |p: &&pushmark_model::suite::Published| {
        cells.iter().any(|cell| p.only.iter().all(|(axis, value)| cell.axis(axis) == Some(value)))
    };
    panel.published = figure.published.iter().filter(here).filter_map(|p| p.y).collect();
    panel.published.sort_by(f64::total_cmp);
    panel.published.dedup();
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
        [(value, who)] => {
            out.push(format!("One case has it: {} in its median second ({who}).", column.show(*value)));
        }
        [(low, least), .., (high, most)] => out.push(format!(
            "In its median second a case has from {} ({least}) to {} ({most}).",
            column.show(*low),
            column.show(*high)
        )),
    }
    out.extend(ended::says(view, cells));
    out
}

fn caption(view: &View<'_>, figure: &Figure, column: &Column) -> String {
    let mut parts = vec![column.about(), "dotted uprights: where measure begins and ends".into()];
    if column.host.is_some() {
        parts.push("grey: the whole host, generator and all".into());
    }
    if figure.published.is_empty() {
        parts.push("no values were printed".into());
    }
    multiples::caption(view, figure, parts, "the start nearest the median")
}

fn table(view: &View<'_>, column: &Column, cells: &[&Cell<'_>]) -> Table {
    let unit = if column.of.unit == ColumnUnit::Cpu { "cores" } else { column.of.name };
    let (median, highest) = (format!("median_{unit}"), format!("highest_{unit}"));
    let columns = [("median second", median.as_str()), ("highest second", highest.as_str())];
    let number = |value: Option<f64>| {
        value.map_or_else(Field::absent, |v| Field { shown: column.show(v), plain: format!("{v:.3}") })
    };
    multiples::table(view, cells, &columns, |cell, arm| {
        let believed = drawn(&[cell]).any(|(_, a)| std::ptr::eq(a, arm));
        let measured = measured(column, arm).filter(|_| believed);
        let of = |get: fn(&Measured) -> f64| number(measured.as_ref().map(get));
        vec![of(|m| m.median), of(|m| m.highest)]
    })
}
