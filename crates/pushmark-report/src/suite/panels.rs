//! Assigns cells to panels: a column for each value of the figure's `panel`, a row for each value of the
//! other varied axes, servers first. Values that follow from the transport (a style) share a panel,
//! because colour shows the transport.

use pushmark_model::suite::{Axis, Figure};

use super::cells::Fate;
use super::cells::{Cell, View, fate_of};
use super::grid;
use super::places::titled;

/// The panels of a figure, row by row; a place without cells is kept.
pub(crate) struct Panels<'v, 'a> {
    pub(crate) rows: Vec<Cells<'v, 'a>>,
}

/// One row: its name, and a panel's name and cells for each column.
pub(crate) struct Cells<'v, 'a> {
    pub(crate) title: String,
    pub(crate) panels: Vec<(String, Vec<&'v Cell<'a>>)>,
}

impl<'v, 'a> Panels<'v, 'a> {
    pub(crate) fn of(view: &View<'a>, figure: &Figure, cells: &[&'v Cell<'a>]) -> Panels<'v, 'a> {
        let column = figure.panel.as_deref().and_then(|name| view.axis(name));
        let rows: Vec<&Axis> = view
            .varied(cells)
            .into_iter()
            .filter(|a| column.is_none_or(|c| c.name != a.name) && !told_by_transport(a, cells))
            .collect();
        let mut keys: Vec<Vec<Option<&str>>> = Vec::new();
        for cell in cells {
            let key: Vec<Option<&str>> = rows.iter().map(|a| cell.axis(&a.name)).collect();
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let of_key = |key: Vec<Option<&str>>| {
            let mine: Vec<&'v Cell<'a>> = cells
                .iter()
                .copied()
                .filter(|c| rows.iter().zip(&key).all(|(a, v)| c.axis(&a.name) == *v))
                .collect();
            let panels = match column {
                None => vec![(String::new(), mine)],
                Some(axis) => values(axis, figure)
                    .map(|value| {
                        let here =
                            mine.iter().copied().filter(|c| c.axis(&axis.name) == Some(value)).collect();
                        (titled(value, &axis.label), here)
                    })
                    .collect(),
            };
            let parts = rows.iter().zip(key).filter_map(|(a, v)| Some(titled(v?, &a.label)));
            Cells { title: parts.collect::<Vec<_>>().join(" · "), panels }
        };
        Panels { rows: keys.into_iter().map(of_key).collect() }
    }
}

/// Returns the values of an axis that a figure draws, in the order of the suite.
fn values<'f>(axis: &'f Axis, figure: &'f Figure) -> impl Iterator<Item = &'f str> {
    let asked = figure.only.get(&axis.name);
    axis.values.iter().filter(move |v| asked.is_none_or(|asked| asked.contains(v))).map(String::as_str)
}

/// Whether the transport of a cell determines its value on this axis, and the value determines the
/// transport.
fn told_by_transport(axis: &Axis, cells: &[&Cell<'_>]) -> bool {
    let pairs: Vec<(Option<&str>, Vec<&str>)> = cells
        .iter()
        .filter(|c| !c.arms().is_empty())
        .map(|c| (c.axis(&axis.name), c.arms().iter().map(|a| a.transport.name()).collect()))
        .collect();
    let differ = pairs.iter().any(|p| p.0 != pairs[0].0);
    differ && pairs.iter().all(|p| pairs.iter().all(|q| (p.0 == q.0) == (p.1 == q.1)))
}

/// Makes a panel without its lines: the state of its cells.
pub(crate) fn empty(title: &str, cells: &[&Cell<'_>]) -> grid::Panel {
    let mut fates: Vec<Fate> = cells.iter().map(|c| c.fate()).collect();
    fates.sort();
    fates.dedup();
    // The result of a run has priority over a run that was not made.
    let run = fates.iter().rfind(|f| !matches!(f, Fate::Refused | Fate::NotRun));
    let worst = run.or(fates.last()).copied();
    let words = match worst {
        None => "no such case".to_owned(),
        Some(Fate::Valid | Fate::Incomplete) => String::new(),
        Some(fate) => format!("{} {}", fate.glyph(), fate.name()),
    };
    grid::Panel {
        title: title.to_owned(),
        words,
        hatched: worst == Some(Fate::Invalid),
        ..grid::Panel::default()
    }
}

/// Returns the arms of a panel's cells that may be drawn. A server that died is drawn until its death.
pub(crate) fn drawn<'v, 'a>(
    cells: &[&'v Cell<'a>],
) -> impl Iterator<Item = (&'v Cell<'a>, &'v super::super::case::ArmView<'a>)> + use<'v, 'a> {
    let all: Vec<_> = cells.iter().flat_map(|c| c.arms().iter().map(move |a| (*c, a))).collect();
    all.into_iter().filter(|(_, arm)| {
        let fate = fate_of(arm);
        fate.has_value() || fate == Fate::Died
    })
}

/// Axes on which all these cells agree: the name of a cell can omit them.
pub(crate) fn alike<'v>(view: &View<'v>, cells: &[&Cell<'_>]) -> Vec<&'v str> {
    let varied = view.varied(cells);
    let same = |axis: &&Axis| varied.iter().all(|v| v.name != axis.name);
    view.suite.axes.iter().filter(same).map(|a| a.name.as_str()).collect()
}
