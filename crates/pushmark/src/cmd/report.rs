//! `pushmark report`: renders the page again from one or more runs on disk, or from the folder of a
//! suite (a folder with a `suite.json`).

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use pushmark_chart::terminal::Style;
use pushmark_model::run::Run;
use pushmark_model::run::RunFiles;
use pushmark_model::suite::{self, Suite, SuiteResult};
use pushmark_report as report;

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, print};
use pushmark_console::progress::screen::Screen;
use pushmark_store as store;

/// Flags of `report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Folders of runs, folders that contain runs, or the folder of a suite
    #[arg(required = true, value_name = "RUN_OR_DIR")]
    pub runs: Vec<PathBuf>,
    /// File to write the page to
    #[arg(short, long, default_value = "report.html")]
    pub output: PathBuf,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Renders the page and prints the text result.
///
/// # Errors
/// Fails if a folder contains no run, or cannot be read.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    if let Some(folder) = args.runs.iter().find(|place| place.join(SUITE).is_file()) {
        if args.runs.len() > 1 {
            let text = format!("{} is a suite: report it alone, without other folders", folder.display());
            return Err(Ending::error(Exit::Usage, text));
        }
        return of_suite(folder, args);
    }
    let mut files = Vec::new();
    for place in &args.runs {
        let folders =
            if place.join("run.json").is_file() { vec![place.clone()] } else { store::find_runs(place) };
        if folders.is_empty() {
            let text = format!("{}: no run here (a run is a folder with a run.json)", place.display());
            return Err(Ending::error(Exit::Usage, text));
        }
        for folder in folders {
            let (run, windows) =
                store::load(&folder).map_err(|error| Ending::error(Exit::Usage, format!("{error:#}")))?;
            files.push(RunFiles { run, windows });
        }
    }
    write_page(&files, &args.output)?;
    let path = args.output.display().to_string();
    print(&shown(&files, args.format, Some(&path))?)?;
    Ok(Exit::Pass)
}

/// The file that marks the folder of a suite.
const SUITE: &str = "suite.json";

/// Formats runs for stdout. `page` is the path of their report.
pub(super) fn shown(files: &[RunFiles], format: Format, page: Option<&str>) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => report::text(files, style(&Screen::of_stdout(), page)),
        Format::Json if files.len() == 1 => serde_json::to_string_pretty(&files[0].run)? + "\n",
        Format::Json => {
            let runs: Vec<&Run> = files.iter().map(|f| &f.run).collect();
            serde_json::to_string_pretty(&runs)? + "\n"
        }
    })
}

/// Formats a suite for stdout, with the runs in its folder.
pub(super) fn shown_suite(
    suite: &Suite,
    files: &[RunFiles],
    format: Format,
    (folder, page): (&Path, &Path),
) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => {
            let page = page.display().to_string();
            report::suite::text(suite, files, style(&Screen::of_stdout(), Some(&page)))
        }
        Format::Json => {
            let folder = folder.display().to_string();
            let result = SuiteResult::of(suite, folder, files.iter().map(|one| &one.run));
            serde_json::to_string_pretty(&result)? + "\n"
        }
    })
}

/// Renders a suite with the runs in its folder.
fn of_suite(folder: &Path, args: &ReportArgs) -> anyhow::Result<Exit> {
    let usage = |error: anyhow::Error| Ending::error(Exit::Usage, format!("{error:#}"));
    let suite = load_suite(folder).map_err(usage)?;
    let mut files = Vec::new();
    for folder in store::find_runs(folder) {
        let (run, windows) = store::load(&folder).map_err(usage)?;
        files.push(RunFiles { run, windows });
    }
    // In the order of the suite, not by time of measurement.
    files.sort_by_key(|one| {
        let case = one.run.case.as_ref()?;
        Some((suite.cases.iter().position(|known| known.id == case.id), case.repeat))
    });
    let page = report::suite::html(&suite, &files);
    let output = &args.output;
    std::fs::write(output, page).with_context(|| format!("cannot write {}", output.display()))?;
    print(&shown_suite(&suite, &files, args.format, (folder, output))?)?;
    Ok(Exit::Pass)
}

/// Reads the `suite.json` of a folder.
fn load_suite(folder: &Path) -> anyhow::Result<Suite> {
    let path = folder.join(SUITE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let found: Suite = serde_json::from_str(&text)
        .with_context(|| format!("{} is not valid {}", path.display(), suite::SCHEMA))?;
    if found.schema != suite::SCHEMA {
        bail!("{}: its schema is {:?}; this pushmark reads {}", path.display(), found.schema, suite::SCHEMA);
    }
    Ok(found)
}

/// Writes the page of the given runs.
pub(super) fn write_page(files: &[RunFiles], to: &Path) -> anyhow::Result<()> {
    std::fs::write(to, report::html(files)).with_context(|| format!("cannot write {}", to.display()))
}

/// Returns the style of the text result for this stdout.
pub(super) fn style<'a>(screen: &Screen, report_path: Option<&'a str>) -> Style<'a> {
    Style { color: screen.colours, utf8: screen.unicode, report_path }
}
