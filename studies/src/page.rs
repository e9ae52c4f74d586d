//! The page of a study in Markdown: its set-up, the differences from it, its questions, and the results of
//! the kept runs. Every figure names the runs it was drawn from.

use std::fmt::Write as _;

use pushmark_model::run::RunFiles;
use pushmark_model::suite::Suite;
use pushmark_report::suite::parts::{
    Cell, Fate, Picture, View, fate_of, limit, pictures, reason_of, scale, verdicts,
};

use crate::questions::Questions;
use crate::study::{Kept, SUITES, StudySuite};
use crate::{Drawn, again, answers, printed, settings};

/// Draws the page of the study to which all these suites belong, and its figures.
///
/// # Errors
/// Fails if a run had a setting of which the page says nothing.
pub(crate) fn draw(number: u32, suites: &[StudySuite], drawn: &mut Vec<Drawn>) -> anyhow::Result<()> {
    let Some(first) = suites.iter().find(|s| !s.study.then.is_empty()).or(suites.first()) else {
        return Ok(());
    };
    let study = &first.study;
    let mut text = format!("# Study {number}: {}\n\n", study.title);
    let out = &mut text;
    out.push_str("<!-- written by `cargo xtask studies` from studies/ and record/: edit those -->\n\n");
    if !study.asked.is_empty() {
        let _ = writeln!(out, "{}\n", study.asked);
    }
    list(out, "How it was set up then", &study.then);
    list(out, "What differs here", &study.differs);
    if !first.questions.variables.is_empty() {
        out.push_str("## The variables of its test plan\n\n| variable | set here by |\n|---|---|\n");
        for variable in &first.questions.variables {
            let _ = writeln!(out, "| {} | {} |", variable.name, variable.key);
        }
        out.push('\n');
    }
    for suite in suites {
        section(out, drawn, number, suite)?;
    }
    while text.ends_with("\n\n") {
        text.pop();
    }
    drawn.push(Drawn { name: format!("{number}.md"), text });
    Ok(())
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

fn section(out: &mut String, drawn: &mut Vec<Drawn>, number: u32, suite: &StudySuite) -> anyhow::Result<()> {
    let _ = writeln!(out, "## Suite `{}`\n\n{}\n", suite.name, suite.analysis);
    if !suite.questions.adds.is_empty() {
        let _ = writeln!(out, "This suite is ours, not the study's. {}\n", suite.questions.adds);
    }
    let run: Vec<&Kept> = suite.kept.iter().filter(|kept| !kept.runs.is_empty()).collect();
    if run.is_empty() {
        let _ = writeln!(
            out,
            "No run of it is kept yet: `pushmark suite {SUITES}/{}.toml` makes them, `cargo xtask record` keeps them.\n",
            suite.name
        );
        unanswered(out, &suite.questions);
        return Ok(());
    }
    let several = run.len() > 1;
    for kept in &run {
        set_up(out, kept);
    }
    if several {
        out.push_str(
            "Each figure and each answer is of one of these machines: the one with most of its cells.\n\n",
        );
    }
    let runs: Vec<&RunFiles> = run.iter().flat_map(|kept| &kept.runs).collect();
    settings::table(out, &suite.questions.settings, &runs)?;
    if let Some(said) = run.iter().find_map(|kept| limit(&View::new(&kept.suite, &kept.runs))) {
        let _ = writeln!(out, "{said}\n");
    }
    if !suite.questions.questions.is_empty() {
        out.push_str("### Its questions\n\n");
        for question in &suite.questions.questions {
            let answer = answers::of(suite, question);
            let _ = match &question.published {
                Some(published) => writeln!(
                    out,
                    "**{}** The study: {published}\n\nToday: **{}**. {}\n",
                    question.ask,
                    answer.verdict.words(),
                    answer.words
                ),
                None => writeln!(out, "**{}**\n\n{}\n", question.ask, answer.words),
            };
        }
    }
    crashes(out, &run);
    printed::table(out, suite);
    for kept in run {
        figures(out, drawn, suite, kept, number);
    }
    Ok(())
}

/// Returns the suite without what was not run: figures have panels for what has data, and the coverage says what
/// is missing. Without the figures that another machine has more cells of, too.
fn only_run(suite: &StudySuite, kept: &Kept) -> Suite {
    let view = View::new(&kept.suite, &kept.runs);
    let mut shown = kept.suite.clone();
    shown.figures.retain(|figure| {
        suite.of(|cell| cell.fits(&figure.only)).is_some_and(|best| best.folder == kept.folder)
    });
    shown.cases.retain(|case| view.cells.iter().any(|cell| cell.case.id == case.id && cell.n() > 0));
    let cases = &shown.cases;
    for axis in &mut shown.axes {
        axis.values.retain(|value| cases.iter().any(|case| case.axes.get(&axis.name) == Some(value)));
    }
    shown
}

/// Writes the questions, even without an answer.
fn unanswered(out: &mut String, questions: &Questions) {
    for question in &questions.questions {
        let _ = match &question.published {
            Some(published) => writeln!(out, "- {} The study: {published}", question.ask),
            None => writeln!(out, "- {} (Ours: the study did not ask.)", question.ask),
        };
    }
    if !questions.questions.is_empty() {
        out.push('\n');
    }
}

fn set_up(out: &mut String, kept: &Kept) {
    let view = View::new(&kept.suite, &kept.runs);
    let Some(run) = view.run() else { return };
    let env = &run.environment;
    let gib = env.memory_bytes as f64 / f64::from(1u32 << 30);
    let _ = writeln!(
        out,
        "Now: {} × {}, {gib:.0} GiB, Linux {}; {}; pushmark {}. Runs in `{}`, from {} on: {}, {}.\n",
        env.cpus,
        env.cpu,
        env.kernel,
        if env.same_host {
            "server and generator on one machine, each with half of the CPUs"
        } else {
            "two machines"
        },
        run.pushmark_version,
        kept.folder,
        run.started_at.get(..10).unwrap_or(&run.started_at),
        scale(&view),
        verdicts(&view),
    );
}

fn figures(out: &mut String, drawn: &mut Vec<Drawn>, suite: &StudySuite, kept: &Kept, number: u32) {
    let shown = only_run(suite, kept);
    let (whole, view) = (View::new(&kept.suite, &kept.runs), View::new(&shown, &kept.runs));
    for Picture { figure, says, caption, svg } in pictures(&view) {
        let name = format!("{number}/{}-{}.svg", view.suite.name, figure.id);
        let by = figure.number.as_ref().map_or(String::new(), |n| format!("{n} of the study: "));
        let _ = writeln!(out, "### {by}{}\n\n{says}\n", figure.title);
        let _ = writeln!(out, "![{}]({name})\n\n{}.\n", figure.title, caption.trim_end_matches('.'));
        let chosen: Vec<&Cell<'_>> = view.chosen(&figure).into_iter().filter(|cell| cell.n() > 0).collect();
        again::unfolded(out, &whole, &chosen, &kept.folder);
        drawn.push(Drawn { name, text: svg });
    }
}

/// Names servers that died, and servers that were printed as crashed and held.
fn crashes(out: &mut String, run: &[&Kept]) {
    let mut lines = Vec::new();
    for kept in run {
        crashed(&mut lines, kept);
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "### Crashes, then and now\n\n{}\n", lines.join("\n"));
    }
}

fn crashed(lines: &mut Vec<String>, kept: &Kept) {
    let (view, folder) = (View::new(&kept.suite, &kept.runs), &kept.folder);
    for cell in &view.cells {
        for arm in cell.arms() {
            let hung =
                arm.starts.iter().any(|start| start.last_words.as_ref().is_some_and(|words| words.hung));
            let how = match fate_of(arm) {
                Fate::Died => format!("the server died: {}", reason_of(arm).trim_end_matches('.')),
                _ if hung => "the server hung at the end, and was killed".to_owned(),
                _ => continue,
            };
            lines.push(format!("- `{}`: {how}. Runs {}.", cell.case.id, again::runs(cell, folder)));
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
                "- `{}`: printed as crashed; here it did not, and was {}. Runs {}.",
                cell.case.id,
                cell.fate().name(),
                again::runs(cell, folder)
            ));
        }
    }
}
