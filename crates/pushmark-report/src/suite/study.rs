//! The page of a study for `studies/pages`, in Markdown: the questions, the original set-up, the
//! differences from it, and the results of the kept runs. Made only from suites and their runs; every
//! figure names the runs it was drawn from.

use std::fmt::Write as _;

use pushmark_model::suite::{Study, Suite};

use super::super::RunFiles;
use super::answers;
use super::cells::{Cell, Fate, View, fate_of, reason_of};
use super::drawn::{Body, Entry, verdicts};
use super::page::scale;
use super::{printed, says};

/// A suite of a study, and its kept runs.
#[derive(Clone, Debug)]
pub struct StudySuite<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it shows.
    pub analysis: &'a str,
    /// Its text about the study.
    pub study: &'a Study,
    /// The kept results: their place, the expanded suite, and the runs.
    pub kept: Option<(&'a str, &'a Suite, &'a [RunFiles])>,
}

/// A page and the drawings it shows.
#[derive(Clone, Debug, Default)]
pub struct StudyPage {
    /// Markdown.
    pub text: String,
    /// File name, relative to the page, and SVG.
    pub drawings: Vec<(String, String)>,
}

/// Renders the page of the study to which all these suites belong.
pub fn study_page(number: u32, suites: &[StudySuite<'_>]) -> StudyPage {
    let mut page = StudyPage::default();
    let Some(first) = suites.iter().find(|s| !s.study.then.is_empty()).or(suites.first()) else {
        page.text = format!("# Study {number}\n\nNo suite of it is here yet.\n");
        return page;
    };
    let study = first.study;
    let out = &mut page.text;
    let _ = writeln!(out, "# Study {number}: {}\n", study.title);
    out.push_str("<!-- written by `cargo xtask studies` from studies/ and record/: edit those -->\n\n");
    if !study.asked.is_empty() {
        let _ = writeln!(out, "{}\n", study.asked);
    }
    list(out, "How it was set up then", &study.then);
    list(out, "What differs here", &study.differs);
    if !study.variables.is_empty() {
        out.push_str("## The variables of its test plan\n\n| variable | set here by |\n|---|---|\n");
        for variable in &study.variables {
            let _ = writeln!(out, "| {} | {} |", variable.name, variable.key);
        }
        out.push('\n');
    }
    for suite in suites {
        section(&mut page, number, suite);
    }
    while page.text.ends_with("\n\n") {
        page.text.pop();
    }
    page
}

fn list(out: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "## {title}\n");
        for item in items {
            let _ = writeln!(out, "- {item}");
        }
        out.push('\n');
    }
}

fn section(page: &mut StudyPage, number: u32, suite: &StudySuite<'_>) {
    let out = &mut page.text;
    let _ = writeln!(out, "## Suite `{}`\n\n{}\n", suite.name, suite.analysis);
    if !suite.study.adds.is_empty() {
        let _ = writeln!(out, "This suite is ours, not the study's. {}\n", suite.study.adds);
    }
    let kept = suite.kept.filter(|(_, _, runs)| !runs.is_empty());
    let Some((folder, expanded, runs)) = kept else {
        let _ = writeln!(
            out,
            "No run of it is kept yet: `pushmark suite studies/suites/{}.toml` makes them, `cargo xtask record` keeps them.\n",
            suite.name
        );
        unanswered(out, suite.study);
        return;
    };
    let view = View::new(expanded, runs);
    set_up(out, &view, folder);
    if let Some(said) = says::limit::of_suite(&view) {
        let _ = writeln!(out, "{said}\n");
    }
    if !suite.study.questions.is_empty() {
        page.text.push_str("### Its questions\n\n");
        for question in &suite.study.questions {
            let _ = writeln!(page.text, "**{}**\n\n{}\n", question.ask, answers::answer(&view, question));
            if let Some(published) = &question.published {
                let _ = writeln!(page.text, "The study: {published}\n");
            }
        }
    }
    crashes(&mut page.text, &view);
    printed::table(&mut page.text, &view);
    figures(page, &view, number);
}

/// Writes the questions, even without an answer.
fn unanswered(out: &mut String, study: &Study) {
    for question in &study.questions {
        let _ = match &question.published {
            Some(published) => writeln!(out, "- {} The study: {published}", question.ask),
            None => writeln!(out, "- {} (Ours: the study did not ask.)", question.ask),
        };
    }
    if !study.questions.is_empty() {
        out.push('\n');
    }
}

fn set_up(out: &mut String, view: &View<'_>, folder: &str) {
    let Some(run) = view.run() else { return };
    let env = &run.environment;
    let gib = env.memory_bytes as f64 / f64::from(1u32 << 30);
    let _ = writeln!(
        out,
        "Now: {} × {}, {gib:.0} GiB, Linux {}; {}; pushmark {}. Runs in `{folder}`, from {} on: {}, {}.\n",
        env.cpus,
        env.cpu,
        env.kernel,
        if env.same_host {
            "server and generator on one machine, each with half of the CPUs"
        } else {
            "two machines"
        },
        run.pushmark_version,
        run.started_at.get(..10).unwrap_or(&run.started_at),
        scale(view),
        verdicts(view),
    );
}

fn figures(page: &mut StudyPage, view: &View<'_>, number: u32) {
    for entry in super::entries(view) {
        let Entry { figure, drawn } = &entry;
        let Ok(drawn) = drawn else { continue };
        let Body::Drawing { .. } = drawn.body else { continue };
        let Some(svg) = entry.svg(view) else { continue };
        let file = format!("{number}/{}-{}.svg", view.suite.name, figure.id);
        let by = figure.number.as_ref().map_or(String::new(), |n| format!("{n} of the study: "));
        let _ = writeln!(page.text, "### {by}{}\n\n{}\n", figure.title, drawn.says.join(" "));
        let _ =
            writeln!(page.text, "![{}]({file})\n\n{}.\n", figure.title, drawn.caption.trim_end_matches('.'));
        let cells = view.chosen(figure);
        let ids: Vec<String> = cells.iter().flat_map(|c| ids(c)).map(|id| format!("`{id}`")).collect();
        let _ =
            writeln!(page.text, "<details><summary>its runs</summary>\n\n{}\n\n</details>\n", ids.join(", "));
        page.drawings.push((file, svg));
    }
}

/// Returns the runs of a cell.
pub(super) fn ids<'v>(cell: &'v Cell<'_>) -> Vec<&'v str> {
    cell.measured.iter().flat_map(|m| &m.starts).map(|s| s.run.id.as_str()).collect()
}

/// Names servers that died, and servers that were printed as crashed and held.
fn crashes(out: &mut String, view: &View<'_>) {
    let mut lines = Vec::new();
    for cell in &view.cells {
        for arm in cell.arms().iter().filter(|a| fate_of(a) == Fate::Died) {
            lines.push(format!(
                "- `{}`: the server died: {}. Run {}.",
                cell.case.id,
                reason_of(arm).trim_end_matches('.'),
                ids(cell).iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
            ));
        }
    }
    let mut told: Vec<&str> = Vec::new();
    for published in view.suite.figures.iter().flat_map(|f| &f.published) {
        let crashed = published.words.as_ref().is_some_and(|w| w.starts_with("crashed"));
        let cell = view.cells.iter().find(|c| {
            !published.only.is_empty()
                && published.only.iter().all(|(axis, value)| c.axis(axis) == Some(value))
        });
        let Some(cell) = cell.filter(|c| crashed && c.n() > 0 && !told.contains(&c.case.id.as_str())) else {
            continue;
        };
        if cell.fate() != Fate::Died {
            told.push(&cell.case.id);
            lines.push(format!(
                "- `{}`: printed as crashed; here it did not, and was {}. Run {}.",
                cell.case.id,
                cell.fate().name(),
                ids(cell).iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
            ));
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "### Crashes, then and now\n\n{}\n", lines.join("\n"));
    }
}
