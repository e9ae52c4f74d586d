//! The result of a flood: how many connections the server held, why the flood ended, and which limit it
//! met.

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::terminal::{COLUMNS, Pen, wrapped};
use pushmark_model::run::Flood;

use super::super::case::Case;

/// Whether any arm is a flood.
pub(super) fn is_flood(case: &Case<'_>) -> bool {
    case.arms.iter().any(|arm| arm.starts.iter().any(|a| a.flood.is_some()))
}

/// Writes a line a start, and its limits below the line.
pub(super) fn lines(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let name = case.arms.iter().map(|a| a.name().len()).max().unwrap_or(0).max(9);
    let head = format!(
        "  {:name$}{:>10}{:>13}{:>10}{:>10}{:>11}  ended",
        "", "offered", "established", "held", "served", "own count"
    );
    let mut out = vec![pen.dim(&head)];
    for arm in &case.arms {
        for flood in arm.starts.iter().filter_map(|a| a.flood.as_ref()) {
            let absent = |n: Option<u64>| n.map_or_else(|| "–".to_string(), |n| TERMINAL.count(n));
            out.push(format!(
                "{}{:name$}{:>10}{:>13}{:>10}{:>10}{:>11}  {}",
                pen.gutter(arm.state),
                arm.name(),
                TERMINAL.count(flood.offered),
                TERMINAL.count(flood.established),
                TERMINAL.count(flood.connected_max),
                absent(flood.served_max),
                absent(flood.counted_max),
                flood.end.name(),
            ));
            out.extend(why(flood));
        }
    }
    out
}

fn why(flood: &Flood) -> Vec<String> {
    let mut told = vec![format!("after {} s {}", flood.ended_us / 1_000_000, flood.end.words())];
    if let Some(from) = flood.declined_from {
        told.push(format!("fewer connected than were offered from {} clients on", TERMINAL.count(from)));
    }
    match flood.limits.as_slice() {
        [] if flood.end.is_the_servers() => told.push("no limit was found".into()),
        limits => told.extend(limits.iter().map(|limit| {
            let whose = if limit.ours { "pushmark's" } else { "the server's" };
            format!("limit: {} ({whose}): {}", limit.kind.replace('_', " "), limit.seen)
        })),
    }
    let lines = told.iter().flat_map(|text| wrapped(text, COLUMNS - 4));
    lines.map(|line| format!("    {line}")).collect()
}
