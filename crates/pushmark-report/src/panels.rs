//! Small multiples: one panel an arm with shared axes, for figures of several lines an arm.
//! Blank cells stay in place; y labels are in the first column only.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, polyline};
use pushmark_chart::marks::invalid_band;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::Scale;
use pushmark_chart::tokens::{AXIS, GRID};

use super::case::{ArmView, Case};
use super::figure::Size;
use super::rows;

/// One line of a panel.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) paint: &'static str,
    /// Attributes beyond colour.
    pub(crate) style: String,
    /// Seconds since measure began, value.
    pub(crate) points: Vec<(f64, f64)>,
}

/// All panels of a figure.
pub(crate) struct Panels<'a> {
    pub(crate) id: &'static str,
    /// With its arrow and unit.
    pub(crate) axis: &'a str,
    pub(crate) tick: fn(f64) -> String,
    /// Beside the name of a panel.
    pub(crate) note: fn(&ArmView<'_>) -> String,
    pub(crate) lines: &'a dyn Fn(&ArmView<'_>) -> Vec<Line>,
}

impl Panels<'_> {
    pub(crate) fn draw(&self, case: &Case<'_>, size: Size) -> Drawing {
        let width = size.width();
        let across = if size.is_narrow() { 1 } else { 3.min(case.arms.len()) };
        let (left_margin, gap, height) = (54.0, 26.0, if size.is_narrow() { 130.0 } else { 160.0 });
        let panel = (width - left_margin - gap * across as f64) / across as f64;
        let down = case.arms.len().div_ceil(across);
        let mut canvas = Canvas::new(&size.id(case, self.id), width, 22.0 + down as f64 * height + 14.0);
        canvas.text(Text::note(0.0, 12.0, self.axis));
        let all: Vec<Vec<Line>> =
            case.arms.iter().map(|a| if a.believed() { (self.lines)(a) } else { Vec::new() }).collect();
        let points = || all.iter().flatten().flat_map(|l| &l.points);
        let last = points().map(|p| p.0).fold(1.0, f64::max);
        let most = points().map(|p| p.1).fold(0.0, f64::max);
        let named = widest(&all);
        for (i, arm) in case.arms.iter().enumerate() {
            let column = i % across;
            let left = left_margin + column as f64 * (panel + gap);
            let top = 22.0 + (i / across) as f64 * height;
            let (from, bottom) = (top + 26.0, top + height - 26.0);
            let x = Scale::linear(0.0, last, left, left + panel);
            let y = Scale::from_zero(most * 1.1, bottom, from);
            self.head(&mut canvas, arm, left, top, panel);
            if !arm.believed() {
                invalid_band(&mut canvas, left, from, panel, bottom - from, &arm.reason);
                continue;
            }
            if all[i].iter().all(|l| l.points.is_empty()) {
                canvas.text(Text::note(left, (from + bottom) / 2.0, "– no windows recorded"));
                continue;
            }
            axes(&mut canvas, &x, &y, (left, left + panel, bottom), column == 0, self.tick);
            let mut ends: Vec<(f64, &Line)> = Vec::new();
            for line in all[i].iter().filter(|l| !l.points.is_empty()) {
                let drawn: Vec<(f64, f64)> = line.points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
                ends.push((drawn[drawn.len() / 2].1, line));
                canvas.path(&polyline(&drawn), "none", line.paint, &line.style);
            }
            if named == Some(i) {
                name_lines(&mut canvas, &ends, left + panel, (from, bottom));
            }
        }
        canvas.finish()
    }

    fn head(&self, canvas: &mut Canvas, arm: &ArmView<'_>, left: f64, top: f64, panel: f64) {
        rows::name(canvas, arm, left, top + 11.0);
        let note = Text::note(left + panel, top + 15.0, (self.note)(arm)).end();
        let name = 17.0 + Kind::Name.width(arm.name()) + Kind::Name.width(arm.suffix());
        if note.width() + name + 10.0 <= panel && arm.believed() {
            canvas.text(note);
        }
    }
}

fn axes(
    canvas: &mut Canvas,
    x: &Scale,
    y: &Scale,
    (left, right, bottom): (f64, f64, f64),
    labels: bool,
    tick: fn(f64) -> String,
) {
    for value in y.ticks() {
        let at = y.at(value);
        if (at - bottom).abs() > 0.5 {
            canvas.line(left, at, right, at, GRID, "");
        }
        if labels {
            canvas.text(Text::tick(left - 6.0, at + 4.2, tick(value)).end());
        }
    }
    canvas.line(left, bottom, right, bottom, AXIS, "");
    for second in x.ticks() {
        let text = if second == 0.0 { "0".into() } else { format!("{} s", PAGE.fixed(second, 0)) };
        canvas.text(Text::tick(x.at(second), bottom + 16.0, text).middle());
    }
}

/// Returns the panel whose lines are furthest apart in the middle: there is room for their names.
fn widest(all: &[Vec<Line>]) -> Option<usize> {
    let range = |lines: &Vec<Line>| {
        let middles = lines.iter().filter_map(|l| l.points.get(l.points.len() / 2)).map(|p| p.1);
        let (low, high) = middles.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if high > low { high - low } else { 0.0 }
    };
    (0..all.len()).filter(|i| !all[*i].is_empty()).max_by(|a, b| range(&all[*a]).total_cmp(&range(&all[*b])))
}

/// Places names above their lines without overlap; lines that run together share a name.
fn name_lines(canvas: &mut Canvas, lines: &[(f64, &Line)], right: f64, (top, bottom): (f64, f64)) {
    let mut order: Vec<(f64, &Line)> = lines.to_vec();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut named: Vec<(f64, String)> = Vec::new();
    for (y, line) in order {
        match named.last_mut() {
            Some((above, names)) if y - *above < 5.0 => names.push_str(&format!(", {}", line.name)),
            _ => named.push((y, line.name.to_string())),
        }
    }
    let wished: Vec<f64> = named.iter().map(|l| l.0 - 6.0).collect();
    let placed = pushmark_chart::labels::spread(&wished, 14.0, top + 3.0, bottom - 6.0);
    for ((_, name), place) in named.into_iter().zip(placed) {
        canvas.text(Text::note(right - 6.0, place, name).end().halo());
    }
}
