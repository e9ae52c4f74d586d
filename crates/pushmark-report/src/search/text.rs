//! A search for a terminal, 80 columns: the answer, then every probe.

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::terminal::Style;
use pushmark_chart::terminal::{COLUMNS, Pen, ascii, wrapped};
use pushmark_model::metrics::{Metric, Unit};
use pushmark_model::run::VerdictState;
use pushmark_model::search::{Answer, ProbeRow, SearchFile};

use super::words;

/// The column where the values of a probe begin.
const VALUES: usize = 45;

/// The whole text.
pub(super) fn render(file: &SearchFile, style: &Style<'_>) -> String {
    let pen = Pen::new(style);
    let heading =
        format!("{} · {} · {} · {}", pen.bold("pushmark find-max"), file.name, file.target, file.transport);
    let mut out = vec![heading, String::new()];
    for (i, sentence) in words::answer(file, &TERMINAL).into_iter().enumerate() {
        let lines = wrapped(&sentence, COLUMNS - 2);
        out.extend(
            lines.into_iter().map(|line| format!("  {}", if i == 0 { pen.bold(&line) } else { line })),
        );
    }
    out.push(String::new());
    for (i, expression) in file.keep.iter().enumerate() {
        out.push(format!("  {:<7}{expression}", if i == 0 { "keep" } else { "" }));
    }
    out.push(String::new());
    out.push(pen.dim(&format!("  {:>3}{:>11}  {:8}{:>6}  {:11}", "", "load", "why", "window", "answer")));
    for (i, row) in file.probes.iter().enumerate() {
        let gutter = pen.gutter(doubt(row));
        let mut lines = wrapped(&values(row), COLUMNS - VALUES).into_iter();
        let first = lines.next().unwrap_or_default();
        out.push(format!(
            "{gutter}{:>3}{:>11}  {:8}{:>6}  {:11}{first}",
            i + 1,
            words::load(file.over, row.at, &TERMINAL),
            why(row),
            TERMINAL.duration(row.window_s * 1e6),
            answer_word(row.answer),
        ));
        out.extend(lines.map(|line| format!("{:VALUES$}{line}", "")));
    }
    if let Some(path) = style.report_path {
        out.extend([String::new(), format!("  report   {path}")]);
    }
    let text: String = out.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    if style.utf8 { text } else { ascii(&text) }
}

/// Returns a line for the terminal: `probe 4  800 connections (double)  failed  p99 61.2 ms`.
pub(super) fn line(file: &SearchFile, at: usize) -> String {
    let row = &file.probes[at];
    let load = words::load(file.over, row.at, &TERMINAL);
    let mut out =
        format!("probe {}  {load} {} ({})  {}", at + 1, file.over.name(), why(row), answer_word(row.answer));
    let values = values(row);
    if !values.is_empty() {
        out += &format!("  {values}");
    }
    out
}

/// Doubt in column 1: suspect figures are an answer, invalid ones are not.
pub(super) fn doubt(row: &ProbeRow) -> VerdictState {
    row.verdict.unwrap_or(VerdictState::Valid)
}

pub(super) fn why(row: &ProbeRow) -> String {
    format!("{:?}", row.why).to_lowercase()
}

pub(super) fn answer_word(answer: Answer) -> &'static str {
    match answer {
        Answer::Held => "held",
        Answer::Failed => "failed",
        Answer::Refused => "refused",
        Answer::Unbelieved => "no answer",
    }
}

/// Returns the values of the conditions, or the reason for a missing answer.
pub(super) fn values(row: &ProbeRow) -> String {
    if matches!(row.answer, Answer::Refused | Answer::Unbelieved) {
        return row.notes.first().cloned().unwrap_or_default();
    }
    let mut parts: Vec<String> =
        row.values.iter().map(|(expression, value)| value_of(expression, *value)).collect();
    parts.extend(row.notes.iter().filter(|note| !note.starts_with("not kept")).cloned());
    parts.join(", ")
}

/// `p99 41.2 ms` of `delivery.p99 < 50ms`.
fn value_of(expression: &str, value: f64) -> String {
    let name = expression.split(['<', '>', '=', '!', ' ']).next().unwrap_or(expression);
    let unit = Metric::find(name).map_or(Unit::Count, |metric| metric.unit);
    let shown = match unit {
        Unit::Micros => TERMINAL.time(value),
        Unit::Bytes => TERMINAL.bytes(value),
        Unit::Ratio => share(value),
        Unit::PerSecond => format!("{}/s", TERMINAL.three(value)),
        Unit::Count if value.fract() == 0.0 && value >= 0.0 => TERMINAL.count(value as u64),
        Unit::Count => TERMINAL.three(value),
    };
    format!("{} {shown}", name.strip_prefix("delivery.").unwrap_or(name))
}

/// `99.43 %`, rounded down: only all of it is `100 %`.
fn share(value: f64) -> String {
    let text = TERMINAL.fixed((value * 1e4).floor() / 100.0, 2);
    format!("{} %", text.strip_suffix(".00").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pushmark_model::search::{Limits, Over, Probe, SCHEMA, Search, Why};
    use pushmark_model::transport::Transport;

    use super::*;

    /// A search over a simulated server that holds `limit` connections.
    fn file(limit: u64, most: u64) -> SearchFile {
        let mut search =
            Search::new(Limits { least: 1, start: 400, most, precision: 0.1, runs: 3, probes: 60 });
        let mut probes = Vec::new();
        while let Some(Probe { at, why }) = search.next() {
            let answer = match at {
                at if at > 3_000 => Answer::Refused,
                at if at <= limit => Answer::Held,
                _ => Answer::Failed,
            };
            search.take(Probe { at, why }, answer);
            let share = (limit as f64 / at as f64).min(1.0);
            let refused = (answer == Answer::Refused).then(|| "too few open files".to_owned());
            probes.push(ProbeRow {
                at: at as f64,
                why,
                window_s: if why == Why::Confirm { 30.0 } else { 10.0 },
                answer,
                run: refused.is_none().then(|| "20261121T200412Z-fan-out-k3f9".to_owned()),
                verdict: refused.is_none().then_some(VerdictState::Valid),
                values: match refused {
                    None => BTreeMap::from([("delivery.within_100ms >= 99%".to_owned(), share)]),
                    Some(_) => BTreeMap::new(),
                },
                notes: refused.into_iter().collect(),
            });
        }
        SearchFile {
            schema: SCHEMA.to_owned(),
            name: "fan-out".to_owned(),
            started_at: "2026-11-21T20:04:12Z".to_owned(),
            command: "pushmark find-max".to_owned(),
            pushmark_version: "0.1.0".to_owned(),
            target: "builtin".to_owned(),
            server: None,
            transport: Transport::Sse,
            over: Over::Connections,
            step: 1.0,
            limits: *search.limits(),
            keep: vec!["delivery.within_100ms >= 99%".to_owned()],
            probes,
            found: search.found(false).scaled(1.0),
        }
    }

    #[test]
    fn the_text_of_a_search() {
        let plain = Style { color: false, utf8: true, report_path: Some("results/x/report.html") };
        let text = render(&file(1_300, 100_000), &plain);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        insta::assert_snapshot!(text, @"
        pushmark find-max · fan-out · builtin · sse

          1,300 connections held in 4 of 4 probes, the longest of them last; 1,400
          failed in 3 of 3

          keep   delivery.within_100ms >= 99%

                    load  why     window  answer
            1        400  start     10 s  held       within_100ms 100 %
            2        800  double    10 s  held       within_100ms 100 %
            3      1,600  double    10 s  failed     within_100ms 81.25 %
            4      1,200  bisect    10 s  held       within_100ms 100 %
            5      1,400  bisect    10 s  failed     within_100ms 92.85 %
            6      1,300  bisect    10 s  held       within_100ms 100 %
            7      1,300  repeat    10 s  held       within_100ms 100 %
            8      1,300  repeat    10 s  held       within_100ms 100 %
            9      1,400  repeat    10 s  failed     within_100ms 92.85 %
           10      1,400  repeat    10 s  failed     within_100ms 92.85 %
           11      1,300  confirm   30 s  held       within_100ms 100 %

          report   results/x/report.html
        ");
    }

    #[test]
    fn the_machine_is_not_blamed_on_the_server() {
        let file = file(100_000, 100_000);
        let text = words::answer(&file, &TERMINAL).join("; ");
        assert!(text.contains("above it this machine, not the server, is the limit"), "{text}");
        assert_eq!(line(&file, 3), "probe 4  3,200 connections (double)  refused  too few open files");
        let page = crate::search::html(&file);
        assert!(page.contains("above") || page.contains("Above"));
        assert!(page.contains("20261121T200412Z-fan-out-k3f9/report.html"));
    }

    #[test]
    fn only_all_of_it_is_a_hundred() {
        assert_eq!([1.0, 0.99999, 0.9943].map(share), ["100 %", "99.99 %", "99.43 %"]);
    }
}
