//! Memory per connection: the slope between two crowd sizes, so that the server's base memory is not
//! charged to its clients. The kernel's part has a separate mark.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::{bar_across, marker};
use pushmark_chart::numbers::{PAGE, byte_unit, decimals_of_three};
use pushmark_chart::scale::{Scale, plain_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::INK;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if case.observes() && case.arms.iter().all(|a| a.memory().is_none()) {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| draw(case, size));
    Some(Figure {
        id: "memory",
        title: "Memory per connection".into(),
        sentence: sentence(case),
        caption: case.caption("RSS of the server's process; slope over the growing crowd"),
        wide,
        narrow,
        table: table(case),
    })
}

fn absent(arm: &ArmView<'_>) -> Option<&'static str> {
    if arm.memory().is_some() {
        return None;
    }
    Some(if arm.starts.iter().any(|a| a.server.is_none()) {
        "the server process is unknown"
    } else {
        "no slope: the crowd had one size"
    })
}

fn draw(case: &Case<'_>, size: Size) -> Drawing {
    let (width, step) = (size.width(), if size.is_narrow() { 36.0 } else { 40.0 });
    let column = if size.is_narrow() { 112.0 } else { 150.0 };
    let (left, right) = (rows::margin(&case.arms), width - column);
    let (top, bottom) = (34.0, 34.0 + step * case.arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "memory"), width, bottom + 42.0);
    let believed = || case.believed();
    let ends: Vec<f64> = believed()
        .filter_map(|a| {
            let process = a.memory()?;
            let high = process.bounds().map_or(process.value, |b| b.1);
            Some(high.max(process.value + a.kernel_memory().map_or(0.0, |k| k.value)))
        })
        .collect();
    let (divisor, unit) = byte_unit(ends.iter().copied().fold(0.0, f64::max));
    let x = Scale::from_zero(ends.iter().map(|e| e / divisor).fold(0.0, f64::max), left, right - 8.0);
    let name = format!("{unit} per connection →");
    if !ends.is_empty() {
        rows::axis_below(&mut canvas, &x, (left, right), (top - 6.0, bottom), plain_tick, &name);
        canvas.text(Text::note(width, 12.0, format!("process + kernel, {unit}")).end());
    }
    let room = |a: &&ArmView<'_>| a.kernel_memory().map_or(0.0, |k| k.value);
    let named = believed()
        .filter(|a| a.memory().is_some())
        .max_by(|a, b| room(a).total_cmp(&room(b)))
        .map(|a| a.name());
    for (i, arm) in case.arms.iter().enumerate() {
        let y = top + step * (i as f64 + 0.5);
        rows::name(&mut canvas, arm, 0.0, y);
        if rows::instead(&mut canvas, arm, left, y, width - left, absent(arm)) {
            continue;
        }
        let process = arm.memory().expect("not absent").scaled(1.0 / divisor);
        let kernel = arm.kernel_memory().map(|k| k.scaled(1.0 / divisor));
        row(&mut canvas, arm, &process, kernel.as_ref(), &x, left, y, named == Some(arm.name()));
        canvas.text(Text::tick(width, y + 4.2, value(&process, kernel.as_ref(), size)).end());
    }
    canvas.finish()
}

#[allow(clippy::too_many_arguments)] // one row: its arm, its numbers, its place
fn row(
    canvas: &mut Canvas,
    arm: &ArmView<'_>,
    process: &Estimate,
    kernel: Option<&Estimate>,
    x: &Scale,
    left: f64,
    y: f64,
    named: bool,
) {
    canvas.open_titled(&format!(
        "{}: {}; {}, n = {}",
        arm.name(),
        value(process, kernel, Size::Wide(HALF)),
        arm.state.name(),
        arm.n()
    ));
    let at = x.at(process.value);
    canvas.line(left, y, at, y, arm.mark.paint, r#"stroke-width="1.2""#);
    if let Some((low, high)) = process.bounds() {
        bar_across(
            canvas,
            x.at(low),
            x.at(high),
            y,
            matches!(process.spread, Spread::Interval(..)),
            arm.mark.paint,
        );
    }
    let with_kernel = kernel.map(|k| x.at(process.value + k.value));
    if let Some(end) = with_kernel {
        canvas.line(end, y - 6.0, end, y + 6.0, INK, r#"stroke-width="1.6""#);
    }
    marker(canvas, arm.mark, arm.state, at, y);
    canvas.close();
    if named {
        let half = |word: &str| Kind::Note.width(word) / 2.0;
        let edge = canvas.width;
        let end = with_kernel.map(|end| end.min(edge - half("with kernel")));
        let apart = half("process") + half("with kernel") + 8.0;
        let process = end.map_or(at, |end| at.min(end - apart)).max(left + half("process"));
        canvas.text(Text::note(process, y - 12.0, "process").middle().halo());
        if let Some(end) = end {
            canvas.text(Text::note(end.max(process + apart), y - 12.0, "with kernel").middle().halo());
        }
    }
}

/// Returns `2.3 [2.1, 2.5] + 1.7`.
fn value(process: &Estimate, kernel: Option<&Estimate>, size: Size) -> String {
    let kernel = kernel
        .map_or(String::new(), |k| format!(" + {}", PAGE.fixed(k.value, decimals_of_three(k.value, 1))));
    let value = PAGE.fixed(process.value, decimals_of_three(process.value, 1));
    let bounds = PAGE.bounds(process, decimals_of_three(process.value, 1)).filter(|_| !size.is_narrow());
    format!("{value}{}{kernel}", bounds.map_or(String::new(), |b| format!(" {b}")))
}

fn sentence(case: &Case<'_>) -> String {
    let mut all: Vec<(&str, f64)> =
        case.believed().filter_map(|a| Some((a.name(), a.memory()?.value))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    match all.as_slice() {
        [] => "Memory per connection was not measured.".into(),
        [(name, value)] => {
            format!("A connection of {name} adds {} to the server's process.", PAGE.bytes(*value))
        }
        [(least, low), .., (most, high)] => {
            format!(
                "From {} in {least} to {} in {most}, before the kernel's part.",
                PAGE.bytes(*low),
                PAGE.bytes(*high)
            )
        }
    }
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("process, B per connection", "rss_bytes_per_connection"),
        ("low", "rss_low"),
        ("high", "rss_high"),
        ("kernel, B per connection", "kernel_bytes_per_connection"),
        ("peak RSS, B", "rss_bytes_peak"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let process = arm.memory().filter(|_| arm.believed());
        let bounds = process.and_then(|p| p.bounds());
        let peak = arm.estimate(|a| a.server.as_ref().map(|s| s.rss_bytes_peak as f64), false);
        let mut row = vec![
            Cell::text(arm.name()),
            Cell::number(process.map(|e| e.value)),
            Cell::number(bounds.map(|b| b.0)),
            Cell::number(bounds.map(|b| b.1)),
            Cell::number(arm.kernel_memory().filter(|_| arm.believed()).map(|e| e.value)),
            Cell::number(peak.filter(|_| arm.believed()).map(|e| e.value)),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
