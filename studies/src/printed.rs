//! The values that a study printed against the measured values, number by number, and whether order and
//! ratio agree. Numbers of other machines are not expected to agree; shapes are.

use std::fmt::Write as _;

use pushmark_model::suite::{Figure, FigureKind};
use pushmark_report::suite::parts::{Cell, Quantity, View, stands};

use crate::again;
use crate::study::StudySuite;

/// A printed number and the cell it belongs to.
struct Pair<'v, 'a> {
    cell: &'v Cell<'a>,
    printed: f64,
    measured: Option<f64>,
}

/// Writes the table, and a sentence a figure about order and ratio.
pub(super) fn table(out: &mut String, suite: &StudySuite) {
    let mut rows = String::new();
    let mut says = String::new();
    for figure in suite.kept.first().iter().flat_map(|kept| &kept.suite.figures) {
        let Some(kept) = suite.of(|cell| cell.fits(&figure.only)) else { continue };
        let (view, folder) = (View::new(&kept.suite, &kept.runs), &kept.folder);
        let Ok(quantity) = Quantity::find(&figure.y) else { continue };
        if !matches!(figure.kind, FigureKind::Against | FigureKind::Matrix) {
            continue;
        }
        let pairs = pairs(&view, figure, &quantity);
        for pair in &pairs {
            let measured = pair.measured.map_or_else(
                || format!("– {}", pair.cell.fate().name()),
                |value| format!("{} (runs {})", quantity.show(value), again::runs(pair.cell, folder)),
            );
            let _ = writeln!(
                rows,
                "| {} | `{}` | {} | {measured} |",
                figure.number.as_deref().unwrap_or(&figure.id),
                pair.cell.case.id,
                quantity.show(pair.printed)
            );
        }
        if let Some(sentence) = agreement(pairs.iter().map(|pair| (pair.printed, pair.measured))) {
            let _ = writeln!(says, "- {}: {sentence}", figure.number.as_deref().unwrap_or(&figure.id));
        }
    }
    if !rows.is_empty() {
        let _ = writeln!(
            out,
            "### Printed against measured\n\n| figure | case | printed | measured |\n|---|---|---|---|\n{rows}"
        );
    }
    if !says.is_empty() {
        let _ =
            writeln!(out, "Order and ratio, where at least two printed numbers were measured too:\n\n{says}");
    }
}

fn pairs<'v, 'a>(view: &'v View<'a>, figure: &Figure, quantity: &Quantity) -> Vec<Pair<'v, 'a>> {
    let mut pairs = Vec::new();
    for published in &figure.published {
        let Some(printed) = published.y else { continue };
        let mut cells = view
            .cells
            .iter()
            .filter(|c| published.only.iter().all(|(axis, value)| c.axis(axis) == Some(value)));
        // A number that names several cells belongs to none of them.
        let (Some(cell), None) = (cells.next(), cells.next()) else { continue };
        let measured = cell.arms().iter().find_map(|a| quantity.value(a));
        pairs.push(Pair { cell, printed, measured: measured.filter(|_| cell.arms().iter().all(stands)) });
    }
    pairs
}

/// Reports whether the printed order was measured too, and by which factor the widest ratio differs. A pair is
/// what was printed and what was measured.
fn agreement(pairs: impl IntoIterator<Item = (f64, Option<f64>)>) -> Option<String> {
    let both = pairs.into_iter().filter_map(|(printed, measured)| Some((printed, measured?)));
    let mut both: Vec<(f64, f64)> = both.filter(|p| p.0 > 0.0 && p.1 > 0.0).collect();
    if both.len() < 2 {
        return None;
    }
    both.sort_by(|a, b| a.0.total_cmp(&b.0));
    let order = both.windows(2).all(|w| w[0].1 <= w[1].1);
    let (low, high) = (both[0], both[both.len() - 1]);
    let (then, now) = (high.0 / low.0, high.1 / low.1);
    let order = if order { "the order is the printed one" } else { "the order is another" };
    Some(format!("{order}; from least to most printed the ratio was {then:.2} then and is {now:.2} now."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_ratio_are_told_apart() {
        let same = agreement([(300.0, Some(30.0)), (100.0, Some(20.0))]).unwrap();
        assert_eq!(
            same,
            "the order is the printed one; from least to most printed the ratio was 3.00 then and is 1.50 now."
        );
        let other = agreement([(100.0, Some(30.0)), (300.0, Some(20.0))]).unwrap();
        assert!(other.starts_with("the order is another"), "{other}");
        assert_eq!(agreement([(100.0, Some(30.0)), (300.0, None)]), None, "one pair has no order");
    }
}
