//! Progress on stderr: a live line on a terminal, plain lines elsewhere.
//!
//! Shows its input and keeps no figures. On a terminal one line is redrawn at most four times a second, never
//! wider than the terminal; elsewhere a line a phase and one each 10 s.

mod line;
pub mod screen;
mod suite;

use std::collections::HashSet;
use std::io::Write;

use crate::redact::Stderr;
pub use line::Live;
use pushmark_model::run::{Run, VerdictState};
use screen::Screen;
pub use suite::Head;

/// Least time between two drawings of the live line.
const REDRAW_NS: u64 = 250_000_000;
/// Time between two plain lines of one phase.
const PLAIN_NS: u64 = 10_000_000_000;
/// The same in a suite, whose cases have a line each when they end.
const PLAIN_IN_SUITE_NS: u64 = 60_000_000_000;
/// The most different troubles printed.
const TROUBLES_MAX: usize = 50;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A line redrawn in place, this many columns wide.
    Terminal {
        /// Columns.
        columns: usize,
    },
    /// Plain lines.
    Plain,
    /// Nothing (`--quiet`).
    Quiet,
}

impl Mode {
    /// The mode for stderr. A terminal that cannot move its cursor (`TERM=dumb`) gets plain lines.
    pub fn of_stderr(quiet: bool, screen: &Screen) -> Mode {
        match screen.columns {
            _ if quiet => Mode::Quiet,
            Some(columns) => Mode::Terminal { columns },
            None => Mode::Plain,
        }
    }
}

/// Writes progress.
#[derive(Debug)]
pub struct Progress<W: Write = Stderr> {
    mode: Mode,
    screen: Screen,
    out: W,
    started_ns: Option<u64>,
    drawn_ns: Option<u64>,
    phase: Option<(String, String, u32)>,
    troubles: HashSet<String>,
    on_screen: bool,
    head: Option<Head>,
}

impl Progress {
    /// Writes to stderr, in the mode that suits it.
    pub fn new(quiet: bool) -> Progress {
        let screen = Screen::of_stderr();
        Progress::to(Stderr, Mode::of_stderr(quiet, &screen), screen)
    }
}

impl<W: Write> Progress<W> {
    /// Writes to any writer. Write errors are ignored: progress must not end a run.
    pub fn to(out: W, mode: Mode, screen: Screen) -> Progress<W> {
        Progress {
            mode,
            screen,
            out,
            started_ns: None,
            drawn_ns: None,
            phase: None,
            troubles: HashSet::new(),
            on_screen: false,
            head: None,
        }
    }

    /// Takes the state at a monotonic instant; draws if it is time.
    pub fn update(&mut self, now_ns: u64, live: &Live<'_>) {
        let started_ns = *self.started_ns.get_or_insert(now_ns);
        let phase = (live.arm.to_string(), live.phase.to_string(), live.start);
        let is_new = self.phase.as_ref() != Some(&phase);
        let every_ns = match (self.mode, &self.head) {
            (Mode::Plain, None) => PLAIN_NS,
            (Mode::Plain, Some(_)) => PLAIN_IN_SUITE_NS,
            _ => REDRAW_NS,
        };
        let is_due = self.drawn_ns.is_none_or(|at| now_ns.saturating_sub(at) >= every_ns);
        // On a terminal even a new phase waits for the next redraw: phases of 10 ms must not flicker.
        let is_due = is_due || (is_new && self.mode == Mode::Plain && self.head.is_none());
        if !is_due {
            return;
        }
        match self.mode {
            Mode::Quiet => return,
            Mode::Plain => {
                let elapsed_s = now_ns.saturating_sub(started_ns) / 1_000_000_000;
                let case = self.head.as_ref().map_or(String::new(), |head| format!("{}  ", head.case));
                let line = case + &line::plain(live, elapsed_s, &self.screen);
                let _ = writeln!(self.out, "{line}");
            }
            Mode::Terminal { columns } => {
                let line = match &self.head {
                    None => line::live(live, columns, &self.screen),
                    Some(head) => suite::live(head, live, columns, &self.screen),
                };
                let _ = write!(self.out, "\r\x1b[K{line}");
                let _ = self.out.flush();
                self.on_screen = true;
            }
        }
        self.drawn_ns = Some(now_ns);
        self.phase = Some(phase);
    }

    /// Takes the position in a suite; the line shows it from now on.
    pub fn head(&mut self, head: Head) {
        self.head = Some(head);
    }

    /// Shows on a terminal the reason for the wait between two cases.
    pub fn waiting(&mut self, now_ns: u64, what: &str) {
        let is_due = self.drawn_ns.is_none_or(|at| now_ns.saturating_sub(at) >= REDRAW_NS);
        if let (Mode::Terminal { columns }, Some(head), true) = (self.mode, &self.head, is_due) {
            let line = suite::waiting(head, what, columns, &self.screen);
            let _ = write!(self.out, "\r\x1b[K{line}");
            let _ = self.out.flush();
            (self.on_screen, self.drawn_ns) = (true, Some(now_ns));
        }
    }

    /// Reports the result of a case: in a log every one, on a terminal only those that are not valid.
    pub fn case_ended(&mut self, case: &str, run: &Run) {
        let Some(head) = &self.head else { return };
        let text = match self.mode {
            Mode::Quiet => return,
            Mode::Terminal { .. } if run.verdict.state == VerdictState::Valid => return,
            Mode::Terminal { .. } => suite::outcome(case, run, &self.screen),
            Mode::Plain => {
                suite::ended(&Head { done: head.done + 1, ..head.clone() }, case, run, &self.screen)
            }
        };
        let text = self.screen.words(&text);
        self.clear();
        let _ = writeln!(self.out, "{text}");
    }

    /// Prints a trouble above the line, the first time it is reported.
    pub fn trouble(&mut self, text: &str) {
        if self.mode == Mode::Quiet || self.troubles.len() >= TROUBLES_MAX {
            return;
        }
        // "since 31 s" and the share differ each time: the text before the first digit identifies the
        // message.
        let name = text.split(|c: char| c.is_ascii_digit()).next().unwrap_or(text);
        if !self.troubles.insert(name.to_string()) {
            return;
        }
        let (glyph, text) = (self.screen.suspect(), self.screen.words(text));
        self.clear();
        let _ = writeln!(self.out, "{glyph} {text}");
        self.drawn_ns = self.drawn_ns.filter(|_| self.mode == Mode::Plain);
    }

    /// Prints a note above the line (`Ctrl-C again to …`).
    pub fn note(&mut self, text: &str) {
        if self.mode != Mode::Quiet {
            self.clear();
            let _ = writeln!(self.out, "{}", self.screen.words(text));
        }
    }

    /// Removes the line; later output begins in column 1.
    pub fn finish(&mut self) {
        self.clear();
        let _ = self.out.flush();
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.on_screen) {
            let _ = write!(self.out, "\r\x1b[K");
        }
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use line::tests::sse;

    fn shown(mode: Mode, steps: impl FnOnce(&mut Progress<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        let screen = Screen { columns: None, colours: false, unicode: true };
        steps(&mut Progress::to(&mut out, mode, screen));
        String::from_utf8(out).unwrap()
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn elsewhere_a_line_a_phase_and_one_each_ten_seconds() {
        let text = shown(Mode::Plain, |p| {
            for tenth in 0..300 {
                let phase = if tenth < 150 { "ramp" } else { "measure" };
                p.update(tenth * S / 10, &Live { phase, ..sse() });
            }
        });
        let starts: Vec<&str> = text.lines().map(|l| &l[..l.find("start").unwrap()]).collect();
        assert_eq!(starts, ["0 s  sse ", "10 s  sse ", "15 s  sse ", "25 s  sse "]);
    }

    #[test]
    fn a_terminal_is_redrawn_four_times_a_second() {
        let text = shown(Mode::Terminal { columns: 80 }, |p| {
            (0..1_000).for_each(|ms| p.update(ms * S / 1_000, &sse()));
        });
        assert_eq!(text.matches("sse 3/5").count(), 4);
        assert!(text.ends_with("\r\x1b[K") && !text.contains('\n'));
    }

    #[test]
    fn a_trouble_is_printed_once_above_the_line() {
        let text = shown(Mode::Terminal { columns: 80 }, |p| {
            p.update(0, &sse());
            p.trouble("generator core 84 % busy since 31 s");
            p.trouble("generator core 91 % busy since 40 s");
            p.update(1, &sse());
        });
        let line = line::live(&sse(), 80, &Screen { columns: None, colours: false, unicode: true });
        let expected =
            format!("\r\x1b[K{line}\r\x1b[K▲ generator core 84 % busy since 31 s\n\r\x1b[K{line}\r\x1b[K");
        assert_eq!(text, expected);
    }

    #[test]
    fn quiet_is_quiet() {
        let text = shown(Mode::Quiet, |p| {
            p.update(0, &sse());
            p.trouble("x");
            p.note("y");
            p.finish();
        });
        assert_eq!(text, "");
    }
}
