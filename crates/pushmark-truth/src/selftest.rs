//! The last self-test on this machine: kept beside the results and reported with each later run.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use pushmark_model::run::SelftestRef;

use crate::{Check, State};
use pushmark_console::progress::screen::Screen;
use pushmark_store::{self as store, Utc};

/// Widths of the columns: name, true value, reported value.
const WIDTHS: (usize, usize, usize) = (38, 16, 14);

/// Keeps the result of a self-test in the results' folder and replaces the previous one.
pub fn keep(results: &Path, checks: &[Check]) -> anyhow::Result<()> {
    let result = SelftestRef {
        at: Utc::now().rfc3339(),
        passed: checks.iter().all(|check| check.state == State::Passed),
        summary: summary(checks),
    };
    store::keep_selftest(results, &result)
}

/// `78 of 80 checks passed, 1 failed, 1 not decided`.
pub fn summary(checks: &[Check]) -> String {
    let of = |state| checks.iter().filter(|check| check.state == state).count();
    let mut text = format!("{} of {} checks passed", of(State::Passed), checks.len());
    for (state, word) in [(State::Failed, "failed"), (State::Undecided, "not decided")] {
        if of(state) > 0 {
            text.push_str(&format!(", {} {word}", of(state)));
        }
    }
    text
}

/// The head of the table.
pub fn head(screen: &Screen) -> String {
    let (name, expected, got) = WIDTHS;
    let column = if screen.unicode { 1 } else { 2 };
    format!("{:column$} {:name$} {:>expected$} {:>got$}  tolerance\n", "", "", "expected", "got")
}

/// A line of the table. Text wider than its column is never cut: it shifts the rest.
pub fn line(check: &Check, screen: &Screen) -> String {
    let (glyph, colour) = match check.state {
        State::Passed => ("✓", AnsiColor::Green),
        State::Failed => ("✕", AnsiColor::Red),
        State::Undecided => ("◐", AnsiColor::Yellow),
    };
    let style = if screen.colours { Style::new().fg_color(Some(colour.into())) } else { Style::new() };
    let (name, expected, got) = WIDTHS;
    let column = if screen.unicode { 1 } else { 2 };
    let repeated = match check.repeats {
        0 => String::new(),
        n => format!(", run {}", n + 1),
    };
    let words = screen.words(&format!(
        "{:name$} {:>expected$} {:>got$}  {}{repeated}",
        check.name, check.expected, check.got, check.tolerance
    ));
    let glyph = screen.words(glyph);
    format!("{style}{glyph:column$}{style:#} {}\n", words.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(state: State, repeats: u32) -> Check {
        let text = |t: &str| t.to_owned();
        Check {
            name: text("sse half reset: lost"),
            expected: text("10"),
            got: text("9"),
            tolerance: text("exact"),
            state,
            repeats,
        }
    }

    #[test]
    fn a_table_for_a_person() {
        let screen = Screen { columns: None, colours: false, unicode: true };
        let text = head(&screen)
            + &line(&check(State::Failed, 0), &screen)
            + &line(&check(State::Passed, 2), &screen);
        insta::assert_snapshot!(text, @"
                                                         expected            got  tolerance
        ✕ sse half reset: lost                                 10              9  exact
        ✓ sse half reset: lost                                 10              9  exact, run 3
        ");
        let ascii = Screen { unicode: false, ..screen };
        assert!(line(&check(State::Passed, 0), &ascii).starts_with("ok sse"));
        assert!(line(&check(State::Failed, 0), &Screen { colours: true, ..screen }).starts_with("\u{1b}["));
    }

    #[test]
    fn the_result_is_kept_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let checks = [check(State::Passed, 0), check(State::Undecided, 3), check(State::Failed, 0)];
        keep(folder.path(), &checks).unwrap();
        let text = std::fs::read_to_string(folder.path().join("selftest.json")).unwrap();
        let kept: SelftestRef = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (kept.passed, kept.summary.as_str()),
            (false, "1 of 3 checks passed, 1 failed, 1 not decided")
        );
    }
}
