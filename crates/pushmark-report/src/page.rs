//! The page, in its fixed order: title, verdict, arms, figures, full table, how it was
//! measured, environment and scenario. One file, no script, nothing fetched.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pushmark_chart::numbers::{PAGE, byte_unit};
use pushmark_chart::tokens::{glyph, properties};
use pushmark_chart::{css, words};
use pushmark_model::run::VerdictState;

use super::case::Case;
use super::figures::{self, Section};
use super::findings;
use super::full_table;
use super::machines;
use super::method;
use super::verdict;

const STYLE: &str = include_str!("style.css");

/// Renders the whole document.
pub(crate) fn html(cases: &[Case<'_>]) -> Markup {
    let title = match cases {
        [] => "pushmark: no runs".to_string(),
        [one] => format!("{}: {}", one.run().name, findings::title(one)),
        many => format!("{} scenarios: {}", many.len(), verdicts(many)),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &foot_line(cases), ""))
            body {
                main {
                    @match cases {
                        [one] => { h1 { (title) } (section(one, false)) }
                        many => {
                            h1 { (title) }
                            (index(many))
                            @for case in many { article id={ (case.key) "case" } { (section(case, true)) } }
                        }
                    }
                }
                (foot(cases))
            }
        }
    }
}

/// Renders the head of a page; `more` = rules beyond those that all pages share.
pub(crate) fn head(title: &str, foot: &str, more: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            style { (PreEscaped(style_sheet(foot))) (PreEscaped(more)) }
        }
    }
}

/// Tokens of both themes, then the rules. Print is always light, and its foot shows the verdict.
fn style_sheet(foot: &str) -> String {
    let (light, dark) = (properties(false), properties(true));
    let foot = css::string(foot);
    format!(
        ":root{{color-scheme:light dark;{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         @page{{@bottom-left{{content:{foot};font:11px sans-serif}}@bottom-right{{content:counter(page);font:11px sans-serif}}}}\n{STYLE}"
    )
}

/// Returns `12 valid, 1 suspect`.
fn verdicts(cases: &[Case<'_>]) -> String {
    let states =
        [VerdictState::Valid, VerdictState::Suspect, VerdictState::Incomplete, VerdictState::Invalid];
    let count = |state| cases.iter().filter(|c| c.state() == state).count();
    let parts: Vec<String> =
        states.into_iter().filter(|s| count(*s) > 0).map(|s| format!("{} {}", count(s), s.name())).collect();
    parts.join(", ")
}

fn index(cases: &[Case<'_>]) -> Markup {
    html! {
        ol.index {
            @for case in cases {
                li {
                    a href={ "#" (case.key) "case" } { (case.run().name) }
                    " " span class=(case.state().name()) { (glyph(case.state())) " " (case.state().name()) }
                    " · " (findings::title(case))
                }
            }
        }
    }
}

fn section(case: &Case<'_>, titled: bool) -> Markup {
    let figures = figures::all(case);
    let mut number = 0;
    html! {
        @if titled { h1 { (case.run().name) ": " (findings::title(case)) } }
        p.sub { (subtitle(case)) }
        (verdict::strip(case))
        (verdict::arms(case))
        (verdict::threshold_list(case))
        @for section in Section::ALL {
            @let own: Vec<_> = figures.iter().filter(|f| f.0 == section).map(|f| &f.1).collect();
            @if !own.is_empty() {
                section.part {
                    h2 { (section.title()) }
                    div.grid {
                        @for figure in own {
                            ({ number += 1; figure.html(number, case) })
                        }
                    }
                }
            }
        }
        (machines::html(case))
        section.part { h2 { "Full table" } p.s { (table_note(case)) } (full_table::html(case)) }
        section.part {
            h2 { "How it was measured" }
            ul.method { @for bias in method::biases(case) { li { (bias) } } }
        }
        (environment(case))
    }
}

fn table_note(case: &Case<'_>) -> String {
    let values = match case.n() {
        1 => "Every value is of one start, n = 1",
        2..=4 => "Counts are totals of the starts; values their median, with (least to greatest)",
        _ => "Counts are totals of the starts; values their median, with [95 % interval]",
    };
    format!("{values}. A dash: not measured. Rows without any value are left out.")
}

/// Writes server, crowd, rate, size, duration, starts, time and machine.
pub(crate) fn subtitle(case: &Case<'_>) -> String {
    let run = case.run();
    let mut parts = Vec::new();
    let Some(arm) = case.arms.first().and_then(|a| a.starts.first()) else { return run.id.clone() };
    parts.push(format!("{} {}", arm.target, if arm.target.contains("://") { "observed" } else { "server" }));
    if arm.target.contains("://") && !case.observes() {
        parts[0] = arm.target.clone();
    }
    parts.push(format!("{} clients a transport", PAGE.count(arm.connections.asked)));
    let size = run.scenario.get("publisher").and_then(|p| p.get("size")).and_then(size_of);
    if let Some(published) = arm.published.as_ref().filter(|p| p.asked_per_s > 0.0) {
        let rate = format!(
            "{}/s",
            PAGE.fixed(published.asked_per_s, usize::from(published.asked_per_s < 10.0))
                .trim_end_matches(".0")
        );
        let of = size.map_or(String::new(), |s| format!(" of {s}"));
        parts.push(format!("{rate}{of}"));
    }
    if let Some(measure) = arm.phases.iter().find(|p| p.name == "measure") {
        let duration = format!("for {}", PAGE.duration((measure.end_us - measure.start_us) as f64));
        match parts.last_mut().filter(|p| p.contains("/s")) {
            Some(rate) => *rate = format!("{rate} {duration}"),
            None => parts.push(duration),
        }
    }
    parts.push(match case.n() {
        1 => "one fresh start each, n = 1".into(),
        n => format!("{n} fresh starts each"),
    });
    parts.push(utc(&run.started_at));
    let environment = &run.environment;
    let host = if environment.same_host { "loopback" } else { "two hosts" };
    parts.push(format!("{}, {host}", words::plural(environment.cpus as usize, "core")));
    parts.join(" · ")
}

/// Formats the size for people: `128 B`.
fn size_of(value: &serde_json::Value) -> Option<String> {
    if let Some(bytes) = value.as_u64() {
        return Some(PAGE.bytes(bytes as f64));
    }
    let text = value.as_str()?;
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some(if unit.is_empty() || number.is_empty() {
        text.to_string()
    } else {
        format!("{number}\u{a0}{unit}")
    })
}

/// Returns `2026-11-21 20:04 UTC`.
pub(crate) fn utc(started_at: &str) -> String {
    match (started_at.get(..10), started_at.get(11..16)) {
        (Some(date), Some(time)) if started_at.ends_with('Z') => format!("{date} {time} UTC"),
        _ => started_at.to_string(),
    }
}

fn environment(case: &Case<'_>) -> Markup {
    let run = case.run();
    let e = &run.environment;
    let (scale, unit) = byte_unit(e.memory_bytes as f64);
    let list = |cpus: &Option<Vec<u32>>| {
        let text = |c: &Vec<u32>| c.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        cpus.as_ref().map_or("not pinned".to_string(), text)
    };
    let scenario = run
        .scenario_text
        .clone()
        .unwrap_or_else(|| serde_json::to_string_pretty(&run.scenario).unwrap_or_default());
    html! {
        section.part {
            h2 { "Environment, scenario, and how to repeat it" }
            h3 { "To repeat it" }
            pre { code { (run.command) } }
            p.s { "seed " (run.seed) " · pushmark " (run.pushmark_version) " · " (run.schema) }
            h3 { @if run.scenario_text.is_some() { "Scenario, as given" } @else { "Scenario, as resolved (there was no file)" } }
            pre { code { (scenario) } }
            h3 { "Environment" }
            dl.environment {
                dt { "kernel" } dd { (e.kernel) }
                dt { "CPU" } dd { (e.cpu) ", " (words::plural(e.cpus as usize, "logical CPU")) }
                dt { "memory" } dd { (PAGE.three(e.memory_bytes as f64 / scale)) "\u{a0}" (unit) }
                dt { "server on CPU" } dd { (list(&e.server_cpus)) }
                dt { "generator on CPU" } dd { (list(&e.generator_cpus)) }
                dt { "CPU accounting" } dd { (e.cpu_accounting) }
                dt { "hosts" } dd { @if e.same_host { "server and generator share one" } @else { "server and generator apart" } }
                dt { "open files" } dd { (PAGE.count(e.open_files)) }
                dt { "ephemeral ports" } dd { (e.ephemeral_ports.0) " to " (e.ephemeral_ports.1) }
                @for (name, value) in &e.settings { dt { (name) } dd { (value) } }
            }
            @if case.n() > 1 {
                h3 { "The starts" }
                ul.method { @for start in &case.starts { li { (start.run.id) ", seed " (start.run.seed) ", " (start.run.verdict.state.name()) } } }
            }
            @if let Some(says) = case.arms.iter().find_map(|a| a.starts.first()?.server_says.as_ref()) {
                h3 { "What the server reports about itself" }
                pre { code { (serde_json::to_string_pretty(says).unwrap_or_default()) } }
            }
        }
    }
}

fn foot(cases: &[Case<'_>]) -> Markup {
    html! { footer { (foot_line(cases)) } }
}

fn foot_line(cases: &[Case<'_>]) -> String {
    match cases {
        [one] => super::figure::source(one),
        many => format!("{} scenarios · {}", many.len(), verdicts(many)),
    }
}
