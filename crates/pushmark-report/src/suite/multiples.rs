//! The common parts of figures with many small panels: rows and columns of the grid, the text of a panel
//! without a line, the end of the caption, and a table with a row an arm.

use pushmark_chart::table::{Cell as Field, Table};
use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::super::figure::{FULL, both};
use super::cells::{Cell, Fate, View, fate_of, reason_of};
use super::drawn::Body;
use super::grid::{Axis, Grid, Line, Panel, Row};
use super::panels::{Panels, empty};

/// Adds the lines of a panel from its cells. The panel already has its title and fate.
pub(crate) type Fill<'f> = &'f dyn Fn(&mut Panel, &[&Cell<'_>]);

/// Returns the grid of a figure in both widths; the error is the reason for its absence.
pub(crate) fn grid(
    view: &View<'_>,
    figure: &Figure,
    (x, y): (Axis, Axis),
    fill: Fill<'_>,
    nothing: &str,
) -> Result<Body, String> {
    let cells = view.asked(figure)?;
    let panel = |title: &str, cells: &[&Cell<'_>]| {
        let mut panel = empty(title, cells);
        fill(&mut panel, cells);
        settle(&mut panel, cells);
        panel
    };
    let rows = Panels::of(view, figure, &cells).rows.into_iter().map(|row| Row {
        panels: row.panels.iter().map(|(title, cells)| panel(title, cells)).collect(),
        title: row.title,
    });
    let grid = Grid { id: figure.id.clone(), x, y, rows: rows.collect() };
    if grid.is_empty() {
        return Err(nothing.to_owned());
    }
    let (wide, narrow) = both(FULL, |size| grid.draw(size));
    Ok(Body::Drawing { wide, narrow })
}

/// Sets the notes of a panel. A panel without a line shows the reason. A line shows its doubt, or which
/// of its cases is left out as invalid; a case that was not run is absent.
fn settle(panel: &mut Panel, cells: &[&Cell<'_>]) {
    if panel.lines.is_empty() {
        if panel.words.is_empty() {
            panel.words = "– not measured".into();
        }
        return;
    }
    panel.hatched = false;
    let run = cells.iter().map(|c| c.fate()).filter(|f| !matches!(f, Fate::Refused | Fate::NotRun));
    panel.words = match run.max() {
        None | Some(Fate::Valid) => String::new(),
        Some(fate @ (Fate::Invalid | Fate::Failed)) => {
            format!("{} one {}: not drawn", fate.glyph(), fate.name())
        }
        Some(fate) => format!("{} {}", fate.glyph(), fate.name()),
    };
}

/// Returns the line of an arm.
pub(crate) fn line(cell: &Cell<'_>, arm: &ArmView<'_>, points: Vec<(f64, f64)>) -> Line {
    Line {
        points,
        mark: Some(arm.mark),
        name: arm.transport.name().to_owned(),
        title: format!("{}; {}, {}, n = {}", cell.case.id, arm.transport, arm.state.name(), arm.n()),
    }
}

/// Returns the caption: the figure's text, how several starts became one line, and the suite's note.
pub(crate) fn caption(view: &View<'_>, figure: &Figure, mut parts: Vec<String>, of_starts: &str) -> String {
    parts.push(match view.starts() {
        Some((1, 1)) => "one start a case".into(),
        _ => of_starts.to_owned(),
    });
    parts.extend(figure.note.as_ref().map(|n| n.trim_end_matches('.').to_owned()));
    parts.join("; ")
}

/// Returns a row an arm: axes, transport, `columns`, verdict, reason, n. A case without an arm keeps its
/// row and shows the reason.
pub(crate) fn table(
    view: &View<'_>,
    cells: &[&Cell<'_>],
    columns: &[(&str, &str)],
    values: impl Fn(&Cell<'_>, &ArmView<'_>) -> Vec<Field>,
) -> Table {
    let mut heads: Vec<(&str, &str)> =
        view.suite.axes.iter().map(|a| (a.label.as_str(), a.name.as_str())).collect();
    heads.push(("transport", "transport"));
    heads.extend(columns);
    heads.extend([("verdict", "verdict"), ("reason", "reason"), ("n", "n")]);
    let mut table = Table::new(&heads);
    for cell in cells {
        let mut row = |transport: Field, own: Vec<Field>, fate: Fate, reason: String, n: usize| {
            let axes = view.suite.axes.iter();
            let mut row: Vec<Field> =
                axes.map(|a| cell.axis(&a.name).map_or_else(Field::absent, Field::text)).collect();
            row.push(transport);
            row.extend(own);
            row.extend([Field::text(fate.name()), Field::text(reason), Field::count(n as u64)]);
            table.push(row);
        };
        if cell.arms().is_empty() {
            let absent = columns.iter().map(|_| Field::absent()).collect();
            row(Field::absent(), absent, cell.fate(), cell.reason(), 0);
        }
        for arm in cell.arms() {
            let transport = Field::text(arm.transport.name());
            row(transport, values(cell, arm), fate_of(arm), reason_of(arm), arm.n());
        }
    }
    table
}
