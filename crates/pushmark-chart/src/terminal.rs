//! Text for a terminal: 80 columns, four colours, glyphs that ASCII can replace.

use anstyle::{AnsiColor, Color};
use pushmark_model::run::VerdictState;

use crate::tokens::glyph;

/// How the text is written.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Escapes for colour; false if stdout is not a terminal, with `NO_COLOR` or `TERM=dumb`.
    pub color: bool,
    /// Glyphs beyond ASCII.
    pub utf8: bool,
    /// Where the page was written, if it was.
    pub report_path: Option<&'a str>,
}

/// Columns of the result.
pub const COLUMNS: usize = 80;

/// The four colours and bold, or nothing.
pub struct Pen {
    color: bool,
}

impl Pen {
    /// A pen for this style.
    pub fn new(style: &Style<'_>) -> Pen {
        Pen { color: style.color }
    }

    fn with(&self, style: anstyle::Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// The text in bold.
    pub fn bold(&self, text: &str) -> String {
        self.with(anstyle::Style::new().bold(), text)
    }

    /// The text, dimmed.
    pub fn dim(&self, text: &str) -> String {
        self.with(anstyle::Style::new().dimmed(), text)
    }

    /// The text in the colour of a verdict.
    pub fn state(&self, state: VerdictState, text: &str) -> String {
        let ansi = |c: AnsiColor| anstyle::Style::new().fg_color(Some(Color::Ansi(c)));
        let style = match state {
            VerdictState::Valid => ansi(AnsiColor::Green),
            VerdictState::Suspect => ansi(AnsiColor::Yellow),
            VerdictState::Invalid => ansi(AnsiColor::Red),
            VerdictState::Incomplete => anstyle::Style::new().dimmed(),
        };
        self.with(style, text)
    }

    /// Writes columns 1 and 2 of an arm's line: its doubt, or nothing if it is valid.
    pub fn gutter(&self, state: VerdictState) -> String {
        match state {
            VerdictState::Valid => "  ".into(),
            doubt => format!("{} ", self.state(doubt, glyph(doubt))),
        }
    }
}

/// Counts the characters that a terminal shows of a text with escapes.
pub fn visible(text: &str) -> usize {
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

/// Breaks a text into lines of at most `width` characters, between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
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

/// Replaces glyphs for a terminal without UTF-8.
pub fn ascii(text: &str) -> String {
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
