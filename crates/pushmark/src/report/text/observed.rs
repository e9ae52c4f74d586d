//! The result of an observed target: messages, bytes, gaps, and how to get more.

use super::super::case::Case;
use super::super::figures::observe::{HOW, gap, per_second};
use super::super::numbers::{TERMINAL, TimeUnit};
use super::{COLUMNS, Pen, wrapped};

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
    out.extend(wrapped(HOW, COLUMNS - 2).into_iter().map(|l| pen.dim(&format!("  {l}"))));
    out
}
