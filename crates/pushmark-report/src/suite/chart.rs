//! Small multiples of lines with markers: panels that share their axes, stacked if several quantities
//! share an x. Independent of suites: kinds of figures fill it with places and values.

mod frame;
mod labels;
mod marks;

use pushmark_chart::canvas::{Canvas, Drawing, Text};
use pushmark_chart::tokens::Mark;
use pushmark_model::run::VerdictState;

use super::super::figure::Size;
use super::cells::Fate;

/// A whole drawing.
pub(crate) struct Chart {
    /// Prefix for ids; unique on the page.
    pub(crate) id: String,
    pub(crate) x: Axis,
    /// One a row of panels.
    pub(crate) rows: Vec<Axis>,
    /// Lines may occur in many panels; each is named in all of them.
    pub(crate) series: Vec<Series>,
    /// Side by side.
    pub(crate) columns: Vec<Column>,
}

/// An axis: its name, and how its values are written.
pub(crate) struct Axis {
    pub(crate) name: String,
    /// Used if the name is too long.
    pub(crate) short: String,
    pub(crate) log: bool,
    /// Values that are named; empty: round numbers.
    pub(crate) places: Vec<(f64, String)>,
    /// Places are names without distances between them.
    pub(crate) names: bool,
    pub(crate) tick: Box<dyn Fn(f64) -> String>,
    /// The unit of round numbers: 1, or a number of bytes.
    pub(crate) unit: f64,
}

/// The name of a line and its mark.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    /// The label is the name of the transport, and is written in its colour.
    pub(crate) is_transport: bool,
    /// A line of the tool's own server, among others: a reference, which never wins.
    pub(crate) reference: bool,
    pub(crate) mark: Mark,
}

/// Panels of one value, one a row.
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
}

/// Lines over one pair of axes.
#[derive(Default)]
pub(crate) struct Panel {
    pub(crate) lines: Vec<Line>,
    pub(crate) bands: Vec<Band>,
    /// The values that a study printed: lines of open circles.
    pub(crate) published: Vec<Vec<Open>>,
}

/// A line, broken where a cell has no value.
pub(crate) struct Line {
    pub(crate) series: usize,
    pub(crate) segments: Vec<Vec<Point>>,
    /// Off for a line with a value a second.
    pub(crate) markers: bool,
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) bounds: Option<(f64, f64)>,
    /// An interval has caps, a range none.
    pub(crate) caps: bool,
    pub(crate) state: VerdictState,
    /// The percentile falls among the missing deliveries: an arrow upwards, no marker.
    pub(crate) at_least: bool,
    /// Its place if all offered messages had been delivered.
    pub(crate) offered: Option<f64>,
    /// The text shown under the mouse.
    pub(crate) title: String,
}

/// A place without a value.
pub(crate) struct Band {
    pub(crate) x: f64,
    pub(crate) fate: Fate,
    /// From the fullest to the shortest.
    pub(crate) words: Vec<String>,
    /// Other lines have a value there: a small box, not the height of the panel.
    pub(crate) small: bool,
    pub(crate) title: String,
}

/// A value a study printed.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) title: String,
}

impl Panel {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.lines.iter().flat_map(|l| l.segments.iter().flatten())
    }

    fn xs(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.points().flat_map(|p| [Some(p.x), p.offered]).flatten();
        let bands = self.bands.iter().map(|b| b.x);
        points.chain(bands).chain(self.published.iter().flatten().map(|o| o.x))
    }

    fn ys(&self) -> impl Iterator<Item = f64> + '_ {
        let bounds = |p: &Point| [Some(p.y), p.bounds.map(|b| b.0), p.bounds.map(|b| b.1)];
        let points = self.points().flat_map(bounds).flatten();
        points.chain(self.published.iter().flatten().map(|o| o.y))
    }
}

impl Chart {
    /// Whether no panel has a value, a band or a printed value.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.iter().flat_map(|c| &c.panels).all(|p| p.xs().next().is_none())
    }

    /// Draws one of the two sizes.
    pub(crate) fn draw(&self, size: Size) -> Drawing {
        let suffix = if size.is_narrow() { "n" } else { "w" };
        let frame = frame::Frame::of(self, size);
        let mut canvas = Canvas::new(&format!("{}-{suffix}", self.id), size.width(), frame.height);
        let mut once = Once { published: true, suspect: true, offered: true };
        for (i, column) in self.columns.iter().enumerate() {
            for (row, panel) in column.panels.iter().enumerate() {
                let area = frame.area(i, row);
                frame.axes(&mut canvas, self, &area, (i, row));
                marks::draw(&mut canvas, self, panel, &area, &mut once);
            }
        }
        for (i, line) in frame.foot.iter().enumerate() {
            canvas.text(Text::note(0.0, frame.foot_from + 16.0 * i as f64, line.clone()));
        }
        canvas.finish()
    }
}

/// Words that appear once in a figure.
struct Once {
    published: bool,
    suspect: bool,
    offered: bool,
}
