//! Values that a client takes from a target's messages and answers.

use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value that is taken from a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// Its name: `{capture.NAME}`.
    pub name: String,
    /// Where it is.
    pub from: From,
}

/// Where a value is in a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// RFC 6901, in the JSON in the message.
    Json(String),
    /// The first group of this expression.
    Regex(Pattern),
    /// A header line of an answer.
    Header(String),
    /// A cookie that an answer sets.
    Cookie(String),
}

impl From {
    /// Returns the value in a message; a message has no header lines.
    pub(crate) fn in_message(&self, message: &[u8]) -> Option<String> {
        match self {
            From::Json(pointer) => json_in(message)?.pointer(pointer).map(text_of),
            From::Regex(pattern) => {
                let text = String::from_utf8_lossy(message);
                Some(pattern.0.captures(&text)?.get(1)?.as_str().to_owned())
            }
            From::Header(_) | From::Cookie(_) => None,
        }
    }
}

/// A regular expression, as written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn new(source: &str) -> Result<Pattern, String> {
        Regex::new(source).map(Pattern).map_err(|error| error.to_string())
    }

    /// Returns whether a text matches it.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Returns it as written.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns whether it has a group.
    pub fn has_group(&self) -> bool {
        self.0.captures_len() > 1
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;
    fn try_from(source: String) -> Result<Pattern, String> {
        Pattern::new(&source)
    }
}

impl std::convert::From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.0.as_str().to_owned()
    }
}

/// Returns the first JSON object or list in a message: some protocols put a number in front of it.
pub(super) fn json_in(message: &[u8]) -> Option<Value> {
    let at = message.iter().position(|byte| matches!(byte, b'{' | b'['))?;
    serde_json::Deserializer::from_slice(&message[at..]).into_iter::<Value>().next()?.ok()
}

/// Returns the text of a value: of a string its content.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
