//! Many small panels that share their axes: a row for each server, a column for each crowd or
//! interval. Lines only, one a transport; a panel without a line keeps its place and shows the reason.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, c, polyline};
use pushmark_chart::labels::{APART, spread};
use pushmark_chart::numbers::byte_unit;
use pushmark_chart::pattern::Pattern;
use pushmark_chart::scale::Scale;
use pushmark_chart::tokens::{AXIS, BG, GRID, INK, INK2, INVALID, Mark};

use super::super::figure::Size;

/// Lines with more points than this have no dots.
const DOTS_MAX: usize = 40;

/// Room left of the panels for the labels of the y axis.
const LEFT: f64 = 58.0;
const GAP: f64 = 16.0;
/// Room above a panel for its title, and in the first panel of a row for the title of the row.
const HEAD: f64 = 24.0;

/// A whole drawing.
pub(crate) struct Grid {
    /// Prefix for ids; unique on the page.
    pub(crate) id: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) rows: Vec<Row>,
}

/// An axis that all panels share.
pub(crate) struct Axis {
    /// Includes the arrow.
    pub(crate) name: String,
    pub(crate) log: bool,
    /// Bytes: round numbers are in KiB or MiB.
    pub(crate) bytes: bool,
    pub(crate) tick: Box<dyn Fn(f64) -> String>,
}

/// Panels of one server.
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
    /// Why the line is absent, or what ended it.
    pub(crate) words: String,
    /// Invalid: hatched.
    pub(crate) hatched: bool,
    /// Start and end of the measured part.
    pub(crate) bounds: Option<(f64, f64)>,
    /// The values that a study printed.
    pub(crate) published: Vec<f64>,
}

/// One line.
pub(crate) struct Line {
    pub(crate) points: Vec<(f64, f64)>,
    /// Absent for the host: a thin grey line.
    pub(crate) mark: Option<Mark>,
    pub(crate) name: String,
    /// The text shown under the mouse.
    pub(crate) title: String,
}

/// Words that appear once in a figure.
#[derive(Default)]
struct Named {
    names: Vec<String>,
    published: bool,
}

impl Grid {
    /// Whether no panel has a line.
    pub(crate) fn is_empty(&self) -> bool {
        self.panels().all(|p| p.lines.is_empty())
    }

    fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.rows.iter().flat_map(|r| &r.panels)
    }

    fn ys(&self) -> impl Iterator<Item = f64> + '_ {
        let lines = self.panels().flat_map(|p| &p.lines).flat_map(|l| &l.points).map(|p| p.1);
        lines.chain(self.panels().flat_map(|p| p.published.iter().copied()))
    }

    /// Draws one of the two sizes.
    pub(crate) fn draw(&self, size: Size) -> Drawing {
        let width = size.width();
        let columns =
            if size.is_narrow() { 1 } else { self.rows.iter().map(|r| r.panels.len()).max().unwrap_or(1) };
        let high = if size.is_narrow() { 92.0 } else { 118.0 };
        let wide = (width - LEFT - 8.0 - GAP * (columns as f64 - 1.0)) / columns as f64;
        let lines_of = |row: &Row| row.panels.len().div_ceil(columns).max(1);
        let total: usize = self.rows.iter().map(lines_of).sum();
        // A row's name is above its panels, if there is more than one row.
        let named = if self.rows.len() > 1 { 26.0 } else { 0.0 };
        let height = 18.0 + self.rows.len() as f64 * named + total as f64 * (HEAD + high) + 42.0;
        let suffix = if size.is_narrow() { "n" } else { "w" };
        let mut canvas = Canvas::new(&format!("{}-{suffix}", self.id), width, height);
        canvas.text(Text::note(0.0, 12.0, self.y.name.clone()));
        let last =
            self.panels().flat_map(|p| &p.lines).flat_map(|l| &l.points).map(|p| p.0).fold(1.0, f64::max);
        let mut once = Named::default();
        let mut top = 18.0;
        for row in &self.rows {
            if named > 0.0 {
                let name = Text::spans(Kind::Name, 0.0, top + 22.0, vec![(row.title.clone(), INK)]);
                canvas.text(name);
                top += named;
            }
            for panels in row.panels.chunks(columns) {
                for (at, panel) in panels.iter().enumerate() {
                    let left = LEFT + at as f64 * (wide + GAP);
                    let area = [left, top + HEAD, left + wide, top + HEAD + high];
                    let x = Scale::linear(0.0, last, area[0], area[2]);
                    let y = self.y_scale(area[3], area[1]);
                    self.frame(&mut canvas, panel, area, (&x, &y), at == 0);
                    draw_panel(&mut canvas, panel, area, (&x, &y), &mut once);
                }
                top += HEAD + high;
            }
        }
        self.x_labels(&mut canvas, last, wide, columns, height);
        canvas.finish()
    }

    fn y_scale(&self, bottom: f64, top: f64) -> Scale {
        if self.y.log {
            return Scale::log_over(self.ys(), bottom, top);
        }
        let most = self.ys().fold(0.0, f64::max);
        let unit = self.unit(most);
        let round = Scale::from_zero(most / unit, bottom, top);
        Scale::linear(0.0, round.high() * unit, bottom, top)
    }

    fn frame(
        &self,
        canvas: &mut Canvas,
        panel: &Panel,
        [left, top, right, bottom]: [f64; 4],
        (x, y): (&Scale, &Scale),
        first: bool,
    ) {
        if panel.hatched {
            let fill = canvas.pattern(Pattern::Invalid);
            canvas.rect(
                left,
                top,
                right - left,
                bottom - top,
                &fill,
                &format!(r#"stroke="{INVALID}" stroke-dasharray="4 3""#),
            );
        }
        for value in self.ticks(y) {
            let at = y.at(value);
            if (at - bottom).abs() > 0.5 {
                canvas.line(left, at, right, at, GRID, "");
            }
            if first {
                canvas.text(Text::tick(left - 6.0, at + 4.2, (self.y.tick)(value)).end());
            }
        }
        for bound in panel.bounds.iter().flat_map(|b| [b.0, b.1]) {
            canvas.line(x.at(bound), top, x.at(bound), bottom, AXIS, r#"stroke-dasharray="2 3""#);
        }
        canvas.line(left, bottom, right, bottom, AXIS, "");
        canvas.text(Text::note(left, top - 7.0, panel.title.clone()));
    }

    /// Returns the base of round numbers of y.
    fn unit(&self, most: f64) -> f64 {
        if self.y.bytes { byte_unit(most).0 } else { 1.0 }
    }

    /// Returns three round numbers for a small panel; a log axis has few.
    fn ticks(&self, y: &Scale) -> Vec<f64> {
        let unit = self.unit(y.high());
        let ticks: Vec<f64> = if y.is_log() {
            y.ticks()
        } else {
            let round = Scale::linear(0.0, y.high() / unit, 0.0, 1.0).ticks();
            round.into_iter().map(|v| v * unit).collect()
        };
        let every = ticks.len().div_ceil(4).max(1);
        ticks.into_iter().step_by(every).collect()
    }

    fn x_labels(&self, canvas: &mut Canvas, last: f64, wide: f64, columns: usize, height: f64) {
        let at = height - 42.0;
        for column in 0..columns {
            let left = LEFT + column as f64 * (wide + GAP);
            let x = Scale::linear(0.0, last, left, left + wide);
            let ticks = x.ticks();
            let every = if wide < 190.0 { 2 } else { 1 };
            for value in ticks.into_iter().step_by(every) {
                let text = Text::tick(x.at(value), at + 16.0, (self.x.tick)(value));
                let past = x.at(value) + text.width() / 2.0 > left + wide;
                canvas.text(if past { text.end() } else { text.middle() });
            }
        }
        canvas.text(Text::note(canvas.width - 8.0, at + 33.0, self.x.name.clone()).end());
    }
}

fn draw_panel(
    canvas: &mut Canvas,
    panel: &Panel,
    area: [f64; 4],
    (x, y): (&Scale, &Scale),
    once: &mut Named,
) {
    let [left, top, right, bottom] = area;
    for value in &panel.published {
        let at = y.at(*value);
        canvas.line(left, at, right, at, INK2, r#"stroke-dasharray="2 3""#);
        canvas.raw(&format!(
            r#"<circle cx="{}" cy="{}" r="4.5" fill="{BG}" stroke="{INK2}"/>"#,
            c(right - 6.0),
            c(at)
        ));
        if !std::mem::replace(&mut once.published, true) {
            let above = at - 5.0;
            let base = if above < top + 10.0 { at + 13.0 } else { above };
            canvas.text(Text::note(right - 14.0, base, "published").end().halo());
        }
    }
    for line in &panel.lines {
        draw_line(canvas, line, x, y);
    }
    names(canvas, panel, area, y, once);
    // An empty panel shows the reason; a line's title shows its doubt.
    let beside = !panel.lines.is_empty();
    let taken = if beside { Kind::Note.width(&panel.title) + 10.0 } else { 8.0 };
    let words = cut(&panel.words, right - left - taken);
    if !words.is_empty() {
        let middle = (left + right) / 2.0;
        canvas.text(if beside {
            Text::note(right, top - 7.0, words).end()
        } else {
            Text::note(middle, (top + bottom) / 2.0 + 4.0, words).middle().halo()
        });
    }
}

/// Drops whole words from the end until the rest fits. The table has the full text.
fn cut(words: &str, room: f64) -> String {
    let mut kept: Vec<&str> = words.split(' ').collect();
    let mut text = words.to_owned();
    while Kind::Note.width(&text) > room && !kept.is_empty() {
        kept.pop();
        text = if kept.is_empty() { String::new() } else { format!("{} …", kept.join(" ")) };
    }
    text
}

fn draw_line(canvas: &mut Canvas, line: &Line, x: &Scale, y: &Scale) {
    let points: Vec<(f64, f64)> = line.points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
    canvas.open_titled(&line.title);
    let Some(mark) = &line.mark else {
        canvas.path(&polyline(&points), "none", AXIS, r#"stroke-linejoin="round""#);
        canvas.close();
        return;
    };
    let dash = match mark.dash {
        "" => String::new(),
        "1.5 4" => r#" stroke-dasharray="1.5 4" stroke-linecap="round""#.into(),
        dash => format!(r#" stroke-dasharray="{dash}""#),
    };
    canvas.path(
        &polyline(&points),
        "none",
        mark.paint,
        &format!(r#"stroke-width="1.6" stroke-linejoin="round"{dash}"#),
    );
    if points.len() <= DOTS_MAX {
        let dots: String = points
            .iter()
            .map(|(px, py)| {
                format!(r#"<circle cx="{}" cy="{}" r="1.8" fill="{}"/>"#, c(*px), c(*py), mark.paint)
            })
            .collect();
        canvas.raw(&dots);
    }
    canvas.close();
}

/// Names a line at its end in the first panel that has it; the host's line too.
fn names(canvas: &mut Canvas, panel: &Panel, [_, top, right, bottom]: [f64; 4], y: &Scale, once: &mut Named) {
    let mut new: Vec<&Line> = Vec::new();
    for line in &panel.lines {
        if !once.names.contains(&line.name) {
            once.names.push(line.name.clone());
            new.push(line);
        }
    }
    let ends: Vec<f64> = new.iter().map(|l| l.points.last().map_or(bottom, |p| y.at(p.1)) - 5.0).collect();
    let mut order: Vec<usize> = (0..new.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let sorted: Vec<f64> = order.iter().map(|i| ends[*i]).collect();
    for (i, at) in order.into_iter().zip(spread(&sorted, APART, top + 10.0, bottom - 4.0)) {
        let line = new[i];
        let text = match &line.mark {
            Some(mark) => Text::spans(Kind::Name, right - 2.0, at, vec![(line.name.clone(), mark.paint)]),
            None => Text::note(right - 2.0, at, line.name.clone()),
        };
        canvas.text(text.end().halo());
    }
}
