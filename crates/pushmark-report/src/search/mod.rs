//! A search for the highest load, from its file: as a page, as text, and a line a probe.

mod page;
mod text;
mod words;

use pushmark_chart::terminal::Style;
use pushmark_model::search::SearchFile;

/// Renders one offline page: the answer, the conditions, every probe with a link to its run.
pub fn html(file: &SearchFile) -> String {
    page::html(file)
}

/// Renders the answer and every probe for a terminal, 80 columns.
pub fn text(file: &SearchFile, style: &Style<'_>) -> String {
    text::render(file, style)
}

/// Returns a line for the terminal: `probe 4  800 connections (double)  failed  p99 61.2 ms`.
pub fn line(file: &SearchFile, probe: usize) -> String {
    text::line(file, probe)
}
