//! `find-max`: the search of the model, driven against real servers: a fresh one for each probe,
//! each probe kept as a run, the search beside them in `search.json`.

mod ask;
mod page;
mod probe;
mod text;
mod words;

use std::path::Path;

use anyhow::Context as _;
use pushmark_model::run::ServerRef;
use pushmark_model::search::{Answer, Limits, ProbeRow, Search, SearchFile};

pub use ask::Ask;
pub use page::html;
pub use text::{line, render};

use crate::exit::{Ending, Exit};
use crate::progress::Progress;
use crate::session::Session;
use crate::store::Utc;

/// What a search left, and how the process ends.
#[derive(Debug)]
pub struct Outcome {
    /// The search as it is kept.
    pub file: SearchFile,
    /// How the process ends.
    pub exit: Exit,
}

/// Searches until there is an answer, or a signal. `say` gets a line a probe.
///
/// # Errors
/// A target that cannot be used at all, as the first probe shows it, and results that cannot be written.
pub fn search(
    ask: &Ask,
    limits: Limits,
    session: &Session<'_>,
    server: Option<ServerRef>,
    folder: &Path,
    progress: &mut Progress,
    mut say: impl FnMut(&str),
) -> anyhow::Result<Outcome> {
    let mut search = Search::new(limits);
    let mut file = ask.file(Utc::now(), *search.limits(), server.clone(), search.found(true));
    let mut trouble = None;
    while let Some(wanted) = search.next() {
        if session.signals.stopped().is_some() {
            break;
        }
        let probed = probe::probe(ask, wanted, session, server.clone(), folder, progress);
        progress.finish();
        // A signal ends the probe under way: what it measured is no answer.
        if session.signals.stopped().is_some() {
            break;
        }
        let (answer, row) = match probed {
            Ok(probed) => probed,
            Err(error) if file.probes.is_empty() => return Err(error),
            Err(error) => {
                trouble = Some(error);
                break;
            }
        };
        search.take(wanted, answer);
        file.probes.push(row);
        file.found = search.found(true).scaled(file.step);
        keep(&file, folder)?;
        say(&line(&file, file.probes.len() - 1));
    }
    let stopped = session.signals.stopped();
    file.found = search.found(stopped.is_some() || trouble.is_some()).scaled(file.step);
    keep(&file, folder)?;
    let page = folder.join("report.html");
    std::fs::write(&page, html(&file)).with_context(|| format!("{} cannot be written", page.display()))?;
    let exit = words::exit_of(&file.found).worst(stopped.unwrap_or_default());
    match trouble {
        Some(error) => {
            say(&format!("{error:#}"));
            Ok(Outcome { file, exit: exit.worst(Ending::exit_of(&error)) })
        }
        None => Ok(Outcome { file, exit }),
    }
}

/// Writes `search.json` beside its place, then into it: whoever reads it finds a whole one.
fn keep(file: &SearchFile, folder: &Path) -> anyhow::Result<()> {
    let (place, partial) = (folder.join("search.json"), folder.join(".search.json.partial"));
    let text = serde_json::to_string_pretty(file)? + "\n";
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(&partial, text)?;
        std::fs::rename(&partial, &place)
    };
    write().with_context(|| format!("{} cannot be written", place.display()))
}

/// A probe that gave no answer of the server's.
fn without_run(
    ask: &Ask,
    wanted: pushmark_model::search::Probe,
    answer: Answer,
    note: String,
) -> (Answer, ProbeRow) {
    let row = ProbeRow {
        at: wanted.at as f64 * ask.step(),
        why: wanted.why,
        window_s: ask.window_s(wanted.why),
        answer,
        run: None,
        verdict: None,
        values: Default::default(),
        notes: vec![note],
    };
    (answer, row)
}
