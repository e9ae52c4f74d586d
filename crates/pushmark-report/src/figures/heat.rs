//! Latency over time: one panel an arm, a column a second by due, three rows a decade, one
//! shared scale. A line of percentiles would hide what a second looked like; this does not.

use pushmark_chart::canvas::{Canvas, Drawing, Text, c};
use pushmark_chart::marks::invalid_band;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::time_tick;
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{AXIS, HEAT};

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, Size, both};
use crate::rows;

/// Further columns are joined, so that a panel stays readable and small.
const COLUMNS: usize = 120;

/// Counts by column and row of one arm's start nearest the median.
struct Cells {
    columns: Vec<Vec<u64>>,
    /// Seconds a column.
    each: usize,
}

fn cells(arm: &ArmView<'_>) -> Option<Cells> {
    let heat = &arm.starts.get(arm.median_start())?.delivery.as_ref()?.heat;
    if heat.columns.iter().all(|column| column.iter().all(|n| *n == 0)) {
        return None;
    }
    let each = heat.columns.len().div_ceil(COLUMNS).max(1);
    let join = |seconds: &[Vec<u64>]| {
        let rows = seconds.iter().map(Vec::len).max().unwrap_or(0);
        (0..rows).map(|r| seconds.iter().map(|s| s.get(r).copied().unwrap_or(0)).sum()).collect()
    };
    Some(Cells { columns: heat.columns.chunks(each).map(join).collect(), each })
}

/// What all panels share.
struct Shared {
    /// First and last row shown, from 1.
    rows: (usize, usize),
    most: u64,
    /// Whether some delivery does not fit a log axis.
    strip: bool,
}

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    let all: Vec<Option<Cells>> = case.arms.iter().map(|a| cells(a).filter(|_| a.believed())).collect();
    let shared = shared(&all)?;
    let (wide, narrow) = both(FULL, |size| draw(case, &all, &shared, size));
    let start =
        if case.n() == 1 { "one start".to_string() } else { format!("the median of {} starts", case.n()) };
    let joined = all.iter().flatten().map(|c| c.each).max().unwrap_or(1);
    let columns =
        if joined == 1 { "one column a second".to_string() } else { format!("one column {joined} s") };
    Some(Figure {
        id: "latency-over-time",
        title: "Latency over time".into(),
        sentence: sentence(case),
        caption: format!("{start}; {columns}, by due instant; three rows a decade; blank = none"),
        wide,
        narrow,
        table: table(case),
    })
}

fn shared(all: &[Option<Cells>]) -> Option<Shared> {
    let (mut first, mut last, mut most, mut strip) = (usize::MAX, 0, 0, false);
    for column in all.iter().flatten().flat_map(|c| &c.columns) {
        for (row, count) in column.iter().enumerate().filter(|(_, n)| **n > 0) {
            most = most.max(*count);
            if row == 0 {
                strip = true;
            } else {
                (first, last) = (first.min(row), last.max(row));
            }
        }
    }
    if most == 0 {
        return None;
    }
    if first > last {
        (first, last) = (1, 3);
    }
    // Whole decades, so that ticks are at edges.
    Some(Shared { rows: ((first - 1) / 3 * 3 + 1, last.div_ceil(3) * 3), most, strip })
}

/// Returns 0 to 7, on the log of the count; 1 is the weakest step.
fn step(count: u64, most: u64) -> usize {
    let share = (count as f64).ln() / ((most + 1) as f64).ln();
    ((share * 8.0) as usize).min(7)
}

fn draw(case: &Case<'_>, all: &[Option<Cells>], shared: &Shared, size: Size) -> Drawing {
    let width = size.width();
    let across = if size.is_narrow() { 1 } else { 3.min(case.arms.len() + 1) };
    let (gap, panel_height) = (28.0, if size.is_narrow() { 132.0 } else { 150.0 });
    let cells = case.arms.len() + 1;
    let down = cells.div_ceil(across);
    let panel = (width - gap * (across - 1) as f64) / across as f64;
    let mut canvas = Canvas::new(&size.id(case, "heat"), width, down as f64 * panel_height + 8.0);
    for (i, arm) in case.arms.iter().enumerate() {
        let place = ((i % across) as f64 * (panel + gap), (i / across) as f64 * panel_height);
        draw_panel(&mut canvas, arm, all[i].as_ref(), shared, place, (panel, panel_height));
    }
    let last = cells - 1;
    let place = ((last % across) as f64 * (panel + gap), (last / across) as f64 * panel_height);
    legend(&mut canvas, shared, place, panel);
    canvas.finish()
}

fn draw_panel(
    canvas: &mut Canvas,
    arm: &ArmView<'_>,
    cells: Option<&Cells>,
    shared: &Shared,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
) {
    let (left, right, top) = ((x + 54.0).round(), (x + width - 14.0).round(), y + 24.0);
    let strip = if shared.strip { 12.0 } else { 0.0 };
    let (first, last) = shared.rows;
    // Whole pixels, because neighbouring cells would show a seam otherwise.
    let row_height = ((height - 58.0 - strip) / (last + 1 - first) as f64).floor().max(3.0);
    let bottom = top + row_height * (last + 1 - first) as f64;
    rows::name(canvas, arm, left, y + 9.0);
    let Some(cells) = cells else {
        if arm.believed() {
            canvas.text(Text::note(left, (top + bottom) / 2.0, "– nothing delivered"));
        } else {
            invalid_band(canvas, left, top, right - left, bottom - top, &arm.reason);
        }
        return;
    };
    let column_width = (right - left) / cells.columns.len() as f64;
    let mut paths: [String; 8] = Default::default();
    for row in 0..=last {
        let (at, tall) = match row {
            0 => (bottom + 2.0, strip - 3.0),
            r if r < first => continue,
            r => (bottom - (r + 1 - first) as f64 * row_height, row_height),
        };
        let steps: Vec<Option<usize>> = cells
            .columns
            .iter()
            .map(|c| c.get(row).copied().filter(|n| *n > 0).map(|n| step(n, shared.most)))
            .collect();
        let mut from = 0;
        while from < steps.len() {
            // Equal neighbours are one rectangle.
            let to = from + steps[from..].iter().take_while(|s| **s == steps[from]).count();
            if let Some(step) = steps[from] {
                let x1 = (left + from as f64 * column_width).round();
                let wide = (left + to as f64 * column_width).round() - x1;
                paths[step].push_str(&format!("M{} {}h{}v{}h{}z", c(x1), c(at), c(wide), c(tall), c(-wide)));
            }
            from = to;
        }
    }
    for (path, paint) in paths.iter().zip(HEAT) {
        if !path.is_empty() {
            canvas.path(path, paint, "none", r#"shape-rendering="crispEdges""#);
        }
    }
    for row in (first - 1..=last).step_by(3) {
        let at = bottom - (row + 1 - first) as f64 * row_height;
        canvas.line(left - 4.0, at, left, at, AXIS, "");
        if row_height * 3.0 >= 14.0 || (row / 3).is_multiple_of(2) {
            canvas.text(Text::tick(left - 6.0, at + 4.2, time_tick(10f64.powi((row / 3) as i32))).end());
        }
    }
    if shared.strip {
        canvas.text(Text::note(left - 6.0, bottom + 11.0, "< 1 µs").end());
    }
    let base = bottom + strip;
    canvas.line(left, base, right, base, AXIS, "");
    let seconds = cells.columns.len() * cells.each;
    for (at, anchor_seconds) in [(left, 0), ((left + right) / 2.0, seconds / 2), (right, seconds)] {
        let text = if anchor_seconds == 0 { "0".into() } else { format!("{anchor_seconds} s") };
        canvas.text(Text::tick(at, base + 16.0, text).middle());
    }
}

fn legend(canvas: &mut Canvas, shared: &Shared, (x, y): (f64, f64), width: f64) {
    let left = x + 54.0;
    let each = ((width - 70.0) / 8.0).min(32.0);
    canvas.text(Text::note(left, y + 40.0, "deliveries per cell (log)"));
    for (i, paint) in HEAT.iter().enumerate() {
        canvas.rect(left + each * i as f64, y + 50.0, each, 12.0, paint, "");
    }
    let mut last_end = 0.0;
    let mut value = 1u64;
    while value <= shared.most {
        let share = (value as f64).ln() / ((shared.most + 1) as f64).ln();
        let text = Text::tick(left + share * 8.0 * each, y + 78.0, PAGE.count(value)).middle();
        let text = if value == 1 { Text::tick(left, y + 78.0, "1") } else { text };
        if text.bounds()[0] > last_end + 6.0 && text.bounds()[2] < x + width {
            last_end = text.bounds()[2];
            canvas.text(text);
        }
        value = value.saturating_mul(10);
    }
}

/// Returns the second whose slow deliveries differ most from the arm's median second.
fn disturbance(arm: &ArmView<'_>) -> Option<(u32, f64, f64)> {
    let windows = arm.windows.get(arm.median_start())?;
    let mut p99: Vec<(u32, f64)> = windows
        .iter()
        .filter(|w| w.phase == "measure")
        .filter_map(|w| w.p99_us.map(|v| (w.second, v as f64)))
        .collect();
    if p99.len() < 5 {
        return None;
    }
    let first = windows.iter().find(|w| w.phase == "measure")?.second;
    p99.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (second, worst) = *p99.last()?;
    Some((second - first, worst, p99[p99.len() / 2].1))
}

fn sentence(case: &Case<'_>) -> String {
    let all: Vec<(&ArmView<'_>, (u32, f64, f64))> = case
        .believed()
        .filter_map(|a| Some((a, disturbance(a)?)))
        .filter(|(_, d)| d.1 > 5.0 * d.2.max(1.0))
        .collect();
    let Some((worst, (second, us, _))) = all.iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1)) else {
        return "No second stands out in any arm.".into();
    };
    let together = all.iter().filter(|(_, d)| d.0.abs_diff(*second) <= 1).count();
    match together {
        1 => format!("{} has its slowest second at {second} s: p99 {}.", worst.name(), PAGE.time(*us)),
        n => format!(
            "{} arms have their slowest second together, at {second} s: p99 up to {}.",
            pushmark_chart::words::capital(&pushmark_chart::words::number(n)),
            PAGE.time(*us)
        ),
    }
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("second", "second"),
        ("delivered", "delivered"),
        ("p50, µs", "p50_us"),
        ("p99, µs", "p99_us"),
        ("largest, µs", "max_us"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in case.believed() {
        let Some(windows) = arm.windows.get(arm.median_start()) else { continue };
        for w in windows.iter().filter(|w| w.phase == "measure") {
            let us = |v: Option<i64>| Cell::time(v.map(|v| v as f64), pushmark_chart::numbers::TimeUnit::Us);
            let mut row = vec![
                Cell::text(arm.name()),
                Cell::count(u64::from(w.second)),
                Cell::count(w.delivered),
                us(w.p50_us),
                us(w.p99_us),
                us(w.max_us),
            ];
            row.extend(arm.tail());
            table.push(row);
        }
    }
    table.thinned()
}
