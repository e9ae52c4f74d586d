//! Elements of a plot: bands without a result, published values, lines, bars, markers,
//! and the few words beside them.

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Kind, Text, c, polyline};
use pushmark_chart::marks::{bar_up, marker};
use pushmark_chart::pattern::Pattern;
use pushmark_chart::tokens::{AXIS, BG, INK, INK2, INVALID, Mark};
use pushmark_chart::width::first_fitting;

use super::super::cells::Fate;
use super::frame::Area;
use super::{Band, Chart, Line, Once, Open, Panel, Point, labels};
use pushmark_model::run::VerdictState;

/// Draws a panel into its area.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, panel: &Panel, area: &Area, once: &mut Once) {
    let mut obstacles = Obstacles::default();
    bands(canvas, panel, area, &mut obstacles);
    for line in &panel.published {
        published(canvas, line, area, &mut obstacles);
    }
    for line in &panel.lines {
        let mark = chart.series[line.series].mark;
        for segment in &line.segments {
            path(canvas, segment, mark, line, area, &mut obstacles);
        }
    }
    for line in panel.lines.iter().filter(|l| l.markers) {
        let mark = chart.series[line.series].mark;
        for point in line.segments.iter().flatten() {
            cell(canvas, point, mark, area, &mut obstacles);
        }
    }
    labels::names(canvas, chart, panel, area, &mut obstacles);
    words(canvas, panel, area, once, &mut obstacles);
}

fn bands(canvas: &mut Canvas, panel: &Panel, area: &Area, obstacles: &mut Obstacles) {
    let mut places: Vec<f64> = panel.bands.iter().filter(|b| !b.small).map(|b| area.x.at(b.x)).collect();
    places.sort_by(f64::total_cmp);
    let nearest = places.windows(2).map(|w| w[1] - w[0]).fold(26.0, f64::min);
    let width = nearest.clamp(6.0, 26.0);
    let mut stacked: Vec<(f64, usize)> = Vec::new();
    for band in &panel.bands {
        let x = area.x.at(band.x);
        canvas.open_titled(&band.title);
        if band.small {
            let level = stacked.iter().filter(|s| (s.0 - x).abs() < 1.0).count();
            stacked.push((x, level));
            let y = area.top - 8.0 + 14.0 * level as f64;
            let bounds = [x - 6.0, y, x + 6.0, y + 12.0];
            outline(canvas, band.fate, bounds, area.bottom);
            if band.fate == Fate::Died {
                canvas.text(Text::note(x, y + 10.0, band.fate.glyph()).middle().paint(INK));
            }
            obstacles.area(bounds);
        } else {
            let bounds = [x - width / 2.0, area.top - 8.0, x + width / 2.0, area.bottom];
            outline(canvas, band.fate, bounds, area.bottom);
            obstacles.area(bounds);
            if width >= 16.0 {
                upward(canvas, band, x, area);
            }
        }
        canvas.close();
    }
}

/// Outlines a band. Hatch and red dashes: invalid. Ink: the server died. Dots: not run.
fn outline(canvas: &mut Canvas, fate: Fate, [l, t, r, b]: [f64; 4], floor: f64) {
    let (fill, style) = match fate {
        Fate::Invalid | Fate::Failed => {
            (canvas.pattern(Pattern::Invalid), format!(r#"stroke="{INVALID}" stroke-dasharray="3 2""#))
        }
        Fate::Died => (BG.to_string(), format!(r#"stroke="{INK}" stroke-width="2""#)),
        Fate::Refused | Fate::NotRun => {
            (BG.to_string(), format!(r#"stroke="{AXIS}" stroke-dasharray="1.5 2.5""#))
        }
        _ => (canvas.pattern(Pattern::Unsupported), String::new()),
    };
    canvas.rect(l, t, r - l, b.min(floor) - t, &fill, &style);
}

fn upward(canvas: &mut Canvas, band: &Band, x: f64, area: &Area) {
    let paint = match band.fate {
        Fate::Invalid | Fate::Failed => INVALID,
        Fate::Died => INK,
        _ => INK2,
    };
    let choices: Vec<&str> = band.words.iter().map(String::as_str).collect();
    let words = first_fitting(&choices, Kind::Note.size(), false, area.bottom - area.top - 12.0);
    let width = Kind::Note.width(words) + 8.0;
    canvas.rect(x - 8.0, area.bottom - 4.0 - width, 16.0, width, BG, "");
    canvas.text(Text::note(x + 4.0, area.bottom - 8.0, words).upward().paint(paint));
}

fn published(canvas: &mut Canvas, line: &[Open], area: &Area, obstacles: &mut Obstacles) {
    let places: Vec<(f64, f64)> = line.iter().map(|o| (area.x.at(o.x), area.at_y(o.y))).collect();
    if places.len() > 1 {
        canvas.path(&polyline(&places), "none", INK2, r#"stroke-width="1" stroke-dasharray="2 3""#);
    }
    obstacles.curve(&places);
    for (open, (x, y)) in line.iter().zip(&places) {
        canvas.open_titled(&open.title);
        let ring = "M-4.5 0A4.5 4.5 0 1 1 4.5 0A4.5 4.5 0 1 1-4.5 0Z";
        let place = format!(r#"stroke-width="1.4" transform="translate({} {})""#, c(*x), c(*y));
        canvas.path(ring, BG, INK2, &place);
        canvas.close();
        obstacles.area([x - 5.0, y - 5.0, x + 5.0, y + 5.0]);
    }
}

fn path(
    canvas: &mut Canvas,
    segment: &[Point],
    mark: Mark,
    line: &Line,
    area: &Area,
    obstacles: &mut Obstacles,
) {
    let places: Vec<(f64, f64)> = segment.iter().map(|p| (area.x.at(p.x), area.at_y(p.y))).collect();
    if places.len() > 1 {
        let width = if line.markers { 2.0 } else { 1.4 };
        let caps = if mark.dash.starts_with("1.5") { r#" stroke-linecap="round""# } else { "" };
        let dash = if mark.dash.is_empty() {
            String::new()
        } else {
            format!(r#" stroke-dasharray="{}""#, mark.dash)
        };
        canvas.path(
            &polyline(&places),
            "none",
            mark.paint,
            &format!(r#"stroke-width="{width}" stroke-linejoin="round"{dash}{caps}"#),
        );
    }
    obstacles.curve(&places);
}

/// Draws the interval, the way from offered to delivered, and the marker.
fn cell(canvas: &mut Canvas, point: &Point, mark: Mark, area: &Area, obstacles: &mut Obstacles) {
    let (x, y) = (area.x.at(point.x), area.at_y(point.y));
    canvas.open_titled(&point.title);
    if let Some((low, high)) = point.bounds {
        bar_up(canvas, x, area.at_y(low), area.at_y(high), point.caps, mark.paint);
    }
    if let Some(offered) = point.offered.map(|o| area.x.at(o)).filter(|o| (o - x).abs() > 1.0) {
        canvas.path(
            &format!("M{} {}H{}M{} {}V{}", c(x), c(y), c(offered), c(offered), c(y - 4.0), c(y + 4.0)),
            "none",
            AXIS,
            r#"stroke-width="1""#,
        );
        obstacles.curve(&[(x, y), (offered, y)]);
    }
    if point.at_least {
        let up = format!(
            "M{0} {1}V{2}M{3} {4}L{0} {2}L{5} {4}",
            c(x),
            c(y),
            c(y - 12.0),
            c(x - 3.5),
            c(y - 8.0),
            c(x + 3.5)
        );
        canvas.path(&up, "none", mark.paint, r#"stroke-width="1.6""#);
    } else {
        marker(canvas, mark, point.state, x, y);
    }
    canvas.close();
    obstacles.area([x - 6.0, y - 6.0, x + 6.0, y + 6.0]);
}

/// Writes `published`, `▲ suspect`, `offered`: each once a figure, where there is room.
fn words(canvas: &mut Canvas, panel: &Panel, area: &Area, once: &mut Once, obstacles: &mut Obstacles) {
    let mut say = |at: Vec<(f64, f64)>, word: &'static str, paint: &'static str, due: &mut bool| {
        if !*due || at.is_empty() {
            return;
        }
        let width = Kind::Note.width(word);
        let around = |(x, y): &(f64, f64)| {
            [
                (x + 9.0, y + 4.0),
                (x - 9.0 - width, y + 4.0),
                (x - width / 2.0, y - 12.0),
                (x - width / 2.0, y + 20.0),
                (x + 9.0, y - 9.0),
                (x + 9.0, y + 16.0),
                (x - 9.0 - width, y - 9.0),
                (x - 9.0 - width, y + 16.0),
            ]
        };
        let places: Vec<(f64, f64)> = at.iter().flat_map(around).collect();
        let inside: Vec<(f64, f64)> = places
            .into_iter()
            .filter(|p| {
                let b = Text::note(p.0, p.1, word).bounds();
                let a = area.bounds();
                b[0] >= a[0] && b[1] >= a[1] && b[2] <= a[2] && b[3] <= a[3]
            })
            .collect();
        let text = |x, y| Text::note(x, y, word).halo().paint(paint);
        if let Some(text) = obstacles.place_free(&inside, area.bounds(), text) {
            canvas.text(text);
            *due = false;
        }
    };
    let at = |x: f64, y: f64| (area.x.at(x), area.at_y(y));
    let open = panel.published.iter().flatten().map(|o| at(o.x, o.y)).collect();
    say(open, "published", Area::NOTE, &mut once.published);
    let doubtful: Vec<_> =
        panel.points().filter(|p| p.state == VerdictState::Suspect).map(|p| at(p.x, p.y)).collect();
    say(doubtful, "▲ suspect", INK, &mut once.suspect);
    let offered = panel
        .points()
        .filter_map(|p| Some(at(p.offered?, p.y)).filter(|o| (o.0 - area.x.at(p.x)).abs() > 1.0));
    say(offered.collect(), "offered", Area::NOTE, &mut once.offered);
}
