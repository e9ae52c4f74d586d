//! The position in a suite: the head of the live line, and a line for each case that has ended. Pure.

use pushmark_chart::durations::about;
use pushmark_chart::numbers::TERMINAL;
use pushmark_model::run::{Run, VerdictState};

use super::line::{Live, agents, clock, short, time};
use super::screen::Screen;

/// Widest line: a suite shows a head in addition to the case's figures.
const COLUMNS_MAX: usize = 100;

/// The position in a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Completed starts.
    pub done: usize,
    /// Starts in all.
    pub of: usize,
    /// The number of cases with each verdict.
    pub verdicts: [(VerdictState, usize); 4],
    /// The remaining time, s.
    pub left_s: f64,
    /// The current case.
    pub case: String,
}

impl Head {
    fn parts(&self, screen: &Screen) -> [Option<String>; 3] {
        let seen = self.verdicts.iter().filter(|(_, n)| *n > 0);
        let verdicts: Vec<String> = seen.map(|(state, n)| format!("{}{n}", glyph(*state, screen))).collect();
        [
            Some(format!("{}/{}", TERMINAL.count(self.done as u64), TERMINAL.count(self.of as u64))),
            (!verdicts.is_empty()).then(|| format!("  {}", verdicts.join(" "))),
            Some(format!("  {}", about(self.left_s))),
        ]
    }
}

/// The line for a terminal: parts fall off from the right until it fits.
pub(super) fn live(head: &Head, live: &Live<'_>, columns: usize, screen: &Screen) -> String {
    let arm =
        if live.of > 1 { format!("{} {}/{}", live.arm, live.index, live.of) } else { live.arm.to_owned() };
    let phase = format!("{}/{}", clock(live.phase_elapsed_s), clock(live.phase_length_s));
    let figures = [
        Some(format!("  {arm} {} {phase}", live.phase)),
        Some(format!("  {} up", TERMINAL.count(live.up))),
        agents(live),
        (live.delivered > 0).then(|| format!("  {}/s", short(live.delivered_per_s))),
        live.p99_us.map(|us| format!("  p99 {}", time(us, screen))),
    ];
    fitting(head.parts(screen).into_iter().chain(figures), columns)
}

/// The line while nothing is measured.
pub(super) fn waiting(head: &Head, what: &str, columns: usize, screen: &Screen) -> String {
    fitting(head.parts(screen).into_iter().chain([Some(format!("  {what}"))]), columns)
}

/// The line for a log, when a case has ended: `12/156  ▲ suspect  tomcat-1000  p99 1.9 ms  about 40 min left`.
pub(super) fn ended(head: &Head, case: &str, run: &Run, screen: &Screen) -> String {
    let left = if head.done < head.of { format!("  {} left", about(head.left_s)) } else { String::new() };
    format!("{}/{}  {}{left}", head.done, head.of, outcome(case, run, screen))
}

/// The result of a case: its verdict, then its error, its worst reason, or its latency.
pub(super) fn outcome(case: &str, run: &Run, screen: &Screen) -> String {
    let state = run.verdict.state;
    let error = run.arms.iter().find_map(|arm| arm.error.as_deref());
    let error = error.and_then(|error| error.lines().next());
    let why = error.or_else(|| run.verdict.reasons.first().map(|reason| reason.seen.as_str()));
    let p99_us = run.arms.iter().filter_map(|arm| arm.delivery.as_ref()?.latency.p99_us).max();
    let p99 = p99_us.map(|us| format!("p99 {}", time(us.max(0) as u64, screen)));
    let said = why.map(str::to_owned).or(p99).map_or(String::new(), |said| format!(": {said}"));
    format!("{} {}  {case}{said}", glyph(state, screen), state.name())
}

fn glyph(state: VerdictState, screen: &Screen) -> &'static str {
    match (state, screen.unicode) {
        (VerdictState::Valid, true) => "✓",
        (VerdictState::Valid, false) => "ok",
        (VerdictState::Suspect, true) => "▲",
        (VerdictState::Suspect, false) => "!",
        (VerdictState::Incomplete, true) => "◐",
        (VerdictState::Incomplete, false) => "-",
        (VerdictState::Invalid, true) => "✕",
        (VerdictState::Invalid, false) => "x",
    }
}

fn fitting(parts: impl Iterator<Item = Option<String>>, columns: usize) -> String {
    // The last column stays free: some terminals wrap when it is written.
    let room = columns.saturating_sub(1).min(COLUMNS_MAX);
    let mut line = String::new();
    for part in parts.flatten() {
        if line.chars().count() + part.chars().count() > room {
            break;
        }
        line.push_str(&part);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::line::tests::sse;
    use super::*;

    const UTF8: Screen = Screen { columns: Some(80), colours: true, unicode: true };
    const ASCII: Screen = Screen { columns: Some(80), colours: false, unicode: false };

    fn head() -> Head {
        let verdicts = [
            (VerdictState::Valid, 9),
            (VerdictState::Suspect, 2),
            (VerdictState::Incomplete, 0),
            (VerdictState::Invalid, 1),
        ];
        Head { done: 12, of: 156, verdicts, left_s: 2_400.0, case: "node-sse-1000".to_owned() }
    }

    #[test]
    fn the_head_stands_before_the_figures_of_the_case() {
        let one = Live { of: 1, ..sse() };
        insta::assert_snapshot!(live(&head(), &one, 120, &UTF8), @"12/156  ✓9 ▲2 ✕1  about 40 min  sse measure 0:38/1:00  1,000 up  20.0k/s  p99 1.9 ms");
        insta::assert_snapshot!(live(&head(), &sse(), 80, &UTF8), @"12/156  ✓9 ▲2 ✕1  about 40 min  sse 3/5 measure 0:38/1:00  1,000 up  20.0k/s");
        insta::assert_snapshot!(live(&head(), &one, 40, &ASCII), @"12/156  ok9 !2 x1  about 40 min");
        insta::assert_snapshot!(live(&head(), &one, 10, &UTF8), @"12/156");
    }

    #[test]
    fn waiting_says_for_what() {
        insta::assert_snapshot!(waiting(&head(), "cooling down 3 s, 24 % busy", 80, &UTF8), @"12/156  ✓9 ▲2 ✕1  about 40 min  cooling down 3 s, 24 % busy");
    }
}
