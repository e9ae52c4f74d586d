//! The matrix for a terminal: two digits a cell, room for a one-letter doubt, at most 80 columns.

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::words::plural;
use pushmark_model::suite::Figure;

use super::super::cells::{Cell, Fate, View, fate_of, stands};
use super::super::quantity::{Quantity, Reading, two};
use super::layout::{Block, Layout, Row};
use super::{Divisor, values_of};
use pushmark_chart::terminal::COLUMNS;

/// Further tables are only in the report.
const MOST: usize = 8;

/// Returns the lines of a figure of this kind; empty if it cannot be drawn.
pub(crate) fn text(view: &View<'_>, figure: &Figure) -> Vec<String> {
    let (Ok(quantity), cells) = (Quantity::find(&figure.y), view.chosen(figure)) else { return Vec::new() };
    if cells.is_empty() {
        return Vec::new();
    }
    let layouts = Layout::all(view, figure, &cells);
    let unit = quantity.divisor(&values_of(&quantity, &cells));
    let name = if unit.name.is_empty() { String::new() } else { format!(", {}", unit.name) };
    let mut out = vec![cut(format!("  {}{name}", quantity.name()), COLUMNS)];
    let blocks: Vec<_> = layouts.iter().flat_map(|l| l.blocks().into_iter().map(move |b| (l, b))).collect();
    for (layout, block) in blocks.iter().take(MOST) {
        let title = match block.title.as_str() {
            "" => format!("  by {}", layout.column_label()),
            title => format!("  {title}, by {}", layout.column_label()),
        };
        out.push(cut(title, COLUMNS));
        out.extend(lines(block, &quantity, unit));
        out.push(String::new());
    }
    if blocks.len() > MOST {
        out.push(format!("  the report has {} more", plural(blocks.len() - MOST, "table")));
        out.push(String::new());
    }
    out
}

fn lines(block: &Block<'_, '_>, quantity: &Quantity, unit: Divisor) -> Vec<String> {
    let cells: Vec<Vec<String>> = block
        .rows
        .iter()
        .map(|row| {
            row.cells.iter().map(|c| c.map_or(String::new(), |c| cell(row, c, quantity, unit))).collect()
        })
        .collect();
    let heads: Vec<String> = block.columns.iter().map(|v| head(v)).collect();
    let widest = cells.iter().flatten().chain(&heads).map(|c| c.chars().count()).max().unwrap_or(1);
    let names: Vec<String> = block.rows.iter().map(name).collect();
    // Names keep a third of the line; columns that do not fit are counted, not cut.
    let longest = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let free = COLUMNS.saturating_sub(2 + heads.len() * (widest + 2)).max(COLUMNS / 3);
    let label = longest.min(free);
    let fit = ((COLUMNS - 2 - label) / (widest + 2)).min(heads.len());
    let line = |name: &str, cells: &[String]| {
        let mut out = format!("  {:label$}", cut(name.to_string(), label));
        for cell in &cells[..fit] {
            out.push_str(&format!("  {}{cell}", " ".repeat(widest - cell.chars().count())));
        }
        out
    };
    let mut out = vec![line("", &heads)];
    out.extend(names.iter().zip(&cells).map(|(name, cells)| line(name, cells)));
    if fit < heads.len() {
        out.push(format!("  the report has {} more", plural(heads.len() - fit, "column")));
    }
    out
}

/// Formats a value of the column axis: numbers in groups of three.
fn head(value: &str) -> String {
    value.parse::<u64>().map_or_else(|_| cut(value.to_string(), 10), |n| TERMINAL.count(n))
}

fn name(row: &Row<'_, '_>) -> String {
    let mut parts = row.values.clone();
    parts.extend(row.transport.map(|t| t.name().to_string()));
    parts.join(" ")
}

fn cell(row: &Row<'_, '_>, cell: &Cell<'_>, quantity: &Quantity, unit: Divisor) -> String {
    let arm = row.arm_of(cell);
    let fate = arm.map_or_else(|| cell.fate(), fate_of);
    let Some(arm) = arm.filter(|a| stands(a)) else {
        return if fate == Fate::NotRun { "not run".into() } else { fate.name().into() };
    };
    let doubt = if fate == Fate::Valid { "" } else { fate.glyph() };
    match quantity.read(arm) {
        Reading::Value(e) => format!("{doubt}{}", two(e.value / unit.by).replace('\u{202f}', ",")),
        Reading::AtLeast(us) => format!("\u{2265}{}", two(us / unit.by).replace('\u{202f}', ",")),
        Reading::Absent(_) => "\u{2013}".into(),
    }
}

/// Ends a name that is too long for its column in a point.
fn cut(text: String, most: usize) -> String {
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['.']).collect()
}
