//! `pushmark runs export`: writes runs in the formats of other tools.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::note;
use pushmark_store::{self as store, jtl, wide};

/// Flags of `runs export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Runs, by id or folder; the folder of a suite means all its runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Format of the export
    #[arg(long, value_enum)]
    format: Form,
    /// Maximum number of samples of a JTL file; above it, one sample represents several
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    at_most: u64,
    /// File to write, which must not exist; default: stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// The formats that other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// CSV with a row per arm and a column per metric, for spreadsheets and statistics
    Csv,
    /// JMeter result file with a row per delivery
    Jtl,
}

/// Writes the runs.
pub(super) fn run(results: &Path, asked: &ExportArgs) -> anyhow::Result<()> {
    let mut folders = Vec::new();
    for key in &asked.runs {
        folders.append(&mut find(results, key)?);
    }
    folders.dedup();
    match &asked.to {
        None => write(asked, &folders, &mut io::stdout().lock()),
        Some(path) => {
            let file = File::create_new(path).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Ending::error(Exit::Usage, format!("{} already exists", path.display()))
                }
                _ => anyhow::Error::from(error).context(format!("cannot create {}", path.display())),
            })?;
            // A reader would take a truncated file for a shorter run.
            write(asked, &folders, &mut BufWriter::new(file)).inspect_err(|_| drop(fs::remove_file(path)))
        }
    }
}

fn write(asked: &ExportArgs, folders: &[PathBuf], out: &mut dyn Write) -> anyhow::Result<()> {
    match asked.format {
        Form::Csv => {
            let runs = folders.iter().map(|folder| Ok(store::load(folder)?.0));
            wide::write(out, &runs.collect::<anyhow::Result<Vec<_>>>()?)?;
        }
        Form::Jtl => {
            let written = jtl::write(out, folders, asked.at_most)?;
            if written.stands_for > 1 {
                note(&format!(
                    "{} samples for {} deliveries: each represents {} (--at-most)",
                    written.samples, written.deliveries, written.stands_for
                ));
            }
        }
    }
    Ok(out.flush()?)
}

/// Returns the folders that a name means: the runs below a path, or the kept run with this id.
fn find(results: &Path, key: &str) -> anyhow::Result<Vec<PathBuf>> {
    let path = Path::new(key);
    let mut found = if path.exists() { store::find_runs(path) } else { Vec::new() };
    if found.is_empty() && results.is_dir() {
        found = store::find(results, key).into_iter().map(|run| run.folder).collect();
    }
    match found.is_empty() {
        true => Err(super::unknown(results, key)),
        false => Ok(found),
    }
}
