//! `pushmark runs reconcile`: the run whose coordinator was lost, from the spools of its agents.

use std::path::{Path, PathBuf};

use clap::Args;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, can_keep, note, print};
use pushmark_model::run::RunFiles;
use pushmark_run::agent::collect;
use pushmark_run::reconcile;
use pushmark_run::run::Assembled;
use pushmark_run::session::exit_of;
use pushmark_store::{self as store, Kept};

use crate::cmd::bus::AccessArgs;
use crate::cmd::pages::PAGES;
use crate::cmd::report::shown;

/// Where collected spools are kept, below the results.
const SPOOLS: &str = "spools";

/// Flags of `runs reconcile`.
#[derive(Args, Clone, Debug)]
pub struct ReconcileArgs {
    /// Folders with spools, copied from the agents' machines (`pushmark agent --spool`); or --nats
    #[arg(required_unless_present = "nats", conflicts_with = "nats", value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// The bus: the spools are collected from the agents that wait there, as soon as they have measured all
    #[command(flatten)]
    pub access: AccessArgs,
    /// With --nats: this run alone, by the name of its claim (the end of `reconciled-NAME`). Default: all that were not
    /// made before
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub claim: Option<String>,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Makes a run of each claim, keeps it under the results and prints it.
///
/// # Errors
/// Fails if the results cannot be written, a folder has no spool, no bus can be reached, or a run cannot be kept. The
/// error has the exit code.
pub(super) fn run(results: &Path, asked: &ReconcileArgs) -> anyhow::Result<Exit> {
    let wrong = |error: anyhow::Error| Ending::error(Exit::Usage, format!("{error:#}"));
    can_keep(&reconcile::place(results, &format!("tried-{}", std::process::id())))?;
    let folders = match asked.access.access() {
        Some(access) => {
            let is_new = |claim: &str| !is_there(&reconcile::place(results, claim));
            let wanted = |claim: &str| is_new(claim) && asked.claim.as_ref().is_none_or(|name| name == claim);
            let collected = collect(&access, &results.join(SPOOLS), &wanted, &|text| note(text));
            let unreachable = |error: anyhow::Error| match error.downcast_ref::<Ending>() {
                Some(_) => error,
                None => Ending::error(Exit::Unreachable, format!("{error:#}")),
            };
            collected.map_err(unreachable)?.into_values().collect()
        }
        None => asked.folders.clone(),
    };
    let named = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" ");
    let command = format!("pushmark runs reconcile {named}");
    let mut exit = Exit::Pass;
    for (claim, assembled) in reconcile::reconcile(&folders, &command, &|text| note(text)).map_err(wrong)? {
        let place = reconcile::place(results, &claim);
        if is_there(&place) {
            return Err(wrong(anyhow::anyhow!("{} exists; name another folder with -o", place.display())));
        }
        let Assembled { run, windows, intervals, logs } = assembled;
        let files = [RunFiles { run, windows }];
        let page = (PAGES.runs)(&files);
        let RunFiles { run, windows } = &files[0];
        let kept = Kept { run, windows, intervals: &intervals, logs: &logs, report_html: Some(&page) };
        let saved = store::save(&kept, &[place])?;
        let page = saved.folder.join("report.html").display().to_string();
        print(&shown(&files, asked.format, Some(&page))?)?;
        exit = exit.worst(exit_of(&files[0].run));
    }
    Ok(exit)
}

fn is_there(place: &Path) -> bool {
    place.symlink_metadata().is_ok()
}
