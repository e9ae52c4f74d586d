//! `pushmark report`: renders the page again from runs on disk, several at once.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::exit::{Ending, Exit};
use crate::progress::screen::Screen;
use crate::report::{self, RunFiles, Style};
use crate::store;

/// Flags of `report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Folders of runs, or folders that hold some
    #[arg(required = true, value_name = "RUN_OR_DIR")]
    pub runs: Vec<PathBuf>,
    /// Where to write the page
    #[arg(short, long, default_value = "report.html")]
    pub output: PathBuf,
}

/// Renders the page and prints the text result.
///
/// # Errors
/// A folder without a run, or one that cannot be read.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
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
    super::output::print(&report::text(&files, style(&Screen::of_stdout(), Some(&path))))?;
    Ok(Exit::Pass)
}

/// Writes the page of some runs.
pub(super) fn write_page(files: &[RunFiles], to: &Path) -> anyhow::Result<()> {
    std::fs::write(to, report::html(files)).with_context(|| format!("{} cannot be written", to.display()))
}

/// How the text result looks on this stdout.
pub(super) fn style<'a>(screen: &Screen, report_path: Option<&'a str>) -> Style<'a> {
    Style { color: screen.colours, utf8: screen.unicode, report_path }
}
