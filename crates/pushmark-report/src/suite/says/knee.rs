//! Where a line bends: the inner point of four or more that divides the line into two straight lines with
//! the most different slopes, if one is at least three times as steep and covers a quarter of the range.

use pushmark_chart::words;

use super::super::chart::Chart;
use super::{believed, name, of_panel, place};

/// Ratios of measured to published are alike within this factor.
pub const ALIKE: f64 = 1.5;

/// The rule, for the section on how it was measured.
pub(crate) const RULE: &str = "A line bends (has its knee) at the inner point of four or more that parts it into the two straight lines of the most different slopes, if one is at least three times as steep as the other and covers a quarter of the line's range, and its values differ by half at least. Slopes are those of two log axes for latencies and of two linear ones otherwise, on which what grows in proportion is straight.";

/// How many times steeper one part must be.
const STEEPER: f64 = 3.0;

/// Returns the index of the knee of a line of (x, y), if it has one; `log`: by the logarithms of both.
pub(crate) fn of(points: &[(f64, f64)], log: bool) -> Option<usize> {
    if points.len() < 4 || points.iter().any(|p| log && (p.0 <= 0.0 || p.1 <= 0.0)) {
        return None;
    }
    // A proportional curve is straight only on two linear or two log axes.
    let scaled: Vec<(f64, f64)> =
        points.iter().map(|p| if log { (p.0.ln(), p.1.ln()) } else { *p }).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) =
            scaled.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        high - low
    };
    let (width, height) = (range(|p| p.0), range(|p| p.1));
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    // A nearly flat line bends by chance.
    let (least, most) =
        points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), p| (l.min(p.1), m.max(p.1)));
    if least > 0.0 && most / least < ALIKE {
        return None;
    }
    let last = points.len() - 1;
    let slope = |from: usize, to: usize| {
        let ((x, y), (to_x, to_y)) = (scaled[from], scaled[to]);
        (to_y - y) / height / ((to_x - x) / width)
    };
    let change = |i: usize| (slope(i, last) - slope(0, i)).abs();
    let at = (1..last).filter(|i| change(*i).is_finite()).max_by(|a, b| change(*a).total_cmp(&change(*b)))?;
    let (before, after) = (slope(0, at), slope(at, last));
    let (gentle, steep) = (before.abs().min(after.abs()), before.abs().max(after.abs()));
    let bends = steep >= STEEPER * gentle || before * after < 0.0;
    let (from, to) = if after.abs() > before.abs() { (at, last) } else { (0, at) };
    let covered = ((scaled[to].1 - scaled[from].1) / height).abs();
    (bends && covered >= 0.25).then_some(at)
}

/// Describes where the lines of a figure bend.
pub(super) fn sentence(chart: &Chart) -> Option<String> {
    if chart.x.names {
        return None;
    }
    let log_y = chart.rows.first().is_some_and(|r| r.log);
    let mut knees: Vec<(String, String)> = Vec::new();
    let mut long = 0;
    for column in &chart.columns {
        let Some(panel) = column.panels.first() else { continue };
        for (i, series) in chart.series.iter().enumerate() {
            let points: Vec<(f64, f64)> = believed(panel, i).iter().map(|p| (p.x, p.y)).collect();
            long += usize::from(points.len() >= 4);
            if let Some(at) = of(&points, log_y) {
                let who = format!("{}{}", name(series), of_panel(&column.title));
                knees.push((place(chart, points[at].0), who));
            }
        }
    }
    if long == 0 {
        return None;
    }
    if knees.is_empty() {
        return Some(if long == 1 { "The line has no knee.".into() } else { "No line has a knee.".into() });
    }
    let first = knees[0].0.clone();
    if knees.iter().all(|k| k.0 == first) && knees.len() == long {
        let all = if long == 1 { "The line bends".to_string() } else { "All lines bend".into() };
        return Some(format!("{all} at {first}."));
    }
    if knees.len() <= 2 {
        let each: Vec<String> = knees.iter().map(|(at, who)| format!("{who} bends at {at}")).collect();
        let each: Vec<&str> = each.iter().map(String::as_str).collect();
        return Some(format!("{}.", words::capital(&words::list(&each))));
    }
    // The most frequent place represents all.
    let count = |at: &String| knees.iter().filter(|k| k.0 == *at).count();
    let most = knees.iter().map(|k| &k.0).max_by_key(|at| count(at))?;
    Some(format!(
        "{} of {long} lines bend, most of them at {most}.",
        words::capital(&words::number(knees.len()))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knee_is_where_the_slope_changes_most() {
        let bent = [(1.0, 1.0), (2.0, 1.1), (3.0, 1.2), (4.0, 5.0), (5.0, 9.0)];
        assert_eq!(of(&bent, false), Some(2));
        let flattens = [(1.0, 1.0), (2.0, 4.0), (3.0, 7.0), (4.0, 7.2), (5.0, 7.3)];
        assert_eq!(of(&flattens, false), Some(2));
    }

    #[test]
    fn what_grows_in_proportion_has_none_on_a_log_axis() {
        let cores = [(100.0, 0.0129), (200.0, 0.0142), (350.0, 0.0206), (500.0, 0.0234), (1_000.0, 0.0397)];
        assert_eq!(of(&cores, false), None);
        let noise = [(300.0, 1.68), (1_000.0, 1.47), (3_000.0, 1.22), (10_000.0, 1.69)];
        assert_eq!(of(&noise, true), None);
        let rises = [(300.0, 1.89), (985.0, 1.30), (3_033.0, 1.35), (10_140.0, 4.01)];
        assert_eq!(of(&rises, true), Some(2));
    }

    #[test]
    fn a_straight_or_short_line_has_none() {
        let straight: Vec<(f64, f64)> = (1..8).map(|i| (f64::from(i), 3.0 * f64::from(i))).collect();
        assert_eq!(of(&straight, false), None);
        assert_eq!(of(&[(1.0, 1.0), (2.0, 1.0), (3.0, 9.0)], false), None);
        let flat = [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.0)];
        assert_eq!(of(&flat, false), None);
    }

    #[test]
    fn a_power_law_is_straight_on_log_axes() {
        let power: Vec<(f64, f64)> = (0..6).map(|i| (f64::from(1 << i), f64::from(1 << (2 * i)))).collect();
        assert_eq!(of(&power, true), None);
    }
}
