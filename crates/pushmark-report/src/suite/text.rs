//! The result of a suite for a terminal: counts of verdicts, the matrix, what was not measured.

use pushmark_chart::numbers::TERMINAL;
use pushmark_model::suite::FigureKind;

use super::cells::{Fate, View};
use super::drawn::{Entry, scale, size};
use super::matrix;
use super::page::doubts;
use pushmark_chart::terminal::{COLUMNS, Pen, Style, ascii, wrapped};

/// Renders the whole text.
pub(crate) fn render(view: &View<'_>, entries: &[Entry], style: &Style<'_>) -> String {
    let pen = Pen::new(style);
    let mut out = heading(view, &pen);
    out.push(String::new());
    out.extend(counts(view, &pen));
    out.push(String::new());
    for entry in entries.iter().filter(|e| e.figure.kind == FigureKind::Matrix) {
        out.extend(matrix::text(view, &entry.figure));
    }
    for (fate, reason, cells) in doubts(view) {
        let which = match cells.as_slice() {
            [one] => one.clone(),
            many => format!("{} cases, {} first", many.len(), many[0]),
        };
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let lines = wrapped(&format!("{}, {which}{reason}", fate.name()), COLUMNS - 2);
        for (i, line) in lines.into_iter().enumerate() {
            let gutter = if i == 0 { mark(fate, &pen) } else { " ".into() };
            out.push(format!("{gutter} {line}"));
        }
    }
    if let Some(path) = style.report_path {
        out.push(String::new());
        out.push(format!("  report   {path}"));
    }
    let text: String = out.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    if style.utf8 { text } else { ascii(&text) }
}

fn heading(view: &View<'_>, pen: &Pen) -> Vec<String> {
    let line = format!("{} · suite {} · {} · {}", "pushmark", view.suite.name, size(view), scale(view));
    wrapped(&line, COLUMNS).into_iter().map(|l| l.replacen("pushmark", &pen.bold("pushmark"), 1)).collect()
}

/// Formats counts of verdicts, in as many lines as needed (one column is left: `ok` for ✓).
fn counts(view: &View<'_>, pen: &Pen) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (fate, n) in view.counts() {
        let words = format!(" {} {}", TERMINAL.count(n as u64), fate.name());
        let (width, one) = (1 + words.chars().count(), mark(fate, pen) + &words);
        match lines.last_mut() {
            Some((used, line)) if *used + 3 + width < COLUMNS => {
                *used += 3 + width;
                line.push_str(&format!("   {one}"));
            }
            _ => lines.push((width, one)),
        }
    }
    lines.into_iter().map(|l| l.1).collect()
}

fn mark(fate: Fate, pen: &Pen) -> String {
    use pushmark_model::run::VerdictState;
    match fate {
        Fate::Valid => pen.state(VerdictState::Valid, fate.glyph()),
        Fate::Suspect => pen.state(VerdictState::Suspect, fate.glyph()),
        Fate::Invalid | Fate::Failed => pen.state(VerdictState::Invalid, fate.glyph()),
        Fate::Incomplete => pen.state(VerdictState::Incomplete, fate.glyph()),
        Fate::Died | Fate::Refused | Fate::NotRun => fate.glyph().to_string(),
    }
}
