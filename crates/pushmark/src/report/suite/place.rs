//! Place in the queue against the time since the emit began. A listener's place is that of its
//! message in the distribution of received − sent over all of them: the share that had theirs
//! before, times the crowd. No client knows its place; in a queue that serves all of them in turn
//! this is the curve that the first study drew from its servers' own words.

use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::super::curve;
use super::super::figure::{FULL, both};
use super::super::numbers::PAGE;
use super::super::scale::plain_tick;
use super::super::table::{Cell as Field, Table};
use super::cells::{Cell, Fate, View, fate_of, reason_of};
use super::drawn::{Body, Drawn};
use super::grid::{Axis, Grid, Line, Panel, Row};
use super::panels::{Panels, alike, drawn, empty};

/// Points of a curve.
const POINTS: usize = 60;

/// Place and time, µs, of the start nearest the median; empty where nothing was delivered.
fn queue(arm: &ArmView<'_>) -> Vec<(f64, f64)> {
    let Some(start) = arm.starts.get(arm.median_start()) else { return Vec::new() };
    let Some(delivery) = &start.delivery else { return Vec::new() };
    let Some(distribution) = curve::decode(&delivery.from_sent) else { return Vec::new() };
    let crowd = start.connections.opened as f64;
    let shares: Vec<f64> = (0..=POINTS).map(|i| i as f64 / POINTS as f64).collect();
    let values = curve::values(&distribution, delivery.expected, &shares);
    // A place nobody reached within what was observed has no time: the curve ends there.
    shares.iter().zip(values).map_while(|(share, v)| Some((share * crowd, v?))).collect()
}

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let cells = view.chosen(figure);
    if cells.is_empty() {
        return Err("no case is what it asks for".into());
    }
    let rows = Panels::of(view, figure, &cells)
        .rows
        .into_iter()
        .map(|row| Row {
            title: row.title,
            panels: row.panels.iter().map(|(title, cells)| panel(title, cells)).collect(),
        })
        .collect();
    let grid = Grid {
        id: figure.id.clone(),
        x: Axis {
            name: "place in the queue →".into(),
            log: false,
            binary: false,
            tick: Box::new(plain_tick),
        },
        y: Axis {
            name: "↑ received − sent".into(),
            log: false,
            binary: false,
            tick: Box::new(|v| if v == 0.0 { "0".into() } else { PAGE.time(v) }),
        },
        rows,
    };
    if grid.is_empty() {
        return Err("no case of it has a delivery yet".into());
    }
    let (wide, narrow) = both(FULL, |size| grid.draw(size));
    Ok(Drawn {
        says: sentences(view, &cells),
        caption: caption(view, figure),
        body: Body::Drawing { wide, narrow },
        table: table(view, &cells),
    })
}

fn panel(title: &str, cells: &[&Cell<'_>]) -> Panel {
    let mut panel = empty(title, cells);
    for (cell, arm) in drawn(cells) {
        let points = queue(arm);
        if points.len() > 1 {
            let title = format!("{}; {}, {}, n = {}", cell.case.id, arm.transport, arm.state.name(), arm.n());
            let name = arm.transport.name().to_owned();
            panel.lines.push(Line { points, mark: Some(arm.mark), name, title });
        }
    }
    if !panel.lines.is_empty() && !cells.iter().any(|c| c.fate() == Fate::Died) {
        panel.words.clear();
    }
    if panel.lines.is_empty() && panel.words.is_empty() {
        panel.words = "– not measured".into();
    }
    panel
}

fn sentences(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    let mut all: Vec<(f64, String)> = drawn(cells)
        .filter_map(|(cell, arm)| {
            let points = queue(arm);
            let middle = points.get(POINTS / 2)?;
            Some((middle.1, cell.words(view.suite, &alike(view, cells))))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    match all.as_slice() {
        [] => Vec::new(),
        [(value, who)] => vec![format!("The middle of the queue waits {} ({who}).", PAGE.time(*value))],
        [(low, first), .., (high, last)] => vec![format!(
            "The middle of the queue waits {} at least ({first}) and {} at most ({last}).",
            PAGE.time(*low),
            PAGE.time(*high)
        )],
    }
}

fn caption(view: &View<'_>, figure: &Figure) -> String {
    let mut parts = vec![
        "place: rank of received − sent over all listeners and publications, times the crowd; no listener knows its own"
            .to_owned(),
    ];
    parts.push(match view.starts() {
        Some((1, 1)) => "one start a case".into(),
        _ => "the start nearest the median".into(),
    });
    parts.extend(figure.note.as_ref().map(|n| n.trim_end_matches('.').to_owned()));
    parts.join("; ")
}

fn table(view: &View<'_>, cells: &[&Cell<'_>]) -> Table {
    let mut heads: Vec<(&str, &str)> =
        view.suite.axes.iter().map(|a| (a.label.as_str(), a.name.as_str())).collect();
    heads.extend([
        ("transport", "transport"),
        ("first", "first_us"),
        ("middle", "middle_us"),
        ("last", "last_us"),
        ("verdict", "verdict"),
        ("reason", "reason"),
        ("n", "n"),
    ]);
    let mut table = Table::new(&heads);
    for cell in cells {
        for arm in cell.arms() {
            let points = queue(arm);
            let time = |at: Option<&(f64, f64)>| {
                at.map_or_else(Field::absent, |p| Field {
                    shown: PAGE.time(p.1),
                    plain: format!("{:.0}", p.1),
                })
            };
            let mut row: Vec<Field> =
                view.suite.axes.iter().map(|a| Field::text(cell.axis(&a.name).unwrap_or("–"))).collect();
            row.push(Field::text(arm.transport.name()));
            row.extend([time(points.first()), time(points.get(POINTS / 2)), time(points.get(POINTS))]);
            row.extend([
                Field::text(fate_of(arm).name()),
                Field::text(reason_of(arm)),
                Field::count(arm.n() as u64),
            ]);
            table.push(row);
        }
    }
    table
}
