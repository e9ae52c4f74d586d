//! The common parts of charts with one row an arm: the name with its marker, the hatch of an invalid arm,
//! the reason of an absent one.

use pushmark_chart::canvas::{Canvas, Kind, Text};
use pushmark_chart::marks::{invalid_band, marker};
use pushmark_chart::scale::Scale;
use pushmark_chart::tokens::{AXIS, GRID, INK};
use pushmark_model::run::VerdictState;

use super::case::ArmView;

/// Draws marker and name; `y` is the middle of the row.
pub(crate) fn name(canvas: &mut Canvas, arm: &ArmView<'_>, x: f64, y: f64) {
    marker(canvas, arm.mark, arm.state, x + 6.0, y);
    let spans = vec![(arm.name().to_string(), arm.mark.paint), (arm.suffix().to_string(), INK)];
    canvas.text(Text::spans(Kind::Name, x + 17.0, y + 4.4, spans));
}

/// Returns the left margin that holds the names of `arms`.
pub(crate) fn margin(arms: &[ArmView<'_>]) -> f64 {
    let widest = |a: &ArmView<'_>| 17.0 + Kind::Name.width(a.name()) + Kind::Name.width(a.suffix());
    arms.iter().map(widest).fold(92.0, f64::max) + 10.0
}

/// Draws the reason in a row without numbers; returns `true` if it did.
pub(crate) fn instead(
    canvas: &mut Canvas,
    arm: &ArmView<'_>,
    x: f64,
    y: f64,
    w: f64,
    absent: Option<&str>,
) -> bool {
    if arm.state == VerdictState::Invalid {
        invalid_band(canvas, x, y - 12.0, w, 24.0, &arm.reason);
        return true;
    }
    if let Some(reason) = absent {
        let whole = format!("– {reason}");
        let words = pushmark_chart::width::first_fitting(&[&whole, "–"], 11.5, false, w);
        canvas.text(Text::note(x, y + 4.0, words));
        return true;
    }
    false
}

/// Draws grid lines, base line, tick labels and the axis name of a chart of rows.
pub(crate) fn axis_below(
    canvas: &mut Canvas,
    scale: &Scale,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
    tick: impl Fn(f64) -> String,
    name: &str,
) {
    let mut ticks = scale.ticks();
    let label = |value: f64| Text::tick(scale.at(value), bottom + 16.0, tick(value)).middle();
    let touch = |pair: &[f64]| label(pair[0]).bounds()[2] + 4.0 > label(pair[1]).bounds()[0];
    while ticks.len() > 2 && ticks.windows(2).any(touch) {
        ticks = ticks.into_iter().step_by(2).collect();
    }
    for value in ticks {
        let x = scale.at(value);
        canvas.line(x, top, x, bottom, GRID, "");
        canvas.text(label(value));
    }
    canvas.line(left, bottom, right, bottom, AXIS, "");
    canvas.text(Text::note(right, bottom + 32.0, name).end());
}

/// Draws grid lines, tick labels left of them, the base line, and the axis name on top.
pub(crate) fn axis_left(
    canvas: &mut Canvas,
    scale: &Scale,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
    tick: impl Fn(f64) -> String,
    name: &str,
) {
    for value in scale.ticks() {
        let y = scale.at(value);
        if (y - bottom).abs() > 0.5 {
            canvas.line(left, y, right, y, GRID, "");
        }
        canvas.text(Text::tick(left - 6.0, y + 4.2, tick(value)).end());
    }
    canvas.line(left, bottom, right, bottom, AXIS, "");
    canvas.text(Text::note(0.0, top - 14.0, name));
}
