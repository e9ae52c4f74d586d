//! The bottleneck: the server's CPU, memory, or the generator.

use pushmark_chart::words;
use pushmark_model::run::{Arm, VerdictState};

use super::super::super::case::ArmView;
use super::super::cells::{Cell, View, fate_of};
use super::count;

/// A server that uses this share of its allowed CPUs has no more.
pub(crate) const FULL: f64 = 0.9;
/// From this share the generator may be the bottleneck (the bound of the verdict).
const BUSY: f64 = 0.8;

/// Returns the cores that the server used, as a share of its allowed CPUs: the median of its starts.
fn share(cell: &Cell<'_>, arm: &ArmView<'_>) -> Option<f64> {
    let environment = &cell.measured.as_ref()?.run().environment;
    let cores = environment.server_cpus.as_ref().map_or(environment.cpus as usize, Vec::len);
    let used = |a: &Arm| {
        let server = a.server.as_ref().filter(|s| s.window_us > 0)?;
        Some(server.cpu_us as f64 / server.window_us as f64)
    };
    Some(arm.estimate(used, false)?.value / cores.max(1) as f64)
}

/// Returns the statement for all cells of a suite; `None` if nothing is known of either side.
pub fn of_suite(view: &View<'_>) -> Option<String> {
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    match found(view, &cells) {
        Found::Limits(said) => Some(said),
        Found::None => Some("In no cell was the server's CPU full or the generator busy: the limit, if there is one, lies elsewhere.".into()),
        Found::Unknown => None,
    }
}

/// Returns the limits of a figure's cells that differ from the limits of all cells.
pub(super) fn sentence(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    match found(view, cells) {
        Found::Limits(said) => Some(said).filter(|said| Some(said) != of_suite(view).as_ref()),
        Found::None | Found::Unknown => None,
    }
}

/// The bottleneck of some cells.
enum Found {
    /// In a sentence or more.
    Limits(String),
    /// No bottleneck by the existing figures.
    None,
    /// Neither side has a figure.
    Unknown,
}

fn found(view: &View<'_>, cells: &[&Cell<'_>]) -> Found {
    let arms = |cell: &&Cell<'_>| cell.arms().iter().any(|a| fate_of(a).has_value());
    let measured: Vec<&&Cell<'_>> = cells.iter().filter(|c| arms(c)).collect();
    let ended = cells
        .iter()
        .filter(|c| {
            let words = |a: &&Arm| a.last_words.as_ref().is_some_and(|w| w.out_of_memory);
            c.arms().iter().any(|a| a.starts.iter().any(words))
        })
        .count();
    let mut known = 0;
    let mut full: Vec<&&Cell<'_>> = Vec::new();
    let mut busy = 0;
    for cell in &measured {
        let believed = || cell.arms().iter().filter(|a| a.state <= VerdictState::Suspect);
        let shares: Vec<f64> = believed().filter_map(|a| share(cell, a)).collect();
        known += usize::from(!shares.is_empty());
        if shares.iter().any(|s| *s >= FULL) {
            full.push(cell);
        }
        busy +=
            usize::from(believed().any(|a| {
                a.estimate(|a| Some(a.generator.busiest_core), false).is_some_and(|e| e.value >= BUSY)
            }));
    }
    let mut said = Vec::new();
    if ended > 0 {
        said.push(format!("memory ended the server in {}", count(ended)));
    }
    if let Some(first) = full.iter().min_by_key(|c| c.case.clients) {
        let of = format!("{} of {}", full.len(), measured.len());
        let first = if full.len() > 1 {
            format!(", first in {}", first.words(view.suite, &[]))
        } else {
            format!(" ({})", first.words(view.suite, &[]))
        };
        said.push(format!("the server's CPU was full in {of} cells{first}, and was the bottleneck there"));
    }
    if busy > 0 {
        said.push(format!("the generator was busy in {}: it may be the limit there", count(busy)));
    }
    if said.is_empty() {
        return if known > 0 { Found::None } else { Found::Unknown };
    }
    Found::Limits(said.into_iter().map(|s| format!("{}.", words::capital(&s))).collect::<Vec<_>>().join(" "))
}
