//! The table in `servers/README.md`, between two marks.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::figures::{Cost, Row};

const BEGIN: &str = "<!-- measured: cargo xtask servers -->";
const END: &str = "<!-- /measured -->";
const NONE: &str = "–";

/// Writes the rows between the marks of the file.
pub(crate) fn write(file: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let changed =
        replaced(&text, &render(rows)).with_context(|| format!("{}: no {BEGIN} … {END}", file.display()))?;
    fs::write(file, changed).with_context(|| file.display().to_string())
}

fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// The rows, and what they were measured on.
fn render(rows: &[Row]) -> String {
    let mut text = String::new();
    let Some(first) = rows.first() else { return text };
    let day = first.measured_at.get(..10).unwrap_or_default();
    let _ = writeln!(
        text,
        "Measured {day} with pushmark {} ({}) on {}; one run a case, so no interval.\n",
        first.pushmark, first.commit, first.machine
    );
    text += "| server | stands for | ready after | held | got both messages | memory a client | CPU-s per million: long poll | stream | WebSocket |\n";
    text += "|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for row in rows {
        let held = &row.held;
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            row.stands_for,
            row.ready_us.map_or(NONE.to_owned(), |us| format!("{:.1} s", us as f64 / 1e6)),
            held_words(row),
            share(held.delivered, held.intended),
            held.rss_bytes_per_connection.map_or(NONE.to_owned(), kib),
            cost(&row.cost, &["long-poll", "bayeux"]),
            cost(&row.cost, &["stream"]),
            cost(&row.cost, &["websocket", "bayeux-websocket"]),
        );
    }
    let notes: Vec<String> = rows.iter().filter_map(note).collect();
    if !notes.is_empty() {
        text += "\nWhat broke, with its run and last words in `record/`:\n\n";
        notes.iter().for_each(|note| {
            let _ = writeln!(text, "- {note}");
        });
    }
    text
}

fn held_words(row: &Row) -> String {
    let held = &row.held;
    let kind = if held.transport == "long-poll" { String::new() } else { format!(" ({})", held.transport) };
    if held.opened == held.asked && held.lost == 0 {
        return format!("{}{kind}", thousands(held.asked));
    }
    let stayed = held.opened.saturating_sub(held.lost);
    format!("{} of {}{kind}", thousands(stayed), thousands(held.asked))
}

fn note(row: &Row) -> Option<String> {
    row.broke().then(|| {
        let held = &row.held;
        let mut words = format!(
            "`{}`: {} of {} taken, {} lost, {} of {} deliveries, {}",
            row.name, held.opened, held.asked, held.lost, held.delivered, held.intended, held.outcome
        );
        if let Some(ended) = &held.ended {
            let _ = write!(words, ", it ended by itself ({ended})");
        }
        for cost in row.cost.iter().filter(|cost| cost.outcome != "held") {
            let _ = write!(words, "; {} {} under load", cost.transport, cost.outcome);
        }
        words
    })
}

fn cost(costs: &[Cost], transports: &[&str]) -> String {
    let found = costs.iter().find(|cost| transports.contains(&&cost.transport[..]));
    match found.and_then(|cost| cost.cpu_s_per_million.map(|value| (cost, value))) {
        None => NONE.to_owned(),
        // What few deliveries cost that did arrive is no price.
        Some((cost, _)) if cost.outcome != "held" => cost.outcome.clone(),
        // An invalid figure is never shown as a plain one.
        Some((cost, value)) if cost.verdict == "invalid" => format!("({value:.0}, invalid)"),
        Some((_, value)) => format!("{value:.0}"),
    }
}

fn share(delivered: u64, intended: u64) -> String {
    match intended {
        0 => NONE.to_owned(),
        // Rounded down: all is said of all only.
        _ => format!("{:.1} %", (delivered as f64 / intended as f64 * 1_000.0).floor() / 10.0),
    }
}

fn kib(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}

fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::figures::Held;

    fn row() -> Row {
        let held = Held {
            transport: "long-poll".into(),
            asked: 15_000,
            opened: 15_000,
            lost: 0,
            intended: 30_000,
            delivered: 30_000,
            rss_bytes_per_connection: Some(2048.0),
            rss_bytes_peak: None,
            outcome: "held".into(),
            ended: None,
        };
        let cost = Cost {
            transport: "stream".into(),
            cpu_s_per_million: Some(12.4),
            outcome: "held".into(),
            verdict: "valid".into(),
        };
        Row {
            name: "one".into(),
            generation: "present".into(),
            stands_for: "itself".into(),
            architecture: "event loop".into(),
            measured_at: "2026-01-02T03:04:05Z".into(),
            machine: "2 × cpu, Linux 6".into(),
            pushmark: "0.1".into(),
            commit: "abc".into(),
            ready_us: Some(1_234_567),
            held,
            cost: vec![cost],
        }
    }

    #[test]
    fn a_row_says_what_was_measured_and_leaves_out_what_was_not() {
        let text = render(&[row()]);
        assert!(
            text.contains("| `one` | itself | 1.2 s | 15,000 | 100.0 % | 2.0 KiB | – | 12 | – |"),
            "{text}"
        );
        assert!(!text.contains("What broke"));
    }

    #[test]
    fn what_broke_is_told_and_an_invalid_figure_is_marked() {
        let mut row = row();
        row.held.opened = 9_000;
        row.held.delivered = 29_999;
        row.held.ended = Some("exit 1".into());
        row.cost[0].verdict = "invalid".into();
        let text = render(&[row]);
        assert!(text.contains("9,000 of 15,000 | 99.9 %"), "{text}");
        assert!(text.contains("(12, invalid)"));
        assert!(text.contains("it ended by itself (exit 1)"));
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(replaced(&text, "new\n").unwrap(), format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert!(replaced("no marks", "new").is_none());
    }
}
