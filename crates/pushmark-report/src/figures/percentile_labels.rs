//! The words in the percentile figure: names at their curves, the end of a curve, the read lag, and values
//! that do not fit a log axis.

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Kind, Text};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::tokens::INK;
use pushmark_model::run::{Latency, VerdictState};

use crate::case::{ArmView, P, Percentile};
use crate::curve;
use crate::figure::Size;

use super::percentile_curves::{Curve, Plot, points};

/// Labels a curve that ends at missing deliveries.
pub(super) fn label_ends(
    canvas: &mut Canvas,
    plot: &Plot,
    curves: &[Curve<'_, '_>],
    obstacles: &mut Obstacles,
) {
    for curve in curves.iter().filter(|c| c.values.last().is_some_and(Option::is_none)) {
        let Some(&(x, y)) = points(plot, curve).last() else { continue };
        let at_least = P::ALL.iter().find_map(|p| match curve.arm.latency(*p) {
            Percentile::AtLeast { us, missing } => Some((us, missing)),
            _ => None,
        });
        let Some((us, missing)) = at_least else { continue };
        let words = format!("≥ {}: {} late or missing", PAGE.time(us), PAGE.count(missing));
        let text = |x: f64, y: f64| {
            Text::spans(Kind::Name, x, y, vec![(words.clone(), curve.arm.mark.paint)]).halo()
        };
        let width = Kind::Name.width(&words);
        let near =
            [(x + 8.0, y + 4.0), (x + 8.0, y - 8.0), (x - width - 8.0, y - 8.0), (x - width / 2.0, y - 10.0)];
        let within = [plot.left, plot.top - 12.0, canvas.width, plot.bottom];
        if let Some(text) = obstacles.place(near, within, text) {
            canvas.text(text);
        }
    }
}

/// Names above or below their curves; curves that run together share one line of names.
pub(super) fn label_curves(
    canvas: &mut Canvas,
    plot: &Plot,
    curves: &[Curve<'_, '_>],
    size: Size,
    obstacles: &mut Obstacles,
) {
    let all: Vec<Vec<(f64, f64)>> = curves.iter().map(|c| points(plot, c)).collect();
    let middle = (plot.left + plot.right) / 2.0;
    let y_at = |i: usize, x: f64| {
        let near = all[i].iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs()));
        near.map_or(f64::INFINITY, |p| p.1)
    };
    let mut order: Vec<usize> = (0..curves.len()).collect();
    order.sort_by(|a, b| y_at(*a, middle).total_cmp(&y_at(*b, middle)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in order {
        match groups.last_mut() {
            Some(group) if y_at(i, middle) - y_at(*group.last().expect("not empty"), middle) < 24.0 => {
                group.push(i)
            }
            _ => groups.push(vec![i]),
        }
    }
    for group in groups {
        let spans = label_of(curves, &group, size);
        let text = |x: f64, y: f64| Text::spans(Kind::Name, x, y, spans.clone()).middle().halo();
        let half = text(0.0, 0.0).width() / 2.0;
        let steps = 24;
        let mut places = Vec::new();
        for i in 0..steps {
            // From the middle outward, right first.
            let offset = (i + 1) / 2 * if i % 2 == 1 { 1 } else { -1 };
            let x = middle + f64::from(offset) * (plot.right - plot.left) / f64::from(steps);
            let over = |x: f64| group.iter().map(|g| y_at(*g, x)).fold(f64::INFINITY, f64::min);
            let under = |x: f64| group.iter().map(|g| y_at(*g, x)).fold(f64::NEG_INFINITY, f64::max);
            let span = [x - half, x, x + half];
            places.push((x, span.iter().map(|x| over(*x)).fold(f64::INFINITY, f64::min) - 9.0));
            places.push((x, span.iter().map(|x| under(*x)).fold(0.0, f64::max) + 17.0));
        }
        let within = [plot.left, plot.top - 14.0, plot.right, plot.bottom];
        if let Some(text) = obstacles.place(places, within, text) {
            canvas.text(text);
        }
    }
}

fn label_of(curves: &[Curve<'_, '_>], group: &[usize], size: Size) -> Vec<(String, &'static str)> {
    let mut spans = Vec::new();
    if group.len() > 1 && !size.is_narrow() {
        spans.push(("from above: ".to_string(), INK));
    }
    for (at, i) in group.iter().enumerate() {
        let arm = curves[*i].arm;
        if at > 0 {
            spans.push((", ".to_string(), INK));
        }
        spans.push((arm.name().to_string(), arm.mark.paint));
        spans.push((arm.suffix().to_string(), INK));
        if let Some(one_in) = arm.one_in().filter(|_| group.len() == 1 && !size.is_narrow()) {
            spans.push((format!(" (the 1 in {} it showed)", PAGE.fixed(one_in, 0)), arm.mark.paint));
        }
    }
    spans.retain(|s| !s.0.is_empty());
    spans
}

pub(super) fn label_own_lag(
    canvas: &mut Canvas,
    plot: &Plot,
    curves: &[Curve<'_, '_>],
    size: Size,
    obstacles: &mut Obstacles,
) {
    for curve in curves.iter().filter(|c| c.arm.state == VerdictState::Suspect) {
        let Some(share) = lag_share(curve.arm) else { continue };
        let whole =
            format!("read lag of {} ▲: {} of its latency at p99", curve.arm.name(), PAGE.percent(share));
        let words = if size.is_narrow() { format!("read lag of {}", curve.arm.name()) } else { whole };
        let text =
            |x: f64, y: f64| Text::note(x, y, words.clone()).paint(curve.arm.mark.paint).middle().halo();
        let places = (0..40).flat_map(|i| {
            let at = (i * 5 + 40) % curve.shares.len();
            let lag = curve.own_lag.get(at).copied().flatten().unwrap_or(0.0);
            let (x, y) = plot.at(curve.shares[at], lag.max(plot.y.low()));
            [(x, y + 18.0), (x, y + 26.0), (x, y - 9.0)]
        });
        if let Some(text) = obstacles.place(places, [plot.left, plot.top, plot.right, plot.bottom], text) {
            canvas.text(text);
        }
    }
}

/// Returns read lag p99 ÷ latency p99.
fn lag_share(arm: &ArmView<'_>) -> Option<f64> {
    let lag = |d: &'_ pushmark_model::run::Delivery| -> Option<f64> { d.read_lag.p99_us.map(|v| v as f64) };
    let lag = arm.estimate(|a| lag(a.delivery.as_ref()?), true)?.value;
    arm.latency(P::P99).us().filter(|us| *us > 0.0).map(|us| lag / us)
}

/// Counts the values that do not fit a log axis in the strip, so that none is cut silently.
pub(super) fn strip_counts(canvas: &mut Canvas, plot: &Plot, curves: &[Curve<'_, '_>]) {
    if plot.strip == 0.0 {
        return;
    }
    let words: Vec<String> = curves
        .iter()
        .filter_map(|c| {
            let count =
                |l: &Latency| curve::decode(l).map_or(0, |d| d.negative_count() + d.positive().count_at(0));
            let (below, negative) =
                (c.arm.total(|d| count(&d.latency))?, c.arm.total(|d| d.latency.negative).unwrap_or(0));
            let of_them =
                if negative > 0 { format!(", {} negative", PAGE.count(negative)) } else { String::new() };
            (below > 0).then(|| format!("{}: {} below 1 µs{of_them}", c.arm.name(), PAGE.count(below)))
        })
        .collect();
    let text = Text::note(plot.right - 6.0, plot.bottom + 13.0, words.join("; ")).end();
    if text.bounds()[0] > plot.left {
        canvas.text(text.halo());
    }
}
