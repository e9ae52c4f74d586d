//! Latency by percentile, logarithmic in 1 − p. A missing delivery counts as infinitely late,
//! so a curve ends where missing deliveries begin; the ground is the generator's read lag.

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, polyline};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::marker;
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::pattern::Pattern;
use pushmark_chart::scale::{Scale, time_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{AXIS, SURFACE};
use pushmark_chart::words;
use pushmark_model::run::VerdictState;

use crate::case::{ArmView, Case, P, Percentile, TAIL};
use crate::curve::{self, place};
use crate::figure::{FULL, Figure, Size, both};
use crate::rows;

use super::percentile_curves::{Curve, Plot, curves, last_believed, points, supported};
use super::percentile_labels as labels;

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if case.observes() {
        return None;
    }
    let given = case;
    let case = &in_part(given);
    let curves = curves(case);
    let (wide, narrow) = both(FULL, |size| draw(case, &curves, size));
    let band = match case.n() {
        1 => "one start, n = 1: no band".to_string(),
        n @ 2..=4 => format!("line: median of {n} starts; pale band: their range"),
        n => format!("line: median of {n} starts; band: 95 % interval"),
    };
    Some(Figure {
        id: "percentiles",
        title: "Latency by percentile".into(),
        sentence: sentence(case),
        caption: format!(
            "{band}{}; over expected deliveries: a missing one counts as infinitely late{}{}{}",
            of_two_clocks(&curves),
            without_curve(case, &curves),
            cut_off(case),
            case.left_out()
        ),
        wide,
        narrow,
        table: table(given),
    })
}

/// Returns a clause on the band of latencies that were read on two clocks.
fn of_two_clocks(curves: &[Curve<'_, '_>]) -> String {
    let apart_us = curves.iter().filter_map(|curve| curve.clocks_us).reduce(f64::max);
    apart_us.map_or(String::new(), |us| {
        format!("; around it, ± {}: between machines due and received are of two clocks", PAGE.time(us))
    })
}

/// Returns the case with arms drawn as doubted if only their tail is invalid.
fn in_part<'a>(case: &Case<'a>) -> Case<'a> {
    let mut case = case.clone();
    for arm in &mut case.arms {
        if arm.state == VerdictState::Invalid && last_believed(arm).is_some() {
            arm.state = VerdictState::Suspect;
        }
    }
    case
}

/// Returns a clause on arms whose curve ends before an invalid percentile.
fn cut_off(case: &Case<'_>) -> String {
    let ends = |arm: &ArmView<'_>| {
        let last = last_believed(arm).filter(|last| last.share() < supported(arm.publications()).share())?;
        Some(format!("; {}: invalid beyond {}, not drawn there", arm.name(), last.name()))
    };
    case.believed().filter(|arm| !arm.unstable()).filter_map(ends).collect()
}

fn draw(case: &Case<'_>, curves: &[Curve<'_, '_>], size: Size) -> Drawing {
    let (width, height) = (size.width(), if size.is_narrow() { 340.0 } else { 400.0 });
    let last =
        curves.iter().map(|c| supported(c.arm.publications())).max_by_key(|p| *p as u8).unwrap_or(P::P999);
    let below = curves.iter().any(|c| c.values.iter().flatten().any(|e| e.value < 1.0));
    let strip = if below { 18.0 } else { 0.0 };
    let (left, right) = (58.0, width - if size.is_narrow() { 40.0 } else { 70.0 });
    let (top, bottom) = (34.0, height - 46.0 - strip);
    let values = curves.iter().flat_map(|c| c.values.iter().flatten().map(|e| e.value));
    // The ground takes a fifth of the picture, so that its edge can be compared.
    let lags =
        curves.iter().filter_map(|c| c.own_lag.last().copied().flatten()).flat_map(|lag| [lag, lag / 4.0]);
    let y = Scale::log_over(values.chain(lags).filter(|v| *v >= 1.0), bottom, top);
    let x = Scale::linear(place(curve::FIRST), place(last.share()), left, right);
    let plot = Plot { x, y, left, right, top, bottom, strip };
    let mut canvas = Canvas::new(&size.id(case, "percentiles"), width, height);
    if curves.is_empty() {
        canvas.text(Text::note(
            left + 10.0,
            (top + bottom) / 2.0,
            "– no arm has a latency that can be drawn",
        ));
        return canvas.finish();
    }
    axes(&mut canvas, &plot, last);
    beyond(&mut canvas, case, &plot, last, size);
    let mut obstacles = Obstacles::default();
    ground(&mut canvas, &plot, curves, size, &mut obstacles);
    for curve in curves {
        clock_band(&mut canvas, &plot, curve);
        band(&mut canvas, &plot, curve);
    }
    for curve in curves {
        line(&mut canvas, &plot, curve, &mut obstacles);
    }
    labels::label_ends(&mut canvas, &plot, curves, &mut obstacles);
    labels::label_curves(&mut canvas, &plot, curves, size, &mut obstacles);
    labels::label_own_lag(&mut canvas, &plot, curves, size, &mut obstacles);
    labels::strip_counts(&mut canvas, &plot, curves);
    canvas.finish()
}

fn axes(canvas: &mut Canvas, plot: &Plot, last: P) {
    let name = "↑ received − due (log)";
    rows::axis_left(canvas, &plot.y, (plot.left, plot.right), (plot.top, plot.bottom), time_tick, name);
    if plot.strip > 0.0 {
        canvas.rect(plot.left, plot.bottom, plot.right - plot.left, plot.strip, SURFACE, "");
        canvas.text(Text::note(plot.left - 6.0, plot.bottom + 13.0, "< 1 µs").end());
    }
    let foot = plot.bottom + plot.strip;
    let ticks = [("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
    let mut free = f64::INFINITY;
    // From the right: where two names meet, the higher percentile keeps its name.
    for (label, share) in ticks.into_iter().rev().filter(|t| t.1 <= last.share() + 1e-9) {
        let at = plot.x.at(place(share));
        canvas.line(at, foot, at, foot + 4.0, AXIS, "");
        let text = Text::tick(at, foot + 17.0, label).middle();
        if text.bounds()[2] + 4.0 < free {
            free = text.bounds()[0];
            canvas.text(text);
        }
    }
    canvas
        .text(Text::note(plot.right, foot + 34.0, "percentile of expected deliveries, log in 1 − p →").end());
}

/// Dots the ground where too few publications support a percentile, and says why.
fn beyond(canvas: &mut Canvas, case: &Case<'_>, plot: &Plot, last: P, size: Size) {
    let dots = canvas.pattern(Pattern::Unsupported);
    let wide = if size.is_narrow() { 26.0 } else { 44.0 };
    canvas.rect(plot.right + 4.0, plot.top - 8.0, wide, plot.bottom - plot.top + 8.0, &dots, "");
    let fewest =
        case.believed().filter(|a| a.total(|_| 0).is_some()).map(ArmView::publications).max().unwrap_or(0);
    let whole = format!("not given beyond {}: {} publications a start", last.name(), PAGE.count(fewest));
    let short = format!("not given: {} publications a start", PAGE.count(fewest));
    let room = plot.bottom - plot.top - 20.0;
    let words =
        pushmark_chart::width::first_fitting(&[&whole, &short, "too few publications"], 11.5, false, room);
    let middle = (plot.top + plot.bottom) / 2.0;
    canvas.text(Text::note(plot.right + 8.0 + wide / 2.0, middle, words).middle().upward().halo());
}

/// Draws the greatest read lag of the valid arms. Below this edge the generator would measure itself.
fn ground(canvas: &mut Canvas, plot: &Plot, curves: &[Curve<'_, '_>], size: Size, obstacles: &mut Obstacles) {
    let valid: Vec<&Curve<'_, '_>> = curves.iter().filter(|c| c.arm.state == VerdictState::Valid).collect();
    let Some(longest) = valid.iter().max_by_key(|c| supported(c.arm.publications()) as u8) else { return };
    let edge: Vec<(f64, f64)> = longest
        .shares
        .iter()
        .enumerate()
        .filter_map(|(i, share)| {
            let lag = valid.iter().filter_map(|c| c.own_lag.get(i).copied().flatten()).fold(0.0, f64::max);
            (lag >= plot.y.low()).then(|| plot.at(*share, lag))
        })
        .collect();
    let ([first, ..], [.., last]) = (edge.as_slice(), edge.as_slice()) else { return };
    let mut area = vec![(first.0, plot.bottom)];
    area.extend(&edge);
    area.push((last.0, plot.bottom));
    let hatch = canvas.pattern(Pattern::ReadLag);
    canvas.path(&(polyline(&area) + "Z"), &hatch, AXIS, r#"stroke-width="1""#);
    let whole = "generator's read lag: below this edge pushmark measures itself";
    let words = if size.is_narrow() { "own read lag" } else { whole };
    let half = Kind::Note.width(words) / 2.0;
    let places = (0..30).map(|i| (last.0 - half - 12.0 - 12.0 * f64::from(i), plot.bottom - 7.0));
    let text = |x, y| Text::note(x, y, words).middle().halo();
    if let Some(text) = obstacles.place(places, [plot.left, plot.top, plot.right, plot.bottom], text) {
        canvas.text(text);
    }
}

fn band(canvas: &mut Canvas, plot: &Plot, curve: &Curve<'_, '_>) {
    let mut low = Vec::new();
    let mut high = Vec::new();
    let mut opacity = "opacity=\".16\"";
    // Every third point is enough for a pale edge.
    for (share, estimate) in curve.shares.iter().zip(&curve.values).step_by(3) {
        let Some((estimate, (from, to))) = estimate.and_then(|e| Some((e, e.bounds()?))) else { continue };
        if matches!(estimate.spread, Spread::Range(..)) {
            opacity = "opacity=\".12\"";
        }
        low.push(plot.at(*share, from));
        high.push(plot.at(*share, to));
    }
    if low.len() > 1 {
        low.reverse();
        high.extend(low);
        canvas.path(&(polyline(&high) + "Z"), curve.arm.mark.paint, "none", opacity);
    }
}

/// Draws where the latencies of two clocks may lie.
fn clock_band(canvas: &mut Canvas, plot: &Plot, curve: &Curve<'_, '_>) {
    let Some(apart_us) = curve.clocks_us else { return };
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (share, estimate) in curve.shares.iter().zip(&curve.values).step_by(3) {
        let Some(estimate) = estimate else { continue };
        low.push(plot.at(*share, (estimate.value - apart_us).max(plot.y.low())));
        high.push(plot.at(*share, estimate.value + apart_us));
    }
    if low.len() > 1 {
        low.reverse();
        high.extend(low);
        canvas.path(&(polyline(&high) + "Z"), curve.arm.mark.paint, "none", "opacity=\".1\"");
    }
}

fn line(canvas: &mut Canvas, plot: &Plot, curve: &Curve<'_, '_>, obstacles: &mut Obstacles) {
    let points = points(plot, curve);
    obstacles.curve(&points);
    let arm = curve.arm;
    let dash = match arm.mark.dash {
        "" => String::new(),
        dash => format!(r#" stroke-dasharray="{dash}" stroke-linecap="{}""#, cap(dash)),
    };
    let style = format!(r#"stroke-width="2" stroke-linejoin="round"{dash}"#);
    canvas.path(&polyline(&points), "none", arm.mark.paint, &style);
    if arm.state == VerdictState::Suspect {
        let own: Vec<(f64, f64)> = curve
            .shares
            .iter()
            .zip(&curve.own_lag)
            .filter_map(|(s, lag)| lag.filter(|l| *l >= plot.y.low()).map(|l| plot.at(*s, l)))
            .collect();
        obstacles.curve(&own);
        canvas.path(&polyline(&own), "none", arm.mark.paint, r#"stroke-width="1""#);
    }
    for p in P::ALL {
        let state = arm.state_of(p.metric());
        if let (Percentile::Value(e), true) = (arm.latency(p), Some(p) <= last_believed(arm)) {
            let (x, y) = plot.at(p.share(), e.value);
            let spread = PAGE.estimate(&e.scaled(1e-3));
            canvas.open_titled(&format!(
                "{} {}: {spread} ms; {}, n = {}",
                arm.name(),
                p.name(),
                state.name(),
                arm.n()
            ));
            marker(canvas, arm.mark, state, x, y);
            canvas.close();
        }
    }
}

fn cap(dash: &str) -> &'static str {
    if dash == "1.5 4" { "round" } else { "butt" }
}

/// Describes arms that have no curve although they are not invalid.
fn without_curve(case: &Case<'_>, curves: &[Curve<'_, '_>]) -> String {
    let drawn = |a: &ArmView<'_>| curves.iter().any(|c| c.arm.transport == a.transport);
    let mut out = String::new();
    for arm in case.believed().filter(|a| !drawn(a)) {
        let why = if arm.unstable() {
            let slope = arm.deliveries().filter_map(|d| d.backlog_per_s).fold(0.0, f64::max);
            let goodput =
                super::flow::goodput(arm).map_or(String::new(), |g| format!(", goodput {}/s", PAGE.three(g)));
            format!("unstable, backlog +{}/s{goodput}", PAGE.three(slope))
        } else {
            match arm.latency(P::P50) {
                Percentile::AtLeast { us, missing } => {
                    format!("≥ {} ({} missing)", PAGE.time(us), PAGE.count(missing))
                }
                Percentile::Absent(reason) => format!("– {reason}"),
                Percentile::Value(_) => "– no histogram kept".into(),
            }
        };
        out.push_str(&format!("; {}: {why}", arm.name()));
    }
    out
}

fn sentence(case: &Case<'_>) -> String {
    let p = if case.believed().any(|a| a.latency(P::P99).us().is_some()) { P::P99 } else { P::P50 };
    let state = |arm: &ArmView<'_>| arm.state_of(p.metric());
    let at = |arm: &ArmView<'_>| arm.latency(p).us().filter(|_| state(arm) != VerdictState::Invalid);
    let pushes: Vec<&ArmView<'_>> = case
        .believed()
        .filter(|a| a.transport.is_push() && state(a) == VerdictState::Valid && at(a).is_some())
        .collect();
    let greatest = |arms: &[&ArmView<'_>]| arms.iter().filter_map(|a| at(a)).fold(0.0, f64::max);
    let mut parts = Vec::new();
    if !pushes.is_empty() {
        let names: Vec<&str> = pushes.iter().map(|a| a.name()).collect();
        let stay = if names.len() == 1 { "stays" } else { "stay" };
        parts.push(format!(
            "Up to {} {} {stay} within {}",
            p.name(),
            words::list(&names),
            PAGE.time(greatest(&pushes))
        ));
    }
    let others: Vec<&ArmView<'_>> = case
        .believed()
        .filter(|a| at(a).is_some() && !pushes.iter().any(|p| p.transport == a.transport))
        .collect();
    if let Some(slowest) = others.iter().max_by(|a, b| at(a).unwrap_or(0.0).total_cmp(&at(b).unwrap_or(0.0)))
    {
        let doubt = if state(slowest) == VerdictState::Valid { "" } else { ", in doubt," };
        let value = PAGE.time(at(slowest).unwrap_or(0.0));
        parts.push(match parts.is_empty() {
            true => format!("At {} {}{doubt} is {value} late", p.name(), slowest.name()),
            false => format!("{}{doubt} takes {value}", slowest.name()),
        });
    }
    if parts.is_empty() {
        return "There is no percentile: deliveries are missing, or there are too few publications.".into();
    }
    parts.join("; ") + "."
}

fn table(case: &Case<'_>) -> Table {
    let medians: Vec<f64> = case.believed().filter_map(|a| a.latency(P::P50).us()).collect();
    let unit = TimeUnit::of_median(&medians);
    let mut columns: Vec<(String, String)> = vec![("arm".into(), "arm".into())];
    for p in P::ALL {
        let key = p.name().replace('.', "");
        columns.push((format!("{}, {}", p.name(), unit.name(&PAGE)), format!("{key}_us")));
        columns.push(("low".into(), format!("{key}_low_us")));
        columns.push(("high".into(), format!("{key}_high_us")));
        columns.push(("at least".into(), format!("{key}_at_least_us")));
    }
    columns.push((format!("read lag p99, {}", unit.name(&PAGE)), "read_lag_p99_us".into()));
    let names: Vec<(&str, &str)> = columns.iter().map(|c| (c.0.as_str(), c.1.as_str())).chain(TAIL).collect();
    let mut table = Table::new(&names);
    for arm in &case.arms {
        let mut row = vec![Cell::text(arm.name())];
        for p in P::ALL {
            let believed = arm.state_of(p.metric()) != VerdictState::Invalid;
            let shown = if believed { arm.latency(p) } else { Percentile::Absent("invalid".into()) };
            let bounds = shown.estimate().and_then(Estimate::bounds);
            let at_least = if let Percentile::AtLeast { us, .. } = shown { Some(us) } else { None };
            row.push(match &shown {
                Percentile::Absent(reason) => Cell::absent_for(reason),
                other => Cell::time(other.us(), unit),
            });
            row.push(Cell::time(bounds.map(|b| b.0), unit));
            row.push(Cell::time(bounds.map(|b| b.1), unit));
            row.push(Cell::time(at_least, unit));
        }
        row.push(Cell::time(arm.read_lag(P::P99), unit));
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
