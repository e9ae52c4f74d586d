//! Bytes on the wire per delivery as rows of dots, under the figure of age against cost.

use pushmark_chart::canvas::{Canvas, Text};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::{bar_across, marker};
use pushmark_chart::numbers::{PAGE, byte_unit};
use pushmark_chart::scale::{Scale, plain_tick};
use pushmark_chart::tokens::{AXIS, GRID};

use crate::case::{ArmView, Case};
use crate::rows;

/// Height of a row.
pub(super) const ROW: f64 = 20.0;

/// Draws the rows under `top`.
pub(super) fn rows_of(canvas: &mut Canvas, case: &Case<'_>, top: f64, width: f64) {
    let left = rows::margin(&case.arms);
    let values: Vec<(&ArmView<'_>, Option<Estimate>)> =
        case.arms.iter().map(|a| (a, a.wire_bytes())).collect();
    let labels = 86.0;
    let right = width - labels;
    canvas.text(Text::note(0.0, top + 12.0, "bytes on the wire per delivery, both directions (log)"));
    let shown = values.iter().filter(|(a, _)| a.believed()).filter_map(|(_, e)| *e);
    let x = Scale::log_over(shown.flat_map(|e| e.ends()), left, right);
    let bottom = top + 24.0 + ROW * values.len() as f64;
    if values.iter().any(|(a, e)| a.believed() && e.is_some()) {
        for value in x.binary_ticks() {
            let at = x.at(value);
            canvas.line(at, top + 22.0, at, bottom, GRID, "");
            let (scale, unit) = byte_unit(value);
            canvas.text(
                Text::tick(at, bottom + 16.0, format!("{}\u{a0}{unit}", plain_tick(value / scale))).middle(),
            );
        }
        canvas.line(left, bottom, right, bottom, AXIS, "");
    }
    for (i, (arm, value)) in values.iter().enumerate() {
        let y = top + 34.0 + ROW * i as f64;
        rows::name(canvas, arm, 0.0, y);
        let absent = value.is_none().then(|| arm.no_cost());
        if rows::instead(canvas, arm, left, y, width - left, absent) {
            continue;
        }
        let e = value.expect("not absent");
        canvas.open_titled(&format!(
            "{}: {} bytes a delivery; {}, n = {}",
            arm.name(),
            PAGE.estimate(&e),
            arm.state.name(),
            arm.n()
        ));
        canvas.line(left, y, x.at(e.value), y, arm.mark.paint, r#"stroke-width="1" opacity=".5""#);
        if let Some((low, high)) = e.bounds() {
            bar_across(
                canvas,
                x.at(low),
                x.at(high),
                y,
                matches!(e.spread, Spread::Interval(..)),
                arm.mark.paint,
            );
        }
        marker(canvas, arm.mark, arm.state, x.at(e.value), y);
        canvas.close();
        canvas.text(Text::tick(width, y + 4.2, PAGE.bytes(e.value)).end());
    }
}
