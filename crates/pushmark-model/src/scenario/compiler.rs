//! Compiles templates, URLs and header lines, and collects their mistakes.

use std::collections::BTreeMap;

use super::Scenario;
use super::error::ScenarioError;
use super::places;
use super::url::{TargetUrl, UrlError};
use crate::message::{Message, MessageError};
use crate::template::{Template, TemplateError};

/// Compiles the templates of one scenario and collects their mistakes.
pub(super) struct Compiler<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) errors: Vec<ScenarioError>,
}

impl Compiler<'_> {
    /// Compiles a URL. Errors get its key.
    pub(super) fn url(&mut self, key: &str, text: &str, websocket: bool) -> Option<TargetUrl> {
        match TargetUrl::parse(text, websocket) {
            Ok(url) => Some(url),
            Err(UrlError { message, found, accepted, help }) => {
                let error = ScenarioError::at(key, message).found(found).accepted(accepted);
                self.errors.push(ScenarioError { help, ..error });
                None
            }
        }
    }

    /// Compiles a list of messages. Adds invalid ones to `errors`.
    pub(super) fn messages<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t String>,
        key: impl Fn(usize) -> String,
    ) -> Vec<Message> {
        texts.enumerate().filter_map(|(i, text)| self.message(&key(i), text)).collect()
    }

    /// Compiles a message, a text or a binary one.
    pub(super) fn message(&mut self, key: &str, text: &str) -> Option<Message> {
        let error = match Message::parse(text) {
            Ok(message) => return Some(message),
            Err(MessageError::Place(error)) => return self.unknown(key, &error),
            Err(MessageError::Binary { found, accepted }) => {
                ScenarioError::at(key, "this is not a binary message")
                    .found(format!("{found:?}"))
                    .accepted(accepted)
            }
        };
        self.errors.push(error.help("text: in front of it makes it a text"));
        None
    }

    /// Compiles a template. Its places were checked with all others of the scenario.
    pub(super) fn template(&mut self, key: &str, text: &str) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => Some(template),
            Err(error) => self.unknown(key, &error),
        }
    }

    fn unknown<T>(&mut self, key: &str, error: &TemplateError) -> Option<T> {
        // For a scenario this was already reported; for a server's own row it is reported here.
        let use_ = places::use_of(&super::source::path_of(key).unwrap_or_default());
        self.errors.push(places::unknown(key, &error.found, use_));
        None
    }

    /// Returns the target's header lines with those of `own`, which take precedence.
    pub(super) fn headers(&mut self, key: &str, own: &BTreeMap<String, String>) -> Vec<(String, Template)> {
        let shadowed = |name: &str| own.keys().any(|n| n.eq_ignore_ascii_case(name));
        let shared = self.scenario.target.headers.iter().filter(|(name, _)| !shadowed(name));
        let all: Vec<(String, &String, &String)> = shared
            .map(|(name, value)| ("target.headers".to_owned(), name, value))
            .chain(own.iter().map(|(name, value)| (format!("{key}.headers"), name, value)))
            .collect();
        let mut headers = Vec::new();
        for (table, name, value) in all {
            let key = format!("{table}.{}", super::source::join(&[name]));
            if !header_name_ok(name) || value.contains(['\r', '\n', '\0']) {
                self.errors.push(
                    ScenarioError::at(key, "this is not a header line")
                        .found(format!("{name:?} = {value:?}"))
                        .accepted("a name of letters, digits and dashes, and a value of one line"),
                );
            } else if let Some(value) = self.template(&key, value) {
                headers.push((name.clone(), value));
            }
        }
        headers
    }

    pub(super) fn channels(&self) -> u64 {
        self.scenario.subscriptions.channels_of(self.scenario.load.connections)
    }
}

/// RFC 9110 token, which names of headers and methods are.
pub(super) fn header_name_ok(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
