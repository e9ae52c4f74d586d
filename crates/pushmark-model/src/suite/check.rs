//! Checks that the names in a suite's figures exist: axes, values, metrics, columns.

use super::matrix::{unknown_axis, unknown_value};
use super::{Axis, Figure, FigureKind};
use crate::metrics::{self, Metric};
use crate::run::WindowColumn;
use crate::scenario::{ScenarioError, nearest};

/// Returns every name in figures that does not exist, by place.
pub(super) fn figures(figures: &[Figure], axes: &[Axis]) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    for (i, figure) in figures.iter().enumerate() {
        let at = format!("figures[{i}]");
        if figures[..i].iter().any(|other| other.id == figure.id) {
            let error =
                ScenarioError::at(format!("{at}.id"), format!("two figures are called `{}`", figure.id));
            errors.push(error.found(format!("{:?} again", figure.id)).accepted("a name for each"));
        }
        let chosen = figure.only.iter().flat_map(|(axis, values)| values.iter().map(move |v| (axis, v)));
        errors.extend(chosen.filter_map(|(axis, value)| value_of(axes, axis, value, &format!("{at}.where"))));
        for (key, axis) in [("panel", &figure.panel), ("line", &figure.line)] {
            let axis = axis.iter().filter(|axis| !is_axis(axes, axis));
            errors.extend(axis.map(|axis| unknown_axis(format!("{at}.{key}"), axis, names(axes))));
        }
        drawn(figure, &at, axes, &mut errors);
        for (n, published) in figure.published.iter().enumerate() {
            let at = format!("{at}.published[{n}].where");
            errors.extend(published.only.iter().filter_map(|(axis, value)| value_of(axes, axis, value, &at)));
        }
    }
    errors
}

/// Checks the axes of a figure's coordinates, for the kinds that are defined in this crate.
fn drawn(figure: &Figure, at: &str, axes: &[Axis], errors: &mut Vec<ScenarioError>) {
    let (x, y) = (format!("{at}.x"), format!("{at}.y"));
    if figure.kind == FigureKind::Time {
        if WindowColumn::find(&figure.y).is_none() {
            errors.push(unknown_column(y, &figure.y));
        }
    } else if matches!(figure.kind, FigureKind::Against | FigureKind::Matrix) {
        if Metric::find(&figure.y).is_none() {
            errors.push(unknown_metric(y, &figure.y, &[]));
        }
        let known = is_axis(axes, &figure.x) || Metric::find(&figure.x).is_some();
        if figure.kind == FigureKind::Against && !known {
            errors.push(unknown_metric(x, &figure.x, axes));
        }
    }
}

fn value_of(axes: &[Axis], axis: &str, value: &str, at: &str) -> Option<ScenarioError> {
    let key = format!("{at}.{axis}");
    let Some(known) = axes.iter().find(|known| known.name == axis) else {
        return Some(unknown_axis(key, axis, names(axes)).on_key());
    };
    let known: Vec<&str> = known.values.iter().map(String::as_str).collect();
    (!known.contains(&value)).then(|| unknown_value(key, axis, value, &known))
}

fn is_axis(axes: &[Axis], name: &str) -> bool {
    axes.iter().any(|axis| axis.name == name)
}

fn names(axes: &[Axis]) -> impl Iterator<Item = &str> {
    axes.iter().map(|axis| axis.name.as_str())
}

fn unknown_column(at: String, found: &str) -> ScenarioError {
    let columns: Vec<&str> = WindowColumn::ALL.iter().map(|column| column.name).collect();
    ScenarioError::at(at, format!("windows.csv has no column `{found}`"))
        .found(format!("{found:?}"))
        .accepted(columns.join(", "))
        .nearest(nearest(found, columns.iter().copied()))
}

/// Makes the error of an unknown metric, or of an unknown axis or metric if axes are given.
fn unknown_metric(at: String, found: &str, axes: &[Axis]) -> ScenarioError {
    let metrics = metrics::all();
    let known = metrics.iter().map(|metric| metric.name.as_str()).chain(names(axes));
    let (what, accepted) = match axes {
        [] => ("metric", "a metric of METRICS.md, such as delivery.p99".to_owned()),
        _ => {
            let axes = names(axes).collect::<Vec<_>>().join(", ");
            ("axis and no metric", format!("an axis ({axes}), or a metric of METRICS.md"))
        }
    };
    ScenarioError::at(at, format!("there is no {what} `{found}`"))
        .found(format!("{found:?}"))
        .accepted(accepted)
        .nearest(nearest(found, known))
}
