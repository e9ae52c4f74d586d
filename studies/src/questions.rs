//! What the page of a study asks of the runs of one suite: a file for each suite, with the rules that answer
//! the questions from data, and the settings of its servers. The tool does not read it.

use std::collections::BTreeMap;

use anyhow::bail;
use pushmark_model::metrics::Metric;
use pushmark_model::suite::Axis;
use pushmark_report::suite::parts::Cell;
use serde::Deserialize;

use crate::expect::Expect;

/// The questions about one suite.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Questions {
    /// What the suite adds to the study; empty for a plain repetition.
    #[serde(default)]
    pub(crate) adds: String,
    /// The study's findings, and our own questions.
    #[serde(default)]
    pub(crate) questions: Vec<Question>,
    /// The variables of the study's test plan, and the keys that set them in pushmark.
    #[serde(default)]
    pub(crate) variables: Vec<Variable>,
    /// The settings of the study's servers.
    #[serde(default)]
    pub(crate) settings: Vec<Setting>,
}

/// A finding of the study, or a question of ours, and how data answer it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The question, in pushmark's words.
    pub(crate) ask: String,
    /// The rule.
    pub(crate) answer_by: AnswerBy,
    /// The metric that `compare` and `value` read.
    pub(crate) metric: Option<String>,
    /// The axis whose values are compared; for `ended` the axis of the values in `limits`.
    pub(crate) axis: Option<String>,
    /// For `compare`: the two values of that axis; the first is divided by the second.
    #[serde(default)]
    pub(crate) values: Vec<String>,
    /// Axis → the values considered; if an axis is not named, all its values.
    #[serde(rename = "where", default)]
    pub(crate) only: BTreeMap<String, Vec<String>>,
    /// What was published, as a range: of the ratio for `compare`, of the metric for `value`. Absent if the
    /// question is ours.
    pub(crate) expect: Option<Expect>,
    /// For `ended`: the limit that each value of the axis met.
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, String>,
    /// CPUs below which the question cannot be answered.
    pub(crate) needs_cpus: Option<u32>,
    /// The study's answer, in pushmark's words; absent if the question is ours.
    pub(crate) published: Option<String>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerBy {
    /// The ratio of a metric between two values of an axis, over all pairs of cells that are otherwise equal.
    #[default]
    Compare,
    /// A metric in each cell.
    Value,
    /// Whether the server kept every client in each cell.
    Held,
    /// Whether the server died in each cell.
    Crashed,
    /// The limit that ended the floods of each value.
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

/// A flag of a server of the study.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    /// The servers.
    pub(crate) servers: Vec<String>,
    /// The flag in `servers.toml`.
    pub(crate) flag: String,
    /// Its value in the study; absent if the study does not state it.
    pub(crate) study: Option<String>,
    /// Why ours differs, with the measured effect where there is one.
    pub(crate) why: Option<String>,
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
    /// Whether its answer is read from this cell.
    pub(crate) fn reads(&self, cell: &Cell<'_>) -> bool {
        let compared = |axis: &String| {
            let mut named = self.values.iter().chain(self.limits.keys());
            cell.axis(axis).is_some_and(|own| named.any(|value| value == own))
        };
        cell.fits(&self.only) && self.axis.as_ref().is_none_or(compared)
    }

    /// Returns each name that does not exist, and each key that the rule lacks.
    fn wrong(&self, axes: &[Axis]) -> Vec<String> {
        let metric = self.metric.iter().filter(|name| Metric::find(name).is_none());
        let metric = metric.map(|name| format!("there is no metric `{name}`"));
        let of_axis = self.values.iter().chain(self.limits.keys());
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
        let all = self.lacks().into_iter().map(|key| format!("its rule needs `{key}`"));
        all.chain(metric).chain(axis).chain(values).map(|what| format!("{:?}: {what}", self.ask)).collect()
    }

    /// Returns the keys that its rule needs and that are absent.
    fn lacks(&self) -> Vec<&'static str> {
        let needed: &[(&str, bool)] = match self.answer_by {
            AnswerBy::Compare => &[
                ("metric", self.metric.is_some()),
                ("axis", self.axis.is_some()),
                ("two values", self.values.len() == 2),
            ],
            AnswerBy::Value => &[("metric", self.metric.is_some())],
            AnswerBy::Ended => &[("axis", self.axis.is_some()), ("limits", !self.limits.is_empty())],
            AnswerBy::Held | AnswerBy::Crashed => &[],
        };
        let range = self.published.is_some() && matches!(self.answer_by, AnswerBy::Compare | AnswerBy::Value);
        let range = (range && self.expect.is_none()).then_some("expect");
        needed.iter().filter(|(_, there)| !there).map(|(key, _)| *key).chain(range).collect()
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
                     where = { styles = [\"comet\"] }";
        assert_eq!(
            ask(wrong).unwrap_err(),
            "\"a\": there is no metric `server.cpu_core`\n\"a\": there is no axis `styles`\n\
             \"a\": the axis `style` has no value `pull`"
        );
        assert!(ask("knees = 1").unwrap_err().contains("knees"), "an unknown key");
        let bare = format!("{right}\npublished = \"More.\"");
        assert_eq!(ask(&bare).unwrap_err(), "\"a\": its rule needs `expect`");
        assert_eq!(
            ask("metric = \"server.cpu_cores\"").unwrap_err(),
            "\"a\": its rule needs `axis`\n\"a\": its rule needs `two values`"
        );
    }
}
