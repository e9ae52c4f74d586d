//! `pushmark runs reconcile`: the run whose coordinator was lost, from the spools of its agents.

use std::path::{Path, PathBuf};

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, print};
use pushmark_model::run::RunFiles;
use pushmark_run::reconcile;
use pushmark_run::run::Assembled;
use pushmark_run::session::exit_of;
use pushmark_store::{self as store, Kept};

use crate::cmd::pages::PAGES;
use crate::cmd::report::shown;

/// Makes a run of each claim, keeps it under the results and prints it.
///
/// # Errors
/// Fails if a folder has no spool, or a run cannot be kept.
pub(super) fn run(results: &Path, folders: &[PathBuf], format: Format) -> anyhow::Result<Exit> {
    let command = format!(
        "pushmark runs reconcile {}",
        folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" ")
    );
    let wrong = |error: anyhow::Error| Ending::error(Exit::Usage, format!("{error:#}"));
    let mut exit = Exit::Pass;
    for (claim, assembled) in reconcile::reconcile(folders, &command).map_err(wrong)? {
        let place = reconcile::place(results, &claim);
        if place.symlink_metadata().is_ok() {
            return Err(wrong(anyhow::anyhow!("{} exists; name another folder with -o", place.display())));
        }
        let Assembled { run, windows, intervals, logs } = assembled;
        let files = [RunFiles { run, windows }];
        let page = (PAGES.runs)(&files);
        let RunFiles { run, windows } = &files[0];
        let kept = Kept { run, windows, intervals: &intervals, logs: &logs, report_html: Some(&page) };
        let saved = store::save(&kept, &[place])?;
        let page = saved.folder.join("report.html").display().to_string();
        print(&shown(&files, format, Some(&page))?)?;
        exit = exit.worst(exit_of(&files[0].run));
    }
    Ok(exit)
}
