//! Loads a suite file. Reads, scales and plans the scenario of every case before anything is started, so
//! that a mistake in the last case is found at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pushmark_model::scenario::{Override, ScenarioError};
use pushmark_model::suite::{Case, Cell, Cooldown, Order, SCHEMA, Scale, Suite, SuiteFile};

use crate::agent::Machines;
use crate::fitted;
use crate::scenario_file::{self, Asked};
use pushmark_console::file_errors::{FileErrors, read_text};
use pushmark_host::preflight::Machine;
use pushmark_host::server::registry::Registry;
use pushmark_store::RESULTS;

/// The suite of `pushmark suite` without arguments.
const QUICK: &str = include_str!("../../../../suites/quick.toml");

/// The source of a suite.
#[derive(Clone, Copy, Debug)]
pub enum AskedSuite<'a> {
    /// The one embedded in the program.
    Quick,
    /// A file.
    File(&'a Path),
}

/// The settings of a suite on the command line.
#[derive(Clone, Debug)]
pub struct SuiteSettings {
    /// Overrides of its top-level keys.
    pub overrides: Vec<Override>,
    /// The scale at which it runs.
    pub scale: Scale,
}

/// A suite with every case read, scaled and planned.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The content of `suite.json`.
    pub suite: Suite,
    /// The scenario of each case, in their order.
    pub scenarios: Vec<scenario_file::Loaded>,
    /// The order in which they run.
    pub order: Order,
    /// The wait between two cases.
    pub cooldown: Cooldown,
    /// The resources of the machine when the suite was read.
    pub machine: Machine,
}

/// Reads a suite and all its cases. Starts nothing.
///
/// # Errors
/// Reports all mistakes in the files (exit code 2).
pub fn load(
    asked: AskedSuite<'_>,
    wishes: &SuiteSettings,
    registry: &Registry,
    machines: Option<&Machines>,
) -> Result<Loaded, FileErrors> {
    let (text, file, folder, stem) = match asked {
        AskedSuite::Quick => (QUICK.to_owned(), "quick.toml (built in)".to_owned(), PathBuf::new(), "quick"),
        AskedSuite::File(path) => {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("suite");
            (read_text(path)?, path.display().to_string(), folder, stem)
        }
    };
    let report = |errors| FileErrors::new(&file, &text, errors);
    let mut read = SuiteFile::parse(&text, &wishes.overrides).map_err(report)?;
    if read.name.is_empty() {
        stem.clone_into(&mut read.name);
    }
    let mut faults = Faults::default();
    let mut scenarios = Vec::new();
    for cell in &read.cells {
        match scenario_of(&read, cell, &folder, wishes.scale, registry) {
            Ok(loaded) => scenarios.push(loaded),
            Err(found) => faults.add(&read, cell, found.errors),
        }
    }
    if !faults.0.is_empty() {
        return Err(report(read.locate_all(faults.told())));
    }
    let machine = Machine::read(Path::new(RESULTS));
    let mut cases = Vec::new();
    for (cell, loaded) in read.cells.iter().zip(&scenarios) {
        let refused = fitted::shortage(loaded, registry, &machine, machines);
        // Features that the target lacks were found when the scenario was read.
        cases.push(case(cell, loaded, refused.unwrap_or_else(|error| Some(format!("{error:#}")))));
    }
    let shown = scenarios.iter().fold(text, |text, loaded| loaded.scenario.secrets().redact(&text));
    let suite = Suite {
        schema: SCHEMA.to_owned(),
        name: read.name,
        analysis: read.analysis,
        study: read.study,
        seed: read.seed,
        repeat: read.repeat,
        scale: wishes.scale.all,
        scale_time: wishes.scale.time,
        axes: read.axes,
        cases,
        figures: read.figures,
        text: shown,
    };
    Ok(Loaded { suite, scenarios, order: read.order, cooldown: read.cooldown, machine })
}

/// The scenario of a cell: read as written, to get its plan; then as scaled.
fn scenario_of(
    suite: &SuiteFile,
    cell: &Cell,
    folder: &Path,
    scale: Scale,
    registry: &Registry,
) -> Result<scenario_file::Loaded, FileErrors> {
    let read = |text: &str| scenario_file::load(&Asked::Text { text, file: &cell.id, folder }, &[], registry);
    let written = read(&suite.scenario_text(cell, &[]))?;
    let changes = scale.changes(&written.scenario, &written.plan);
    if changes.is_empty() { Ok(written) } else { read(&suite.scenario_text(cell, &changes)) }
}

fn case(cell: &Cell, loaded: &scenario_file::Loaded, refused: Option<String>) -> Case {
    let planned_ns: u64 = loaded.plan.arms.iter().map(|arm| arm.phases.end_ns()).sum();
    Case {
        id: cell.id.clone(),
        axes: cell.axes.clone(),
        planned_s: planned_ns as f64 / 1e9,
        // The bound of a flood is its crowd.
        clients: loaded.scenario.flood.as_ref().map_or(loaded.scenario.load.connections, |f| f.limit()),
        refused,
    }
}

/// The errors of cases: each once, with the number of affected cases.
#[derive(Default)]
struct Faults(BTreeMap<(String, String), (ScenarioError, String, usize)>);

impl Faults {
    fn add(&mut self, suite: &SuiteFile, cell: &Cell, errors: Vec<ScenarioError>) {
        for error in errors {
            let error = suite.blame(cell, error);
            let key = (error.key.clone(), error.message.clone());
            self.0.entry(key).or_insert_with(|| (error, cell.id.clone(), 0)).2 += 1;
        }
    }

    fn told(self) -> Vec<ScenarioError> {
        let told = |(error, first, cases): (ScenarioError, String, usize)| {
            let seen = match cases {
                1 => format!("seen in the case {first}"),
                _ => format!("seen in {cases} cases, first in {first}"),
            };
            let help = error.help.as_ref().map_or(seen.clone(), |help| format!("{help}\n{seen}"));
            error.help(help)
        };
        self.0.into_values().map(told).collect()
    }
}
