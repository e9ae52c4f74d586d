//! The report: one offline page, the text result, and every figure as SVG and CSV. Pure
//! rendering: it reads Runs and nothing else, opens no file and asks no clock, so a report can be made years
//! later on another machine.

#![forbid(unsafe_code)]

mod case;
mod curve;
mod doubted;
mod ending;
mod figure;
mod figures;
mod findings;
mod full_table;
mod machines;
mod method;
mod page;
mod panels;
mod rows;
pub mod search;
pub mod suite;
mod text;
mod thresholds;
mod timeline;
mod troubles;
mod verdict;

use pushmark_chart::canvas::Drawing;
use pushmark_chart::terminal::Style;
use pushmark_model::run::{Run, RunFiles};

use case::Case;

/// Renders one offline page. Runs of one scenario are its starts; several scenarios have a section each.
pub fn html(runs: &[RunFiles]) -> String {
    page::html(&cases(runs)).into_string()
}

/// Renders the result for a terminal, 80 columns.
pub fn text(runs: &[RunFiles], style: Style<'_>) -> String {
    let cases = cases(runs);
    let all: Vec<String> = cases.iter().map(|case| text::render(case, &style)).collect();
    all.join("\n")
}

/// Returns the ids of the figures for which these runs have data, in the order of the page.
pub fn figure_ids(runs: &[RunFiles]) -> Vec<&'static str> {
    let cases = cases(runs);
    cases.first().map(|case| figures::all(case).iter().map(|f| f.1.id).collect()).unwrap_or_default()
}

/// Returns a figure of these runs' first scenario as an SVG file; `None` if it has no such figure.
pub fn svg(runs: &[RunFiles], id: &str) -> Option<String> {
    with_figure(runs, id, |figure, case| figure.svg(case))
}

/// Returns the data of a figure as a CSV file.
pub fn csv(runs: &[RunFiles], id: &str) -> Option<String> {
    with_figure(runs, id, |figure, case| figure.csv(case))
}

/// Returns both drawings of every figure, for checks of the layout: id, wide, narrow.
pub fn drawings(runs: &[RunFiles]) -> Vec<(&'static str, Drawing, Drawing)> {
    let cases = cases(runs);
    cases.iter().flat_map(figures::all).map(|(_, f)| (f.id, f.wide, f.narrow)).collect()
}

fn with_figure(
    runs: &[RunFiles],
    id: &str,
    give: impl Fn(&figure::Figure, &Case<'_>) -> String,
) -> Option<String> {
    let cases = cases(runs);
    let case = cases.first()?;
    figures::one(case, id).map(|figure| give(&figure, case))
}

/// Groups runs by scenario and target, in order of first appearance.
fn cases(runs: &[RunFiles]) -> Vec<Case<'_>> {
    let mut groups: Vec<(String, Vec<&RunFiles>)> = Vec::new();
    for files in runs {
        let asked = asked_of(&files.run);
        match groups.iter_mut().find(|g| g.0 == asked) {
            Some(group) => group.1.push(files),
            None => groups.push((asked, vec![files])),
        }
    }
    let several = groups.len() > 1;
    let key = |i: usize| if several { format!("s{}-", i + 1) } else { String::new() };
    groups.into_iter().enumerate().map(|(i, (_, starts))| Case::new(starts, key(i))).collect()
}

/// Returns the key by which two runs are starts of one case: the whole scenario except the seed.
fn asked_of(run: &Run) -> String {
    let mut scenario = run.scenario.clone();
    if let Some(keys) = scenario.as_object_mut() {
        keys.remove("seed");
    }
    let mut targets: Vec<String> = run.arms.iter().map(|a| format!("{} {}", a.transport, a.target)).collect();
    targets.sort();
    format!("{}\n{scenario}\n{}", run.name, targets.join("\n"))
}
