//! Groups cells into lines: the cells of one transport that differ in x alone. Axes that are neither x nor
//! panels make more lines.

use std::collections::BTreeMap;

use pushmark_chart::estimate::Spread;
use pushmark_chart::tokens::mark_of;
use pushmark_model::run::VerdictState;
use pushmark_model::suite::{self, Figure};
use pushmark_model::transport::Transport;

use super::super::super::case::ArmView;
use super::super::cells::{Cell, Fate, View, fate_of, reason_of};
use super::super::chart::{Point, Series};
use super::super::places::{grouped, number};
use super::super::quantity::{Quantity, Reading};
use super::{Across, absent};

/// The lines of a figure, over all its panels.
pub(super) struct Curves<'c, 'a> {
    pub(super) series: Vec<Series>,
    keys: Vec<Key>,
    cells: Vec<&'c Cell<'a>>,
    panel: Option<String>,
    lines: Vec<String>,
}

/// The key of a line.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    transport: Transport,
    values: Vec<Option<String>>,
}

/// A cell on a line.
pub(super) struct Item<'c, 'a> {
    pub(super) kind: Kind,
    /// Absent if x is a metric and the cell has no value.
    pub(super) x: Option<f64>,
    pub(super) cell: &'c Cell<'a>,
}

pub(super) enum Kind {
    Point(Box<Point>),
    /// Why there is no point.
    Gap(Fate, String),
}

impl<'c, 'a> Curves<'c, 'a> {
    pub(super) fn of(
        view: &View<'a>,
        figure: &Figure,
        cells: &[&'c Cell<'a>],
        across: &Across,
    ) -> Curves<'c, 'a> {
        let lines: Vec<String> = view
            .varied(cells)
            .into_iter()
            .filter(|axis| figure.panel.as_deref() != Some(&axis.name) && !walked(axis, figure, across))
            .map(|axis| axis.name.clone())
            .collect();
        let mut keys: Vec<Key> = Vec::new();
        for cell in cells {
            for arm in cell.arms() {
                let key = Key { transport: arm.transport, values: values(cell, &lines) };
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        // In the order of the suite, then of the transports.
        let place = |key: &Key| -> Vec<usize> {
            let of = |(name, value): (&String, &Option<String>)| {
                let axis = view.axis(name)?;
                axis.values.iter().position(|v| Some(v) == value.as_ref())
            };
            lines.iter().zip(&key.values).map(|p| of(p).unwrap_or(usize::MAX)).collect()
        };
        keys.sort_by_key(|key| (place(key), key.transport));
        let labels: Vec<&str> = lines.iter().map(|l| view.axis(l).map_or("", |a| a.label.as_str())).collect();
        let mut series = named(&keys, &labels);
        let own: Vec<bool> = keys.iter().map(|key| is_reference(cells, &lines, key)).collect();
        if own.contains(&false) {
            series.iter_mut().zip(own).for_each(|(s, own)| s.reference = own);
        }
        Curves { series, keys, cells: cells.to_vec(), panel: figure.panel.clone(), lines }
    }

    /// Returns the cells of a line in a panel, by x.
    pub(super) fn items(
        &self,
        panel: Option<&str>,
        series: usize,
        quantity: &Quantity,
        across: &Across,
    ) -> Vec<Item<'c, 'a>> {
        let key = &self.keys[series];
        let mut out = Vec::new();
        for cell in &self.cells {
            let here = self.panel.as_ref().is_none_or(|p| cell.axis(p) == panel);
            if !here || values(cell, &self.lines) != key.values {
                continue;
            }
            let arm = cell.arms().iter().find(|a| a.transport == key.transport);
            if arm.is_some() || cell.arms().is_empty() {
                out.extend(item(cell, arm, quantity, across));
            }
        }
        out.sort_by(|a, b| a.x.unwrap_or(f64::INFINITY).total_cmp(&b.x.unwrap_or(f64::INFINITY)));
        out
    }
}

/// Whether a line goes along this axis: x itself; if x is a metric, every numeric axis that the figure
/// does not use for its lines.
fn walked(axis: &suite::Axis, figure: &Figure, across: &Across) -> bool {
    match across {
        Across::Axis { name, .. } => axis.name == *name,
        Across::Metric { .. } => {
            figure.line.as_deref() != Some(&axis.name) && axis.values.iter().all(|v| number(v).is_some())
        }
    }
}

fn values(cell: &Cell<'_>, axes: &[String]) -> Vec<Option<String>> {
    axes.iter().map(|a| cell.axis(a).map(String::from)).collect()
}

/// Names lines by transport if that is unique, else by the values of the axes that do not follow from the
/// transport.
fn named(keys: &[Key], axes: &[&str]) -> Vec<Series> {
    let mut by_transport: BTreeMap<Transport, usize> = BTreeMap::new();
    for key in keys {
        *by_transport.entry(key.transport).or_default() += 1;
    }
    let alone = by_transport.values().all(|n| *n == 1);
    let width = keys.first().map_or(0, |k| k.values.len());
    // An axis with one value a transport repeats the transport.
    let tells: Vec<bool> = (0..width)
        .map(|i| {
            by_transport.keys().any(|t| {
                let mut of = keys.iter().filter(|k| k.transport == *t).map(|k| &k.values[i]);
                let first = of.next();
                of.any(|v| Some(v) != first)
            })
        })
        .collect();
    let several = by_transport.len() > 1;
    keys.iter()
        .map(|key| {
            let mark = mark_of(key.transport);
            if alone {
                return Series { label: mark.name.into(), is_transport: true, reference: false, mark };
            }
            let values = key.values.iter().zip(axes).zip(&tells).filter(|(_, tells)| **tells);
            let mut parts: Vec<String> =
                values.filter_map(|((value, axis), _)| Some(called(value.as_deref()?, axis))).collect();
            if several || parts.is_empty() {
                parts.push(mark.name.into());
            }
            Series { label: parts.join(" · "), is_transport: false, reference: false, mark }
        })
        .collect()
}

/// Whether a line belongs to the server that represents no product: its row calls it a reference.
fn is_reference(cells: &[&Cell<'_>], lines: &[String], key: &Key) -> bool {
    let of_line = cells.iter().filter(|c| values(c, lines) == key.values);
    let mut servers =
        of_line.filter_map(|c| c.measured.as_ref()).filter_map(|m| m.run().environment.server.as_ref());
    servers.any(|s| s.stands_for.contains("a reference"))
}

/// Names a value: a number needs its axis, a name does not.
fn called(value: &str, axis: &str) -> String {
    match number(value) {
        Some(_) => format!("{axis} {}", grouped(value)),
        None => value.to_string(),
    }
}

fn item<'c, 'a>(
    cell: &'c Cell<'a>,
    arm: Option<&'c ArmView<'a>>,
    quantity: &Quantity,
    across: &Across,
) -> Option<Item<'c, 'a>> {
    let fate = arm.map_or_else(|| cell.fate(), fate_of);
    let reading = arm.map(|a| quantity.read(a));
    let (x, offered) = match across {
        Across::Axis { name, places, .. } => (Some(places.place(cell.axis(name)?)?), None),
        Across::Metric { quantity, offered } => {
            let read = |q: &Quantity| Some(q.read(arm?).estimate()?.value);
            let offered = offered.as_ref().and_then(read);
            // An invalid cell is at its planned place.
            let x = if fate.has_value() { read(quantity) } else { offered };
            (x, offered)
        }
    };
    let gap = |fate: Fate, reason: String| Some(Item { kind: Kind::Gap(fate, reason), x, cell });
    let (Some(arm), Some(reading), true) = (arm, reading, fate.has_value()) else {
        return gap(fate, arm.map_or_else(|| cell.reason(), reason_of));
    };
    if let Some(reason) = absent(&reading) {
        return gap(fate, reason);
    }
    let Some(place) = x else { return gap(fate, "its place on the other axis is not known".into()) };
    let (y, bounds, caps, at_least) = match &reading {
        Reading::Value(e) => (e.value, e.bounds(), matches!(e.spread, Spread::Interval(..)), false),
        Reading::AtLeast(us) => (*us, None, false, true),
        Reading::Absent(_) => return None,
    };
    let state = match fate {
        Fate::Suspect => VerdictState::Suspect,
        Fate::Incomplete => VerdictState::Incomplete,
        _ => VerdictState::Valid,
    };
    let value = match &reading {
        Reading::Value(e) => quantity.show_estimate(e),
        _ => format!("≥ {}, n = {}", quantity.show(y), arm.n()),
    };
    let title = format!("{}, {}: {value}, {}", cell.case.id, arm.name(), fate.name());
    let point = Point { x: place, y, bounds, caps, state, at_least, offered, title };
    Some(Item { kind: Kind::Point(Box::new(point)), x, cell })
}
