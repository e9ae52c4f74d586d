//! The keys of a suite file, before its matrices are expanded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Figure, Study};
use crate::scenario::{DEFAULT_SEED, ScenarioError};
use crate::units::Nanos;

/// Every key of a suite file.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) analysis: String,
    pub(super) seed: u64,
    pub(super) order: Order,
    pub(super) repeat: u32,
    pub(super) cooldown: Cooldown,
    pub(super) order_of_axes: Vec<String>,
    pub(super) study: Option<WrittenStudy>,
    /// Scenario keys of all cases.
    pub(super) scenario: toml::Table,
    /// Axes of every matrix.
    pub(super) axes: BTreeMap<String, WrittenAxis>,
    pub(super) matrix: Vec<WrittenMatrix>,
    pub(super) figures: Vec<Figure>,
}

impl Default for Written {
    fn default() -> Written {
        Written {
            name: String::new(),
            analysis: String::new(),
            seed: DEFAULT_SEED,
            order: Order::default(),
            repeat: 1,
            cooldown: Cooldown::default(),
            order_of_axes: Vec::new(),
            study: None,
            scenario: toml::Table::new(),
            axes: BTreeMap::new(),
            matrix: Vec::new(),
            figures: Vec::new(),
        }
    }
}

/// The keys of [`Study`]. It is a type of its own because an unknown key is a mistake here, and none in the
/// `suite.json` of another version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenStudy {
    number: u32,
    title: String,
    #[serde(default)]
    asked: String,
    #[serde(default)]
    then: Vec<String>,
    #[serde(default)]
    differs: Vec<String>,
}

impl From<WrittenStudy> for Study {
    fn from(written: WrittenStudy) -> Study {
        let WrittenStudy { number, title, asked, then, differs } = written;
        Study { number, title, asked, then, differs }
    }
}

/// One axis: a key and its values, or values that each set several keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WrittenAxis {
    pub(super) key: Option<String>,
    pub(super) label: Option<String>,
    pub(super) values: Vec<toml::Value>,
}

/// One matrix: its own axes, its fixed keys and the excluded cells.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WrittenMatrix {
    pub(super) name: String,
    pub(super) set: toml::Table,
    pub(super) axes: BTreeMap<String, WrittenAxis>,
    pub(super) exclude: Vec<toml::Table>,
}

/// The order of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// All first starts, then all second starts, and so on, each time in a new random order, so that drift
    /// of the machine affects all cases equally.
    #[default]
    Interleaved,
    /// All starts in one random order.
    Random,
}

/// The wait between two cases until the host is quiet again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cooldown {
    /// Share of all CPUs' time that may be busy. Default: 0.1.
    pub quiet: f64,
    /// Longest wait. Default: 30s.
    pub max: Nanos,
}

impl Default for Cooldown {
    fn default() -> Cooldown {
        Cooldown { quiet: 0.1, max: Nanos(30_000_000_000) }
    }
}

/// Reports mistakes in the top-level keys.
pub(super) fn check(written: &Written) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    let name = &written.name;
    if name.contains(['/', '\\', '\0', '\n']) || name.starts_with('.') {
        errors.push(
            ScenarioError::at("name", "this name cannot be part of a folder's name")
                .found(format!("{name:?}"))
                .accepted("a name without slashes that does not begin with a dot"),
        );
    }
    if written.repeat == 0 {
        errors.push(
            ScenarioError::at("repeat", "`repeat` must be at least 1")
                .found(0)
                .accepted("a whole number, 1 or more"),
        );
    }
    if !(written.cooldown.quiet > 0.0 && written.cooldown.quiet <= 1.0) {
        errors.push(
            ScenarioError::at("cooldown.quiet", "this is not a share of the CPUs' time")
                .found(written.cooldown.quiet)
                .accepted("above 0 to 1, such as 0.1"),
        );
    }
    for key in OWN_KEYS {
        if written.scenario.contains_key(key) {
            errors.push(own_key(format!("scenario.{key}"), key));
        }
    }
    if written.matrix.is_empty() {
        errors.push(ScenarioError::at("matrix", "the suite has no matrix, so it has no cases").accepted(
            "[[matrix]] at least once; it takes the axes of [axes.NAME] and of its own [matrix.axes.NAME]",
        ));
    }
    errors
}

/// Keys of a scenario that the suite sets.
const OWN_KEYS: [&str; 2] = ["name", "repeat"];

fn own_key(at: String, key: &str) -> ScenarioError {
    let help = match key {
        "repeat" => "write `repeat` at the top of the suite",
        _ => "a case is named after its values",
    };
    ScenarioError::at(at, format!("the suite sets the `{key}` of each case"))
        .found(format!("`{key}` in a case's scenario"))
        .help(help)
        .on_key()
}

/// Says that a key set by a matrix or an axis is the suite's own, if it is.
pub(super) fn is_own(path: &[String], at: String) -> Option<ScenarioError> {
    let [key] = path else { return None };
    OWN_KEYS.contains(&key.as_str()).then(|| own_key(at, key))
}
