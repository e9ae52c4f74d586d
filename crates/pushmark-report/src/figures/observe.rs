//! A target that was only observed: messages, bytes and gaps. Without our publications there is no latency
//! and no loss, and the report shows how to get them.

use pushmark_chart::canvas::{Canvas, Drawing, Text};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::{bar_across, marker};
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::scale::{Scale, time_tick};
use pushmark_chart::table::{Cell, Table};

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, Size, both};
use crate::rows;
use pushmark_model::run::{Arm, Observed};

/// How to get the absent figures.
pub(crate) const HOW: &str = "Nothing was published by pushmark, so deliveries, loss and latency are absent: add [target.publish] to the scenario to get them.";

fn measure_s(a: &Arm) -> Option<f64> {
    let phase = a.phases.iter().find(|p| p.name == "measure")?;
    Some((phase.end_us - phase.start_us) as f64 / 1e6).filter(|s| *s > 0.0)
}

/// Returns one of the observed figures, per second of measure.
pub(crate) fn per_second(arm: &ArmView<'_>, of: fn(&Observed) -> u64) -> Option<Estimate> {
    arm.estimate(|a| Some(of(a.observed.as_ref()?) as f64 / measure_s(a)?), true)
}

pub(crate) fn gap(arm: &ArmView<'_>, p99: bool) -> Option<Estimate> {
    arm.estimate(
        |a| {
            let gap = &a.observed.as_ref()?.gap;
            if p99 { gap.p99_us } else { gap.p50_us }.map(|v| v as f64)
        },
        true,
    )
}

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if !case.arms.iter().any(|a| a.starts.iter().any(|s| s.observed.is_some())) {
        return None;
    }
    let (wide, narrow) = both(FULL, |size| draw(case, size));
    Some(Figure {
        id: "observed",
        title: "Messages and the gaps between them".into(),
        sentence: HOW.into(),
        caption: case.caption("gap = time between two messages of one connection; marker p50, tick p99; right: messages and payload a second, all connections"),
        wide,
        narrow,
        table: table(case),
    })
}

fn draw(case: &Case<'_>, size: Size) -> Drawing {
    let (width, step) = (size.width(), if size.is_narrow() { 48.0 } else { 36.0 });
    let column = if size.is_narrow() { 24.0 } else { 240.0 };
    let (left, right) = (rows::margin(&case.arms), width - column);
    let (top, bottom) = (28.0, 34.0 + step * case.arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "observed"), width, bottom + 42.0);
    let values = case.believed().flat_map(|a| [gap(a, false), gap(a, true)]).flatten().map(|e| e.value);
    let x = Scale::log_over(values, left, right);
    rows::axis_below(
        &mut canvas,
        &x,
        (left, right),
        (top, bottom),
        time_tick,
        "gap between messages (log) →",
    );
    for (i, arm) in case.arms.iter().enumerate() {
        let y = top + 6.0 + step * (i as f64 + 0.4);
        rows::name(&mut canvas, arm, 0.0, y);
        let found = (gap(arm, false), gap(arm, true));
        let absent = found.0.is_none().then_some("no two messages on one connection");
        if rows::instead(&mut canvas, arm, left, y, right - left, absent) {
            continue;
        }
        let p50 = found.0.expect("not absent");
        canvas.open_titled(&format!(
            "{}: gap p50 {}; {}, n = {}",
            arm.name(),
            PAGE.time(p50.value),
            arm.state.name(),
            arm.n()
        ));
        if let Some(p99) = found.1 {
            let (a, b) = (x.at(p50.value), x.at(p99.value));
            canvas.line(a, y, b, y, arm.mark.paint, r#"stroke-width="1.8""#);
            canvas.line(b, y - 6.0, b, y + 6.0, arm.mark.paint, r#"stroke-width="2""#);
        }
        if let Some((low, high)) = p50.bounds() {
            bar_across(
                &mut canvas,
                x.at(low),
                x.at(high),
                y,
                matches!(p50.spread, Spread::Interval(..)),
                arm.mark.paint,
            );
        }
        marker(&mut canvas, arm.mark, arm.state, x.at(p50.value), y);
        canvas.close();
        if let (Some(messages), Some(bytes)) =
            (per_second(arm, |o| o.messages), per_second(arm, |o| o.payload_bytes))
        {
            let words = format!("{}/s · {}/s", PAGE.three(messages.value), PAGE.bytes(bytes.value));
            let under = if size.is_narrow() { 22.0 } else { 4.2 };
            canvas.text(Text::tick(width, y + under, words).end().halo());
        }
    }
    canvas.finish()
}

fn table(case: &Case<'_>) -> Table {
    let gaps: Vec<f64> = case.arms.iter().filter_map(|a| gap(a, false)).map(|e| e.value).collect();
    let unit = TimeUnit::of_median(&gaps);
    let heads = ["gap p50", "gap p99"].map(|name| format!("{name}, {}", unit.name(&PAGE)));
    let mut columns = vec![
        ("arm", "arm"),
        ("messages", "messages"),
        ("payload, B", "payload_bytes"),
        ("messages/s", "messages_per_s"),
        (heads[0].as_str(), "gap_p50_us"),
        (heads[1].as_str(), "gap_p99_us"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let sum = |of: fn(&Observed) -> u64| {
            arm.starts.iter().filter_map(|a| a.observed.as_ref()).map(of).sum::<u64>()
        };
        let mut row = vec![
            Cell::text(arm.name()),
            Cell::count(sum(|o| o.messages)),
            Cell::count(sum(|o| o.payload_bytes)),
            Cell::number(per_second(arm, |o| o.messages).map(|e| e.value)),
            Cell::time(gap(arm, false).map(|e| e.value), unit),
            Cell::time(gap(arm, true).map(|e| e.value), unit),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
