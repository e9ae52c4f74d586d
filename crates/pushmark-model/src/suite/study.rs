//! The description of a published study in the suite that repeats it: its original setup, and the differences
//! from it. The page of the suite shows both beside the values that the study published.

use serde::{Deserialize, Serialize};

/// The study that a suite repeats. A `suite.json` may hold more than this; a suite file may not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Its number, by which captions name it.
    pub number: u32,
    /// Its subject, in pushmark's words.
    pub title: String,
    /// Its question, in a sentence or two.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub asked: String,
    /// Its original setup, one sentence per entry.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub then: Vec<String>,
    /// The differences from it, one sentence per entry: versions, stack size, CPUs, network, unstated
    /// settings.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differs: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_study_may_hold_more() {
        let kept = r#"{"number": 1, "title": "t", "questions": [{"ask": "a", "answer_by": "held"}]}"#;
        let study: Study = serde_json::from_str(kept).unwrap();
        assert_eq!(study, Study { number: 1, title: "t".into(), ..Study::default() });
    }
}
