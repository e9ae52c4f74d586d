//! The names of lines: at their ends, moved apart with a leader; a line that ends early is named
//! beside its last point if there is room.

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Kind, Text, c};
use pushmark_chart::labels::{APART, spread};
use pushmark_chart::marks::marker;
use pushmark_chart::tokens::{AXIS, INK};
use pushmark_model::run::VerdictState;

use super::frame::Area;
use super::{Chart, Panel, Point};

/// Draws the names of a panel's lines.
pub(super) fn names(
    canvas: &mut Canvas,
    chart: &Chart,
    panel: &Panel,
    area: &Area,
    obstacles: &mut Obstacles,
) {
    if area.margin == 0.0 {
        return head(canvas, chart, area);
    }
    let mut ends: Vec<(usize, &Point)> = Vec::new();
    for line in &panel.lines {
        if let Some(last) = line.segments.iter().flatten().last() {
            ends.push((line.series, last));
        }
    }
    let mut at_margin: Vec<(usize, f64, f64)> = Vec::new();
    for (series, last) in ends {
        let (x, y) = (area.x.at(last.x), area.at_y(last.y));
        if x > area.right - 40.0 || !beside(canvas, chart, series, (x, y), area, obstacles) {
            at_margin.push((series, x, y));
        }
    }
    let wished: Vec<f64> = at_margin.iter().map(|e| e.2).collect();
    let placed = spread(&wished, APART, area.top, area.bottom);
    for ((series, x, y), place) in at_margin.into_iter().zip(placed) {
        let from = area.right + 6.0;
        if (place - y).abs() > 6.0 || x < area.right - 40.0 {
            let d = format!("M{} {}H{}V{}", c(x + 7.0), c(y), c(from - 4.0), c(place));
            canvas.path(&d, "none", AXIS, r#"stroke-width="0.8""#);
        }
        let mark = chart.series[series].mark;
        marker(canvas, mark, VerdictState::Valid, from + 5.0, place);
        canvas.text(name(chart, series, area, from + 15.0, place + 4.4));
    }
}

/// Names a single line once, in the head of the first panel.
fn head(canvas: &mut Canvas, chart: &Chart, area: &Area) {
    let ([series], true) = (chart.series.as_slice(), area.first) else { return };
    // If the head of this panel has no room for both, the caption names the line.
    let (base, right) = area.head;
    let width = Kind::Name.width(&area.labels[0]);
    let title = chart.columns.first().map_or(0.0, |c| Kind::Name.width(&c.title));
    if area.left + title + 30.0 + width > right {
        return;
    }
    marker(canvas, series.mark, VerdictState::Valid, right - width - 10.0, base - 4.4);
    canvas.text(name(chart, 0, area, right - width, base));
}

fn name(chart: &Chart, series: usize, area: &Area, x: f64, y: f64) -> Text {
    let of = &chart.series[series];
    let paint = if of.is_transport { of.mark.paint } else { INK };
    Text::spans(Kind::Name, x, y, vec![(area.labels[series].clone(), paint)])
}

/// Names a line beside its last point; `false` if the name would cover something.
fn beside(
    canvas: &mut Canvas,
    chart: &Chart,
    series: usize,
    (x, y): (f64, f64),
    area: &Area,
    obstacles: &mut Obstacles,
) -> bool {
    let width = Kind::Name.width(&area.labels[series]);
    let places = [
        (x + 10.0, y + 4.0),
        (x - width / 2.0, y - 11.0),
        (x - width / 2.0, y + 20.0),
        (x + 10.0, y - 8.0),
        (x + 10.0, y + 16.0),
        (x - 10.0 - width, y - 8.0),
        (x - 10.0 - width, y + 16.0),
        (x + 10.0, y - 20.0),
        (x + 10.0, y + 28.0),
    ];
    let bounds = area.bounds();
    let inside: Vec<(f64, f64)> = places
        .into_iter()
        .filter(|(x, y)| {
            *x >= bounds[0] && x + width <= bounds[2] && y - 10.0 >= bounds[1] && y + 3.0 <= bounds[3]
        })
        .collect();
    let text = |x, y| name(chart, series, area, x, y).halo();
    match obstacles.place_free(&inside, bounds, text) {
        Some(text) => {
            canvas.text(text);
            true
        }
        None => false,
    }
}
