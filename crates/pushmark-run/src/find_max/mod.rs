//! `find-max`: drives the search of the model against real servers. Each probe has a fresh server and is kept
//! as a run; the search is in `search.json` beside the runs.

mod ask;
mod probe;

use std::path::Path;

use anyhow::Context as _;
use pushmark_model::run::ServerRef;
use pushmark_model::search::{Answer, Ended, Found, Limits, ProbeRow, Search, SearchFile};

pub use ask::Ask;

use crate::session::Session;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::progress::Progress;
use pushmark_store::Utc;

/// The result of a search, and how the process ends.
#[derive(Debug)]
pub struct Outcome {
    /// The stored search.
    pub file: SearchFile,
    /// How the process ends.
    pub exit: Exit,
}

/// Searches until there is an answer, or a signal. `say` gets a line a probe.
///
/// # Errors
/// Fails if the first probe shows that the target cannot be used, or if results cannot be written.
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
        // A signal ends the current probe; its result is not used.
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
        say(&(session.pages.probe)(&file, file.probes.len() - 1));
    }
    let stopped = session.signals.stopped();
    file.found = search.found(stopped.is_some() || trouble.is_some()).scaled(file.step);
    keep(&file, folder)?;
    let page = folder.join("report.html");
    std::fs::write(&page, (session.pages.search)(&file))
        .with_context(|| format!("cannot write {}", page.display()))?;
    let exit = exit_of(&file.found).worst(stopped.unwrap_or_default());
    match trouble {
        Some(error) => {
            say(&format!("{error:#}"));
            Ok(Outcome { file, exit: exit.worst(Ending::exit_of(&error)) })
        }
        None => Ok(Outcome { file, exit }),
    }
}

/// Writes `search.json` under a temporary name, then renames it: a reader always finds a whole file.
fn keep(file: &SearchFile, folder: &Path) -> anyhow::Result<()> {
    let (place, partial) = (folder.join("search.json"), folder.join(".search.json.partial"));
    let text = serde_json::to_string_pretty(file)? + "\n";
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(&partial, text)?;
        std::fs::rename(&partial, &place)
    };
    write().with_context(|| format!("cannot write {}", place.display()))
}

/// A probe without an answer from the server.
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

/// Returns the exit code: any load that held is a result; otherwise the reason decides.
fn exit_of(found: &Found<f64>) -> Exit {
    match (found.ended, found.held.is_some()) {
        (Ended::Probes, _) => Exit::Incomplete,
        (Ended::Stopped, _) => Exit::Pass,
        (_, true) => Exit::Pass,
        (Ended::Machine, false) => Exit::Refused,
        (Ended::Generator, false) => Exit::Invalid,
        (_, false) => Exit::Threshold,
    }
}

#[cfg(test)]
mod tests {
    use pushmark_model::search::Side;

    use super::*;

    #[test]
    fn a_load_that_held_is_a_result_and_a_search_that_was_cut_off_is_not() {
        let held = Some(Side { at: 800.0, held: 3, failed: 0 });
        let found = |ended, held| {
            exit_of(&Found { ended, held, not: None, confirmed: false, inversions: Vec::new() })
        };
        assert_eq!(found(Ended::Machine, held), Exit::Pass);
        assert_eq!(found(Ended::Probes, held), Exit::Incomplete);
        assert_eq!(
            [Ended::LowestFails, Ended::Machine, Ended::Generator].map(|ended| found(ended, None)),
            [Exit::Threshold, Exit::Refused, Exit::Invalid]
        );
    }
}
