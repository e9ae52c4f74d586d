//! What the page of a study asks of the runs of one suite: a file for each suite, with the rules that answer
//! the questions from data. The tool does not read it.

use std::collections::BTreeMap;

use anyhow::bail;
use pushmark_model::metrics::Metric;
use pushmark_model::suite::Axis;
use serde::Deserialize;

/// The questions about one suite.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Questions {
    /// What the suite adds to the study; empty for a plain repetition.
    #[serde(default)]
    pub(crate) adds: String,
    /// The study's research questions, and ours.
    #[serde(default)]
    pub(crate) questions: Vec<Question>,
    /// The variables of the study's test plan, and the keys that set them in pushmark.
    #[serde(default)]
    pub(crate) variables: Vec<Variable>,
}

/// A research question and how data answer it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The question, in pushmark's words.
    pub(crate) ask: String,
    /// The rule.
    pub(crate) answer_by: AnswerBy,
    /// The metric that `compare`, `cores` and `knee` read.
    pub(crate) metric: Option<String>,
    /// The axis whose values are compared; for `knee` the axis along which lines run.
    pub(crate) axis: Option<String>,
    /// The values of that axis, in the order in which the answer names them; empty: all values.
    #[serde(default)]
    pub(crate) values: Vec<String>,
    /// Axis → the values considered; if an axis is not named, all its values.
    #[serde(rename = "where", default)]
    pub(crate) only: BTreeMap<String, Vec<String>>,
    /// For `compare`: the value for which the study found more.
    pub(crate) more: Option<String>,
    /// For `compare`: the published value of the first, as a multiple of the second's.
    pub(crate) ratio: Option<f64>,
    /// For `knee`: the bend of the study's line, on that axis.
    pub(crate) knee: Option<f64>,
    /// The study's answer, in pushmark's words; absent if the question is ours.
    pub(crate) published: Option<String>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerBy {
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
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variable {
    /// Its name in the study.
    pub(crate) name: String,
    /// The keys, flags or commands that set it in pushmark.
    pub(crate) key: String,
}

impl Questions {
    /// Reads the questions about a suite with these axes. Every name in them must exist there.
    pub(crate) fn read(text: &str, axes: &[Axis]) -> anyhow::Result<Questions> {
        let read: Questions = toml::from_str(text)?;
        let wrong: Vec<String> = read.questions.iter().flat_map(|question| question.wrong(axes)).collect();
        if !wrong.is_empty() {
            bail!("{}", wrong.join("\n"));
        }
        Ok(read)
    }
}

impl Question {
    /// Returns each name that does not exist.
    fn wrong(&self, axes: &[Axis]) -> Vec<String> {
        let metric = self.metric.iter().filter(|name| Metric::find(name).is_none());
        let metric = metric.map(|name| format!("there is no metric `{name}`"));
        let of_axis = self.values.iter().chain(&self.more);
        let of_axis = self.axis.iter().flat_map(|axis| of_axis.clone().map(move |value| (axis, value)));
        let only = self.only.iter().flat_map(|(axis, values)| values.iter().map(move |value| (axis, value)));
        let values = of_axis.chain(only).filter_map(|(axis, value)| match find(axes, axis) {
            Some(known) if !known.values.contains(value) => {
                Some(format!("the axis `{axis}` has no value `{value}`"))
            }
            _ => None,
        });
        let axis = self.axis.iter().chain(self.only.keys()).filter(|axis| find(axes, axis).is_none());
        let axis = axis.map(|axis| format!("there is no axis `{axis}`"));
        metric.chain(axis).chain(values).map(|what| format!("{:?}: {what}", self.ask)).collect()
    }
}

fn find<'a>(axes: &'a [Axis], name: &str) -> Option<&'a Axis> {
    axes.iter().find(|axis| axis.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_what_is_there() {
        let values = ["comet", "push"].map(String::from).into();
        let axes = [Axis { name: "style".into(), label: "style".into(), values }];
        let ask = |more: &str| {
            let text = format!("[[questions]]\nask = \"a\"\nanswer_by = \"compare\"\n{more}\n");
            Questions::read(&text, &axes).map_err(|error| format!("{error:#}"))
        };
        let right = "metric = \"server.cpu_cores\"\naxis = \"style\"\nvalues = [\"push\", \"comet\"]";
        assert_eq!(ask(right).unwrap().questions.len(), 1);
        let wrong = "metric = \"server.cpu_core\"\naxis = \"style\"\nvalues = [\"comet\", \"pull\"]\n\
                     more = \"pish\"\nwhere = { styles = [\"comet\"] }";
        assert_eq!(
            ask(wrong).unwrap_err(),
            "\"a\": there is no metric `server.cpu_core`\n\"a\": there is no axis `styles`\n\
             \"a\": the axis `style` has no value `pull`\n\"a\": the axis `style` has no value `pish`"
        );
        assert!(ask("knees = 1").unwrap_err().contains("knees"), "an unknown key");
    }
}
