//! Floods: clients offered, established and served; and new connections an interval, which show the knee
//! of a server.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::plain_tick;
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{GENERATOR, INK2, SERVER};
use pushmark_model::run::{Flood, FloodInterval};

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, both};
use crate::panels::{Line, Panels};

const OFFERED: &str = r#"stroke-width="1.2" stroke-dasharray="5 4""#;
const ESTABLISHED: &str = r#"stroke-width="2" stroke-linejoin="round""#;
const SERVED: &str = r#"stroke-width="2" stroke-dasharray="1.5 4" stroke-linecap="round""#;

/// Returns the flood of the start that is drawn.
fn flood<'a>(arm: &ArmView<'a>) -> Option<&'a Flood> {
    arm.starts.get(arm.median_start())?.flood.as_ref()
}

fn floods(case: &Case<'_>) -> bool {
    case.arms.iter().any(|arm| flood(arm).is_some())
}

/// Draws all connections: three lines, as a flood is an open model.
pub(crate) fn totals(case: &Case<'_>) -> Option<Figure> {
    if !floods(case) {
        return None;
    }
    let panels =
        Panels { id: "flood", axis: "↑ connections", tick: plain_tick, note: ending, lines: &grown };
    let (wide, narrow) = both(FULL, |size| panels.draw(case, size));
    Some(Figure {
        id: "flood",
        title: "Where the flood ended".into(),
        sentence: sentence(case),
        caption: format!(
            "{}; offered: due by then; established: the first response byte arrived; served: received the last publication in time",
            case.statistic()
        ),
        wide,
        narrow,
        table: ends(case),
    })
}

/// Draws new connections an interval.
pub(crate) fn rate(case: &Case<'_>) -> Option<Figure> {
    if !floods(case) {
        return None;
    }
    let panels = Panels {
        id: "flood-rate",
        axis: "↑ new connections an interval",
        tick: plain_tick,
        note: knee,
        lines: &rates,
    };
    let (wide, narrow) = both(FULL, |size| panels.draw(case, size));
    Some(Figure {
        id: "flood-rate",
        title: "New connections".into(),
        sentence: knees(case),
        caption: format!("{}; whole intervals; dashed: offered", case.statistic()),
        wide,
        narrow,
        table: curve(case),
    })
}

fn line(name: &'static str, paint: &'static str, style: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name, paint, style: style.into(), points }
}

fn grown(arm: &ArmView<'_>) -> Vec<Line> {
    let Some(flood) = flood(arm) else { return Vec::new() };
    let end = |i: &FloodInterval| (i.start_us + i.length_us) as f64 / 1e6;
    let sum = |of: fn(&FloodInterval) -> u64| {
        let mut total = 0;
        let mut points = vec![(0.0, 0.0)];
        points.extend(flood.intervals.iter().map(|i| {
            total += of(i);
            (end(i), total as f64)
        }));
        points
    };
    let served = flood.intervals.iter().filter_map(|i| Some((end(i), i.served? as f64))).collect();
    vec![
        line("offered", INK2, OFFERED, sum(|i| i.offered)),
        line("established", SERVER, ESTABLISHED, sum(|i| i.established)),
        line("served", GENERATOR, SERVED, served),
    ]
}

fn rates(arm: &ArmView<'_>) -> Vec<Line> {
    let Some(flood) = flood(arm) else { return Vec::new() };
    let whole = flood.offering().iter().filter(|i| i.length_us == flood.interval_us);
    let of = |value: fn(&FloodInterval) -> u64| {
        whole.clone().map(|i| ((i.start_us + i.length_us / 2) as f64 / 1e6, value(i) as f64)).collect()
    };
    vec![
        line("offered", INK2, OFFERED, of(|i| i.offered)),
        line("established", SERVER, ESTABLISHED, of(|i| i.established)),
    ]
}

fn ending(arm: &ArmView<'_>) -> String {
    flood(arm).map_or(String::new(), |f| format!("{} at {} s", f.end.name(), f.ended_us / 1_000_000))
}

fn knee(arm: &ArmView<'_>) -> String {
    match flood(arm).and_then(|f| f.declined_from) {
        Some(from) => format!("declines from {}", PAGE.count(from)),
        None => String::new(),
    }
}

fn sentence(case: &Case<'_>) -> String {
    let of = |arm: &ArmView<'_>| {
        let flood = flood(arm)?;
        let limit = flood.limits.first().map_or(String::new(), |limit| format!(": {}", limit.seen));
        Some(format!(
            "{} held {} clients; {}{limit}.",
            arm.name(),
            PAGE.count(flood.connected_max),
            flood.end.words()
        ))
    };
    case.arms.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

fn knees(case: &Case<'_>) -> String {
    let of = |arm: &ArmView<'_>| {
        let flood = flood(arm)?;
        Some(match flood.declined_from {
            Some(from) => format!(
                "{}: below 90 % of what was offered from {} clients on.",
                arm.name(),
                PAGE.count(from)
            ),
            None => format!("{}: at the rate offered to the end.", arm.name()),
        })
    };
    case.arms.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

/// Returns one row a start: its end and its limit.
fn ends(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("offered", "offered"),
        ("established", "established"),
        ("held at once", "connected_max"),
        ("served", "served_max"),
        ("by the server's count", "counted_max"),
        ("ended", "end"),
        ("after, s", "ended_s"),
        ("limit", "limit"),
        ("evidence", "seen"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        for flood in arm.starts.iter().filter_map(|a| a.flood.as_ref()) {
            let limits: Vec<&str> = flood.limits.iter().map(|l| l.kind.as_str()).collect();
            let seen: Vec<&str> = flood.limits.iter().map(|l| l.seen.as_str()).collect();
            let mut row = vec![
                Cell::text(arm.name()),
                Cell::count(flood.offered),
                Cell::count(flood.established),
                Cell::count(flood.connected_max),
                Cell::count_or_absent(flood.served_max),
                Cell::count_or_absent(flood.counted_max),
                Cell::text(flood.end.name()),
                Cell::count(flood.ended_us / 1_000_000),
                Cell::text(if limits.is_empty() { "none found".into() } else { limits.join(", ") }),
                Cell::text(seen.join("; ")),
            ];
            row.extend(arm.tail());
            table.push(row);
        }
    }
    table
}

/// Returns one row an interval.
fn curve(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("from, s", "start_s"),
        ("offered", "offered"),
        ("established", "established"),
        ("failed", "failed"),
        ("lost", "lost"),
        ("held", "connected"),
        ("served", "served"),
        ("by the server's count", "counted"),
        ("server, cores", "server_cores"),
        ("server RSS, MiB", "server_rss_mib"),
        ("server threads", "server_threads"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        for i in flood(arm).iter().flat_map(|flood| &flood.intervals) {
            let mut row = vec![
                Cell::text(arm.name()),
                Cell::count(i.start_us / 1_000_000),
                Cell::count(i.offered),
                Cell::count(i.established),
                Cell::count(i.failed),
                Cell::count(i.lost),
                Cell::count(i.connected),
                Cell::count_or_absent(i.served),
                Cell::count_or_absent(i.counted),
                Cell::number(i.server_cores),
                Cell::number(i.server_rss_bytes.map(|b| b as f64 / 1_048_576.0)),
                Cell::count_or_absent(i.server_threads),
            ];
            row.extend(arm.tail());
            table.push(row);
        }
    }
    table.thinned()
}
