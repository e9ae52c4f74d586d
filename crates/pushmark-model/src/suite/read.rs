//! Reads a suite's text into its cells, each with the text of its scenario. Mistakes in a cell's scenario are
//! reported at the line of the suite that caused them.

use super::matrix::{self, Cell, Expanded, put};
use super::source::{self, Cooldown, Order, Written};
use super::{Axis, Figure, Study, check};
use crate::scenario::{Override, ScenarioError, Source, join, path_of, read};

/// A suite as read from its file, before any server or machine is known.
#[derive(Clone, Debug)]
pub struct SuiteFile {
    /// The suite's name; empty if the file gives none.
    pub name: String,
    /// What the suite shows.
    pub analysis: String,
    /// Seed of the order of cases and of all their draws.
    pub seed: u64,
    /// The order in which cases are run.
    pub order: Order,
    /// Number of fresh starts of each case.
    pub repeat: u32,
    /// The wait between two starts.
    pub cooldown: Cooldown,
    /// The study that the suite repeats.
    pub study: Option<Study>,
    /// The parameters that vary.
    pub axes: Vec<Axis>,
    /// Every cell.
    pub cells: Vec<Cell>,
    /// The figures of a report.
    pub figures: Vec<Figure>,
    source: Source,
}

impl SuiteFile {
    /// Reads a suite with the command line's edits. Performs all checks that need only its text. The
    /// scenarios of its cells are not read yet.
    ///
    /// # Errors
    /// Returns all mistakes, in the order of the file.
    pub fn parse(text: &str, overrides: &[Override]) -> Result<SuiteFile, Vec<ScenarioError>> {
        let (written, source) = read::<Written>(text, overrides)?;
        let mut errors = source::check(&written);
        let Expanded { axes, cells, mut axes_errors, errors: mut others } = matrix::expand(&written, &source);
        if axes_errors.is_empty() {
            others.append(&mut check::figures(&written.figures, &axes));
        }
        errors.append(&mut axes_errors);
        errors.append(&mut others);
        if !errors.is_empty() {
            return Err(source.locate_all(errors));
        }
        let Written { name, analysis, seed, order, repeat, cooldown, study, figures, .. } = written;
        let study = study.map(Study::from);
        Ok(SuiteFile { name, analysis, seed, order, repeat, cooldown, study, axes, cells, figures, source })
    }

    /// Returns the scenario of a cell as a file of its own, with some keys replaced.
    pub fn scenario_text(&self, cell: &Cell, anew: &[(&str, toml::Value)]) -> String {
        let mut table = cell.scenario.clone();
        let mut default = |key: &str, value: toml::Value| {
            table.entry(key.to_owned()).or_insert(value);
        };
        default("name", cell.id.clone().into());
        default("analysis", self.analysis.clone().into());
        // A seed beyond TOML's integers would be a text, which no scenario accepts, so it is not written.
        default("seed", i64::try_from(self.seed).map_or_else(|_| self.seed.to_string().into(), Into::into));
        for (key, value) in anew {
            let path = path_of(key).unwrap_or_default();
            // Only keys of the scenario as read are replaced, so no other value is in their place.
            let _ = put(&mut table, &path, value.clone());
        }
        format!("# The case {} of the suite {}.\n{table}", cell.id, self.name)
    }

    /// Converts a mistake in a cell's scenario to a mistake in this file.
    pub fn blame(&self, cell: &Cell, error: ScenarioError) -> ScenarioError {
        let path = path_of(&error.key).unwrap_or_default();
        let set =
            cell.sets.iter().rev().find(|set| path.starts_with(&set.path) || set.path.starts_with(&path));
        let at = match set.filter(|_| !path.is_empty()) {
            None => [&["scenario".to_owned()], &path[..]].concat(),
            // The key itself may be right and a part of its value wrong.
            Some(set) if error.on_key && path.len() <= set.path.len() => set.key_at.clone(),
            Some(set) => [&set.value_at, path.get(set.path.len()..).unwrap_or_default()].concat(),
        };
        // An axis names its key in a value: the value is marked, not the word `key` before it.
        let on_key =
            error.on_key && set.is_none_or(|set| set.key_at == set.value_at || path.len() > set.path.len());
        self.source.locate(ScenarioError { key: join(&at), on_key, span: None, flag: None, ..error })
    }

    /// Locates errors found later, in the order of the file.
    pub fn locate_all(&self, errors: Vec<ScenarioError>) -> Vec<ScenarioError> {
        self.source.locate_all(errors)
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
