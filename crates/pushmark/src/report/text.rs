//! The result on stdout: 80 columns, no frames. Glyphs stand in column 1, so that a wide one
//! shifts nothing; transports have no colour.

mod browsers;
mod flooded;
mod observed;
mod tables;

use anstyle::{AnsiColor, Color};
use pushmark_model::run::VerdictState;

use super::case::Case;
use super::ending;
use super::numbers::TERMINAL;
use super::thresholds::{self, Outcome};
use super::tokens::glyph;
use super::words;

/// How the text is written.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Escapes for colour; false where stdout is no terminal, with `NO_COLOR`, on `TERM=dumb`.
    pub color: bool,
    /// Glyphs beyond ASCII.
    pub utf8: bool,
    /// Where the page was written, if it was.
    pub report_path: Option<&'a str>,
}

/// Columns of the result.
pub(crate) const COLUMNS: usize = 80;

/// The whole text of a case.
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
        out.extend(tables::latencies(case, &pen));
        out.extend(browsers::lines(case, &pen));
    }
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

/// The four colours and bold, or nothing.
pub(crate) struct Pen {
    color: bool,
}

impl Pen {
    pub(crate) fn new(style: &Style<'_>) -> Pen {
        Pen { color: style.color }
    }

    fn with(&self, style: anstyle::Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.with(anstyle::Style::new().bold(), text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.with(anstyle::Style::new().dimmed(), text)
    }

    pub(crate) fn state(&self, state: VerdictState, text: &str) -> String {
        let ansi = |c: AnsiColor| anstyle::Style::new().fg_color(Some(Color::Ansi(c)));
        let style = match state {
            VerdictState::Valid => ansi(AnsiColor::Green),
            VerdictState::Suspect => ansi(AnsiColor::Yellow),
            VerdictState::Invalid => ansi(AnsiColor::Red),
            VerdictState::Incomplete => anstyle::Style::new().dimmed(),
        };
        self.with(style, text)
    }

    /// Column 1 and 2 of an arm's line: its doubt, nothing if it is valid.
    pub(crate) fn gutter(&self, state: VerdictState) -> String {
        match state {
            VerdictState::Valid => "  ".into(),
            doubt => format!("{} ", self.state(doubt, glyph(doubt))),
        }
    }
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

/// Characters a terminal shows of a text with escapes.
fn visible(text: &str) -> usize {
    let mut shown = 0;
    let mut escape = false;
    for c in text.chars() {
        match (escape, c) {
            (false, '\u{1b}') => escape = true,
            (true, 'm') => escape = false,
            (true, _) => {}
            (false, _) => shown += 1,
        }
    }
    shown
}

fn verdict(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let state = case.state();
    let word = format!("{} {}", glyph(state), state.name());
    let lines = wrapped(&short_sentence(case), COLUMNS - 12);
    let first = pen.state(state, &word) + &" ".repeat(12 - word.chars().count().min(12));
    let rest = std::iter::repeat_n(" ".repeat(12), lines.len().saturating_sub(1));
    std::iter::once(first).chain(rest).zip(lines).map(|(head, line)| head + &line).collect()
}

/// `long-poll is doubtful; the other four are valid`.
fn short_sentence(case: &Case<'_>) -> String {
    let state = case.state();
    let worst: Vec<&str> = case.arms.iter().filter(|a| a.state == state).map(|a| a.name()).collect();
    let rest: Vec<_> = case.arms.iter().filter(|a| a.state != state).collect();
    if state == VerdictState::Valid {
        return match worst.len() {
            1 => "the figures of the arm can be believed".into(),
            n => format!("the figures of all {} arms can be believed", words::number(n)),
        };
    }
    let doubt = match state {
        VerdictState::Suspect => "doubtful",
        VerdictState::Incomplete => "incomplete",
        _ => "not the server's",
    };
    if rest.is_empty() || worst.is_empty() {
        return format!("all figures are {doubt}");
    }
    let is = if worst.len() == 1 { "is" } else { "are" };
    let others = if rest.iter().any(|a| a.state != VerdictState::Valid) {
        rest.iter().map(|a| format!("{} is {}", a.name(), a.state.name())).collect::<Vec<_>>().join(", ")
    } else if rest.len() == 1 {
        format!("{} is valid", rest[0].name())
    } else {
        format!("the other {} are valid", words::number(rest.len()))
    };
    format!("{} {is} {doubt}; {others}", words::list(&worst))
}

pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Servers that ended or hung, each with the last it wrote.
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

/// The glyphs of a terminal that shows no UTF-8.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '✓' => out.push_str("ok"),
            '▲' => out.push('!'),
            '✕' => out.push('x'),
            '◐' | '·' | '−' | '–' => out.push('-'),
            '█' => out.push('#'),
            '░' => out.push('.'),
            '▉'..='▏' | '\u{a0}' | '\u{202f}' => out.push(' '),
            '≥' => out.push('>'),
            '×' | '✗' => out.push('x'),
            'µ' => out.push('u'),
            '→' => out.push('>'),
            '†' => out.push('+'),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_keeps_every_column() {
        assert_eq!(ascii("▲ a · 5 µs ≥ 2 █▉░"), "! a - 5 us > 2 # .");
    }

    #[test]
    fn escapes_have_no_width() {
        let pen = Pen { color: true };
        assert_eq!(visible(&pen.bold("abc")), 3);
    }
}
