//! The abilities of a stream: width, colours, characters. Determined once, then passed along.

use std::io::{IsTerminal, stderr, stdout};
use std::os::fd::AsFd;

/// The abilities of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns of a terminal that can move its cursor; absent: not such a terminal.
    pub columns: Option<usize>,
    /// It shows escapes for colour and weight.
    pub colours: bool,
    /// It shows characters beyond ASCII.
    pub unicode: bool,
}

impl Screen {
    /// The abilities of stderr.
    pub fn of_stderr() -> Screen {
        Screen::decide(stderr().is_terminal(), columns(stderr()), |name| std::env::var(name).ok())
    }

    /// The abilities of stdout.
    pub fn of_stdout() -> Screen {
        Screen::decide(stdout().is_terminal(), columns(stdout()), |name| std::env::var(name).ok())
    }

    /// Decides by the terminal and the environment: `NO_COLOR`, `TERM=dumb`, the locale's character set.
    pub fn decide(
        is_terminal: bool,
        columns: Option<usize>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Screen {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let capable = is_terminal && set("TERM").is_none_or(|term| term != "dumb");
        // The first of these that is set decides, as in setlocale(3).
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let charset = locale.to_ascii_lowercase().replace('-', "");
        Screen {
            columns: capable.then(|| columns.filter(|&c| c > 0).unwrap_or(80)),
            colours: capable && set("NO_COLOR").is_none(),
            unicode: charset.contains("utf8"),
        }
    }

    /// The glyph of doubt.
    pub fn suspect(&self) -> &'static str {
        if self.unicode { "▲" } else { "!" }
    }

    /// A text in characters that the output can show.
    pub fn words(&self, text: &str) -> String {
        if self.unicode {
            return text.to_string();
        }
        let mut plain = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                'µ' => plain.push('u'),
                '−' | '–' | '—' | '·' => plain.push('-'),
                '×' => plain.push('x'),
                '≥' => plain.push_str(">="),
                '≤' => plain.push_str("<="),
                '\u{a0}' | '\u{202f}' => plain.push(' '),
                '…' => plain.push_str("..."),
                '✓' => plain.push_str("ok"),
                '▲' => plain.push('!'),
                '✕' => plain.push('x'),
                '◐' => plain.push('-'),
                c if c.is_ascii() => plain.push(c),
                _ => plain.push('?'),
            }
        }
        plain
    }
}

fn columns(stream: impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(is_terminal: bool, variables: &[(&str, &str)]) -> Screen {
        Screen::decide(is_terminal, Some(120), |name| {
            variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string())
        })
    }

    #[test]
    fn a_terminal_in_a_utf8_locale_gets_everything() {
        let full = Screen { columns: Some(120), colours: true, unicode: true };
        assert_eq!(screen(true, &[("LANG", "en_GB.UTF-8"), ("TERM", "xterm")]), full);
        assert_eq!(screen(true, &[("LC_CTYPE", "C.utf8")]), full);
    }

    #[test]
    fn each_refusal_is_heard() {
        let utf8 = ("LANG", "C.UTF-8");
        assert!(!screen(true, &[utf8, ("NO_COLOR", "1")]).colours);
        assert!(screen(true, &[utf8, ("NO_COLOR", "")]).colours, "empty means unset");
        let dumb = screen(true, &[utf8, ("TERM", "dumb")]);
        assert_eq!(dumb, Screen { columns: None, colours: false, unicode: true });
        assert_eq!(screen(false, &[utf8]), dumb);
        assert!(!screen(true, &[("LC_ALL", "C"), utf8]).unicode, "LC_ALL wins");
        assert!(!screen(true, &[]).unicode);
    }

    #[test]
    fn words_fall_back_to_ascii() {
        let ascii = Screen { columns: None, colours: false, unicode: false };
        assert_eq!(ascii.words("▲ 310\u{a0}µs × −1 ≥ 2"), "! 310 us x -1 >= 2");
    }
}
