//! The text of one progress line, for a terminal of a width or for a plain log. Pure.

use pushmark_chart::numbers::TERMINAL;

use super::screen::Screen;

/// Cells of the bar.
const BAR_CELLS: usize = 12;

/// The state to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live<'a> {
    /// The arm's transport.
    pub arm: &'a str,
    /// Which arm, from 1.
    pub index: u32,
    /// Arms in all.
    pub of: u32,
    /// Which fresh start, from 1.
    pub start: u32,
    /// Starts in all.
    pub starts: u32,
    /// The phase.
    pub phase: &'a str,
    /// Time in the phase, s.
    pub phase_elapsed_s: f64,
    /// Length of the phase, s.
    pub phase_length_s: f64,
    /// Connections subscribed now.
    pub up: u64,
    /// Deliveries in the last second.
    pub delivered_per_s: f64,
    /// Deliveries of the arm so far.
    pub delivered: u64,
    /// Deliveries of the arm known to be lost.
    pub lost: u64,
    /// p99 of the last second, µs; absent if nothing arrived.
    pub p99_us: Option<u64>,
    /// Agents that are heard of, and all of them, if they are on other machines.
    pub agents: Option<(u32, u32)>,
}

/// `7 of 8 agents`.
pub(super) fn agents(live: &Live<'_>) -> Option<String> {
    live.agents.map(|(heard, of)| format!("  {heard} of {of} agents"))
}

/// The line for a terminal: parts fall off from the right until it fits, at most 80 columns.
pub(super) fn live(live: &Live<'_>, columns: usize, screen: &Screen) -> String {
    let bar = format!(
        "{} {}/{}",
        bar(live.phase_elapsed_s / live.phase_length_s.max(1e-9), screen),
        clock(live.phase_elapsed_s),
        clock(live.phase_length_s)
    );
    let head = format!("{} {}/{}", live.arm, live.index, live.of);
    let start = (live.starts > 1).then(|| format!(" start {}/{}", live.start, live.starts));
    let parts = [
        Some(head),
        start,
        Some(format!(" {}", live.phase)),
        Some(format!(" {bar}")),
        Some(format!("  {} up", TERMINAL.count(live.up))),
        agents(live),
        (live.delivered > 0).then(|| format!("  {}/s", short(live.delivered_per_s))),
        live.p99_us.map(|us| format!("  p99 {}", time(us, screen))),
    ];
    // The last column stays free: some terminals wrap when it is written.
    let room = columns.saturating_sub(1).min(80);
    let mut line = String::new();
    for part in parts.into_iter().flatten() {
        if line.chars().count() + part.chars().count() > room {
            break;
        }
        line.push_str(&part);
    }
    line
}

/// The line for a log.
pub(super) fn plain(live: &Live<'_>, elapsed_s: u64, screen: &Screen) -> String {
    let start =
        if live.starts > 1 { format!(" start {}/{}", live.start, live.starts) } else { String::new() };
    let mut line = format!(
        "{elapsed_s} s  {}{start}  {}  {} up  {} delivered  {} lost",
        live.arm,
        live.phase,
        TERMINAL.count(live.up),
        TERMINAL.count(live.delivered),
        TERMINAL.count(live.lost)
    );
    if let Some(us) = live.p99_us {
        line.push_str(&format!("  p99 {}", time(us, screen)));
    }
    line.extend(agents(live));
    line
}

/// A bar of [`BAR_CELLS`] cells; the cell in progress shows half.
fn bar(share: f64, screen: &Screen) -> String {
    let halves = (share.clamp(0.0, 1.0) * (2 * BAR_CELLS) as f64) as usize;
    let (full, half, rest) = if screen.unicode { ('━', '╸', '─') } else { ('#', '#', '.') };
    let mut cells: String = std::iter::repeat_n(full, halves / 2).collect();
    if halves % 2 == 1 {
        cells.push(half);
    }
    let missing = BAR_CELLS - cells.chars().count();
    cells.extend(std::iter::repeat_n(rest, missing));
    cells
}

/// `0:38`, `1:02:07`.
pub(super) fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0) as u64;
    match s / 3_600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// Three digits: `310`, `20.0k`, `1.20M`.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 999_500.0 => (v / 1e6, "M"),
        v if v >= 999.5 => (v / 1e3, "k"),
        v => return format!("{v:.0}"),
    };
    format!("{}{unit}", three(value))
}

/// `310 µs`, `1.9 ms`, `2.0 s`: two digits are enough for a line that moves.
pub(super) fn time(us: u64, screen: &Screen) -> String {
    let (value, unit) = match us {
        0..1_000 => return format!("{us} {}", if screen.unicode { "µs" } else { "us" }),
        1_000..1_000_000 => (us as f64 / 1e3, "ms"),
        _ => (us as f64 / 1e6, "s"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn three(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn sse() -> Live<'static> {
        Live {
            arm: "sse",
            index: 3,
            of: 5,
            start: 2,
            starts: 5,
            phase: "measure",
            phase_elapsed_s: 38.0,
            phase_length_s: 60.0,
            up: 1_000,
            delivered_per_s: 20_000.0,
            delivered: 758_000,
            lost: 0,
            p99_us: Some(1_900),
            agents: None,
        }
    }

    const UTF8: Screen = Screen { columns: Some(80), colours: true, unicode: true };
    const ASCII: Screen = Screen { columns: Some(80), colours: false, unicode: false };

    #[test]
    fn the_line_of_a_terminal() {
        insta::assert_snapshot!(live(&sse(), 100, &UTF8), @"sse 3/5 start 2/5 measure ━━━━━━━╸──── 0:38/1:00  1,000 up  20.0k/s  p99 1.9 ms");
        insta::assert_snapshot!(live(&sse(), 80, &ASCII), @"sse 3/5 start 2/5 measure ########.... 0:38/1:00  1,000 up  20.0k/s  p99 1.9 ms");
    }

    #[test]
    fn narrower_parts_fall_off_from_the_right() {
        insta::assert_snapshot!(live(&sse(), 70, &UTF8), @"sse 3/5 start 2/5 measure ━━━━━━━╸──── 0:38/1:00  1,000 up  20.0k/s");
        insta::assert_snapshot!(live(&sse(), 40, &UTF8), @"sse 3/5 start 2/5 measure");
        insta::assert_snapshot!(live(&sse(), 10, &UTF8), @"sse 3/5");
        insta::assert_snapshot!(live(&sse(), 3, &UTF8), @"");
    }

    #[test]
    fn one_start_needs_no_count_and_silence_no_rate() {
        let quiet =
            Live { starts: 1, phase: "ramp", delivered: 0, p99_us: None, phase_length_s: 0.0, ..sse() };
        insta::assert_snapshot!(live(&quiet, 80, &UTF8), @"sse 3/5 ramp ━━━━━━━━━━━━ 0:38/0:00  1,000 up");
    }

    #[test]
    fn agents_on_other_machines_are_counted() {
        let over = Live { agents: Some((7, 8)), ..sse() };
        insta::assert_snapshot!(live(&over, 100, &UTF8), @"sse 3/5 start 2/5 measure ━━━━━━━╸──── 0:38/1:00  1,000 up  7 of 8 agents");
        insta::assert_snapshot!(plain(&over, 38, &UTF8), @"38 s  sse start 2/5  measure  1,000 up  758,000 delivered  0 lost  p99 1.9 ms  7 of 8 agents");
    }

    #[test]
    fn the_line_of_a_log() {
        insta::assert_snapshot!(plain(&sse(), 38, &UTF8), @"38 s  sse start 2/5  measure  1,000 up  758,000 delivered  0 lost  p99 1.9 ms");
    }

    #[test]
    fn numbers_are_short() {
        let rates = [0.0, 999.4, 999.5, 20_000.0, 999_499.0, 1_204_000.0].map(short);
        assert_eq!(rates, ["0", "999", "1.00k", "20.0k", "999k", "1.20M"]);
        assert_eq!(
            [999, 1_000, 25_000, 2_000_000].map(|us| time(us, &ASCII)),
            ["999 us", "1.0 ms", "25 ms", "2.0 s"]
        );
        assert_eq!([0.0, 61.0, 3_727.0].map(clock), ["0:00", "1:01", "1:02:07"]);
        assert_eq!([0, 999, 1_000, 6_000_000].map(|n| TERMINAL.count(n)), ["0", "999", "1,000", "6,000,000"]);
    }
}
