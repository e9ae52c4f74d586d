//! Tables of the rows, in Markdown.

use pushmark_model::transport::Transport;

use super::asked::{LADDER, MAIN};
use super::cell::{Cell, Seen};
use super::contestant::{BATCHED, Contestant, PUSHMARK};
use super::rows::{Question, Row};
use crate::median::{Median, median};
use crate::table::Table;

/// A delivery must cost a tool at least this many times what it costs pushmark.
const TIMES: [(&str, f64); 6] =
    [("k6", 8.0), ("Locust", 8.0), ("Tsung", 4.0), ("Gatling", 3.0), ("Artillery", 3.0), ("wrk", 1.0)];
const MIB: f64 = 1_048_576.0;

/// Every table that the rows fill.
pub(super) fn all(rows: &[Row], contestants: &[Contestant]) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    for row in rows.iter().filter(|row| row.question == Question::FanOut) {
        if !cells.contains(&row.cell) {
            cells.push(row.cell);
        }
    }
    tables.extend(cells.iter().map(|cell| fan_out(rows, *cell, contestants)));
    for transport in [Transport::WebSocket, Transport::Sse, Transport::LongPoll] {
        let of = |question| {
            let own = |row: &&Row| row.question == question && row.cell.transport == transport;
            rows.iter().filter(own).collect::<Vec<_>>()
        };
        let (idle_rows, ladder) = (of(Question::Idle), of(Question::Ceiling));
        if !idle_rows.is_empty() {
            tables.push(idle(&idle_rows, transport, contestants));
        }
        if !ladder.is_empty() {
            tables.push(ceiling(&ladder, transport, contestants));
        }
    }
    tables
}

/// What one contestant showed in a cell, by round.
pub(super) fn seen_by<'r>(
    rows: &'r [Row],
    question: Question,
    cell: Cell,
    tool: &str,
) -> Vec<(usize, &'r Seen)> {
    let own = |row: &&Row| row.question == question && row.cell == cell && row.tool == tool;
    rows.iter().filter(own).filter_map(|row| Some((row.round, row.seen.as_ref()?))).collect()
}

fn fan_out(rows: &[Row], cell: Cell, contestants: &[Contestant]) -> Table {
    let seen = |tool| seen_by(rows, Question::FanOut, cell, tool);
    let rounds = seen(PUSHMARK).len();
    let title = format!(
        "{}: {} clients, {:.0} deliveries/s, {rounds} rounds of {} s",
        cell.transport,
        cell.clients,
        cell.rate(),
        cell.seconds
    );
    let mut table = Table::new(
        title,
        &[
            "tool",
            "CPU-s per million handled",
            "÷ pushmark",
            "÷ with batches",
            "core busy",
            "handled in time",
            "lost without a word",
            "unread",
            "busy after the last",
            "memory, MiB",
            "p50 / p99 it reports, ms",
            "p50 / p99 of the writes, ms",
        ],
    );
    let (ours, batched) = (seen(PUSHMARK), seen(BATCHED));
    for one in contestants {
        if let Some(why) = one.lacks(Question::FanOut, cell.transport) {
            table.note(format!("{} is not in it: {why}", one.name()));
            continue;
        }
        let runs = seen(one.name());
        if runs.is_empty() {
            if let Some(why) = failure(rows.iter(), one.name(), |row| row.cell == cell) {
                table.note(format!("{} failed: {why}", one.name()));
            }
            continue;
        }
        let of = |f: &dyn Fn(&Seen) -> f64| middle(&runs, f);
        let ratios = [ratio(&runs, &ours), ratio(&runs, &batched)];
        let [plainly, with_batches] = ratios.map(|r| r.map_or("–".into(), |r| format!("{r:.1}")));
        let counts = runs.iter().all(|(_, seen)| seen.counts);
        let lost: u64 = runs.iter().map(|(_, s)| s.offered.saturating_sub(s.handled)).sum();
        let after: Vec<f64> = runs.iter().filter_map(|(_, s)| s.busy_after).collect();
        table.row(vec![
            one.title(),
            format!("{:.1}", of(&Seen::cpu_s_per_million)),
            plainly,
            with_batches,
            format!("{:.0} %", of(&|s| s.cpu_ns as f64 / cell.seconds as f64 / 1e7).value),
            format!("{:.2} %", of(&|s| s.in_time as f64 / s.offered.max(1) as f64 * 100.0).value),
            if counts { lost.to_string() } else { "cannot count".to_owned() },
            format!("{:.0}", of(&|s| s.unread as f64).value),
            if after.is_empty() {
                "–".to_owned()
            } else {
                format!("{:.0} %", median(&after).value * 100.0)
            },
            format!("{:.0}", of(&|s| s.rss_bytes as f64 / MIB).value),
            pair(&runs, |s| s.reported_ms),
            pair(&runs, |s| s.written_ms),
        ]);
        if one.name() == PUSHMARK
            && (cell.clients, cell.rate() as u64) == MAIN[1]
            && let Some((apart, allowed)) = apart(&runs)
        {
            let text = format!(
                "the p99 it reports, {}, {} clients: within {allowed:.1} ms of that of the writes: {apart:.1}",
                cell.transport, cell.clients
            );
            table.target(text, apart.low >= -allowed && apart.high <= allowed);
        }
        let Some((tool, times)) = TIMES.iter().find(|(tool, _)| *tool == one.name()) else { continue };
        for (ratio, how) in ratios.into_iter().zip(["", ", with batches"]) {
            if let Some(r) = ratio
                && MAIN.contains(&(cell.clients, cell.rate() as u64))
            {
                let text = format!(
                    "{tool}, {}, {} clients: a delivery costs at least {times} × ours{how}: {r:.1}",
                    cell.transport, cell.clients
                );
                table.target(text, r.low >= *times);
            }
        }
    }
    table.note(
        "Reached: the interval's low end is. CPU of a tool is its whole tree's over the window, of ours that of \
         its receiving thread and those that take its records. In time: until half a second after the window, of what was offered in it; the cost is for \
         these. Lost: offered and never handled, over all rounds.",
    );
    table
}

fn idle(rows: &[&Row], transport: Transport, contestants: &[Contestant]) -> Table {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.cell.clients).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let list = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" / ");
    let title = format!("{transport}: {list} clients, an event every 10 s");
    let columns = ["tool", "KiB a client", "memory, MiB", "connects/s", "asked", "CPU-s to connect all"];
    let mut table = Table::new(title, &columns);
    for one in contestants {
        if let Some(why) = one.lacks(Question::Idle, transport) {
            table.note(format!("{} is not in it: {why}", one.name()));
            continue;
        }
        let own = |clients: u64| {
            let is = |row: &&&Row| row.tool == one.name() && row.cell.clients == clients;
            rows.iter().find(is).and_then(|row| row.seen.as_ref())
        };
        let there: Vec<(u64, &Seen)> = sizes.iter().filter_map(|&n| Some((n, own(n)?))).collect();
        if let Some(why) = failure(rows.iter().copied(), one.name(), |_| true) {
            table.note(format!("{} failed: {why}", one.name()));
        }
        let list = |of: &dyn Fn(&Seen) -> Option<f64>, digits: usize| {
            let cells = sizes.iter().map(|&n| own(n).and_then(of));
            let text = cells.map(|x| x.map_or("–".to_owned(), |x| format!("{x:.digits$}")));
            text.collect::<Vec<_>>().join(" / ")
        };
        if let (Some((few, low)), Some((many, high))) = (there.first(), there.last()) {
            let slope = (high.rss_bytes as f64 - low.rss_bytes as f64) / (many - few) as f64 / 1024.0;
            table.row(vec![
                one.title(),
                if many > few { format!("{slope:.1}") } else { "–".to_owned() },
                list(&|s| Some(s.rss_bytes as f64 / MIB), 0),
                list(&|s| s.connects_per_s, 0),
                one.asks(),
                list(&|s| s.connect_cpu_ns.map(|ns| ns as f64 / 1e9), 1),
            ]);
        }
    }
    table.note("One run each. KiB a client: the slope from the smallest to the largest crowd; where memory is collected, it blurs that.");
    table
}

fn ceiling(rows: &[&Row], transport: Transport, contestants: &[Contestant]) -> Table {
    let kept_up = |tool: &str, rate: u64| {
        let own = |row: &&&Row| row.tool == tool && row.cell.rate().round() as u64 / 10 == rate / 10;
        let mut tried = rows.iter().filter(own).filter_map(|row| row.seen.as_ref()).peekable();
        tried.peek().is_some().then(|| tried.any(Seen::kept_up))
    };
    let clients = rows[0].cell.clients;
    let title = format!("{transport}: the rate that one core keeps up with, {clients} clients");
    let mut table =
        Table::new(title, &["tool", "deliveries/s", "core busy there", "the next step, which failed"]);
    for one in contestants.iter().filter(|one| one.lacks(Question::Ceiling, transport).is_none()) {
        let tried: Vec<u64> =
            LADDER.iter().copied().filter(|&rate| kept_up(one.name(), rate).is_some()).collect();
        let best = tried.iter().rev().find(|&&rate| kept_up(one.name(), rate) == Some(true));
        let first_failed = tried.iter().find(|&&rate| kept_up(one.name(), rate) == Some(false));
        let at = |rate: u64| {
            let own =
                |row: &&&Row| row.tool == one.name() && row.cell.rate().round() as u64 / 10 == rate / 10;
            rows.iter().filter(own).filter_map(|row| Some((row.cell, row.seen.as_ref()?))).next_back()
        };
        let busy =
            |(cell, seen): (Cell, &Seen)| format!("{:.0} %", seen.cpu_ns as f64 / cell.seconds as f64 / 1e7);
        let why = |(_, seen): (Cell, &Seen)| {
            if seen.sent < seen.offered && seen.handled >= seen.sent {
                return "the server did not write it all".to_owned();
            }
            let handled =
                format!("handled {:.1} % in time", seen.in_time as f64 / seen.offered.max(1) as f64 * 100.0);
            match seen.has_backlog() {
                true => format!("{handled}, {} unread", seen.unread),
                false => handled,
            }
        };
        if tried.is_empty() {
            continue;
        }
        table.row(vec![
            one.title(),
            match (best, first_failed) {
                (Some(rate), Some(_)) => rate.to_string(),
                (Some(rate), None) => format!("at least {rate}"),
                (None, _) => format!("below {}", LADDER[0]),
            },
            best.and_then(|&rate| at(rate)).map_or("–".to_owned(), busy),
            first_failed
                .and_then(|&rate| Some((rate, at(rate)?)))
                .map_or("–".to_owned(), |(rate, seen)| {
                    format!("{rate}: {}, core {}", why(seen), busy(seen))
                }),
        ]);
    }
    table.note(format!(
        "Steps: {}. Kept up: at least 99.5 % handled in time, no more than a thousandth or one publication unread a tenth of a second later, and its \
         core less than half busy in the second after the last message; a step that fails is tried twice.",
        LADDER.map(|rate| rate.to_string()).join(", ")
    ));
    table
}

/// The last failure of one that is not made good.
fn failure<'r>(
    mut rows: impl DoubleEndedIterator<Item = &'r Row>,
    tool: &str,
    is: impl Fn(&Row) -> bool,
) -> Option<&'r str> {
    rows.rfind(|row| row.tool == tool && row.failed.is_some() && is(row))?.failed.as_deref()
}

pub(super) fn middle(runs: &[(usize, &Seen)], f: &dyn Fn(&Seen) -> f64) -> Median {
    median(&runs.iter().map(|(_, seen)| f(seen)).collect::<Vec<_>>())
}

/// Of costs, round by round: what drifts is on both sides of a ratio.
fn ratio(runs: &[(usize, &Seen)], ours: &[(usize, &Seen)]) -> Option<Median> {
    let own = |round: usize| ours.iter().find(|(at, _)| *at == round).map(|(_, seen)| *seen);
    let pairs = runs.iter().filter_map(|(round, seen)| Some((seen, own(*round)?)));
    let ratios: Vec<f64> = pairs.map(|(a, b)| a.cpu_s_per_million() / b.cpu_s_per_million()).collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

/// By how much the p99 reported is above that of the server's own log, round by round; and what is
/// allowed: a twentieth of it, or 1 ms.
fn apart(runs: &[(usize, &Seen)]) -> Option<(Median, f64)> {
    let both = runs.iter().filter_map(|(_, seen)| Some((seen.reported_ms?.1, seen.written_ms?.1)));
    let (apart, written): (Vec<f64>, Vec<f64>) = both.map(|(ours, theirs)| (ours - theirs, theirs)).unzip();
    (!apart.is_empty()).then(|| (median(&apart), (median(&written).value / 20.0).max(1.0)))
}

fn pair(runs: &[(usize, &Seen)], of: fn(&Seen) -> Option<(f64, f64)>) -> String {
    let both: Vec<(f64, f64)> = runs.iter().filter_map(|(_, seen)| of(seen)).collect();
    if both.is_empty() {
        return "cannot".to_owned();
    }
    let middle = |side: fn(&(f64, f64)) -> f64| median(&both.iter().map(side).collect::<Vec<_>>()).value;
    format!("{:.1} / {:.1}", middle(|p| p.0), middle(|p| p.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::peers::contestant;

    fn row(question: Question, rate: u64, tool: &str, round: usize, cpu_ms: u64, in_time: u64) -> Row {
        let interval_us = 1_000_000 * 1_000 / rate;
        let cell = Cell { transport: Transport::WebSocket, clients: 1_000, interval_us, seconds: 5 };
        let offered = rate * 5;
        let seen = Seen { cpu_ns: cpu_ms * 1_000_000, offered, sent: offered, in_time, ..Seen::default() };
        Row { seen: Some(seen), ..Row::new(question, cell, tool, round) }
    }

    fn text(rows: &[Row]) -> String {
        let machine = Machine::here();
        all(rows, &contestant::all()).iter().map(|table| table.text(&machine)).collect()
    }

    #[test]
    fn a_ratio_is_reached_where_its_lowest_believable_value_is() {
        // Six rounds: the interval is the range. k6 costs 9 times ours and once 7; Tsung 5 times throughout.
        let rows: Vec<Row> = (0..6)
            .flat_map(|round| {
                let k6_ms = if round == 3 { 2_100 } else { 2_700 };
                let own = |tool, ms| row(Question::FanOut, 10_000, tool, round, ms, 50_000);
                [own(PUSHMARK, 300), own("k6", k6_ms), own("Tsung", 1_500)]
            })
            .collect();
        let text = text(&rows);
        assert!(
            text.contains(
                "not reached k6, websocket, 1000 clients: a delivery costs at least 8 × ours: 9.0 (7.0 … 9.0)"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "reached     Tsung, websocket, 1000 clients: a delivery costs at least 4 × ours: 5.0 (5.0 … 5.0)"
            ),
            "{text}"
        );
        assert!(text.contains("wrk is not in it: it speaks requests and answers alone"), "{text}");
    }

    #[test]
    fn what_ours_reports_is_held_against_what_the_server_wrote() {
        let reports = |p99_ms: f64| {
            let cell = Cell { transport: Transport::Sse, clients: 5_000, interval_us: 500_000, seconds: 5 };
            let ours = |round| {
                let (reported_ms, written_ms) = (Some((20.0, p99_ms)), Some((19.0, 40.0)));
                let seen = Seen { reported_ms, written_ms, in_time: 50_000, ..Seen::default() };
                Row { seen: Some(seen), ..Row::new(Question::FanOut, cell, PUSHMARK, round) }
            };
            text(&[ours(0), ours(1)])
        };
        let said = |apart: &str| {
            format!("the p99 it reports, sse, 5000 clients: within 2.0 ms of that of the writes: {apart}")
        };
        let (near, far) = (reports(41.5), reports(42.5));
        assert!(near.contains(&format!("reached     {}", said("1.5 (1.5 … 1.5)"))), "{near}");
        assert!(far.contains(&format!("not reached {}", said("2.5 (2.5 … 2.5)"))), "{far}");
    }

    #[test]
    fn a_ceiling_is_the_last_step_that_was_kept_up_with() {
        let own = |rate, round, in_time| row(Question::Ceiling, rate, "k6", round, 3_000, in_time);
        let rows = [
            own(10_000, 0, 50_000),
            own(20_000, 0, 90_000),
            own(20_000, 1, 100_000),
            own(30_000, 0, 120_000),
        ];
        let text = text(&rows);
        assert!(text.contains("| k6 1.8.1 | 20000        | 60 %"), "{text}");
        assert!(text.contains("30000: handled 80.0 % in time, core 60 %"), "{text}");
    }
}
