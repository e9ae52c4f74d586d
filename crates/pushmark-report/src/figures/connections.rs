//! Connections over time, against the planned crowd, and how long one connection takes to establish.

use pushmark_chart::canvas::{Canvas, Drawing, Text};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::{bar_across, marker};
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::scale::{Scale, plain_tick, time_tick};
use pushmark_chart::table::{Cell, Table};

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, Size, both};
use crate::rows;
use crate::timeline::Lines;
use pushmark_model::run::{Connect, Connections};

const OVER_TIME: Lines = Lines {
    id: "connections",
    axis: "↑ connections",
    log: false,
    tick: plain_tick,
    value: |w| Some(w.connected as f64),
    join: f64::min,
    whole: true,
    connections: true,
    height: 290.0,
};

pub(crate) fn over_time(case: &Case<'_>) -> Option<Figure> {
    if !OVER_TIME.has_data(case) {
        return None;
    }
    let (wide, narrow) = both(FULL, |size| OVER_TIME.draw(case, size));
    let start =
        if case.n() == 1 { "one start, n = 1".into() } else { format!("the median of {} starts", case.n()) };
    Some(Figure {
        id: "connections",
        title: "Connections over time".into(),
        sentence: sentence(case),
        caption: format!("{start}; subscribed at the end of each second; dashed: planned{}", case.left_out()),
        wide,
        narrow,
        table: table(case),
    })
}

fn sum(arm: &ArmView<'_>, of: impl Fn(&pushmark_model::run::Connections) -> u64) -> u64 {
    arm.starts.iter().map(|a| of(&a.connections)).sum()
}

fn sentence(case: &Case<'_>) -> String {
    let mut parts = Vec::new();
    for arm in case.believed() {
        let lost = sum(arm, |c| c.lost);
        if lost > 0 {
            let again = sum(arm, |c| c.reconnected);
            let remade = if again == 0 {
                "never reconnected".into()
            } else {
                format!("reconnected {} times", PAGE.count(again))
            };
            parts.push(format!("{} lost {} connections, {remade}.", arm.name(), PAGE.count(lost)));
        }
        let (asked, opened) = (sum(arm, |c| c.asked), sum(arm, |c| c.opened));
        if opened < asked {
            parts.push(format!("{} opened {} of {}.", arm.name(), PAGE.count(opened), PAGE.count(asked)));
        }
    }
    if parts.is_empty() {
        "Every arm opened all planned connections and lost none.".into()
    } else {
        parts.join(" ")
    }
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("asked", "asked"),
        ("opened", "opened"),
        ("lost", "lost"),
        ("made again", "reconnected"),
        ("failed", "failed"),
        ("how failed and lost connections ended", "ended"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let mut kinds = std::collections::BTreeMap::<&str, u64>::new();
        for (kind, count) in arm.starts.iter().flat_map(|a| ended(&a.connections)) {
            *kinds.entry(kind).or_default() += count;
        }
        let kinds: Vec<String> = kinds.iter().map(|(k, n)| format!("{k} {}", PAGE.count(*n))).collect();
        let mut row = vec![
            Cell::text(arm.name()),
            Cell::count(sum(arm, |c| c.asked)),
            Cell::count(sum(arm, |c| c.opened)),
            Cell::count(sum(arm, |c| c.lost)),
            Cell::count(sum(arm, |c| c.reconnected)),
            Cell::count(sum(arm, |c| c.failed.values().sum())),
            Cell::text(kinds.join(", ")),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}

/// Describes how connections ended, in the transport's words; runs without these words have kinds.
fn ended(connections: &Connections) -> impl Iterator<Item = (&String, &u64)> {
    let Connections { failed, failed_with, lost_by, lost_with, .. } = connections;
    let failed = if failed_with.is_empty() { failed } else { failed_with };
    failed.iter().chain(if lost_with.is_empty() { lost_by } else { lost_with })
}

fn connect(arm: &ArmView<'_>, of: fn(&Connect) -> u64) -> Option<Estimate> {
    arm.estimate(|a| a.connect.as_ref().filter(|c| c.count > 0).map(|c| of(c) as f64), true)
}

pub(crate) fn times(case: &Case<'_>) -> Option<Figure> {
    if !case.arms.iter().any(|a| connect(a, |c| c.p50_us).is_some()) {
        return None;
    }
    let (wide, narrow) = both(FULL, |size| draw_times(case, size));
    Some(Figure {
        id: "connect",
        title: "Connect times".into(),
        sentence: times_sentence(case),
        caption: case
            .caption("from connect to the first response byte; marker p50, tick p99, thin tick slowest"),
        wide,
        narrow,
        table: times_table(case),
    })
}

fn draw_times(case: &Case<'_>, size: Size) -> Drawing {
    let (width, step) = (size.width(), 36.0);
    let column = if size.is_narrow() { 30.0 } else { 330.0 };
    let (left, right) = (rows::margin(&case.arms), width - column);
    let (top, bottom) = (20.0, 34.0 + step * case.arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "connect"), width, bottom + 42.0);
    let three: [fn(&Connect) -> u64; 3] = [|c| c.p50_us, |c| c.p99_us, |c| c.max_us];
    let values = case.believed().flat_map(|a| three.iter().filter_map(|of| connect(a, *of)).map(|e| e.value));
    let x = Scale::log_over(values, left, right);
    rows::axis_below(
        &mut canvas,
        &x,
        (left, right),
        (top, bottom),
        time_tick,
        "until the first response byte (log) →",
    );
    let mut named = false;
    for (i, arm) in case.arms.iter().enumerate() {
        let y = top + 14.0 + step * (i as f64 + 0.5);
        rows::name(&mut canvas, arm, 0.0, y);
        let found = three.map(|of| connect(arm, of));
        let absent = found[0].is_none().then_some("no connection got an answer");
        if rows::instead(&mut canvas, arm, left, y, width - left, absent) {
            continue;
        }
        let [Some(p50), Some(p99), Some(max)] = found else { continue };
        let paint = arm.mark.paint;
        let [a, b, z] = [&p50, &p99, &max].map(|e| x.at(e.value));
        let words = [&p50, &p99, &max].map(|e| PAGE.time(e.value));
        canvas.open_titled(&format!(
            "{}: p50 {}, p99 {}, slowest {}; {}, n = {}",
            arm.name(),
            words[0],
            words[1],
            words[2],
            arm.state.name(),
            arm.n()
        ));
        canvas.line(a, y, b, y, paint, r#"stroke-width="1.8""#);
        canvas.line(b, y, z, y, paint, r#"stroke-width=".8""#);
        canvas.line(b, y - 6.0, b, y + 6.0, paint, r#"stroke-width="2""#);
        canvas.line(z, y - 4.0, z, y + 4.0, paint, r#"stroke-width="1""#);
        if let Some((low, high)) = p50.bounds() {
            bar_across(
                &mut canvas,
                x.at(low),
                x.at(high),
                y,
                matches!(p50.spread, Spread::Interval(..)),
                paint,
            );
        }
        marker(&mut canvas, arm.mark, arm.state, a, y);
        canvas.close();
        if !size.is_narrow() {
            let values = format!("p50 {} · p99 {} · slowest {}", words[0], words[1], words[2]);
            canvas.text(Text::tick(width, y + 4.2, values).end());
        }
        let far_enough = b - a > 34.0 && z - b > 46.0;
        if !named && far_enough {
            named = true;
            for (at, word) in [(a, "p50"), (b, "p99"), (z, "slowest")] {
                canvas.text(Text::note(at, y - 10.0, word).middle().halo());
            }
        }
    }
    canvas.finish()
}

fn times_sentence(case: &Case<'_>) -> String {
    let slowest = case
        .believed()
        .filter_map(|a| Some((a.name(), connect(a, |c| c.p99_us)?.value)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    match slowest {
        None => "No connection of a usable arm got an answer.".into(),
        Some((name, us)) => format!("99 of 100 connections are answered within {} ({name}).", PAGE.time(us)),
    }
}

fn times_table(case: &Case<'_>) -> Table {
    let p50s: Vec<f64> = case.believed().filter_map(|a| connect(a, |c| c.p50_us)).map(|e| e.value).collect();
    let unit = TimeUnit::of_median(&p50s);
    let head = |name: &str| format!("{name}, {}", unit.name(&PAGE));
    let heads = ["p50", "p99", "slowest", "TCP p50", "subscribed p50"].map(head);
    let mut columns = vec![
        ("arm", "arm"),
        (heads[0].as_str(), "p50_us"),
        (heads[1].as_str(), "p99_us"),
        (heads[2].as_str(), "max_us"),
        (heads[3].as_str(), "tcp_p50_us"),
        (heads[4].as_str(), "subscribed_p50_us"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let seen = |e: Option<Estimate>| Cell::time(e.filter(|_| arm.believed()).map(|e| e.value), unit);
        let part = |of: fn(&Connect) -> Option<i64>| {
            seen(arm.estimate(|a| of(a.connect.as_ref()?).map(|v| v as f64), true))
        };
        let mut row = vec![
            Cell::text(arm.name()),
            seen(connect(arm, |c| c.p50_us)),
            seen(connect(arm, |c| c.p99_us)),
            seen(connect(arm, |c| c.max_us)),
            part(|c| c.tcp.as_ref()?.p50_us),
            part(|c| c.subscribed.as_ref()?.p50_us),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
