//! A metric over all cells, as HTML tables: rows server × style, columns the crowd, heat on a log scale of
//! the whole figure. A suite with more axes has a table for each of their values; the tables are small,
//! side by side, and folded if there are many.

mod layout;
mod terminal;

use maud::{Markup, html};
use pushmark_chart::table::{Cell as Field, Table};
use pushmark_chart::words;
use pushmark_model::run::VerdictState;
use pushmark_model::suite::{Figure, FigureKind};

use super::super::case::ArmView;
use super::super::verdict::key;
use super::cells::{Cell, Fate, View, fate_of, reason_of, stands};
use super::drawn::{Body, Drawn};
use super::places::grouped;
use super::quantity::{Divisor, Quantity, Reading, two};
use layout::{Block, Layout, Row};

pub(crate) use terminal::text;

/// More tables than this are folded.
const OPEN: usize = 4;

/// Number of heat steps.
const STEPS: f64 = 8.0;

/// Returns the matrix of a suite that asks for no matrix: the first of these metrics that any cell has.
pub(crate) fn of_suite(view: &View<'_>) -> Figure {
    let asked = view.suite.figures.iter().filter(|f| f.kind == FigureKind::Against).map(|f| f.y.as_str());
    let usual =
        ["delivery.p50", "long_poll.answers_per_s", "connect.p50", "server.cpu_cores", "connections.opened"];
    let has = |name: &&str| {
        Quantity::find(name).is_ok_and(|q| {
            view.cells.iter().flat_map(Cell::arms).any(|a| matches!(q.read(a), Reading::Value(_)))
        })
    };
    let y = usual.into_iter().chain(asked).find(has).unwrap_or("delivery.p50");
    let title = "All cases".to_string();
    Figure { id: "matrix".into(), title, kind: FigureKind::Matrix, y: y.into(), ..Figure::default() }
}

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let quantity = Quantity::find(&figure.y)?;
    let cells = view.asked(figure)?;
    let layouts = Layout::all(view, figure, &cells);
    let values: Vec<f64> = cells
        .iter()
        .flat_map(|c| c.arms())
        .filter(|a| stands(a))
        .filter_map(|a| Some(quantity.read(a).estimate()?.value))
        .collect();
    let heat =
        Heat::over(&values, quantity.divisor(&values), view.starts().is_some_and(|s| s.0 == 1 && s.1 > 1));
    let blocks: Vec<_> = layouts.iter().flat_map(|l| l.blocks().into_iter().map(move |b| (l, b))).collect();
    let fold = blocks.len() > OPEN;
    let body = html! {
        div.matrices {
            @for (i, (layout, block)) in blocks.iter().enumerate() {
                @if fold && i > 0 {
                    details { summary { (block.title) ": " (block_counts(block)) } (table_of(layout, block, &quantity, &heat)) }
                } @else { div {
                    @if !block.title.is_empty() { h4 { (block.title) } }
                    (table_of(layout, block, &quantity, &heat))
                } }
            }
        }
        p.key { (key_line(&cells)) }
    };
    Ok(Drawn {
        says: vec![sentence(&quantity, &heat, &values)],
        caption: caption(view, figure, &quantity, &cells),
        body: Body::Html(body),
        table: long_table(view, &quantity, &cells),
    })
}

/// Steps of one blue over the logarithm of all values.
struct Heat {
    low: f64,
    high: f64,
    unit: Divisor,
    /// Cells with one start are marked if other cells have more.
    mark_single: bool,
}

impl Heat {
    fn over(values: &[f64], unit: Divisor, mark_single: bool) -> Heat {
        let positive = values.iter().copied().filter(|v| *v > 0.0);
        let (low, high) = positive.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        Heat { low, high, unit, mark_single }
    }

    fn step(&self, value: f64) -> usize {
        if value <= self.low || self.high <= self.low {
            return 0;
        }
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        ((share * STEPS) as usize).min(STEPS as usize - 1)
    }

    fn number(&self, value: f64) -> String {
        two(value / self.unit.by)
    }
}

fn sentence(quantity: &Quantity, heat: &Heat, values: &[f64]) -> String {
    let blank = "A cell without a number has no result and gives the reason.";
    if values.is_empty() {
        return format!("No cell has this figure. {blank}");
    }
    let range = match (values.len(), heat.high > heat.low) {
        (1, _) => format!("One cell has it: {}.", quantity.show(values[0])),
        (_, false) => "All cells have the same value.".into(),
        _ => format!(
            "A stronger colour is a higher value: {} to {}.",
            quantity.show(heat.low),
            quantity.show(heat.high)
        ),
    };
    format!("{range} {blank}")
}

fn caption(view: &View<'_>, figure: &Figure, quantity: &Quantity, cells: &[&Cell<'_>]) -> String {
    let unit = quantity.divisor(&values_of(quantity, cells)).name;
    let unit = if unit.is_empty() { String::new() } else { format!(", in {unit}") };
    let mut parts = vec![format!("{} ({}){unit}", quantity.about(), quantity.name())];
    parts.push(match view.starts() {
        None => "nothing was run".into(),
        Some((1, 1)) => "one start a cell, n = 1: no interval".into(),
        Some((1, most)) => format!("median of up to {most} starts; ¹ one start, no interval"),
        Some((least, most)) if least == most => format!("median of {least} starts; interval in the table"),
        Some((least, most)) => format!("median of {least} to {most} starts; interval in the table"),
    });
    parts.extend(figure.note.clone());
    parts.join("; ")
}

fn values_of(quantity: &Quantity, cells: &[&Cell<'_>]) -> Vec<f64> {
    let arms = cells.iter().flat_map(|c| c.arms()).filter(|a| stands(a));
    arms.filter_map(|a| Some(quantity.read(a).estimate()?.value)).collect()
}

/// Explains the marks that occur in this matrix.
fn key_line(cells: &[&Cell<'_>]) -> String {
    let says = |fate: Fate| match fate {
        Fate::Valid => "✓ valid is unmarked",
        Fate::Suspect => "▲ suspect: the figure is doubtful",
        Fate::Incomplete => "◐ incomplete: stopped early",
        Fate::Died => {
            "† died: the server crashed, which is a result; a flood's number is what it held until then"
        }
        Fate::Invalid => "✕ invalid: measured, not usable, no number shown",
        Fate::Failed => "✕ failed: nothing was measured",
        Fate::Refused => "refused: this machine cannot hold it",
        Fate::NotRun => "not run: no start of it exists",
    };
    let fates: Vec<Fate> =
        cells.iter().flat_map(|c| c.arms().iter().map(fate_of).chain([c.fate()])).collect();
    let present: Vec<&str> = Fate::ALL.into_iter().filter(|f| fates.contains(f)).map(says).collect();
    present.join(" · ")
}

fn block_counts(block: &Block<'_, '_>) -> String {
    let fates: Vec<Fate> =
        block.rows.iter().flat_map(|r| r.cells.iter().flatten().map(|c| c.fate())).collect();
    let of = |fate| fates.iter().filter(|f| **f == fate).count();
    let parts: Vec<String> =
        Fate::ALL.into_iter().filter(|f| of(*f) > 0).map(|f| format!("{} {}", of(f), f.name())).collect();
    parts.join(", ")
}

fn table_of(layout: &Layout<'_>, block: &Block<'_, '_>, quantity: &Quantity, heat: &Heat) -> Markup {
    html! {
        div.scroll { table.matrix {
            thead { tr {
                @for axis in &layout.rows { th scope="col" { (axis.label) } }
                @if layout.by_transport || layout.rows.is_empty() { th scope="col" { "transport" } }
                @for (i, value) in block.columns.iter().enumerate() {
                    th scope="col" { @if i == 0 { (layout.column_label()) " " } (grouped(value)) }
                }
            } }
            tbody {
                @for (i, row) in block.rows.iter().enumerate() {
                    @let above = i.checked_sub(1).map(|i| &block.rows[i]);
                    tr class=[row.opens(above).then_some("opens")] { (heads(layout, row, above)) @for cell in &row.cells { (cell_of(row, *cell, quantity, heat)) } }
                }
            }
        } }
    }
}

/// Writes the values of the row's axes; a value that repeats the row above is hidden, but kept for screen
/// readers.
fn heads(layout: &Layout<'_>, row: &Row<'_, '_>, above: Option<&Row<'_, '_>>) -> Markup {
    let last = row.values.len().saturating_sub(1);
    let mark = row.arm().map(|a| key(a.mark, VerdictState::Valid));
    html! {
        @for (i, value) in row.values.iter().enumerate() {
            @let again = i < last && above.is_some_and(|a| a.values[..=i] == row.values[..=i]);
            th scope="row" {
                @if i == last && !layout.by_transport { @if let Some(mark) = &mark { (mark) " " } }
                @if again { span.again { (value) } } @else { (value) }
            }
        }
        @if layout.by_transport || layout.rows.is_empty() {
            th scope="row" { @if let Some(mark) = &mark { (mark) " " } (row.transport.map_or("–", |t| t.name())) }
        }
    }
}

fn cell_of(row: &Row<'_, '_>, cell: Option<&Cell<'_>>, quantity: &Quantity, heat: &Heat) -> Markup {
    let Some(cell) = cell else { return html! { td {} } };
    let arm = row.arm_of(cell);
    let fate = arm.map_or_else(|| cell.fate(), fate_of);
    let Some(arm) = arm.filter(|a| stands(a)) else { return without(fate, &reason(cell, arm)) };
    let title = title(cell, arm, quantity);
    let one = if heat.mark_single && arm.n() == 1 {
        html! { sup { "1" } }
    } else {
        html! {}
    };
    match quantity.read(arm) {
        Reading::Value(e) => {
            let step = heat.step(e.value);
            let number = heat.number(e.value);
            match fate {
                Fate::Suspect => {
                    html! { td class={ "doubt b" (step) } title=(title) { "▲\u{a0}" (number) (one) } }
                }
                Fate::Died => html! { td.died title=(title) { "†\u{a0}" (number) (one) } },
                Fate::Incomplete => html! { td.stopped title=(title) { span { "◐\u{a0}" (number) (one) } } },
                _ => html! { td class={ "q" (step) } title=(title) { (number) (one) } },
            }
        }
        Reading::AtLeast(us) => html! { td title=(title) { "≥\u{a0}" (heat.number(us)) } },
        Reading::Absent(reason) => html! { td.absent title=(reason) { "–" } },
    }
}

fn reason(cell: &Cell<'_>, arm: Option<&ArmView<'_>>) -> String {
    arm.map_or_else(|| cell.reason(), reason_of)
}

fn without(fate: Fate, reason: &str) -> Markup {
    match fate {
        Fate::Died => html! { td.died title=(reason) { "†\u{a0}died" } },
        Fate::Invalid => html! { td.hatched title=(reason) { span { "✕\u{a0}invalid" } } },
        Fate::Failed => html! { td.hatched title=(reason) { span { "✕\u{a0}failed" } } },
        Fate::Refused => html! { td.refused title=(reason) { "refused" } },
        _ => html! { td.refused title="no start of it exists" { "not run" } },
    }
}

/// Formats arm, value, interval, n and verdict as the text shown under the mouse.
fn title(cell: &Cell<'_>, arm: &ArmView<'_>, quantity: &Quantity) -> String {
    let value = match quantity.read(arm) {
        Reading::Value(e) => quantity.show_estimate(&e),
        Reading::AtLeast(us) => format!("≥ {}", quantity.show(us)),
        Reading::Absent(reason) => format!("– {reason}"),
    };
    let reason = reason_of(arm);
    let doubt = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{}, {}: {value}, {}{doubt}", cell.case.id, arm.name(), fate_of(arm).name())
}

/// Returns a line an arm of a cell: value, bounds, n, verdict, reason. Invalid values are in a separate
/// column.
pub(crate) fn long_table(view: &View<'_>, quantity: &Quantity, cells: &[&Cell<'_>]) -> Table {
    let axes = view.varied(cells);
    let (column, unbelieved) = (quantity.column(), format!("unbelieved_{}", quantity.column()));
    let values = values_of(quantity, cells);
    let unit = quantity.divisor(&values);
    let heading = match unit.name {
        "" => quantity.name().to_string(),
        name => format!("{}, {name}", quantity.name()),
    };
    let mut columns: Vec<(&str, &str)> = vec![("case", "case")];
    columns.extend(axes.iter().map(|a| (a.label.as_str(), a.name.as_str())));
    let (low, high) = (format!("{column}_low"), format!("{column}_high"));
    columns.extend([("transport", "transport"), (heading.as_str(), column.as_str())]);
    columns.extend([("from", low.as_str()), ("to", high.as_str()), ("n", "n")]);
    columns.extend([("verdict", "verdict"), ("reason", "reason"), ("not believed", unbelieved.as_str())]);
    let mut table = Table::new(&columns);
    for cell in cells {
        let arms: Vec<Option<&ArmView<'_>>> =
            if cell.arms().is_empty() { vec![None] } else { cell.arms().iter().map(Some).collect() };
        for arm in arms {
            let mut row = vec![Field::text(cell.case.id.clone())];
            row.extend(axes.iter().map(|a| cell.axis(&a.name).map_or_else(Field::absent, Field::text)));
            row.push(arm.map_or_else(Field::absent, |a| Field::text(a.name())));
            let fate = arm.map_or_else(|| cell.fate(), fate_of);
            let reading = arm.map(|a| quantity.read(a));
            let estimate = reading.as_ref().and_then(Reading::estimate).copied();
            let stands = arm.is_some_and(stands);
            let believed = estimate.filter(|_| stands);
            let show = |value: Option<f64>| value.map_or_else(Field::absent, |v| scaled(v, unit));
            row.push(match (&reading, believed) {
                (Some(Reading::AtLeast(us)), _) if stands => {
                    Field { shown: format!("≥ {}", scaled(*us, unit).shown), plain: String::new() }
                }
                (Some(Reading::Absent(reason)), _) if stands => Field::absent_for(reason),
                _ => show(believed.map(|e| e.value)),
            });
            let bounds = believed.and_then(|e| e.bounds());
            row.extend([show(bounds.map(|b| b.0)), show(bounds.map(|b| b.1))]);
            row.push(Field::count(arm.map_or(0, ArmView::n) as u64));
            row.extend([Field::text(fate.name()), Field::text(reason(cell, arm))]);
            row.push(if stands { Field::absent() } else { show(estimate.map(|e| e.value)) });
            table.push(row);
        }
    }
    table
}

/// Formats a number in the unit of its column; whole in CSV.
fn scaled(value: f64, unit: Divisor) -> Field {
    let mut field = Field::number(Some(value));
    field.shown = pushmark_chart::numbers::PAGE.three(value / unit.by);
    field
}

/// Returns `server × style × clients`, in words.
pub(crate) fn axes_in_words(view: &View<'_>) -> String {
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let labels: Vec<&str> = view.varied(&cells).iter().map(|a| a.label.as_str()).collect();
    words::list(&labels)
}
