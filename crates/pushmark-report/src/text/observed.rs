//! The result of an observed target: messages, bytes, gaps, and how to get more.

use pushmark_chart::numbers::{TERMINAL, TimeUnit};
use pushmark_chart::terminal::{COLUMNS, Pen, wrapped};
use pushmark_model::run::{Arm, Latency};

use super::super::case::{ArmView, Case};
use super::super::figures::observe::{HOW, gap, per_second};

/// Figures that are absent even if the target stamps its messages.
const HOW_WITH_STAMPS: &str = "Nothing was published by pushmark, so deliveries and loss are absent: add \
    [target.publish] to the scenario to get them.";

/// Returns latency by the target's timestamps, if `[target.stamp]` is set.
fn latency(arm: &ArmView<'_>) -> Option<String> {
    let of = |percentile: fn(&Latency) -> Option<i64>| {
        let us = |a: &Arm| percentile(a.observed.as_ref()?.latency.as_ref()?).map(|us| us as f64);
        arm.estimate(us, true).map_or("–".to_owned(), |e| TERMINAL.time(e.value))
    };
    let count: u64 =
        arm.starts.iter().filter_map(|a| a.observed.as_ref()?.latency.as_ref()).map(|l| l.count).sum();
    (count > 0).then(|| {
        format!(
            "{}: latency by the target's own timestamps: p50 {}, p90 {}, p99 {} ({} messages)",
            arm.name(),
            of(|l| l.p50_us),
            of(|l| l.p90_us),
            of(|l| l.p99_us),
            TERMINAL.count(count)
        )
    })
}

pub(super) fn lines(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let w = case.arms.iter().map(|a| a.name().len()).max().unwrap_or(0).max(9);
    let gaps: Vec<f64> = case.arms.iter().filter_map(|a| gap(a, false)).map(|e| e.value).collect();
    let unit = TimeUnit::of_median(&gaps);
    let by = unit.name(&TERMINAL);
    let mut out = vec![
        pen.dim(&format!(
            "  {:w$}{:>12}{:>12}{:>14}{:>12}",
            "",
            "",
            "messages",
            "payload",
            format!("gap, {by}")
        )),
        pen.dim(&format!("  {:w$}{:>12}{:>12}{:>14}{:>12}{:>9}", "", "messages", "/s", "/s", "p50", "p99")),
    ];
    for arm in &case.arms {
        let messages: u64 = arm.starts.iter().filter_map(|a| a.observed.as_ref()).map(|o| o.messages).sum();
        let time = |p99| gap(arm, p99).map_or("–".to_string(), |e| TERMINAL.time_in(e.value, unit));
        let rate = per_second(arm, |o| o.messages).map_or("–".to_string(), |e| TERMINAL.three(e.value));
        let bytes =
            per_second(arm, |o| o.payload_bytes).map_or("–".to_string(), |e| TERMINAL.bytes(e.value));
        out.push(format!(
            "{}{}{:>12}{rate:>12}{bytes:>14}{:>12}{:>9}",
            pen.gutter(arm.state),
            pen.bold(&format!("{:w$}", arm.name())),
            TERMINAL.count(messages),
            time(false),
            time(true)
        ));
    }
    let stamped: Vec<String> = case.arms.iter().filter_map(latency).collect();
    for line in stamped.iter().flat_map(|text| wrapped(text, COLUMNS - 2)) {
        out.push(format!("  {line}"));
    }
    let how = if stamped.is_empty() { HOW } else { HOW_WITH_STAMPS };
    out.extend(wrapped(how, COLUMNS - 2).into_iter().map(|l| pen.dim(&format!("  {l}"))));
    out
}
