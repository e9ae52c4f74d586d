//! The report: one offline page, the text result, and every figure as SVG and CSV. Pure
//! rendering: it reads Runs and nothing else, opens no file and asks no clock.

mod avoid;
mod canvas;
mod case;
mod curve;
mod ending;
pub(crate) mod estimate;
mod figure;
mod figures;
mod findings;
mod full_table;
mod labels;
mod marks;
mod method;
pub(crate) mod numbers;
pub(crate) mod page;
mod panels;
mod pattern;
mod rows;
mod scale;
pub mod suite;
mod table;
pub(crate) mod text;
mod thresholds;
mod timeline;
pub mod tokens;
mod verdict;
mod width;
pub(crate) mod words;

use pushmark_model::run::{Run, Window};

use case::Case;

pub use canvas::{Drawing, TextBox};
pub use text::Style;

/// What the store loads from a run's folder.
#[derive(Clone, Debug)]
pub struct RunFiles {
    /// `run.json`.
    pub run: Run,
    /// `windows.csv`; empty if it was not kept.
    pub windows: Vec<Window>,
}

/// One offline page. Runs of one scenario are its starts; several scenarios are a section each.
pub fn html(runs: &[RunFiles]) -> String {
    page::html(&cases(runs)).into_string()
}

/// The result for a terminal, 80 columns.
pub fn text(runs: &[RunFiles], style: Style<'_>) -> String {
    let cases = cases(runs);
    let all: Vec<String> = cases.iter().map(|case| text::render(case, &style)).collect();
    all.join("\n")
}

/// The ids of the figures these runs have data for, in the order of the page.
pub fn figure_ids(runs: &[RunFiles]) -> Vec<&'static str> {
    let cases = cases(runs);
    cases.first().map(|case| figures::all(case).iter().map(|f| f.1.id).collect()).unwrap_or_default()
}

/// A figure of these runs' first scenario as an SVG file; `None` if it has no such figure.
pub fn svg(runs: &[RunFiles], id: &str) -> Option<String> {
    with_figure(runs, id, |figure, case| figure.svg(case))
}

/// The data of a figure as a CSV file.
pub fn csv(runs: &[RunFiles], id: &str) -> Option<String> {
    with_figure(runs, id, |figure, case| figure.csv(case))
}

/// Both drawings of every figure, for checks of the layout: id, wide, narrow.
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

/// Groups runs by what was asked; the order of first appearance.
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

/// What makes two runs starts of one case: all that was asked but the seed.
fn asked_of(run: &Run) -> String {
    let mut scenario = run.scenario.clone();
    if let Some(keys) = scenario.as_object_mut() {
        keys.remove("seed");
    }
    let mut targets: Vec<String> = run.arms.iter().map(|a| format!("{} {}", a.transport, a.target)).collect();
    targets.sort();
    format!("{}\n{scenario}\n{}", run.name, targets.join("\n"))
}
