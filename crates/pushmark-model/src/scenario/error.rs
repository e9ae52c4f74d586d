//! Mistakes in a scenario: what was found, what is accepted, and where.

use std::fmt;
use std::ops::Range;

/// One mistake in a scenario file or in a flag that edits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioError {
    /// The mistake, as one sentence without a full stop.
    pub message: String,
    /// The value found.
    pub found: Option<String>,
    /// What is accepted.
    pub accepted: Option<String>,
    /// The nearest accepted spelling.
    pub nearest: Option<String>,
    /// The key's path: `load.connections`; empty for the whole file.
    pub key: String,
    /// Bytes of the source; absent for a default or a flag.
    pub span: Option<Range<usize>>,
    /// The flag that gave the value: `--set load.connections=many`.
    pub flag: Option<String>,
    /// Advice.
    pub help: Option<String>,
    /// Whether the key itself is wrong, not its value.
    pub on_key: bool,
}

impl ScenarioError {
    /// An error at a key.
    pub fn at(key: impl Into<String>, message: impl Into<String>) -> ScenarioError {
        ScenarioError { key: key.into(), message: message.into(), ..ScenarioError::default() }
    }

    /// Sets what was found.
    #[must_use]
    pub fn found(mut self, found: impl fmt::Display) -> ScenarioError {
        self.found = Some(found.to_string());
        self
    }

    /// Sets what is accepted.
    #[must_use]
    pub fn accepted(mut self, accepted: impl Into<String>) -> ScenarioError {
        self.accepted = Some(accepted.into());
        self
    }

    /// Sets the nearest accepted spelling.
    #[must_use]
    pub fn nearest(mut self, nearest: Option<String>) -> ScenarioError {
        self.nearest = nearest;
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> ScenarioError {
        self.help = Some(help.into());
        self
    }

    /// Marks the key as wrong instead of its value.
    #[must_use]
    pub fn on_key(mut self) -> ScenarioError {
        self.on_key = true;
        self
    }

    /// Returns the label of the marked place: the nearest spelling, or what was found.
    pub fn label(&self) -> String {
        match (&self.nearest, &self.found) {
            (Some(nearest), _) => format!("did you mean `{nearest}`?"),
            (None, Some(found)) => format!("found {found}"),
            (None, None) => "here".to_owned(),
        }
    }

    /// Returns what is accepted and the advice, one line each.
    pub fn advice(&self) -> Option<String> {
        let accepted = self.accepted.as_ref().map(|a| format!("accepted: {a}"));
        let lines: Vec<String> = accepted.into_iter().chain(self.help.clone()).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(flag) = &self.flag {
            write!(f, "{flag}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// Joins words: `a, b, c`.
pub fn one_of<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
