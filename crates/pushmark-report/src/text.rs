//! The result on stdout: 80 columns, no frames. Glyphs are in column 1, so that a wide one
//! shifts nothing; transports have no colour.

mod agents;
mod browsers;
mod flooded;
mod observed;
mod tables;

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::terminal::{COLUMNS, Pen, Style, ascii, visible, wrapped};
use pushmark_chart::tokens::glyph;

use super::case::Case;
use super::ending;
use super::thresholds::{self, Outcome};
use super::{doubted, troubles};

/// Renders the whole text of a case.
pub(crate) fn render(case: &Case<'_>, style: &Style<'_>) -> String {
    let pen = Pen::new(style);
    let mut out = vec![heading(case, &pen), String::new()];
    out.extend(verdict(case, &pen));
    out.push(String::new());
    if flooded::is_flood(case) {
        out.extend(flooded::lines(case, &pen));
    } else if case.observes() {
        out.extend(observed::lines(case, &pen));
    } else {
        out.extend(tables::deliveries(case, &pen));
        out.push(String::new());
        out.extend(went_wrong(case, &pen));
        out.extend(tables::latencies(case, &pen));
        out.extend(browsers::lines(case, &pen));
    }
    out.extend(agents::lines(case, &pen));
    out.push(String::new());
    out.extend(endings(case, &pen));
    out.extend(reasons(case, &pen));
    let foot = foot(case, style, &pen);
    if foot.is_empty() {
        out.pop();
    }
    out.extend(foot);
    let mut text: String = out.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    if !style.utf8 {
        text = ascii(&text);
    }
    text
}

fn heading(case: &Case<'_>, pen: &Pen) -> String {
    let run = case.run();
    let arm = case.arms.first().and_then(|a| a.starts.first());
    let starts = match case.n() {
        1 => "one start, n = 1".to_string(),
        n => format!("{n} starts each"),
    };
    let mut parts = vec![pen.bold("pushmark"), run.name.clone()];
    if let Some(arm) = arm {
        parts.push(arm.target.clone());
        parts.push(format!("{} clients a transport", TERMINAL.count(arm.connections.asked)));
    }
    parts.push(starts);
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if visible(line) + 3 + visible(&part) <= COLUMNS => {
                line.push_str(&format!(" · {part}"))
            }
            Some(_) => lines.push(format!("  {part}")),
            None => lines.push(part),
        }
    }
    lines.join("\n")
}

/// Returns what died, then which numbers can be used.
fn verdict(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let state = case.state();
    let deaths = case.arms.iter().filter(|_| !flooded::is_flood(case)).filter_map(troubles::death);
    let mut out: Vec<String> =
        deaths.flat_map(|text| under("† died", &text, |word| pen.bold(word))).collect();
    let word = format!("{} {}", glyph(state), state.name());
    out.extend(under(&word, &doubted::clauses(case).join("; "), |word| pen.state(state, word)));
    out
}

/// Writes a word in the first twelve columns, and a sentence beside it.
fn under(word: &str, text: &str, paint: impl Fn(&str) -> String) -> Vec<String> {
    let first = paint(word) + &" ".repeat(12 - word.chars().count().min(12));
    let rest = std::iter::repeat(" ".repeat(12));
    let heads = std::iter::once(first).chain(rest);
    heads.zip(wrapped(text, COLUMNS - 12)).map(|(head, line)| head + &line).collect()
}

/// Lists what went wrong, arm by arm: a line each, indented under the arm's name.
fn went_wrong(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let mut out = Vec::new();
    for arm in &case.arms {
        for (i, trouble) in troubles::of(arm, &TERMINAL).into_iter().enumerate() {
            let name = if i == 0 { arm.name() } else { "" };
            for (j, line) in wrapped(&trouble, COLUMNS - 20).into_iter().enumerate() {
                let head = if j == 0 { pen.bold(&format!("{name:<16}")) } else { " ".repeat(16) };
                out.push(format!("  {head}{}{line}", if j == 0 { "" } else { "  " }));
            }
        }
    }
    if !out.is_empty() {
        out.push(String::new());
    }
    out
}

/// Returns servers that ended or hung, each with the last lines of its output.
fn endings(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let mut out = Vec::new();
    for arm in &case.arms {
        let Some(words) = ending::of(arm) else { continue };
        for (i, line) in wrapped(&format!("its server {words}"), COLUMNS - 16).into_iter().enumerate() {
            let head = if i == 0 { arm.name() } else { "" };
            out.push(format!("  {head:<14}{line}"));
        }
        for line in ending::lines(arm) {
            let shown: String = line.chars().filter(|c| !c.is_control()).take(COLUMNS - 18).collect();
            out.push(pen.dim(&format!("  {:14}| {shown}", "")));
        }
        out.push(String::new());
    }
    out
}

fn reasons(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let all = case.reasons();
    let mut out = Vec::new();
    for reason in all.iter().take(3) {
        let parts = [("seen", &reason.seen), ("why", &reason.why), ("try", &reason.try_)];
        for (i, (head, text)) in parts.into_iter().enumerate() {
            for (j, line) in wrapped(text, COLUMNS - 9).into_iter().enumerate() {
                let gutter = if i + j == 0 { pen.gutter(reason.state) } else { "  ".into() };
                let head = if j == 0 { head } else { "" };
                out.push(format!("{gutter}{}{line}", pen.dim(&format!("{head:<7}"))));
            }
        }
        out.push(String::new());
    }
    if all.len() > 3 {
        out.push(pen.dim(&format!("  and {} more, in the report", all.len() - 3)));
        out.push(String::new());
    }
    out
}

fn foot(case: &Case<'_>, style: &Style<'_>, pen: &Pen) -> Vec<String> {
    let rows = thresholds::rows(case);
    let widest = rows.iter().map(|r| r.expression.chars().count()).max().unwrap_or(0);
    let mut out = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let head = if i == 0 { "thresholds" } else { "" };
        let words = row.words(&TERMINAL, "FAIL");
        let lines = wrapped(&words, (COLUMNS - 18).saturating_sub(widest).max(20));
        for (j, line) in lines.iter().enumerate() {
            let line = if row.outcome() == Outcome::Pass { line.clone() } else { pen.bold(line) };
            let (head, expression) = if j == 0 { (head, row.expression.as_str()) } else { ("", "") };
            out.push(format!("  {head:<12} {expression:<widest$}   {line}"));
        }
    }
    if let Some(path) = style.report_path {
        out.push(format!("  report   {path}"));
    }
    out
}
