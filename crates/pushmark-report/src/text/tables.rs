//! The two tables of the result: fates of all intended deliveries, and their cost.

use pushmark_chart::numbers::{TERMINAL, TimeUnit, estimate_decimals};
use pushmark_chart::terminal::{COLUMNS, Pen, wrapped};
use pushmark_chart::words::list;
use pushmark_model::run::{Arm, VerdictState};

use super::super::case::{ArmView, Case, P, Percentile};
use super::super::figures::age_cost::age;
use super::super::figures::fates;
use super::super::method::out_of_order_unpromised;

/// Largest and smallest number of cells of the delivery bar.
const BAR: (usize, usize) = (20, 6);

/// The longest word of an outcome.
const OUTCOME: usize = "degraded".len();

/// Returns the width of the column of names.
fn names(case: &Case<'_>) -> usize {
    case.arms.iter().map(|a| a.name().len()).max().unwrap_or(0).max(9)
}

/// Writes delivered of intended, arm by arm.
pub(super) fn deliveries(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let mut intended: Vec<u64> = case.arms.iter().filter_map(|a| a.total(|d| d.intended)).collect();
    intended.dedup();
    let each = if case.arms.len() == 1 { "" } else { " each" };
    let head = match intended.as_slice() {
        [one] => format!("intended {}{each}", TERMINAL.count(*one)),
        _ => {
            let parts: Vec<String> = case
                .arms
                .iter()
                .filter_map(|a| Some(format!("{} {}", a.name(), TERMINAL.count(a.total(|d| d.intended)?))))
                .collect();
            format!("intended: {}", parts.join(", "))
        }
    };
    let mut out: Vec<String> = wrapped(&head, COLUMNS - 2).into_iter().map(|l| format!("  {l}")).collect();
    let widths = Widths::of(case);
    let (w, d, l, s, b) = (widths.name, widths.delivered, widths.lost, widths.superseded, widths.bar);
    let t = widths.late;
    out.push(pen.dim(&format!(
        "  {:w$}{:>d$}{:>l$}{:>t$}{:>s$}  {:b$}  outcome",
        "", "delivered", "lost", "late", "superseded", ""
    )));
    for arm in &case.arms {
        out.push(delivery_line(arm, &widths, pen));
    }
    out
}

/// Widths of the columns: those of a usual run, wider if a count needs it.
struct Widths {
    name: usize,
    delivered: usize,
    lost: usize,
    late: usize,
    superseded: usize,
    /// The width that the line leaves for the bar.
    bar: usize,
}

impl Widths {
    fn of(case: &Case<'_>) -> Widths {
        let widest = |of: &dyn Fn(&ArmView<'_>) -> u64| {
            case.arms.iter().map(|a| TERMINAL.count(of(a)).len() + 2).max().unwrap_or(0)
        };
        let name = names(case);
        let delivered = widest(&|a| a.total(|d| d.delivered).unwrap_or(0)).max(12);
        let lost = widest(&fates::lost).max(8);
        let late = widest(&fates::late).max(6);
        let superseded = widest(&|a| a.total(|d| d.superseded).unwrap_or(0)).max(12);
        let taken = 2 + name + delivered + lost + late + superseded + 2 + 2 + OUTCOME;
        Widths {
            name,
            delivered,
            lost,
            late,
            superseded,
            bar: COLUMNS.saturating_sub(taken).clamp(BAR.1, BAR.0),
        }
    }
}

fn delivery_line(arm: &ArmView<'_>, widths: &Widths, pen: &Pen) -> String {
    let (w, d, l, t, s) = (widths.name, widths.delivered, widths.lost, widths.late, widths.superseded);
    let state = arm.state_of("counts");
    let head = format!("{}{}", pen.gutter(state), pen.bold(&format!("{:w$}", arm.name())));
    let Some(intended) = arm.total(|d| d.intended) else {
        return format!("{head}{:>d$}", "–");
    };
    if state == VerdictState::Invalid {
        return format!("{head}{:>d$}   invalid: the reason is below", "–");
    }
    let delivered = arm.total(|d| d.delivered).unwrap_or(0);
    let superseded = arm.total(|d| d.superseded).unwrap_or(0);
    format!(
        "{head}{:>d$}{:>l$}{:>t$}{:>s$}  {}  {}",
        TERMINAL.count(delivered),
        TERMINAL.count(fates::lost(arm)),
        TERMINAL.count(fates::late(arm)),
        TERMINAL.count(superseded),
        bar(widths.bar, delivered, superseded, intended),
        arm.outcome.name()
    )
}

/// Draws delivered in eighths of a cell, rounded down so that only complete delivery fills the bar; then
/// superseded. Blank means lost.
fn bar(width: usize, delivered: u64, superseded: u64, intended: u64) -> String {
    if intended == 0 {
        return " ".repeat(width);
    }
    let eighths = (u128::from(delivered) * (width * 8) as u128 / u128::from(intended)) as usize;
    let shown = (u128::from(delivered + superseded) * width as u128).div_ceil(u128::from(intended)) as usize;
    let mut out = "█".repeat(eighths / 8);
    let mut cells = eighths / 8;
    if !eighths.is_multiple_of(8) {
        out.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
        cells += 1;
    }
    if superseded > 0 {
        out.push_str(&"░".repeat(shown.saturating_sub(cells)));
        cells = cells.max(shown);
    }
    out + &" ".repeat(width.saturating_sub(cells))
}

/// Writes latency with read lag beside it, age of information, and cost.
pub(super) fn latencies(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let unit = unit(case);
    // A bound (≥) or many digits need more than the six columns of p50.
    let digits = |a: &ArmView<'_>| p50_words(a, unit).chars().count();
    let w = names(case) + case.believed().map(digits).max().unwrap_or(0).saturating_sub(5);
    let by = unit.name(&TERMINAL);
    let mut out = vec![
        String::new(),
        pen.dim(&format!(
            "  {:w$}{:>6}{:>8}{:>11}{:>6}    per million deliveries",
            "", "p50", "p99", "p99", "p50"
        )),
    ];
    // The first heading is longer than the column of names; the second heading sets the positions.
    let head = format!("  received − due, {by}");
    let fill = (2 + w + 25).saturating_sub(head.chars().count());
    out[0] = pen.dim(&format!("{head}{:>fill$}{:>6}    server CPU-s", "read lag", "age"));
    let mut absent: Vec<(String, Vec<&str>)> = Vec::new();
    for arm in &case.arms {
        out.push(latency_line(arm, w, unit, pen, &mut absent));
    }
    let note = notes(case, absent);
    for line in last(case, unit).iter().chain([&note]).flat_map(|text| wrapped(text, COLUMNS - 2)) {
        out.push(pen.dim(&format!("  {line}")));
    }
    out
}

/// Chooses one unit for all times of the table, by their median.
fn unit(case: &Case<'_>) -> TimeUnit {
    let mut values = Vec::new();
    for arm in &case.arms {
        values.extend(
            [arm.latency(P::P50).us(), arm.latency(P::P99).us(), age(arm, false).map(|e| e.value)]
                .into_iter()
                .flatten(),
        );
    }
    TimeUnit::of_median(&values)
}

const AGE: &str = "delivery.age_of_information.p50";
const CPU: &str = "server.cpu_us_per_delivery";

fn latency_line<'a>(
    arm: &ArmView<'a>,
    w: usize,
    unit: TimeUnit,
    pen: &Pen,
    absent: &mut Vec<(String, Vec<&'a str>)>,
) -> String {
    let shown = [P::P50.metric(), P::P99.metric(), AGE, CPU];
    let worst = shown.map(|metric| arm.state_of(metric)).into_iter().max().unwrap_or(VerdictState::Valid);
    let head = format!("{}{}", pen.gutter(worst), pen.bold(&format!("{:w$}", arm.name())));
    let usable = |metric: &str| arm.state_of(metric) != VerdictState::Invalid;
    let time = |us: f64| short_time(us, unit);
    let mut percentile = |p: P| match arm.latency(p) {
        Percentile::Value(e) => time(e.value),
        Percentile::AtLeast { us, .. } => format!("≥{}", time(us)),
        // The reason is given in full below.
        Percentile::Absent(reason) if reason == "invalid" => "–".into(),
        Percentile::Absent(reason) => {
            let why = format!("{}: {reason}", p.name());
            match absent.iter_mut().find(|a| a.0 == why) {
                Some(known) => known.1.push(arm.name()),
                None => absent.push((why, vec![arm.name()])),
            }
            "–".into()
        }
    };
    let (p50, p99) = (percentile(P::P50), percentile(P::P99));
    let lag = arm.read_lag(P::P99).map_or("–".into(), time);
    let age = age(arm, false).filter(|_| usable(AGE)).map_or("–".into(), |e| time(e.value));
    let cost = match arm.server_cost().filter(|_| usable(CPU)) {
        None => "–".to_string(),
        Some(e) => {
            let decimals = estimate_decimals(&e, 6);
            let bounds = TERMINAL.bounds(&e, decimals).map_or(String::new(), |b| format!("  {b}"));
            format!("{:<4}{bounds}", TERMINAL.fixed(e.value, decimals))
        }
    };
    format!("{head}{p50:>6}{p99:>8}{lag:>11}{age:>6}    {cost}")
}

fn short_time(us: f64, unit: TimeUnit) -> String {
    TERMINAL.time_in(us, unit).replace(' ', "")
}

fn p50_words(arm: &ArmView<'_>, unit: TimeUnit) -> String {
    match arm.latency(P::P50) {
        Percentile::Value(e) => short_time(e.value, unit),
        Percentile::AtLeast { us, .. } => format!("≥{}", short_time(us, unit)),
        Percentile::Absent(_) => "–".into(),
    }
}

fn notes(case: &Case<'_>, absent: Vec<(String, Vec<&str>)>) -> String {
    let mut parts = vec![match case.n() {
        1 => "one start, n = 1: no interval (--repeat 5 gives one)".to_string(),
        n @ 2..=4 => format!("median of {n} starts, (range)"),
        n => format!("median of {n} starts, [95 % interval]"),
    }];
    for arm in &case.arms {
        if let Some(one_in) = arm.one_in() {
            let one_in = TERMINAL.fixed(one_in, 0);
            parts.push(format!("{}: latency of the 1 in {one_in} updates that a client saw", arm.name()));
        }
    }
    let unordered: Vec<&str> =
        case.arms.iter().filter(|a| out_of_order_unpromised(a)).map(|a| a.name()).collect();
    if !unordered.is_empty() {
        parts.push(format!("{}: out of order, which Bayeux allows without acknowledge", list(&unordered)));
    }
    for (why, arms) in absent {
        parts.push(format!("{} {why}", list(&arms)).replace(['\u{202f}', '\u{a0}'], ","));
    }

    let no_cost: Vec<&ArmView<'_>> = case.believed().filter(|a| a.server_cost().is_none()).collect();
    if let Some(first) = no_cost.first() {
        parts.push(format!("no CPU: {}", first.no_cost()));
    }
    parts.join("; ")
}

/// Returns when the last subscriber of a broadcast received it. A percentile over all deliveries does not
/// show this.
fn last(case: &Case<'_>, unit: TimeUnit) -> Option<String> {
    const LAST: &str = "delivery.spread.last.p50";
    let of = |a: &Arm| a.delivery.as_ref()?.spread.as_ref()?.last.p50_us.map(|us| us as f64);
    let shown: Vec<String> = case
        .arms
        .iter()
        .filter(|arm| arm.state_of(LAST) != VerdictState::Invalid)
        .filter_map(|arm| Some(format!("{} {}", arm.name(), short_time(arm.estimate(of, true)?.value, unit))))
        .collect();
    let unit = unit.name(&TERMINAL);
    (!shown.is_empty())
        .then(|| format!("last client to receive a broadcast, p50 {unit}: {}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_of_it_fills_the_bar() {
        assert_eq!(bar(20, 6_000_000, 0, 6_000_000), "█".repeat(20));
        assert_eq!(bar(20, 5_999_999, 0, 6_000_000), "█".repeat(19) + "▉");
        assert_eq!(bar(20, 300_000, 5_700_000, 6_000_000), "█".to_string() + &"░".repeat(19));
        assert_eq!(bar(20, 0, 0, 6), " ".repeat(20));
    }
}
