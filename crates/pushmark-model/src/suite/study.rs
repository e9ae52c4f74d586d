//! The description of a published study in the suite that repeats it: its original setup, the differences,
//! and its research questions with the rules that answer them from data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The study that a suite repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// 1 to 5: its page in `studies/pages`.
    pub number: u32,
    /// Its subject, in pushmark's words.
    pub title: String,
    /// Its question, in a sentence or two.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub asked: String,
    /// The question that this suite adds to the study; empty for a plain repetition.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub adds: String,
    /// Its original setup, one sentence per entry.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub then: Vec<String>,
    /// The differences from it, one sentence per entry: versions, stack size, CPUs, network, unstated
    /// settings.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differs: Vec<String>,
    /// Its research questions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub questions: Vec<Question>,
    /// The variables of its test plan, and the keys that set them in pushmark.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub variables: Vec<Variable>,
}

/// A research question and how data answer it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question, in pushmark's words.
    pub ask: String,
    /// The rule.
    pub answer_by: AnswerBy,
    /// The metric that `compare`, `cores` and `knee` read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metric: Option<String>,
    /// The axis whose values are compared; for `knee` the axis along which lines run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub axis: Option<String>,
    /// The values of that axis, in the order in which the answer names them; empty: all values.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub values: Vec<String>,
    /// Axis → the values considered; if an axis is not named, all its values.
    #[serde(rename = "where", skip_serializing_if = "BTreeMap::is_empty", default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// For `compare`: the value for which the study found more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub more: Option<String>,
    /// For `compare`: the published value of the first, as a multiple of the second's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
    /// For `knee`: the bend of the study's line, on that axis.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub knee: Option<f64>,
    /// The study's answer, in pushmark's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<String>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerBy {
    /// Compares a metric between two values of an axis, over all pairs of cells that are otherwise equal.
    #[default]
    Compare,
    /// The outcomes of the cells of each value: held, degraded, died.
    Held,
    /// Like `compare`, on at least four CPUs; with fewer the answer is that it cannot be answered.
    Cores,
    /// Whether the answers per second come near what the clients could request, and which side was busy.
    Ceiling,
    /// The bend of the metric along the axis, one line for each setting of the others; without an axis, the
    /// metric itself is that place.
    Knee,
    /// How the floods of each value ended, and which limit was reached.
    Ended,
}

/// A variable of a study's test plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name in the study.
    pub name: String,
    /// The keys, flags or commands that set it in pushmark.
    pub key: String,
}
