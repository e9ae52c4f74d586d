//! What a suite that repeats a published study says about it: how it was set up then, what differs
//! now, and its research questions with the rule that answers each from data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The study that a suite repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// 1 to 5: which page of `docs/studies`.
    pub number: u32,
    /// What it is about, in our words.
    pub title: String,
    /// What it asked, in a sentence or two.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub asked: String,
    /// What this suite asks that the study did not; a suite that repeats it has none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub adds: String,
    /// How it was set up, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub then: Vec<String>,
    /// What differs now, a sentence each: versions, stack size, CPUs, network, what was not stated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differs: Vec<String>,
    /// Its research questions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub questions: Vec<Question>,
    /// The variables of its test plan, and the keys that set them here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub variables: Vec<Variable>,
}

/// A research question and how data answer it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question, in our words.
    pub ask: String,
    /// The rule.
    pub answer_by: AnswerBy,
    /// The metric that `compare`, `cores` and `knee` read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metric: Option<String>,
    /// The axis whose values are held against one another; for `knee` the one that lines run along.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub axis: Option<String>,
    /// The values of that axis, in the order in which the answer names them; none: all of them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub values: Vec<String>,
    /// Axis → the values looked at; an axis not named: all of them.
    #[serde(rename = "where", skip_serializing_if = "BTreeMap::is_empty", default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// For `compare`: the value of which the study found more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub more: Option<String>,
    /// For `compare`: what the study printed for the first value, as a multiple of the second's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
    /// For `knee`: where the study's line bends, on that axis.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub knee: Option<f64>,
    /// What the study answered, in our words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<String>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerBy {
    /// A metric of two values of an axis, over all pairs of cells that differ in nothing else.
    #[default]
    Compare,
    /// What became of the cells of each value: held, degraded, died.
    Held,
    /// As `compare`, where there are at least four CPUs; below, that it cannot be answered.
    Cores,
    /// Whether the answers a second come near what the clients could ask, and who was busy.
    Ceiling,
    /// Where the metric bends along the axis, a line for each setting of the others; without an
    /// axis the metric is that place itself.
    Knee,
    /// How the floods of each value ended, and which limit was met.
    Ended,
}

/// A variable of a study's test plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// As the study calls it.
    pub name: String,
    /// The keys, flags or commands that set it here.
    pub key: String,
}
