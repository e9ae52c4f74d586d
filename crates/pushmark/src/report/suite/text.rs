//! The result of a suite for a terminal: counts of verdicts, the matrix, what was not measured.

use super::super::numbers::TERMINAL;
use super::super::text::{COLUMNS, Pen, Style, ascii, wrapped};
use super::cells::{Fate, View};
use super::drawn::{Entry, size};
use super::page::{doubts, scale};

/// The whole text.
pub(crate) fn render(view: &View<'_>, _entries: &[Entry], style: &Style<'_>) -> String {
    let pen = Pen::new(style);
    let mut out = heading(view, &pen);
    out.push(String::new());
    out.push(counts(view, &pen));
    out.push(String::new());
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

fn counts(view: &View<'_>, pen: &Pen) -> String {
    let one = |(fate, n): (Fate, usize)| {
        format!("{} {} {}", mark(fate, pen), TERMINAL.count(n as u64), fate.name())
    };
    view.counts().into_iter().map(one).collect::<Vec<_>>().join("   ")
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
