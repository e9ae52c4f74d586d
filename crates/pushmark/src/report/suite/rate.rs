//! New connections an interval against the time since a flood began, as the study of threads
//! against non-blocking sockets drew it: the mean of the starts, with what was offered as a thin
//! grey line. Where the line leaves it the server no longer keeps up; where it ends, so did the
//! flood.

use pushmark_model::run::{Flood, FloodInterval};
use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::super::figure::{FULL, both};
use super::super::numbers::PAGE;
use super::super::scale::plain_tick;
use super::super::table::{Cell as Field, Table};
use super::cells::{Cell, View, fate_of, reason_of};
use super::drawn::{Body, Drawn};
use super::ended;
use super::grid::{Axis, Grid, Line, Panel, Row};
use super::panels::{Panels, alike, drawn, empty};

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let cells = view.chosen(figure);
    if cells.is_empty() {
        return Err("no case is what it asks for".into());
    }
    let panels = Panels::of(view, figure, &cells);
    let rows = panels
        .rows
        .iter()
        .map(|row| Row {
            title: row.title.clone(),
            panels: row.panels.iter().map(|(title, cells)| panel(title, cells)).collect(),
        })
        .collect();
    let plain = |name: &str, tick: Box<dyn Fn(f64) -> String>| Axis {
        name: name.to_owned(),
        log: false,
        binary: false,
        tick,
    };
    let grid = Grid {
        id: figure.id.clone(),
        x: plain("seconds since the flood began →", Box::new(|v| PAGE.fixed(v, 0))),
        y: plain("↑ new connections an interval", Box::new(plain_tick)),
        rows,
    };
    if grid.is_empty() {
        return Err("no case of it is a flood with a whole interval".into());
    }
    let (wide, narrow) = both(FULL, |size| grid.draw(size));
    Ok(Drawn {
        says: sentences(view, &cells),
        caption: caption(view, figure),
        body: Body::Drawing { wide, narrow },
        table: table(view, &cells),
    })
}

fn floods<'a>(arm: &ArmView<'a>) -> Vec<&'a Flood> {
    arm.starts.iter().filter_map(|a| a.flood.as_ref()).collect()
}

/// An interval's middle, what was offered in it, what was established: the mean of those starts
/// that lived through all of it.
fn curve(floods: &[&Flood]) -> Vec<(f64, f64, f64)> {
    let longest = floods.iter().map(|f| f.intervals.len()).max().unwrap_or(0);
    let at = |n: usize| {
        let all: Vec<&FloodInterval> = floods
            .iter()
            .filter_map(|f| f.intervals.get(n).filter(|i| i.length_us == f.interval_us))
            .collect();
        let first = all.first()?;
        let middle = (first.start_us + first.length_us / 2) as f64 / 1e6;
        let mean =
            |of: fn(&FloodInterval) -> u64| all.iter().map(|i| of(i) as f64).sum::<f64>() / all.len() as f64;
        Some((middle, mean(|i| i.offered), mean(|i| i.established)))
    };
    (0..longest).map_while(at).collect()
}

fn panel(title: &str, cells: &[&Cell<'_>]) -> Panel {
    let mut panel = empty(title, cells);
    for (cell, arm) in drawn(cells) {
        let curve = curve(&floods(arm));
        if curve.is_empty() {
            continue;
        }
        if panel.lines.is_empty() {
            panel.lines.push(Line {
                points: curve.iter().map(|p| (p.0, p.1)).collect(),
                mark: None,
                name: "offered".into(),
                title: format!("offered; {}", cell.case.id),
            });
        }
        panel.lines.push(Line {
            points: curve.iter().map(|p| (p.0, p.2)).collect(),
            mark: Some(arm.mark),
            name: arm.transport.name().to_owned(),
            title: format!("{}; {}, {}, n = {}", cell.case.id, arm.transport, arm.state.name(), arm.n()),
        });
    }
    if panel.lines.is_empty() && panel.words.is_empty() {
        panel.words = "– not a flood".into();
    }
    panel
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let all: Vec<f64> = values.map(|v| v as f64).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// How many each held, and at which limit; the largest first.
fn sentences(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    let mut held: Vec<(f64, String)> = Vec::new();
    for (cell, arm) in drawn(cells) {
        let floods = floods(arm);
        let Some(most) = mean(floods.iter().map(|f| f.connected_max)) else { continue };
        let mut limits: Vec<&str> =
            floods.iter().filter_map(|f| f.limits.first()).map(|l| l.kind.as_str()).collect();
        limits.sort_unstable();
        limits.dedup();
        let limit = if limits.is_empty() { "no limit shows".to_owned() } else { limits.join(" or ") };
        let knee = mean(floods.iter().filter_map(|f| f.declined_from));
        let knee = knee.map_or(String::new(), |n| format!(", slower from {}", PAGE.count(n as u64)));
        let who = cell.words(view.suite, &alike(view, cells));
        held.push((most, format!("{who} {} ({}{knee})", PAGE.count(most as u64), limit.replace('_', " "))));
    }
    held.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut out = Vec::new();
    if !held.is_empty() {
        let list: Vec<String> = held.into_iter().map(|h| h.1).collect();
        out.push(format!("Held at once: {}.", list.join("; ")));
    }
    out.extend(ended::says(view, cells));
    out
}

fn caption(view: &View<'_>, figure: &Figure) -> String {
    let mut parts = vec!["whole intervals; grey: offered".to_owned()];
    parts.push(match view.starts() {
        Some((1, 1)) => "one start a case".into(),
        _ => "the mean of the starts that lived through an interval".into(),
    });
    parts.extend(figure.note.as_ref().map(|n| n.trim_end_matches('.').to_owned()));
    parts.join("; ")
}

fn table(view: &View<'_>, cells: &[&Cell<'_>]) -> Table {
    let mut heads: Vec<(&str, &str)> =
        view.suite.axes.iter().map(|a| (a.label.as_str(), a.name.as_str())).collect();
    heads.extend([
        ("transport", "transport"),
        ("offered", "offered"),
        ("established", "established"),
        ("held at once", "connected_max"),
        ("served", "served_max"),
        ("by its own count", "counted_max"),
        ("declines from", "declined_from"),
        ("ended", "end"),
        ("limit", "limit"),
        ("verdict", "verdict"),
        ("reason", "reason"),
        ("n", "n"),
    ]);
    let mut table = Table::new(&heads);
    for cell in cells {
        let axes = || -> Vec<Field> {
            view.suite.axes.iter().map(|a| Field::text(cell.axis(&a.name).unwrap_or("–"))).collect()
        };
        if cell.arms().is_empty() {
            let mut row = axes();
            row.extend((0..9).map(|_| Field::absent()));
            row.extend([Field::text(cell.fate().name()), Field::text(cell.reason()), Field::count(0)]);
            table.push(row);
        }
        for arm in cell.arms() {
            let floods = floods(arm);
            let of = |value: fn(&Flood) -> Option<u64>| {
                Field::number(mean(floods.iter().filter_map(|f| value(f))))
            };
            let words = |mut all: Vec<&str>| {
                all.sort_unstable();
                all.dedup();
                Field::text(all.join(", "))
            };
            let mut row = axes();
            row.push(Field::text(arm.transport.name()));
            row.extend([
                of(|f| Some(f.offered)),
                of(|f| Some(f.established)),
                of(|f| Some(f.connected_max)),
                of(|f| f.served_max),
                of(|f| f.counted_max),
                of(|f| f.declined_from),
                words(floods.iter().map(|f| f.end.name()).collect()),
                words(floods.iter().flat_map(|f| &f.limits).map(|l| l.kind.as_str()).collect()),
            ]);
            row.push(Field::text(fate_of(arm).name()));
            row.push(Field::text(reason_of(arm)));
            row.push(Field::count(arm.n() as u64));
            table.push(row);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::run::FloodEnd;

    fn flood(established: &[u64], last_us: u64) -> Flood {
        let of = |(n, came): (usize, &u64)| FloodInterval {
            start_us: n as u64 * 4_000_000,
            length_us: if n + 1 == established.len() { last_us } else { 4_000_000 },
            offered: 200,
            established: *came,
            ..FloodInterval::default()
        };
        Flood {
            rate_per_s: 50.0,
            interval_us: 4_000_000,
            limit: 20_000,
            cut_by: None,
            end: FloodEnd::Died,
            ended_us: 0,
            offered: 0,
            established: 0,
            connected_max: 0,
            served_max: None,
            counted_max: None,
            declined_from: None,
            limits: Vec::new(),
            intervals: established.iter().enumerate().map(of).collect(),
        }
    }

    #[test]
    fn the_curve_is_the_mean_of_those_that_lived() {
        let (a, b) = (flood(&[200, 200, 100, 7], 1_000_000), flood(&[200, 180, 9], 2_000_000));
        let curve = curve(&[&a, &b]);
        assert_eq!(curve, [(2.0, 200.0, 200.0), (6.0, 200.0, 190.0), (10.0, 200.0, 100.0)]);
        assert!(super::curve(&[]).is_empty());
    }
}
