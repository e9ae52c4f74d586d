//! `pushmark runs list|show|export|rm`: works on the runs kept in a folder of results.

mod export;
mod reconcile;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use pushmark_model::run::RunFiles;
use pushmark_report as report;

use super::report::style;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, note, print};
use pushmark_console::progress::screen::Screen;
use pushmark_store::{self as store, Listed, RESULTS};
use serde_json::{Value, json};

/// Flags of `runs`.
#[derive(Args, Clone, Debug)]
pub struct RunsArgs {
    /// Folder of results
    #[arg(short = 'o', long = "results", default_value = RESULTS, value_name = "DIR", global = true)]
    pub results: PathBuf,
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// The actions on kept runs.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// List the runs, oldest first
    List {
        /// Format of the result on stdout
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show one run, named by its id, the beginning or last four characters of its id, or its scenario
    Show {
        /// The run; if several match, the newest
        run: String,
        /// Format of the result on stdout
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Export runs for other tools: every metric as CSV (DuckDB and spreadsheets read it), or samples as a
    /// JMeter result file
    Export(export::ExportArgs),
    /// Make the run whose coordinator was lost, from the spools of its agents
    Reconcile(reconcile::ReconcileArgs),
    /// Remove runs with their folders
    Rm {
        /// The runs, each named by its id, or the beginning or last four characters of its id
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> anyhow::Result<Exit> {
    let results = args.results.as_path();
    match &args.action {
        Action::List { format } => print(&list(kept(results)?, *format)?)?,
        Action::Show { run, format } => print(&show(kept(results)?, run, *format)?)?,
        Action::Export(asked) => export::run(results, asked)?,
        Action::Reconcile(asked) => return reconcile::run(results, asked),
        Action::Rm { runs } => print(&remove(kept(results)?, runs)?)?,
    }
    Ok(Exit::Pass)
}

/// Returns the folder of results if it exists.
fn kept(results: &Path) -> anyhow::Result<&Path> {
    if results.is_dir() {
        return Ok(results);
    }
    let message = format!("{} does not exist; name a folder of results with -o", results.display());
    Err(Ending::error(Exit::Usage, message))
}

fn list(results: &Path, format: Format) -> anyhow::Result<String> {
    let (runs, unusable) = store::list(results);
    for (_, error) in &unusable {
        note(&format!("{error:#}"));
    }
    if format == Format::Json {
        let row = |run: &Listed| {
            json!({ "id": run.id, "name": run.name, "folder": run.folder, "verdict": run.verdict.name(),
                    "arms": run.arms, "crossed": run.crossed })
        };
        return Ok(format!("{:#}\n", Value::Array(runs.iter().map(row).collect())));
    }
    let wide = |of: fn(&Listed) -> &str, head: &str| {
        runs.iter().map(|run| of(run).len()).max().unwrap_or(0).max(head.len())
    };
    let (id, verdict) = (wide(|run| &run.id, "id"), wide(|run| run.verdict.name(), "verdict"));
    let mut text = format!("{:id$}  {:verdict$}  arms  crossed\n", "id", "verdict");
    for run in &runs {
        let (state, arms, crossed) = (run.verdict.name(), run.arms, run.crossed);
        text.push_str(&format!("{:id$}  {state:verdict$}  {arms:4}  {crossed:7}\n", run.id));
    }
    Ok(text)
}

fn show(results: &Path, key: &str, format: Format) -> anyhow::Result<String> {
    let Listed { id, folder, .. } = store::find(results, key).pop().ok_or_else(|| unknown(results, key))?;
    if format == Format::Json {
        let path = folder.join("run.json");
        return fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()));
    }
    let (run, windows) = store::load(&folder)?;
    let page = folder.join("report.html");
    let page = page.exists().then(|| page.display().to_string());
    let screen = Screen::of_stdout();
    let command = run.command.clone();
    let result = report::text(&[RunFiles { run, windows }], style(&screen, page.as_deref()));
    Ok(format!("{id}\n{command}\n{result}"))
}

/// Removes all named runs. If a key is unknown or ambiguous, removes none.
fn remove(results: &Path, keys: &[String]) -> anyhow::Result<String> {
    let mut doomed = Vec::new();
    for key in keys {
        let found = store::find(results, key);
        match found.len() {
            0 => return Err(unknown(results, key)),
            1 => doomed.extend(found.into_iter().map(|run| (run.id, run.folder))),
            several => {
                let ids: Vec<&str> = found.iter().map(|run| run.id.as_str()).collect();
                let message = format!("{key} matches {several} runs; name one of\n  {}", ids.join("\n  "));
                return Err(Ending::error(Exit::Usage, message));
            }
        }
    }
    doomed.sort();
    doomed.dedup();
    let mut text = String::new();
    for (id, folder) in doomed {
        // The rename hides the run in one step, so an interrupted removal leaves no partial run.
        let hidden = folder.with_file_name(format!(".{id}.removed.partial"));
        fs::rename(&folder, &hidden).with_context(|| format!("cannot remove {}", folder.display()))?;
        fs::remove_dir_all(&hidden).with_context(|| format!("cannot remove {}", hidden.display()))?;
        text.push_str(&format!("removed {}\n", folder.display()));
    }
    Ok(text)
}

fn unknown(results: &Path, key: &str) -> anyhow::Error {
    let message = format!("{} has no run {key}; list them with pushmark runs list", results.display());
    Ending::error(Exit::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_store::{Kept, testing};

    fn keep(results: &Path, id: &str) {
        let run = testing::run(id);
        store::save(
            &Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None },
            &[results.join(id)],
        )
        .unwrap();
    }

    fn two() -> tempfile::TempDir {
        let results = tempfile::tempdir().unwrap();
        keep(results.path(), "20261121T200412Z-fan-out-k3f9");
        keep(results.path(), "20261121T200500Z-fan-out-m2x7");
        results
    }

    #[test]
    fn runs_are_listed() {
        let results = two();
        insta::assert_snapshot!(list(results.path(), Format::Text).unwrap(), @"
        id                             verdict  arms  crossed
        20261121T200412Z-fan-out-k3f9  valid       2        1
        20261121T200500Z-fan-out-m2x7  valid       2        1
        ");
    }

    #[test]
    fn one_is_shown_by_its_last_characters() {
        let results = two();
        let text = show(results.path(), "k3f9", Format::Text).unwrap();
        assert!(text.starts_with("20261121T200412Z-fan-out-k3f9\npushmark run\n"), "{text}");
        assert!(text.contains("websocket") && text.contains("degraded"), "{text}");
        assert!(show(results.path(), "fan-out", Format::Json).unwrap().contains("m2x7"), "the newest");
        let error = show(results.path(), "nope", Format::Text).unwrap_err();
        assert_eq!(Ending::exit_of(&error), Exit::Usage);
    }

    #[test]
    fn removal_is_of_all_or_none() {
        let results = two();
        let keys = |keys: &[&str]| keys.iter().map(|k| k.to_string()).collect::<Vec<_>>();
        assert!(remove(results.path(), &keys(&["k3f9", "nope"])).is_err());
        let error = remove(results.path(), &keys(&["fan-out"])).unwrap_err();
        assert!(error.to_string().starts_with("fan-out matches 2 runs"), "{error}");
        assert_eq!(store::find_runs(results.path()).len(), 2);
        let text = remove(results.path(), &keys(&["k3f9", "20261121T200412Z-fan-out-k3f9"])).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert_eq!(store::find_runs(results.path()), [results.path().join("20261121T200500Z-fan-out-m2x7")]);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_the_users_error() {
        let args = RunsArgs { results: "no/such".into(), action: Action::List { format: Format::Text } };
        assert_eq!(Ending::exit_of(&run(&args).unwrap_err()), Exit::Usage);
    }
}
