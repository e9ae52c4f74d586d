//! Markers and the marks of doubt. Filled = valid, hollow = suspect, half = incomplete, a hatched band
//! without any marker = invalid. Fill has no other meaning.

use pushmark_model::run::VerdictState;

use super::canvas::{Canvas, Kind, Text, c};
use super::pattern::Pattern;
use super::tokens::{BG, INVALID, Mark, Shape};

/// Draws the marker of a transport at a place.
pub fn marker(canvas: &mut Canvas, mark: Mark, state: VerdictState, x: f64, y: f64) {
    let place = format!(r#"transform="translate({} {})""#, c(x), c(y));
    let path = outline(mark.shape);
    match state {
        VerdictState::Valid => {
            canvas.path(&path, mark.paint, BG, &format!(r#"stroke-width="1.2" {place}"#));
        }
        VerdictState::Suspect => {
            canvas.path(&path, BG, mark.paint, &format!(r#"stroke-width="1.8" {place}"#))
        }
        VerdictState::Incomplete => {
            canvas.path(&path, BG, mark.paint, &format!(r#"stroke-width="1.8" {place}"#));
            canvas.path(&left_half(mark.shape), mark.paint, "none", &place);
        }
        VerdictState::Invalid => {}
    }
}

/// Returns the outline of a marker around the origin, 5 px half size.
pub fn outline(shape: Shape) -> String {
    match shape {
        Shape::Square => "M-4.4-4.4H4.4V4.4H-4.4Z".into(),
        Shape::Diamond => "M0-5.8L5.8 0L0 5.8L-5.8 0Z".into(),
        Shape::Plus => "M-1.9-5.2H1.9V-1.9H5.2V1.9H1.9V5.2H-1.9V1.9H-5.2V-1.9H-1.9Z".into(),
        Shape::TriangleUp => "M0-5.4L5.2 4.2H-5.2Z".into(),
        Shape::TriangleDown => "M0 5.4L-5.2-4.2H5.2Z".into(),
        Shape::Circle => "M-4.8 0A4.8 4.8 0 1 1 4.8 0A4.8 4.8 0 1 1-4.8 0Z".into(),
        Shape::Star => star(10),
    }
}

/// Returns the part of the outline left of its middle.
fn left_half(shape: Shape) -> String {
    match shape {
        Shape::Square => "M-4.4-4.4H0V4.4H-4.4Z".into(),
        Shape::Diamond => "M0-5.8V5.8L-5.8 0Z".into(),
        Shape::Plus => "M0-5.2V5.2H-1.9V1.9H-5.2V-1.9H-1.9V-5.2Z".into(),
        Shape::TriangleUp => "M0-5.4V4.2H-5.2Z".into(),
        Shape::TriangleDown => "M0 5.4L-5.2-4.2H0Z".into(),
        Shape::Circle => "M0-4.8A4.8 4.8 0 0 0 0 4.8Z".into(),
        Shape::Star => star(6),
    }
}

/// Returns the first `corners` of a five-pointed star's ten, from the lowest inner one to the left and up.
fn star(corners: usize) -> String {
    let mut d = String::new();
    for i in 0..corners {
        let angle = std::f64::consts::PI * (0.5 + i as f64 / 5.0);
        let radius = if i % 2 == 0 { 2.5 } else { 6.2 };
        let letter = if i == 0 { 'M' } else { 'L' };
        d.push_str(&format!("{letter}{} {}", c(radius * angle.cos()), c(radius * angle.sin())));
    }
    d + "Z"
}

/// Draws an invalid row or panel: hatched, with the reason, without a number.
pub fn invalid_band(canvas: &mut Canvas, x: f64, y: f64, w: f64, h: f64, reason: &str) {
    let hatch = canvas.pattern(Pattern::Invalid);
    canvas.rect(x, y, w, h, &hatch, &format!(r#"stroke="{INVALID}" stroke-dasharray="3 2" opacity="1""#));
    let whole = format!("✕ invalid: {reason}");
    let words = super::width::first_fitting(&[&whole, "✕ invalid", "✕"], 12.0, false, w - 26.0);
    let width = Kind::Tick.width(words) + 16.0;
    let (left, middle) = (x + 12.0, y + h / 2.0);
    canvas.rect(left, middle - 9.0, width, 18.0, BG, "");
    canvas.text(Text::tick(left + 8.0, middle + 4.2, words).paint(INVALID));
}

/// Draws a horizontal interval with caps; a range (under 5 starts) is thin and has no caps.
pub fn bar_across(canvas: &mut Canvas, x1: f64, x2: f64, y: f64, caps: bool, paint: &str) {
    if caps {
        let d = format!("M{0} {1}V{2}M{0} {3}H{4}M{4} {1}V{2}", c(x1), c(y - 3.5), c(y + 3.5), c(y), c(x2));
        canvas.path(&d, "none", paint, r#"stroke-width="1.4""#);
    } else {
        canvas.line(x1, y, x2, y, paint, r#"stroke-width="1""#);
    }
}

/// Draws the same interval upright.
pub fn bar_up(canvas: &mut Canvas, x: f64, y1: f64, y2: f64, caps: bool, paint: &str) {
    if caps {
        let d = format!("M{1} {0}H{2}M{3} {0}V{4}M{1} {4}H{2}", c(y1), c(x - 3.5), c(x + 3.5), c(x), c(y2));
        canvas.path(&d, "none", paint, r#"stroke-width="1.4""#);
    } else {
        canvas.line(x, y1, x, y2, paint, r#"stroke-width="1""#);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::MARKS;

    #[test]
    fn an_invalid_arm_has_no_marker() {
        for mark in MARKS {
            let mut canvas = Canvas::new("x", 10.0, 10.0);
            marker(&mut canvas, mark, VerdictState::Invalid, 5.0, 5.0);
            assert_eq!(canvas.finish().body, "");
        }
    }

    #[test]
    fn each_verdict_fills_a_marker_its_own_way() {
        for mark in MARKS {
            let drawn = [VerdictState::Valid, VerdictState::Suspect, VerdictState::Incomplete].map(|state| {
                let mut canvas = Canvas::new("x", 10.0, 10.0);
                marker(&mut canvas, mark, state, 5.0, 5.0);
                canvas.finish().body
            });
            assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
        }
    }
}
