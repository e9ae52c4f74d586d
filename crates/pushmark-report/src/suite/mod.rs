//! The report of a suite: one offline page, the text result, and every figure as SVG and CSV, from
//! `suite.json` and the runs beside it. Pure rendering, like the report of runs.
//!
//! **To add a kind of figure:**
//! 1. give it a variant in [`FigureKind`] (`pushmark-model/src/suite/figure.rs`), and [`Figure`]
//!    the optional fields it needs;
//! 2. write a file here with `pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String>`:
//!    the cells of the figure are `view.chosen(figure)`, the arms of a cell
//!    `cell.arms()`, the value of a metric there `quantity::read`; drawings come from `chart::Chart`,
//!    once for each of both widths; sentences that are rules over the data are in `says/`. An
//!    error is the reason why there is no drawing: the figure keeps its place and shows the reason;
//! 3. name it in `drawer`.
//!
//! The table of `Drawn` is the full alternative to its drawing, and its CSV.

mod against;
mod cells;
mod chart;
mod crossover;
mod drawn;
mod ended;
mod grid;
mod matrix;
mod multiples;
mod page;
mod panels;
pub mod parts;
mod place;
mod places;
mod published;
mod quantity;
mod rate;
mod says;
mod text;
mod time;

use pushmark_chart::canvas::Drawing;
use pushmark_model::suite::{Figure, FigureKind, Suite};

use cells::View;
use drawn::{Drawn, Entry};
use pushmark_chart::terminal::Style;
use pushmark_model::run::RunFiles;

/// Draws a kind of figure; the error is the reason for its absence.
type Draw = fn(&View<'_>, &Figure) -> Result<Drawn, String>;

fn drawer(kind: FigureKind) -> Draw {
    match kind {
        FigureKind::Matrix => matrix::draw,
        FigureKind::Crossover => crossover::draw,
        FigureKind::Against => against::draw,
        FigureKind::Time => time::draw,
        FigureKind::Place => place::draw,
        FigureKind::Rate => rate::draw,
    }
}

/// Renders one offline page.
pub fn html(suite: &Suite, runs: &[RunFiles]) -> String {
    let view = View::new(suite, runs);
    page::html(&view, &entries(&view)).into_string()
}

/// Renders the result for a terminal, 80 columns.
pub fn text(suite: &Suite, runs: &[RunFiles], style: Style<'_>) -> String {
    let view = View::new(suite, runs);
    text::render(&view, &entries(&view), &style)
}

/// Returns the ids of the figures that are drawn, in the order of the page.
pub fn figure_ids(suite: &Suite, runs: &[RunFiles]) -> Vec<String> {
    let view = View::new(suite, runs);
    entries(&view).iter().filter(|e| e.drawn.is_ok()).map(|e| e.figure.id.clone()).collect()
}

/// Returns a figure as an SVG file; `None` if there is no such drawing (a matrix is a table).
pub fn svg(suite: &Suite, runs: &[RunFiles], id: &str) -> Option<String> {
    let view = View::new(suite, runs);
    entries(&view).iter().find(|e| e.figure.id == id)?.svg(&view)
}

/// Returns the data of a figure as a CSV file.
pub fn csv(suite: &Suite, runs: &[RunFiles], id: &str) -> Option<String> {
    let view = View::new(suite, runs);
    entries(&view).iter().find(|e| e.figure.id == id)?.csv(&view)
}

/// Returns both drawings of every figure, for checks of the layout: id, wide, narrow.
pub fn drawings(suite: &Suite, runs: &[RunFiles]) -> Vec<(String, Drawing, Drawing)> {
    let view = View::new(suite, runs);
    entries(&view).into_iter().filter_map(Entry::drawings).collect()
}

/// Returns all figures: matrices first (the report makes one if the suite asks for none), then by their
/// numbers in the study, then in the order of the suite.
fn entries(view: &View<'_>) -> Vec<Entry> {
    let mut figures = view.suite.figures.clone();
    if !figures.iter().any(|f| f.kind == FigureKind::Matrix) {
        figures.insert(0, matrix::of_suite(view));
    }
    figures.sort_by_key(|f| (f.kind != FigureKind::Matrix, number(f)));
    figures.into_iter().map(|figure| Entry { drawn: drawer(figure.kind)(view, &figure), figure }).collect()
}

/// Returns the first digits of a figure's number; figures without one come last.
fn number(figure: &Figure) -> u32 {
    let digits = |n: &str| -> String {
        n.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect()
    };
    figure.number.as_deref().and_then(|n| digits(n).parse().ok()).unwrap_or(u32::MAX)
}
