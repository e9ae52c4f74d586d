//! The page of a suite, in its fixed order: title and counts of verdicts, matrix, figures by
//! number, what was not measured and why, how it was measured, environment and suite.

use maud::{DOCTYPE, Markup, html};
use pushmark_chart::numbers::{PAGE, byte_unit};
use pushmark_chart::words;
use pushmark_model::suite::FigureKind;

use super::super::page::{head, utc};
use super::cells::{Fate, View};
use super::drawn::{Entry, scale, size, starts, verdicts};
use super::matrix::axes_in_words;
use super::{published, says};

const STYLE: &str = include_str!("suite.css");

/// Renders the whole document.
pub(crate) fn html(view: &View<'_>, entries: &[Entry]) -> Markup {
    let title = format!("{}: {}", name(view), finding(view));
    let foot = format!("suite {} · {} · {}", view.suite.name, verdicts(view), starts(view));
    let (matrices, figures): (Vec<_>, Vec<_>) =
        entries.iter().partition(|e| e.figure.kind == FigureKind::Matrix);
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &foot, STYLE))
            body {
                main {
                    h1 { (title) }
                    p.sub { (subtitle(view)) }
                    (counts(view))
                    @if !view.suite.analysis.is_empty() { p.s.analysis { (view.suite.analysis) } }
                    section.part { h2 { "All cases" } @for entry in matrices { (entry.html(view)) } }
                    @if !figures.is_empty() {
                        section.part {
                            h2 { "Figures" }
                            @if let Some(said) = says::limit::of_suite(view) { p.s.all { (said) } }
                            div.stack { @for entry in figures { (entry.html(view)) } }
                        }
                    }
                    (published::section(view, &entries.iter().map(|e| &e.figure).collect::<Vec<_>>()))
                    (then_and_now(view))
                    (not_measured(view))
                    (method(view))
                    (environment(view))
                }
                footer { (foot) }
            }
        }
    }
}

fn name(view: &View<'_>) -> String {
    match &view.suite.study {
        Some(study) => format!("Study {}, {}", study.number, study.title),
        None => view.suite.name.clone(),
    }
}

/// Summarises the counts in a few words.
pub(crate) fn finding(view: &View<'_>) -> String {
    let of = |fate: Fate| view.cells.iter().filter(|c| c.fate() == fate).count();
    let (all, valid) = (view.cells.len(), of(Fate::Valid));
    let run = view.cells.iter().filter(|c| c.measured.is_some()).count();
    match (all, run) {
        (0, _) => "no case".into(),
        (_, 0) if of(Fate::Refused) == all => "this machine cannot run any of its cases".into(),
        (_, 0) => "no case was run".into(),
        _ if valid == all => format!("all {} cases are valid", words::number(all)),
        _ if of(Fate::Died) > 0 => {
            format!(
                "{} of {} cases valid, the server died in {}",
                PAGE.count(valid as u64),
                PAGE.count(all as u64),
                of(Fate::Died)
            )
        }
        _ => format!("{} of {} cases valid", PAGE.count(valid as u64), PAGE.count(all as u64)),
    }
}

/// Writes name, cases and starts, scale, time, machine.
fn subtitle(view: &View<'_>) -> String {
    let suite = view.suite;
    let mut parts = vec![format!("suite {}", suite.name), size(view), scale(view)];
    if let Some(run) = view.run() {
        parts.push(utc(&run.started_at));
        let host = if run.environment.same_host { "loopback" } else { "two hosts" };
        parts.push(format!("{}, {host}", words::plural(run.environment.cpus as usize, "core")));
    }
    parts.retain(|p| !p.is_empty());
    parts.join(" · ")
}

fn counts(view: &View<'_>) -> Markup {
    html! {
        ul.arms.counts aria-label="verdicts" {
            @for (fate, n) in view.counts() {
                li { span class=(class(fate)) { (fate.glyph()) " " b { (n) } " " (fate.name()) } }
            }
        }
    }
}

fn class(fate: Fate) -> &'static str {
    match fate {
        Fate::Suspect => "suspect",
        Fate::Invalid | Fate::Failed => "invalid",
        Fate::Incomplete => "incomplete",
        _ => "plain",
    }
}

/// Returns the study's question, its set-up, and the differences from it: the suite's text.
fn then_and_now(view: &View<'_>) -> Markup {
    let Some(study) = &view.suite.study else { return html! {} };
    let list = |lines: &[String]| html! { ul.method { @for line in lines { li { (line) } } } };
    html! {
        @if !study.then.is_empty() || !study.differs.is_empty() {
            section.part {
                h2 { "Differences from the study" }
                @if !study.asked.is_empty() { p.s { (study.asked) } }
                @if !study.then.is_empty() { h3 { "Then" } (list(&study.then)) }
                @if !study.differs.is_empty() { h3 { "Now" } (list(&study.differs)) }
            }
        }
    }
}

/// Cells that are not valid, grouped by reason.
fn not_measured(view: &View<'_>) -> Markup {
    let groups = doubts(view);
    html! {
        @if !groups.is_empty() {
            section.part {
                h2 { "Refused, failed and doubtful cases" }
                dl.doubts {
                    @for (fate, reason, cells) in &groups {
                        dt { span class=(class(*fate)) { (fate.glyph()) " " (fate.name()) } ", " (words::plural(cells.len(), "case")) }
                        dd {
                            @if reason.is_empty() { "no start of it exists" } @else { (reason) }
                            @if cells.len() > 3 {
                                details { summary { "which" } p.which { (cells.join(", ")) } }
                            } @else { p.which { (cells.join(", ")) } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns fate, reason, and the cases of both, worst first.
pub(crate) fn doubts(view: &View<'_>) -> Vec<(Fate, String, Vec<String>)> {
    let mut groups: Vec<(Fate, String, Vec<String>)> = Vec::new();
    for cell in view.cells.iter().filter(|c| c.fate() != Fate::Valid) {
        let (fate, reason) = (cell.fate(), cell.reason());
        match groups.iter_mut().find(|g| g.0 == fate && g.1 == reason) {
            Some(group) => group.2.push(cell.case.id.clone()),
            None => groups.push((fate, reason, vec![cell.case.id.clone()])),
        }
    }
    let weight = |fate: Fate| match fate {
        Fate::Died => 0,
        Fate::Invalid => 1,
        Fate::Failed => 2,
        Fate::Suspect => 3,
        Fate::Incomplete => 4,
        _ => 5,
    };
    groups.sort_by_key(|g| weight(g.0));
    groups
}

fn method(view: &View<'_>) -> Markup {
    html! {
        section.part {
            h2 { "How it was measured" }
            ul.method { @for line in method_lines(view) { li { (line) } } }
        }
    }
}

fn method_lines(view: &View<'_>) -> Vec<String> {
    let mut out = vec![format!(
        "The cases are the values of {}, each with a fresh server a start, in an order drawn from seed {}.",
        axes_in_words(view),
        view.suite.seed
    )];
    out.push(match view.starts() {
        None => "Nothing was run.".into(),
        Some((_, 1)) => "n = 1 in every cell: no interval can be given, and a second start may differ by more than the cells do.".into(),
        Some((_, 2..=4)) => "Bars are the range of 2 to 4 starts, not an interval. From 5 starts there is an interval. A cell of one start has no bar.".into(),
        Some(_) => "Bars are 95 % t intervals over starts where a cell has 5 or more (on the log scale for times), a thin range where it has 2 to 4; a cell of one start has none. The sample is a start, not a message.".into(),
    });
    out.push("A value of several starts is their median; percentiles are never pooled over runs.".into());
    if view.suite.scale != 1.0 || view.suite.scale_time != 1.0 {
        out.push("Crowds and cycles were shrunk; emit intervals, holds, rates and time-outs are as written. Figures of a smaller crowd are compared by shape, not by value.".into());
    }
    if view.suite.figures.iter().any(|f| f.kind == FigureKind::Against) {
        out.push(says::knee::RULE.into());
    }
    if view.run().is_some_and(|r| r.environment.same_host) {
        out.push("Server and generator share one host: on loopback the sender pays for part of the receiver's TCP input, and also for its acknowledgements (about 2 µs a delivery) if a client receives fewer than about five messages a second. Such figures rank servers; they do not describe a network.".into());
    }
    out
}

fn environment(view: &View<'_>) -> Markup {
    let suite = view.suite;
    html! {
        section.part {
            h2 { "Environment, suite, and how to repeat it" }
            h3 { "To repeat it" }
            pre { code { (command(view)) } }
            p.s { "seed " (suite.seed) " · " (suite.schema) @if let Some(run) = view.run() { " · pushmark " (run.pushmark_version) } }
            @if !suite.text.is_empty() {
                h3 { "Suite, as given" }
                details { summary { (words::plural(suite.text.lines().count(), "line")) } pre { code { (suite.text) } } }
            }
            @if let Some(run) = view.run() {
                @let e = &run.environment;
                @let (scale, unit) = byte_unit(e.memory_bytes as f64);
                h3 { "Environment" }
                dl.environment {
                    dt { "kernel" } dd { (e.kernel) }
                    dt { "CPU" } dd { (e.cpu) ", " (words::plural(e.cpus as usize, "logical CPU")) }
                    dt { "memory" } dd { (PAGE.three(e.memory_bytes as f64 / scale)) "\u{a0}" (unit) }
                    dt { "CPU accounting" } dd { (e.cpu_accounting) }
                    dt { "hosts" } dd { @if e.same_host { "server and generator share one" } @else { "server and generator apart" } }
                    dt { "open files" } dd { (PAGE.count(e.open_files)) }
                    @for (name, value) in &e.settings { dt { (name) } dd { (value) } }
                    @for (name, version) in servers(view) { dt { (name) } dd { (version) } }
                }
            }
        }
    }
}

/// Returns the measured servers, each once, and what they represent.
fn servers(view: &View<'_>) -> Vec<(String, String)> {
    let measured = view.cells.iter().filter_map(|c| c.measured.as_ref());
    let mut all: Vec<(String, String)> = measured
        .filter_map(|m| m.run().environment.server.as_ref())
        .map(|s| {
            let version = s.version.clone().unwrap_or_else(|| "version unknown".into());
            (s.name.clone(), format!("{}: {version}", s.stands_for))
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

fn command(view: &View<'_>) -> String {
    let suite = view.suite;
    let mut words = vec!["pushmark suite suite.toml".to_string()];
    if suite.scale != 1.0 {
        words.push(format!("--scale {}", suite.scale));
    }
    if suite.scale_time != 1.0 {
        words.push(format!("--scale-time {}", suite.scale_time));
    }
    words.push(format!("--seed {}", suite.seed));
    words.join(" ")
}
