//! The drawing: accepted latency across, crowd upwards, both logarithmic; a line a transport with
//! the bracket at each point, the largest crowd tried, and rings where lines cross.

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, c, polyline};
use pushmark_chart::marks::{bar_up, marker};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::{Scale, plain_tick, time_tick};
use pushmark_chart::tokens::{AXIS, GRID, INK, INK2};
use pushmark_model::run::VerdictState;

use super::super::super::figure::Size;
use super::serve::{Curve, End};
use super::{LIMITS_US, Panel};

const LEFT: f64 = 62.0;
const TOP: f64 = 40.0;
const FOOT: f64 = 52.0;
const NAME_HEIGHT: f64 = 17.0;

/// Draws one of the two sizes.
pub(super) fn draw(id: &str, panels: &[Panel], size: Size) -> Drawing {
    let suffix = if size.is_narrow() { "n" } else { "w" };
    let (right, tall) = if size.is_narrow() { (14.0, 230.0) } else { (150.0, 260.0) };
    let height_of = |panel: &Panel| {
        // On a narrow page the names are in a separate line below.
        let names = if size.is_narrow() { NAME_HEIGHT * panel.curves.len() as f64 } else { 0.0 };
        TOP + tall + FOOT + names
    };
    let height: f64 = panels.iter().map(height_of).sum();
    let mut canvas = Canvas::new(&format!("{id}-{suffix}"), size.width(), height);
    let mut top = 0.0;
    for panel in panels {
        let area = Area { left: LEFT, top: top + TOP, right: size.width() - right, bottom: top + TOP + tall };
        one(&mut canvas, panel, &area, size);
        top += height_of(panel);
    }
    canvas.finish()
}

struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

fn one(canvas: &mut Canvas, panel: &Panel, area: &Area, size: Size) {
    let all = panel.curves.iter().flat_map(|curve| &curve.at);
    let crowds: Vec<f64> = all.flat_map(|s| [s.kept, s.broke]).flatten().map(|n| n as f64).collect();
    let x = Scale::log_over(LIMITS_US.map(|us| us as f64), area.left, area.right);
    let y = Scale::log_over(crowds, area.bottom, area.top);
    axes(canvas, panel, area, (&x, &y));
    let mut obstacles = Obstacles::default();
    limit(canvas, panel, area, &y, &mut obstacles);
    let mut ends = Vec::new();
    for curve in &panel.curves {
        let points: Vec<Option<(f64, f64)>> = (LIMITS_US.iter().zip(&curve.at))
            .map(|(us, served)| Some((x.at(*us as f64), y.at(served.kept? as f64))))
            .collect();
        line(canvas, curve, &points, &y);
        for run in points.split(Option::is_none) {
            obstacles.curve(&run.iter().flatten().copied().collect::<Vec<_>>());
        }
        ends.push((points.iter().rev().flatten().next().map_or(area.bottom, |p| p.1), curve));
    }
    rings(canvas, panel, area, (&x, &y), &mut obstacles);
    nobody(canvas, panel, area, &x, &mut obstacles);
    names(canvas, ends, area, size);
}

fn axes(canvas: &mut Canvas, panel: &Panel, area: &Area, (x, y): (&Scale, &Scale)) {
    canvas.text(Text::tick(0.0, area.top - 26.0, panel.title.clone()));
    canvas.text(Text::note(0.0, area.top - 10.0, "↑ crowd served (log)"));
    for tick in y.ticks() {
        canvas.line(area.left, y.at(tick), area.right, y.at(tick), GRID, "");
        canvas.text(Text::tick(area.left - 7.0, y.at(tick) + 4.0, plain_tick(tick)).end());
    }
    canvas.line(area.left, area.bottom, area.right, area.bottom, AXIS, "");
    for tick in [1e5, 3e5, 1e6, 3e6, 1e7, 3e7] {
        canvas.line(x.at(tick), area.bottom, x.at(tick), area.bottom + 4.0, AXIS, "");
        canvas.text(Text::tick(x.at(tick), area.bottom + 18.0, time_tick(tick)).middle());
    }
    canvas.text(Text::note(area.right, area.bottom + 36.0, "latency one accepts (log) →").end());
}

/// Names the largest crowd that any transport served, if nothing larger is known.
fn limit(canvas: &mut Canvas, panel: &Panel, area: &Area, y: &Scale, obstacles: &mut Obstacles) {
    let at_limit = panel.curves.iter().flat_map(|curve| &curve.at).filter(|s| s.end != End::Broke);
    let Some(top) = at_limit.clone().filter_map(|s| s.kept).max() else { return };
    let stopped = at_limit.filter(|s| s.kept == Some(top)).find_map(|s| match s.end {
        End::Unknown(fate) => Some(fate),
        _ => None,
    });
    let words = match stopped {
        Some(fate) => format!("this machine: {} (the next crowd: {})", PAGE.count(top), fate.name()),
        None => format!("{}, the largest crowd tried", PAGE.count(top)),
    };
    let at = y.at(top as f64);
    canvas.line(area.left, at, area.right, at, INK2, r#"stroke-dasharray="6 4""#);
    let text = Text::note(area.left + 6.0, at - 6.0, words).halo();
    obstacles.area(text.bounds());
    canvas.text(text);
}

fn line(canvas: &mut Canvas, curve: &Curve, points: &[Option<(f64, f64)>], y: &Scale) {
    let dash = match curve.mark.dash {
        "" => String::new(),
        dash => format!(r#" stroke-dasharray="{dash}""#),
    };
    for run in points.split(Option::is_none).filter(|run| run.len() > 1) {
        let run: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        canvas.path(&polyline(&run), "none", curve.mark.paint, &format!(r#"stroke-width="2"{dash}"#));
    }
    for ((point, served), us) in points.iter().zip(&curve.at).zip(LIMITS_US) {
        let (Some((x, at)), Some(kept)) = (point, served.kept) else { continue };
        let with = if served.with.is_empty() { String::new() } else { format!(" ({})", served.with) };
        canvas.open_titled(&format!(
            "{}{with}: {} within {}, {}",
            curve.mark.name,
            PAGE.count(kept),
            PAGE.time(us as f64),
            served.end.words()
        ));
        if let Some(broke) = served.broke {
            bar_up(canvas, *x, y.at(broke as f64), *at, true, curve.mark.paint);
        }
        let state = if served.state == VerdictState::Suspect { served.state } else { VerdictState::Valid };
        marker(canvas, curve.mark, state, *x, *at);
        canvas.close();
    }
}

/// Draws a ring at each crossing with the overtaking transport; words only if they cover nothing.
fn rings(
    canvas: &mut Canvas,
    panel: &Panel,
    area: &Area,
    (x, y): (&Scale, &Scale),
    obstacles: &mut Obstacles,
) {
    let within = [area.left, area.top - 8.0, area.right, area.bottom - 4.0];
    for crossing in &panel.crossings {
        let (from, to) = crossing.between_us;
        let (cx, cy) = (x.at((from as f64 * to as f64).sqrt()), y.at(crossing.crowd as f64));
        let ring = format!("M{} {}a9 9 0 1 0 18 0a9 9 0 1 0-18 0", c(cx - 9.0), c(cy));
        canvas.path(&ring, "none", INK, r#"stroke-width="1.2""#);
        obstacles.area([cx - 9.0, cy - 9.0, cx + 9.0, cy + 9.0]);
        let words = crossing.words();
        let width = Kind::Tick.width(&words);
        let beside = [24.0, 40.0, 56.0, -18.0, -34.0].map(|dy| (cx + 8.0, cy + dy));
        let before = beside.map(|(_, at)| (cx - width - 8.0, at));
        let places: Vec<(f64, f64)> = beside.into_iter().chain(before).collect();
        // The sentence above lists them too.
        if let Some(text) =
            obstacles.place_free(&places, within, |px, py| Text::tick(px, py, words.clone()).halo())
        {
            canvas.text(text);
        }
    }
}

/// Names transports that serve no client within the shortest latencies.
fn nobody(canvas: &mut Canvas, panel: &Panel, area: &Area, x: &Scale, obstacles: &mut Obstacles) {
    let within = [area.left, area.top, area.right, area.bottom];
    for curve in &panel.curves {
        let none = curve.at.iter().take_while(|s| s.kept.is_none()).count();
        let Some(last) = none.checked_sub(1) else { continue };
        let words =
            format!("{}: no crowd at all within {}", curve.mark.name, PAGE.time(LIMITS_US[last] as f64));
        let first = LIMITS_US.get(none).map_or(area.left, |us| x.at(*us as f64));
        let width = Kind::Note.width(&words);
        let rows = (0..8).map(|row| area.bottom - 6.0 - 15.0 * f64::from(row));
        let places: Vec<(f64, f64)> = rows
            .flat_map(|at| [(area.left + 6.0, at), (first - width - 12.0, at), (first + 10.0, at)])
            .collect();
        if let Some(text) =
            obstacles.place_free(&places, within, |px, py| Text::note(px, py, words.clone()).halo())
        {
            canvas.text(text);
        }
    }
}

/// Names at the ends of their lines, kept apart; on a narrow page below.
fn names(canvas: &mut Canvas, mut ends: Vec<(f64, &Curve)>, area: &Area, size: Size) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut next = area.top;
    for (i, (y, curve)) in ends.iter().enumerate() {
        let (x, y) = if size.is_narrow() {
            (area.left + 8.0, area.bottom + FOOT + NAME_HEIGHT * i as f64)
        } else {
            let here = y.max(next);
            next = here + NAME_HEIGHT;
            (area.right + 18.0, here)
        };
        marker(canvas, curve.mark, VerdictState::Valid, x, y);
        let name = vec![(curve.mark.name.to_owned(), curve.mark.paint)];
        canvas.text(Text::spans(Kind::Name, x + 11.0, y + 4.2, name));
    }
}
