//! Due, sent and delivered per second: whether the schedule was kept, and whether sent messages arrived. A
//! publication counts as its intended deliveries.

use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::plain_tick;
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::INK2;
use pushmark_model::run::Window;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, both};
use crate::panels::{Line, Panels};
use crate::timeline::measure_start;

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if case.observes() || !case.believed().any(|a| lines(a).iter().any(|l| !l.points.is_empty())) {
        return None;
    }
    let panels =
        Panels { id: "flow", axis: "↑ deliveries per second", tick: plain_tick, note, lines: &lines };
    let (wide, narrow) = both(FULL, |size| panels.draw(case, size));
    let start =
        if case.n() == 1 { "one start, n = 1".into() } else { format!("the median of {} starts", case.n()) };
    Some(Figure {
        id: "flow",
        title: "Due, sent and delivered per second".into(),
        sentence: sentence(case),
        caption: format!("{start}; due and sent: publications × subscribers; delivered: by received instant"),
        wide,
        narrow,
        table: table(case),
    })
}

/// Deliveries a second over measure.
pub(crate) fn goodput(arm: &ArmView<'_>) -> Option<f64> {
    let per_start = |a: &pushmark_model::run::Arm| {
        let phase = a.phases.iter().find(|p| p.name == "measure")?;
        let seconds = (phase.end_us - phase.start_us) as f64 / 1e6;
        (seconds > 0.0).then(|| a.delivery.as_ref().map(|d| d.delivered as f64 / seconds))?
    };
    arm.estimate(per_start, true).map(|e: Estimate| e.value)
}

/// Subscribers a publication was meant for.
fn fan_out(arm: &ArmView<'_>) -> f64 {
    let of = |a: &&pushmark_model::run::Arm| {
        let due = a.published.as_ref()?.due;
        (due > 0).then(|| a.delivery.as_ref().map(|d| d.intended as f64 / due as f64))?
    };
    arm.starts.get(arm.median_start()).and_then(of).unwrap_or(0.0)
}

fn lines(arm: &ArmView<'_>) -> Vec<Line> {
    let Some(windows) = arm.windows.get(arm.median_start()) else { return Vec::new() };
    let Some(from) = measure_start(windows) else { return Vec::new() };
    let measured: Vec<&&Window> = windows.iter().filter(|w| w.phase == "measure").collect();
    let fan_out = fan_out(arm);
    let each = measured.len().div_ceil(160).max(1);
    let of = |value: &dyn Fn(&Window) -> f64| -> Vec<(f64, f64)> {
        measured
            .chunks(each)
            .map(|c| {
                (f64::from(c[0].second - from), c.iter().map(|w| value(w)).sum::<f64>() / c.len() as f64)
            })
            .collect()
    };
    let dash = match arm.mark.dash {
        "" => String::new(),
        dash => format!(r#" stroke-dasharray="{dash}""#),
    };
    vec![
        Line {
            name: "due",
            paint: INK2,
            style: r#"stroke-width="1" stroke-dasharray="5 4""#.into(),
            points: of(&|w| w.due as f64 * fan_out),
        },
        Line {
            name: "sent",
            paint: INK2,
            style: r#"stroke-width=".9""#.into(),
            points: of(&|w| w.sent as f64 * fan_out),
        },
        Line {
            name: "delivered",
            paint: arm.mark.paint,
            style: format!(r#"stroke-width="2" stroke-linejoin="round"{dash}"#),
            points: of(&|w| w.delivered as f64),
        },
    ]
}

fn note(arm: &ArmView<'_>) -> String {
    let slope = arm.deliveries().filter_map(|d| d.backlog_per_s).fold(0.0, f64::max);
    if arm.unstable() {
        return format!("unstable: backlog +{}/s", PAGE.three(slope));
    }
    match arm.one_in() {
        Some(one_in) => format!("shows 1 state in {}", PAGE.fixed(one_in, 0)),
        None => goodput(arm).map_or(String::new(), |g| format!("{}/s delivered", PAGE.three(g))),
    }
}

fn sentence(case: &Case<'_>) -> String {
    let kept = |a: &&ArmView<'_>| {
        let share = a.estimate(
            |arm| arm.published.as_ref().filter(|p| p.due > 0).map(|p| p.sent as f64 / p.due as f64),
            false,
        );
        share.is_none_or(|s| s.value >= 0.99)
    };
    let behind: Vec<&str> = case.believed().filter(|a| !kept(a)).map(|a| a.name()).collect();
    let unstable: Vec<&str> = case.believed().filter(|a| a.unstable()).map(|a| a.name()).collect();
    if !unstable.is_empty() {
        return format!(
            "The backlog of {} grows: it does not keep up.",
            pushmark_chart::words::list(&unstable)
        );
    }
    if behind.is_empty() {
        "Every arm was sent what was due.".into()
    } else {
        format!("{} was not sent all that was due.", pushmark_chart::words::list(&behind))
    }
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("second", "second"),
        ("publications due", "due"),
        ("sent", "sent"),
        ("delivered", "delivered"),
        ("requests", "requests"),
        ("connected", "connected"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in case.believed() {
        let Some(windows) = arm.windows.get(arm.median_start()) else { continue };
        for w in windows {
            let mut row = vec![
                Cell::text(arm.name()),
                Cell::count(u64::from(w.second)),
                Cell::count(w.due),
                Cell::count(w.sent),
                Cell::count(w.delivered),
                Cell::count(w.requests),
                Cell::count(w.connected),
            ];
            row.extend(arm.tail());
            table.push(row);
        }
    }
    table.thinned()
}
