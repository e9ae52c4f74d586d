//! Places panels: margins from the widest words, titles in lines. Names that are too long become a letter
//! or a number that is explained below the drawing.

use pushmark_chart::canvas::{Anchor, Canvas, Kind, Text};
use pushmark_chart::scale::Scale;
use pushmark_chart::tokens::{AXIS, GRID, INK, INK2};
use pushmark_chart::width::{first_fitting, text_width};

use super::super::super::figure::Size;
use super::{Axis, Chart};

/// Room between plots, and inside a plot before its first and after its last place.
const GAP: f64 = 26.0;
const PAD: f64 = 16.0;

/// The measures of a drawing.
pub(super) struct Frame {
    pub(super) height: f64,
    /// Names that are explained below.
    pub(super) foot: Vec<String>,
    pub(super) foot_from: f64,
    across: usize,
    blocks: usize,
    left: f64,
    panel: f64,
    margin: f64,
    titles: Vec<Vec<String>>,
    title_height: f64,
    plot: f64,
    rows: usize,
    labels: Vec<String>,
    /// Labels of named places of x.
    ticks: Vec<(f64, String)>,
    x: Ends,
    y: Vec<Ends>,
    units: Vec<f64>,
}

/// The ends of an axis.
#[derive(Clone, Copy)]
enum Ends {
    Between { low: f64, high: f64, log: bool },
    LogOver { low: f64, high: f64 },
    FromZero(f64),
}

impl Ends {
    fn scale(self, from: f64, to: f64) -> Scale {
        match self {
            Ends::Between { low, high, log } => Scale::between(low, high, log, from, to),
            Ends::LogOver { low, high } => Scale::log_over([low, high], from, to),
            Ends::FromZero(high) => Scale::from_zero(high, from, to),
        }
    }
}

/// One plot.
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Scale,
    y: Scale,
    unit: f64,
    /// The name of each series in this plot.
    pub(super) labels: Vec<String>,
    /// Room right of the plot for names; 0: a single line is named in the head.
    pub(super) margin: f64,
    /// Base line of the head, and its end.
    pub(super) head: (f64, f64),
    pub(super) first: bool,
}

impl Frame {
    pub(super) fn of(chart: &Chart, size: Size) -> Frame {
        let (width, narrow) = (size.width(), size.is_narrow());
        let mut foot: Vec<String> = Vec::new();
        let labels = labels(chart, if narrow { 92.0 } else { 150.0 }, &mut foot);
        let widest = labels.iter().map(|l| Kind::Name.width(l)).fold(0.0, f64::max);
        let margin = if chart.series.len() > 1 { widest + 26.0 } else { 0.0 };
        let count = chart.columns.len().max(1);
        let across = match () {
            () if narrow => 1,
            () if margin == 0.0 => count.min(4),
            () if count == 4 => 2,
            () => count.min(3),
        };
        let y: Vec<Ends> = (0..chart.rows.len()).map(|row| ends_of_y(chart, row)).collect();
        let tick = |(axis, ends): (&Axis, &Ends)| {
            let all = ends.scale(0.0, 1.0).ticks();
            all.into_iter().map(|v| Kind::Tick.width(&(axis.tick)(v * axis.unit))).fold(0.0, f64::max)
        };
        let left = chart.rows.iter().zip(&y).map(tick).fold(40.0, f64::max) + 10.0;
        let between = GAP * (across - 1) as f64;
        let panel = (width - left - margin * across as f64 - between - 4.0) / across as f64;
        let titles: Vec<Vec<String>> =
            chart.columns.iter().map(|c| broken(&c.title, Kind::Name, panel + margin * 0.8)).collect();
        let lines = titles.iter().map(Vec::len).max().unwrap_or(0);
        let rows = chart.rows.len();
        let plot = match (narrow, rows, count) {
            (false, 1, 1) => 270.0,
            (false, 1, _) => 190.0,
            (false, ..) => 140.0,
            (true, 1, 1) => 220.0,
            (true, ..) => 140.0,
        };
        let mut frame = Frame {
            height: 0.0,
            foot: Vec::new(),
            foot_from: 0.0,
            across,
            blocks: count.div_ceil(across),
            left,
            panel,
            margin,
            titles,
            title_height: 16.0 * lines as f64
                + if chart.series.len() == 1 && lines == 0 { 16.0 } else { 0.0 },
            plot,
            rows,
            labels,
            ticks: chart.x.places.clone(),
            x: ends_of_x(chart),
            y,
            units: chart.rows.iter().map(|r| r.unit).collect(),
        };
        if chart.x.names && frame.touching(&chart.x.places) {
            let spelled: Vec<String> =
                chart.x.places.iter().enumerate().map(|(i, p)| format!("{} {}", i + 1, p.1)).collect();
            foot.push(spelled.join(" · "));
            frame.ticks =
                chart.x.places.iter().enumerate().map(|(i, p)| (p.0, (i + 1).to_string())).collect();
        }
        frame.foot = foot.iter().flat_map(|f| broken(f, Kind::Note, width - 4.0)).collect();
        frame.foot_from = frame.blocks as f64 * frame.block() + 26.0;
        let foot_height = if frame.foot.is_empty() { 0.0 } else { 16.0 * frame.foot.len() as f64 + 4.0 };
        frame.height = frame.blocks as f64 * frame.block() + 14.0 + foot_height;
        frame
    }

    /// Returns the height of a plot with its head and the room below it.
    fn row(&self) -> f64 {
        26.0 + self.plot + 10.0
    }

    /// Panels side by side, with titles and the labels of x.
    fn block(&self) -> f64 {
        self.title_height + self.rows as f64 * self.row() + 26.0
    }

    pub(super) fn area(&self, column: usize, row: usize) -> Area {
        let place = (column % self.across) as f64;
        let left = self.left + place * (self.panel + self.margin + GAP);
        let block = (column / self.across) as f64 * self.block();
        let top = block + self.title_height + row as f64 * self.row() + 26.0;
        let (right, bottom) = (left + self.panel, top + self.plot);
        Area {
            left,
            right,
            top,
            bottom,
            x: self.x.scale(left + PAD, right - PAD),
            y: self.y[row].scale(bottom, top),
            unit: self.units[row],
            labels: self.labels.clone(),
            margin: self.margin,
            head: (block + 12.0, right),
            first: column == 0 && row == 0,
        }
    }

    /// Draws title, grid, base line, ticks, and the names of both axes.
    pub(super) fn axes(
        &self,
        canvas: &mut Canvas,
        chart: &Chart,
        area: &Area,
        (column, row): (usize, usize),
    ) {
        let block = (column / self.across) as f64 * self.block();
        if row == 0 {
            for (i, line) in self.titles[column].iter().enumerate() {
                let spans = vec![(line.clone(), INK)];
                canvas.text(Text::spans(Kind::Name, area.left, block + 12.0 + 16.0 * i as f64, spans));
            }
        }
        let axis = &chart.rows[row];
        let first = column.is_multiple_of(self.across);
        for value in area.y.ticks().into_iter().map(|v| v * area.unit) {
            let at = area.at_y(value);
            if (at - area.bottom).abs() > 0.5 {
                canvas.line(area.left, at, area.right, at, GRID, "");
            }
            if first {
                canvas.text(Text::tick(area.left - 6.0, at + 4.2, (axis.tick)(value)).end());
            }
        }
        if first && (column == 0 || self.rows > 1) {
            let log = if area.y.is_log() { " (log)" } else { "" };
            let (whole, short) = (format!("↑ {}{log}", axis.name), format!("↑ {}{log}", axis.short));
            let words = first_fitting(&[&whole, &short], 11.5, false, self.left + self.panel);
            canvas.text(Text::note(0.0, area.top - 14.0, words));
        }
        canvas.line(area.left, area.bottom, area.right, area.bottom, AXIS, "");
        let last_row = row + 1 == self.rows;
        self.ticks_of_x(canvas, chart, area, last_row);
        if last_row && column + 1 == chart.columns.len() {
            let log = if area.x.is_log() { " (log)" } else { "" };
            let (whole, short) = (format!("{}{log} →", chart.x.name), format!("{}{log} →", chart.x.short));
            let words = first_fitting(&[&whole, &short], 11.5, false, area.right);
            canvas.text(Text::note(area.right, area.bottom + 31.0, words).end());
        }
    }

    fn ticks_of_x(&self, canvas: &mut Canvas, chart: &Chart, area: &Area, labels: bool) {
        let ticks: Vec<(f64, String)> = if self.ticks.is_empty() {
            area.x.ticks().into_iter().map(|v| (v, (chart.x.tick)(v))).collect()
        } else {
            self.ticks.clone()
        };
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in ticks {
            let x = area.x.at(value);
            canvas.line(x, area.bottom, x, area.bottom + 4.0, AXIS, "");
            let half = Kind::Tick.width(&label) / 2.0;
            // Labels keep a distance from each other and from the next plot.
            if labels && x - half > free_from && x + half < area.right + self.margin.max(GAP) - 4.0 {
                canvas.text(Text::tick(x, area.bottom + 17.0, label).anchor(Anchor::Middle));
                free_from = x + half + 5.0;
            }
        }
    }

    /// Whether any two of these labels would touch.
    fn touching(&self, places: &[(f64, String)]) -> bool {
        let scale = self.x.scale(PAD, self.panel - PAD);
        let reach = |p: &(f64, String)| (scale.at(p.0), Kind::Tick.width(&p.1) / 2.0);
        let ends = places.iter().map(reach).any(|(x, half)| half > x + 6.0 || x + half > self.panel + 12.0);
        let pairs = places.windows(2).any(|w| {
            let ((a, half_a), (b, half_b)) = (reach(&w[0]), reach(&w[1]));
            a + half_a + 5.0 > b - half_b
        });
        ends || pairs
    }
}

/// Returns the name of each series: its label, or a letter that is explained below.
fn labels(chart: &Chart, most: f64, foot: &mut Vec<String>) -> Vec<String> {
    let fits = chart.series.iter().all(|s| Kind::Name.width(&s.label) <= most);
    if fits || chart.series.len() == 1 {
        return chart.series.iter().map(|s| s.label.clone()).collect();
    }
    let letter = |i: usize| char::from(b'a' + (i % 26) as u8).to_string().repeat(1 + i / 26);
    let spelled: Vec<String> =
        chart.series.iter().enumerate().map(|(i, s)| format!("{} {}", letter(i), s.label)).collect();
    foot.push(spelled.join(" · "));
    (0..chart.series.len()).map(letter).collect()
}

fn ends_of_x(chart: &Chart) -> Ends {
    let panels = chart.columns.iter().flat_map(|c| &c.panels);
    let values = panels.flat_map(|p| p.xs().collect::<Vec<_>>());
    let all = values.chain(chart.x.places.iter().map(|p| p.0)).filter(|v| v.is_finite());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return Ends::Between { low: 0.0, high: 1.0, log: false };
    }
    let log = chart.x.log && low > 0.0;
    match () {
        () if low == high && log => Ends::Between { low: low / 2.0, high: high * 2.0, log },
        () if low == high => Ends::Between { low: low - 1.0, high: high + 1.0, log },
        () if chart.x.names || (log && !chart.x.places.is_empty()) => Ends::Between { low, high, log },
        () if log => Ends::LogOver { low, high },
        () if !chart.x.places.is_empty() => Ends::Between { low: low.min(0.0), high, log },
        () if low < 0.0 => Ends::Between { low, high, log },
        () => Ends::FromZero(high),
    }
}

fn ends_of_y(chart: &Chart, row: usize) -> Ends {
    let panels = chart.columns.iter().filter_map(|c| c.panels.get(row));
    let unit = chart.rows[row].unit;
    let values = panels.flat_map(|p| p.ys().collect::<Vec<_>>()).filter(|v| v.is_finite()).map(|v| v / unit);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    match () {
        () if low > high => Ends::FromZero(1.0),
        // A value not above 0 is drawn on the floor.
        () if chart.rows[row].log && high > 0.0 => {
            Ends::LogOver { low: if low > 0.0 { low } else { (high / 1_000.0).min(1.0) }, high }
        }
        () if low < 0.0 => Ends::Between { low: low * 1.05, high: high.max(0.0) * 1.05, log: false },
        () => Ends::FromZero(high * 1.03),
    }
}

/// Breaks a text into lines of at most `width`; a wider word is broken, after a `-` if it has one.
fn broken(text: &str, kind: Kind, width: f64) -> Vec<String> {
    let bold = kind == Kind::Name;
    let fits = |t: &str| text_width(t, kind.size(), bold) <= width;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        if let Some(line) = lines.last_mut().filter(|l| fits(&format!("{l} {word}"))) {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        let mut rest = word;
        while !fits(rest) {
            let most = rest.char_indices().map(|(i, _)| i).skip(1).take_while(|i| fits(&rest[..*i])).last();
            let Some(most) = most else { break };
            let at = rest[..most].rfind('-').map_or(most, |i| i + 1);
            lines.push(rest[..at].to_string());
            rest = &rest[at..];
        }
        lines.push(rest.to_string());
    }
    lines
}

impl Area {
    /// Returns the place of a value.
    pub(super) fn at_y(&self, value: f64) -> f64 {
        self.y.at(value / self.unit)
    }

    /// Returns the whole plot, for words that must stay inside.
    pub(super) fn bounds(&self) -> [f64; 4] {
        [self.left, self.top - 10.0, self.right, self.bottom]
    }

    /// The paint of words beside marks.
    pub(super) const NOTE: &'static str = INK2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_and_never_cut() {
        let name = "a-server-whose-name-has-exactly-sixty-characters-in-it-all-x";
        let lines = broken(name, Kind::Name, 120.0);
        assert!(lines.len() > 2 && lines.iter().all(|l| Kind::Name.width(l) <= 120.0), "{lines:?}");
        assert_eq!(lines.concat(), name);
        assert_eq!(broken("5 000 users", Kind::Name, 300.0), ["5 000 users"]);
    }
}
