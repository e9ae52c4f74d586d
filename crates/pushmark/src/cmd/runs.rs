//! `pushmark runs list|show|query|schema|export|rm`: works on the runs kept in a folder of results.

mod export;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use pushmark_report::{self as report, RunFiles};

use super::report::style;
use crate::exit::{Ending, Exit};
use crate::output::{Format, print};
use crate::progress::screen::Screen;
use pushmark_store::{self as store, Index, RESULTS};

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
    /// Run one SELECT over the tables and views that `runs schema` prints
    Query {
        /// The SQL statement
        sql: String,
        /// Format of the result on stdout
        #[arg(long, value_enum, default_value_t)]
        format: TableFormat,
    },
    /// Print the tables and views of `runs query`, with the meaning of their columns
    Schema,
    /// Export runs for other tools: every metric as CSV, or samples as a JMeter result file
    Export(export::ExportArgs),
    /// Remove runs with their folders
    Rm {
        /// The runs, each named by its id, or the beginning or last four characters of its id
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

/// The format of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Text for a person
    #[default]
    Text,
    /// A JSON list of objects
    Json,
    /// CSV with a header
    Csv,
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> anyhow::Result<Exit> {
    let results = args.results.as_path();
    match &args.action {
        Action::List { format } => print(&list(kept(results)?, *format)?)?,
        Action::Show { run, format } => print(&show(kept(results)?, run, *format)?)?,
        Action::Query { sql, format } => print(&query(kept(results)?, sql, *format)?)?,
        Action::Schema => print(store::index::SCHEMA)?,
        Action::Export(asked) => export::run(results, asked)?,
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
    const SQL: &str = "SELECT id, verdict, (SELECT count(*) FROM arms WHERE run = id) AS arms, \
        (SELECT count(*) FROM thresholds WHERE run = id AND NOT ok) AS failed FROM runs ORDER BY id";
    let answer = Index::query(results, SQL)?;
    Ok(match format {
        Format::Text => answer.text(),
        Format::Json => format!("{:#}\n", answer.json()),
    })
}

fn show(results: &Path, key: &str, format: Format) -> anyhow::Result<String> {
    let mut index = Index::open(results)?;
    index.follow()?;
    let (id, folder) = index.find(key)?.pop().ok_or_else(|| unknown(results, key))?;
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

fn query(results: &Path, sql: &str, format: TableFormat) -> anyhow::Result<String> {
    let answer =
        Index::query(results, sql).map_err(|error| Ending::error(Exit::Usage, format!("{error:#}")))?;
    Ok(match format {
        TableFormat::Text => answer.text(),
        TableFormat::Json => format!("{:#}\n", answer.json()),
        TableFormat::Csv => answer.csv()?,
    })
}

/// Removes all named runs. If a key is unknown or ambiguous, removes none.
fn remove(results: &Path, keys: &[String]) -> anyhow::Result<String> {
    let mut index = Index::open(results)?;
    index.follow()?;
    let mut doomed = Vec::new();
    for key in keys {
        let mut found = index.find(key)?;
        match found.len() {
            0 => return Err(unknown(results, key)),
            1 => doomed.append(&mut found),
            several => {
                let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
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
        index.remove(&id)?;
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
        id                             verdict  arms  failed
        20261121T200412Z-fan-out-k3f9  valid       2       1
        20261121T200500Z-fan-out-m2x7  valid       2       1
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
        let left = query(results.path(), "SELECT count(*) AS n FROM runs", TableFormat::Csv).unwrap();
        assert_eq!(left, "n\n1\n");
    }

    #[test]
    fn a_wrong_query_is_the_users_error() {
        let error = query(two().path(), "SELEKT", TableFormat::Text).unwrap_err();
        assert_eq!(Ending::exit_of(&error), Exit::Usage);
        let args = RunsArgs { results: "no/such".into(), action: Action::List { format: Format::Text } };
        assert_eq!(Ending::exit_of(&run(&args).unwrap_err()), Exit::Usage);
    }
}
