//! A comparison for a terminal, 80 columns: other differences, then the metric
//! that decides, then which of the others differ. The absence of a difference is reported too.

use std::fmt::Write as _;

use pushmark_model::compare::{
    Bounded, Comparison, Design, Doubt, Effect, Finding, Gate, Pair, Passed, Test,
};
use pushmark_model::metrics::{Metric, Unit};
use pushmark_model::run::VerdictState;
use pushmark_model::stats::INTERVAL_FROM;

use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::{TERMINAL, TimeUnit, estimate_decimals};
use pushmark_chart::terminal::Style;
use pushmark_chart::terminal::{COLUMNS, Pen, ascii, wrapped};
use pushmark_chart::words::plural;

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
    out.extend(design(of, &pen));
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
    let mut out = vec![pen.dim("  other differences: A | B")];
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

/// Warns that sets were made one after the other, which hides drift.
fn design(of: &Comparison, pen: &Pen) -> Vec<String> {
    let several = of.a.runs.len().max(of.b.runs.len()) > 1;
    if of.design != Some(Design::Apart) || !several {
        return Vec::new();
    }
    let text = "one set was made after the other: what drifted on this host in between looks like a \
                difference. pushmark ab makes both in turn";
    let mut lines = wrapped(text, COLUMNS - 2).into_iter();
    let mut out = vec![format!("{}{}", pen.gutter(VerdictState::Suspect), lines.next().unwrap_or_default())];
    out.extend(lines.map(|line| format!("    {line}")));
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
        out.push(pen.dim(&format!("  and {} more doubts, in --format json", of.doubts.len() - LINES_MAX)));
    }
    if !out.is_empty() {
        out.push(String::new());
    }
    out
}

fn doubt_words(doubt: &Doubt) -> String {
    let used = match (doubt.used, doubt.unstable) {
        (false, _) => "not compared".to_owned(),
        (true, true) => "compared without its latencies".to_owned(),
        (true, false) if !doubt.without.is_empty() => {
            format!("compared without {}", doubt.without.join(", "))
        }
        (true, false) => "still compared".to_owned(),
    };
    let state = if doubt.unstable { "unstable" } else { doubt.state.name() };
    let reason = if doubt.reason.is_empty() { "no reason recorded" } else { &doubt.reason };
    format!("{} {} {}: {state}, {used}: {reason}", doubt.side.name(), doubt.run, doubt.transport)
}

/// Renders an arm: deciding metrics, the worst first, then the others.
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
    out.extend(pair.lost.iter().flat_map(|effect| lost_lines(effect, pen)));
    match (&pair.primary, &pair.not_compared) {
        (Some(effect), _) => out.extend(effect_lines(effect, pen)),
        (None, why) => {
            let why = why.as_deref().unwrap_or("no metric is in both");
            out.extend(wrapped(&format!("not compared: {why}"), COLUMNS - 4).into_iter().map(indented));
        }
    }
    out.extend(pair.loss.iter().flat_map(|effect| effect_lines(effect, pen)));
    // Shown with values: metrics that differ, that are separated, or that have too few starts for a test.
    let (shown, named): (Vec<&Effect>, Vec<&Effect>) = pair.others.iter().partition(|effect| {
        let apart = effect.separated && effect.finding != Finding::Alike;
        effect.finding.is_difference() || effect.finding == Finding::NotTested || apart
    });
    out.extend(shown.into_iter().flat_map(|effect| effect_lines(effect, pen)));
    out.extend(named_lines(&named, pen));
    out
}

/// Renders the others without their values, grouped by finding.
fn named_lines(effects: &[&Effect], pen: &Pen) -> Vec<String> {
    let of = |finding: Finding, varies: bool| -> Vec<&str> {
        let found = effects.iter().filter(|effect| effect.finding == finding && effect.p.is_some() == varies);
        found.map(|effect| effect.metric.as_str()).collect()
    };
    let needed = effects.iter().find_map(|effect| Some((effect.starts_needed?, effect.a.n.min(effect.b.n))));
    let cannot = needed.map_or(String::new(), |(needed, n)| cannot_show(n, needed));
    let sentences = [
        (Finding::NoDifference, true, "no difference found in ".to_owned()),
        (Finding::NoDifference, false, "the same in every start: ".to_owned()),
        (Finding::Alike, true, "alike, the difference is too small to matter: ".to_owned()),
        (Finding::CannotShow, true, format!("{cannot}: ")),
    ];
    let mut out = Vec::new();
    for (finding, varies, sentence) in sentences {
        let names = of(finding, varies).join(", ");
        if !names.is_empty() {
            let lines = wrapped(&(sentence + &names), COLUMNS - 4);
            out.extend(lines.into_iter().map(|line| pen.dim(&indented(line))));
        }
    }
    out
}

/// Returns `5 starts each are too few to show a difference in this number of tests (7 are enough)`.
fn cannot_show(n: usize, needed: usize) -> String {
    format!("{n} starts each are too few to show a difference in this number of tests ({needed} are enough)")
}

/// A percentile among the missing deliveries is worse than any value.
fn lost_lines(effect: &Effect, pen: &Pen) -> Vec<String> {
    let of = |share: f64, n: usize| format!("{:.0} of {n}", share * n as f64);
    let text = format!(
        "{}  among the missing in {} | {} starts",
        effect.metric,
        of(effect.a.mean, effect.a.n),
        of(effect.b.mean, effect.b.n)
    );
    let mut out: Vec<String> = wrapped(&text, COLUMNS - 4).into_iter().map(indented).collect();
    out.extend(said(effect, String::new(), pen));
    out
}

fn indented(line: String) -> String {
    format!("    {line}")
}

/// Renders two values, then the size of the difference and the finding.
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
    out.extend(said(effect, sized, pen));
    out
}

/// Renders the finding of an effect, in its colour.
fn said(effect: &Effect, sized: String, pen: &Pen) -> Vec<String> {
    let state = match effect.finding {
        Finding::Worse => Some(VerdictState::Invalid),
        Finding::Better => Some(VerdictState::Valid),
        _ => None,
    };
    let lines = wrapped(&(sized + &finding(effect)), COLUMNS - 6).into_iter();
    let coloured = lines.map(|line| state.map_or(line.clone(), |state| pen.state(state, &line)));
    coloured.map(|line| format!("      {line}")).collect()
}

/// Returns `no difference found; a difference above 6 % would show at n = 5`.
fn finding(effect: &Effect) -> String {
    let n = effect.a.n.min(effect.b.n);
    let p = effect.p_adjusted.map_or(String::new(), |p| match p {
        p if p < 0.001 => " (p < 0.001)".to_owned(),
        p => format!(" (p = {p:.3})"),
    });
    match effect.finding {
        Finding::NotTested if n == 1 => {
            format!("one start: the effect of chance is not known (--repeat {INTERVAL_FROM} shows it)")
        }
        Finding::NotTested => {
            format!(
                "not tested: {n} starts give a range, {INTERVAL_FROM} an interval (--repeat {INTERVAL_FROM})"
            )
        }
        Finding::NoDifference => match effect.detectable {
            Some(share) => {
                format!("no difference found; a difference above {} would show at n = {n}", percent(share))
            }
            None if effect.p.is_none() => "the same in every start".to_owned(),
            None => format!("no difference found{p}"),
        },
        Finding::CannotShow => {
            let apart =
                if effect.separated { ", although the ranges of the starts do not overlap" } else { "" };
            cannot_show(n, effect.starts_needed.unwrap_or(n)) + apart
        }
        Finding::Alike => format!("alike: less than {} does not matter", worth(effect)),
        Finding::Better => format!("better{}{p}", by(effect)),
        Finding::Worse => format!("worse{}{p}", by(effect)),
        Finding::Differs => format!("differs{}{p}", by(effect)),
    }
}

/// Returns the smallest difference that matters: a share or a value in the metric's unit.
fn worth(effect: &Effect) -> String {
    let share = effect.worth.map_or(super::worth::SHARE, |worth| worth / effect.a.mean.abs());
    match effect.worth {
        Some(worth) if share > super::worth::SHARE * 1.001 => {
            let unit = TimeUnit::of(worth);
            format!("{} {}", TERMINAL.three(worth / unit.us()), unit.name(&TERMINAL))
        }
        _ => percent(super::worth::SHARE),
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

/// `1.11 [1.10, 1.12]`, with a third decimal if the interval is narrower than 0.02.
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

/// The family of the adjustment, and the meaning of the numbers.
fn family(of: &Comparison, pen: &Pen) -> Vec<String> {
    let tested = |effects: &mut dyn Iterator<Item = &Effect>| effects.filter(|e| e.p.is_some()).count();
    let decide =
        tested(&mut of.pairs.iter().flat_map(|pair| [&pair.lost, &pair.primary, &pair.loss]).flatten());
    let others = tested(&mut of.pairs.iter().flat_map(|pair| &pair.others));
    if decide + others == 0 {
        return Vec::new();
    }
    let mut text = match of.design {
        Some(Design::Interleaved) => {
            "means of the starts, [95 % interval]; sides alternated, p and interval by permutation within blocks"
        }
        _ => "means of the starts, [95 % interval]; Welch's t on logarithms, counts by permutation",
    }
    .to_owned();
    if decide > 1 {
        let _ = write!(text, "; p of deciding metrics adjusted over {decide} tests");
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
