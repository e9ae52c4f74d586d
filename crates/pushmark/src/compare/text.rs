//! A comparison for a terminal, 80 columns: what differs beside the thing compared, then the metric
//! that decides, then which of the others differ. No difference is said as plainly as one.

use std::fmt::Write as _;

use pushmark_model::compare::{Bounded, Comparison, Doubt, Effect, Finding, Gate, Pair, Passed, Test};
use pushmark_model::metrics::{Metric, Unit};
use pushmark_model::run::VerdictState;
use pushmark_model::stats::INTERVAL_FROM;

use crate::report::Style;
use crate::report::estimate::Estimate;
use crate::report::numbers::{TERMINAL, TimeUnit, estimate_decimals};
use crate::report::text::{COLUMNS, Pen, ascii, wrapped};
use crate::report::words::plural;

/// Most lines of settings that differ, and of doubtful starts; the rest is in the JSON.
const LINES_MAX: usize = 12;

/// The whole text.
pub fn render(of: &Comparison, style: &Style<'_>) -> String {
    let pen = Pen::new(style);
    let mut out = vec![pen.bold("pushmark compare"), String::new()];
    for (name, set) in [("A", &of.a), ("B", &of.b)] {
        out.push(format!("  {}  {}  ({})", pen.bold(name), set.given, plural(set.runs.len(), "run")));
    }
    out.push(String::new());
    out.extend(differing(of, &pen));
    out.extend(doubts(of, &pen));
    let several = of.pairs.iter().any(|pair| pair.case.is_some());
    for pair in &of.pairs {
        out.extend(paragraph(pair, several, &pen));
        out.push(String::new());
    }
    out.extend(family(of, &pen));
    for one in &of.unmatched {
        let case = one.case.as_ref().map_or(String::new(), |case| format!("{case} "));
        out.push(format!("  only in {}: {case}{}", one.side.name(), one.transport));
    }
    out.extend(gates(&of.gates, &pen));
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    let text: String = out.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    if style.utf8 { text } else { ascii(&text) }
}

fn differing(of: &Comparison, pen: &Pen) -> Vec<String> {
    if of.differs.is_empty() {
        return vec![pen.dim("  machine, versions and settings are the same"), String::new()];
    }
    let width = of.differs.iter().take(LINES_MAX).map(|s| s.key.chars().count()).max().unwrap_or(0);
    let mut out = vec![pen.dim("  what differs besides: A | B")];
    for setting in of.differs.iter().take(LINES_MAX) {
        let text = format!("{:width$}  {} | {}", setting.key, setting.a, setting.b);
        let lines = wrapped(&text, COLUMNS - 6);
        out.extend(lines.iter().enumerate().map(|(i, line)| match i {
            0 => format!("    {text}", text = if lines.len() == 1 { &text } else { line }),
            _ => format!("      {line}"),
        }));
    }
    if of.differs.len() > LINES_MAX {
        out.push(pen.dim(&format!("    and {} more, in --format json", of.differs.len() - LINES_MAX)));
    }
    out.push(String::new());
    out
}

fn doubts(of: &Comparison, pen: &Pen) -> Vec<String> {
    let mut out = Vec::new();
    for doubt in of.doubts.iter().take(LINES_MAX) {
        let state = if doubt.unstable { doubt.state.max(VerdictState::Suspect) } else { doubt.state };
        let mut lines = wrapped(&doubt_words(doubt), COLUMNS - 2).into_iter();
        out.push(format!("{}{}", pen.gutter(state), lines.next().unwrap_or_default()));
        out.extend(lines.map(|line| format!("    {line}")));
    }
    if of.doubts.len() > LINES_MAX {
        out.push(pen.dim(&format!("  and {} doubtful more, in --format json", of.doubts.len() - LINES_MAX)));
    }
    if !out.is_empty() {
        out.push(String::new());
    }
    out
}

fn doubt_words(doubt: &Doubt) -> String {
    let used = match (doubt.used, doubt.unstable) {
        (false, _) => "not compared",
        (true, true) => "compared without its latencies",
        (true, false) => "compared all the same",
    };
    let state = if doubt.unstable { "unstable" } else { doubt.state.name() };
    let reason = if doubt.reason.is_empty() { "no reason kept" } else { &doubt.reason };
    format!("{} {} {}: {state}, {used}: {reason}", doubt.side.name(), doubt.run, doubt.transport)
}

/// An arm: the metric that decides, then the others.
fn paragraph(pair: &Pair, several: bool, pen: &Pen) -> Vec<String> {
    let mut head = pen.bold(pair.transport.name());
    if let (true, Some(case)) = (several, &pair.case) {
        head = format!("{} {head}", pen.bold(case));
    }
    let starts = match pair.n_a == pair.n_b {
        true if pair.n_a == 1 => "one start each, n = 1".to_owned(),
        true => format!("n = {} each", pair.n_a),
        false => format!("n = {} and {}", pair.n_a, pair.n_b),
    };
    let mut out = vec![format!("  {head}  {}", pen.dim(&starts))];
    match (&pair.primary, &pair.not_compared) {
        (Some(effect), _) => out.extend(effect_lines(effect, pen)),
        (None, why) => {
            let why = why.as_deref().unwrap_or("no metric that both have");
            out.extend(wrapped(&format!("not compared: {why}"), COLUMNS - 4).into_iter().map(indented));
        }
    }
    let (different, same): (Vec<&Effect>, Vec<&Effect>) =
        pair.others.iter().partition(|effect| effect.finding.is_difference());
    for effect in different {
        out.extend(effect_lines(effect, pen));
    }
    let untested = same.iter().any(|effect| effect.finding == Finding::NotTested);
    if untested {
        // Too few for a test: the values are all there is.
        out.extend(same.iter().flat_map(|effect| effect_lines(effect, pen)));
    } else if !same.is_empty() {
        let names: Vec<&str> = same.iter().map(|effect| effect.metric.as_str()).collect();
        let text = format!("no difference seen in {}", names.join(", "));
        out.extend(wrapped(&text, COLUMNS - 4).into_iter().map(|line| pen.dim(&indented(line))));
    }
    out
}

fn indented(line: String) -> String {
    format!("    {line}")
}

/// Two values, then how large the difference is and what is to be said of it.
fn effect_lines(effect: &Effect, pen: &Pen) -> Vec<String> {
    let values = format!("{} | {}", side(effect, true), side(effect, false));
    let mut out = match format!("    {}  {values}", effect.metric) {
        line if line.chars().count() <= COLUMNS => vec![line],
        _ => vec![format!("    {}", effect.metric), format!("      {values}")],
    };
    let sized = match (effect.ratio, effect.difference) {
        (Some(ratio), _) => format!("B ÷ A {}: ", ratio_words(&ratio)),
        (None, Some(difference)) if effect.test != Test::None => {
            format!("B − A {}: ", difference_words(&difference))
        }
        _ => String::new(),
    };
    let state = match effect.finding {
        Finding::Worse => Some(VerdictState::Invalid),
        Finding::Better => Some(VerdictState::Valid),
        _ => None,
    };
    for line in wrapped(&(sized + &finding(effect)), COLUMNS - 6) {
        let line = state.map_or(line.clone(), |state| pen.state(state, &line));
        out.push(format!("      {line}"));
    }
    out
}

/// `no difference seen; one above 6 % would have shown at n = 5`.
fn finding(effect: &Effect) -> String {
    let n = effect.a.n.min(effect.b.n);
    let p = effect.p_adjusted.map_or(String::new(), |p| match p {
        p if p < 0.001 => " (p < 0.001)".to_owned(),
        p => format!(" (p = {p:.3})"),
    });
    match effect.finding {
        Finding::NotTested if n == 1 => {
            format!("one start: nothing is known of what chance does (--repeat {INTERVAL_FROM} tells)")
        }
        Finding::NotTested => {
            format!(
                "not tested: {n} starts give a range, {INTERVAL_FROM} an interval (--repeat {INTERVAL_FROM})"
            )
        }
        Finding::NoDifference => match effect.detectable {
            Some(share) => {
                format!("no difference seen; one above {} would have shown at n = {n}", percent(share))
            }
            None if effect.p.is_none() => "the same in every start".to_owned(),
            None => format!("no difference seen{p}"),
        },
        Finding::Better => format!("better{}{p}", by(effect)),
        Finding::Worse => format!("worse{}{p}", by(effect)),
        Finding::Differs => format!("differs{}{p}", by(effect)),
    }
}

/// Two digits: it is an estimate.
fn percent(share: f64) -> String {
    let decimals = usize::from(share < 0.0995);
    format!("{} %", TERMINAL.fixed(share * 100.0, decimals))
}

fn by(effect: &Effect) -> String {
    match effect.ratio {
        Some(ratio) if ratio.value >= 2.0 || ratio.value <= 0.5 => {
            format!(": {} A", TERMINAL.ratio(ratio.value))
        }
        Some(ratio) => format!(" by {}", percent((ratio.value - 1.0).abs())),
        None => String::new(),
    }
}

/// `1.11 [1.10, 1.12]`, with a third decimal where the interval is as narrow.
fn ratio_words(ratio: &Bounded) -> String {
    let narrow = ratio.interval.is_some_and(|(low, high)| high - low < 0.02);
    let decimals = if narrow { 3 } else { 2 };
    with_interval(ratio, |value| TERMINAL.fixed(value, decimals))
}

fn difference_words(difference: &Bounded) -> String {
    with_interval(difference, |value| TERMINAL.three(value))
}

fn with_interval(of: &Bounded, write: impl Fn(f64) -> String) -> String {
    let interval =
        of.interval.map_or(String::new(), |(low, high)| format!(" [{}, {}]", write(low), write(high)));
    write(of.value) + &interval
}

/// One side's value with its bounds, in the unit of A.
fn side(effect: &Effect, is_a: bool) -> String {
    let summary = if is_a { &effect.a } else { &effect.b };
    let unit = Metric::find(&effect.metric).map_or(Unit::Count, |metric| metric.unit);
    let estimate = Estimate { value: summary.mean, spread: summary.spread, n: summary.n };
    let (estimate, name) = match unit {
        Unit::Micros => {
            let unit = TimeUnit::of(effect.a.mean);
            (estimate.scaled(1.0 / unit.us()), unit.name(&TERMINAL))
        }
        Unit::Bytes if effect.a.mean >= 1024.0 * 1024.0 => (estimate.scaled(1.0 / 1024.0 / 1024.0), "MiB"),
        Unit::Bytes if effect.a.mean >= 1024.0 => (estimate.scaled(1.0 / 1024.0), "KiB"),
        Unit::Bytes => (estimate, "B"),
        Unit::PerSecond => (estimate, "/s"),
        Unit::Count | Unit::Ratio => (estimate, ""),
    };
    let decimals = estimate_decimals(&estimate, 6).min(if name == "µs" { 0 } else { 6 });
    let mut out = TERMINAL.fixed(estimate.value, decimals);
    if !name.is_empty() {
        let _ = write!(out, " {name}");
    }
    if let Some(bounds) = TERMINAL.bounds(&estimate, decimals) {
        let _ = write!(out, " {bounds}");
    }
    out
}

/// What the adjustment was over, and what the numbers are.
fn family(of: &Comparison, pen: &Pen) -> Vec<String> {
    let tested = |effects: &mut dyn Iterator<Item = &Effect>| effects.filter(|e| e.p.is_some()).count();
    let primary = tested(&mut of.pairs.iter().filter_map(|pair| pair.primary.as_ref()));
    let others = tested(&mut of.pairs.iter().flat_map(|pair| &pair.others));
    if primary + others == 0 {
        return Vec::new();
    }
    let mut text =
        "means of the starts, [95 % interval]; Welch's t on logarithms, counts by permutation".to_owned();
    if primary > 1 {
        let _ = write!(text, "; p of the deciding metric adjusted over {primary} arms");
    }
    if others > 1 {
        let _ = write!(text, "; p of the others adjusted over {others} tests (Holm)");
    }
    let mut out: Vec<String> =
        wrapped(&text, COLUMNS - 2).iter().map(|l| pen.dim(&format!("  {l}"))).collect();
    out.push(String::new());
    out
}

fn gates(gates: &[Gate], pen: &Pen) -> Vec<String> {
    let mut out = Vec::new();
    for (i, gate) in gates.iter().enumerate() {
        let case = gate.case.as_ref().map_or(String::new(), |case| format!("{case} "));
        let word = match gate.outcome {
            Passed::Pass => "pass".to_owned(),
            Passed::Fail => pen.bold("FAIL"),
            Passed::Inconclusive => pen.bold("inconclusive"),
        };
        let head = if i == 0 { "fail if" } else { "" };
        out.push(format!("  {head:<8} {}  {case}{}  {word}", gate.expression, gate.transport));
        out.extend(wrapped(&gate.why, COLUMNS - 13).into_iter().map(|l| format!("             {l}")));
    }
    out
}
