//! Which line lies above which, and by how much; only if their bars do not touch.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;

use super::super::chart::{Chart, Point};
use super::super::quantity::Quantity;
use super::{apart, believed, name, of_panel, place};

/// Returns the sentence for one, two, or more lines.
pub(super) fn sentence(chart: &Chart, quantity: &Quantity) -> Option<String> {
    match chart.series.len() {
        0 => None,
        1 => growth(chart, quantity),
        2 => pair(chart),
        _ => extremes(chart),
    }
}

/// Writes the sentence on the first row of panels, the subject of the figure.
fn panels(chart: &Chart) -> impl Iterator<Item = (&str, &super::Panel)> {
    chart.columns.iter().filter_map(|c| Some((c.title.as_str(), c.panels.first()?)))
}

/// Describes one line: from its first place to its last, in the panel with the most points.
fn growth(chart: &Chart, quantity: &Quantity) -> Option<String> {
    let all: Vec<(&str, Vec<&Point>)> = panels(chart).map(|(t, p)| (t, believed(p, 0))).collect();
    let (title, points) = all.into_iter().rev().max_by_key(|(_, p)| p.len())?;
    let ([first, ..], [.., last]) = (points.as_slice(), points.as_slice()) else { return None };
    let label = name(&chart.series[0]);
    let of = of_panel(title);
    if points.len() < 2 {
        let said = across(chart, &label, first.x, quantity);
        return said.or_else(|| Some(format!("{label} has one point{of}: {}.", quantity.show(first.y))));
    }
    let ends = format!("from {} to {}{of}", place(chart, first.x), place(chart, last.x));
    if !apart(first, last) {
        return Some(format!("{label}: no difference is seen {ends}."));
    }
    let (low, high, verb) =
        if last.y > first.y { (first.y, last.y, "grows") } else { (last.y, first.y, "falls") };
    if low <= 0.0 {
        return Some(format!("{label} {verb} {ends}."));
    }
    Some(format!("{label} {verb} {} {ends}.", PAGE.ratio(high / low)))
}

/// Compares panels with one another if a line has one point a panel, at the place they share.
fn across(chart: &Chart, label: &str, x: f64, quantity: &Quantity) -> Option<String> {
    let at = |panel| believed(panel, 0).into_iter().find(|p| (p.x - x).abs() < 1e-9);
    let points: Vec<(&str, &Point)> = panels(chart).filter_map(|(t, p)| Some((t, at(p)?))).collect();
    let by_value = |a: &&(&str, &Point), b: &&(&str, &Point)| a.1.y.total_cmp(&b.1.y);
    let (low, high) = (points.iter().min_by(by_value)?, points.iter().max_by(by_value)?);
    let begin = format!("{label} at {}", place(chart, x));
    (points.len() > 1).then(|| match apart(low.1, high.1) {
        true => format!(
            "{begin} is highest with {}, {}, and lowest with {}, {}.",
            high.0,
            quantity.show(high.1.y),
            low.0,
            quantity.show(low.1.y)
        ),
        false => format!("{begin}: no difference is seen between the panels."),
    })
}

/// Compares two lines, over all places where both have a value.
fn pair(chart: &Chart) -> Option<String> {
    let mut both: Vec<(&Point, &Point)> = Vec::new();
    for (_, panel) in panels(chart) {
        let (a, b) = (believed(panel, 0), believed(panel, 1));
        both.extend(a.iter().filter_map(|p| Some((*p, *b.iter().find(|q| (q.x - p.x).abs() < 1e-9)?))));
    }
    let [a, b] = [0, 1].map(|i| name(&chart.series[i]));
    let places = both.len();
    if places == 0 {
        return None;
    }
    let above = both.iter().filter(|(p, q)| apart(p, q) && p.y > q.y).count();
    let below = both.iter().filter(|(p, q)| apart(p, q) && p.y < q.y).count();
    let (upper, lower, n, other) =
        if above >= below { (&a, &b, above, below) } else { (&b, &a, below, above) };
    if n == 0 {
        return Some(format!("No difference is seen between {a} and {b}."));
    }
    let whole = n == places;
    let ratios: Vec<f64> = both
        .iter()
        .map(|(p, q)| (p.y.max(q.y), p.y.min(q.y)))
        .filter(|(_, low)| *low > 0.0)
        .map(|(high, low)| high / low)
        .collect();
    if whole && ratios.len() == places {
        let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(l, m), r| (l.min(*r), m.max(*r)));
        let at = if places == 1 { "at the one place they share" } else { "at every place they share" };
        let (low, high) = (PAGE.ratio(least), PAGE.ratio(most));
        let by =
            if low == high { low } else { format!("{} to {high}", low.trim_end_matches(['×', '\u{a0}'])) };
        return Some(format!("{upper} lies above {lower} {at}, by {by}."));
    }
    let rest = match (other, places - n - other) {
        (0, _) => "no difference is seen at the others".to_string(),
        (_, 0) => "below it at the others".into(),
        (m, _) => format!("below it at {}, no difference is seen at the others", words::number(m)),
    };
    Some(format!("{upper} lies above {lower} at {n} of {places} places; {rest}."))
}

/// A place of a panel, and the lines that have a value there.
struct Shared<'p> {
    x: f64,
    title: &'p str,
    points: Vec<(usize, &'p Point)>,
}

/// Compares three lines and more: highest and lowest at the place that most of them share.
fn extremes(chart: &Chart) -> Option<String> {
    let mut places: Vec<Shared<'_>> = Vec::new();
    for (title, panel) in panels(chart) {
        for series in 0..chart.series.len() {
            for point in believed(panel, series) {
                match places.iter_mut().find(|p| p.title == title && (p.x - point.x).abs() < 1e-9) {
                    Some(place) => place.points.push((series, point)),
                    None => places.push(Shared { x: point.x, title, points: vec![(series, point)] }),
                }
            }
        }
    }
    // The last of those with the most lines.
    let most = |a: &Shared<'_>, b: &Shared<'_>| a.points.len().cmp(&b.points.len()).then(a.x.total_cmp(&b.x));
    let Shared { x, title, points } = places.into_iter().max_by(most)?;
    // The reference never wins: it is left out if two others remain.
    let reference = |s: usize| chart.series[s].reference;
    let own: Vec<&(usize, &Point)> = points.iter().filter(|p| !reference(p.0)).collect();
    if own.len() < 2 {
        return None;
    }
    let high = own.iter().max_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    let low = own.iter().min_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    let end = if title.is_empty() { "" } else { "," };
    let at = format!("At {}{}{end}", place(chart, x), of_panel(title));
    let [above, below] = [high.0, low.0].map(|s| name(&chart.series[s]));
    if !apart(high.1, low.1) {
        return Some(format!("{at} no difference is seen between the lines."));
    }
    if low.1.y <= 0.0 {
        return Some(format!("{at} {above} is highest and {below} lowest."));
    }
    Some(format!("{at} {above} is highest, {} {below}, the lowest.", PAGE.ratio(high.1.y / low.1.y)))
}
