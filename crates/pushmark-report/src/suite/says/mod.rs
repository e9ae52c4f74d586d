//! The paragraph under a figure: sentences by rules over its data. At most two numbers a sentence, with
//! the doubt in the same sentence. A difference is named only if the bars allow it.

pub(crate) mod knee;
pub(crate) mod limit;
mod order;

use pushmark_chart::words;

use super::cells::{Cell, Fate, View};
use super::chart::{Chart, Panel, Point, Series};
use super::quantity::Quantity;

/// Describes a figure of lines: order, knee, bottleneck, `agreement` with printed values, and where nothing
/// is claimed.
pub(crate) fn against(
    view: &View<'_>,
    agreement: Option<String>,
    chart: &Chart,
    quantity: &Quantity,
    cells: &[&Cell<'_>],
) -> Vec<String> {
    let rules = [
        order::sentence(chart, quantity),
        knee::sentence(chart),
        limit::sentence(view, cells),
        agreement,
        unclaimed(cells),
    ];
    let said: Vec<String> = rules.into_iter().flatten().collect();
    if !said.is_empty() {
        return said;
    }
    let points = || chart.columns.iter().flat_map(|c| &c.panels).flat_map(|p| &p.lines);
    let single = points().flat_map(|line| line.segments.iter().flatten()).any(|p| p.bounds.is_none());
    let none = if single {
        "One start a cell: no interval, so nothing is claimed."
    } else {
        "No rule finds anything in these cells."
    };
    vec![none.into()]
}

/// Returns why a figure has nothing to draw.
pub(crate) fn nothing(cells: &[&Cell<'_>]) -> String {
    let of = |fate: Fate| cells.iter().filter(|c| c.fate() == fate).count();
    let parts: Vec<String> =
        Fate::ALL.into_iter().filter(|f| of(*f) > 0).map(|f| format!("{} {}", of(f), f.name())).collect();
    format!("none of its {} has this figure ({})", words::plural(cells.len(), "cell"), parts.join(", "))
}

/// Returns the number of cells without a usable value, and the most frequent reason.
fn unclaimed(cells: &[&Cell<'_>]) -> Option<String> {
    let invalid: Vec<&&Cell<'_>> =
        cells.iter().filter(|c| matches!(c.fate(), Fate::Invalid | Fate::Failed)).collect();
    let refused = cells.iter().filter(|c| c.fate() == Fate::Refused).count();
    let mut reasons: Vec<(usize, String)> = Vec::new();
    for reason in invalid.iter().map(|c| c.reason()).filter(|r| !r.is_empty()) {
        match reasons.iter_mut().find(|r| r.1 == reason) {
            Some(found) => found.0 += 1,
            None => reasons.push((1, reason)),
        }
    }
    let commonest = reasons.into_iter().max_by_key(|r| r.0);
    match (invalid.len(), commonest) {
        (0, _) if refused == 0 => None,
        (0, _) => Some(format!("{} refused by this machine.", were(refused))),
        (n, Some((_, reason))) => Some(format!("In {} nothing is claimed: {reason}.", count(n))),
        (n, None) => Some(format!("In {} nothing is claimed.", count(n))),
    }
}

fn were(n: usize) -> String {
    let verb = if n == 1 { "was" } else { "were" };
    format!("{} {verb}", words::capital(&count(n)))
}

/// Returns `one cell`, `12 cells`.
fn count(n: usize) -> String {
    format!("{} cell{}", words::number(n), if n == 1 { "" } else { "s" })
}

/// Returns the points of a line in a panel that a sentence may rest on, by x: usable, and of several starts,
/// which give an interval.
fn believed(panel: &Panel, series: usize) -> Vec<&Point> {
    let lines = panel.lines.iter().filter(|l| l.series == series);
    lines.flat_map(|l| l.segments.iter().flatten()).filter(|p| !p.at_least && p.bounds.is_some()).collect()
}

/// Whether the bars of two points do not touch.
fn apart(a: &Point, b: &Point) -> bool {
    let ((a_low, a_high), (b_low, b_high)) = (a.bounds.unwrap_or((a.y, a.y)), b.bounds.unwrap_or((b.y, b.y)));
    a_low > b_high || b_low > a_high
}

/// Returns `10 000 users`, for the end of a sentence; empty if there is one panel.
fn of_panel(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(", {title}") }
}

/// Returns the name of a place on x.
fn place(chart: &Chart, x: f64) -> String {
    let named = chart.x.places.iter().find(|p| (p.0 - x).abs() < 1e-9);
    // A measured place has three digits.
    let digit = 10f64.powi(x.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 - 2);
    let value = named.map_or_else(|| (chart.x.tick)((x / digit).round() * digit), |p| p.1.clone());
    // A number alone needs its axis.
    let bare = value.chars().all(|c| c.is_ascii_digit() || matches!(c, '\u{202f}' | '.' | 'k'));
    let axis = unit(&chart.x.name);
    if bare && !chart.x.names && axis.len() <= 30 { format!("{value} {axis}") } else { value }
}

/// Returns the axis name without the remark on scale.
fn unit(name: &str) -> &str {
    name.split(" as written").next().unwrap_or(name)
}

/// Names the reference, which never wins.
fn name(series: &Series) -> String {
    if series.reference { format!("the reference ({})", series.label) } else { series.label.clone() }
}
