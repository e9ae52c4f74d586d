//! Messages that keep a connection: those that are sent periodically, those that are answered, and requests that
//! respond to answers.

use super::compiler::Compiler;
use super::error::ScenarioError;
use super::target::{AnswerSpec, EverySpec, RespondSpec};
use crate::message::Message;
use crate::plan::{Every, Respond};

impl Compiler<'_> {
    /// Returns the messages that are answered, as they are compared: without the separator behind them.
    pub(super) fn heartbeats(
        &mut self,
        key: &str,
        answers: &[AnswerSpec],
        separator: Option<u8>,
    ) -> Vec<Message> {
        self.ons(&format!("{key}.answer"), answers.iter().map(|answer| &answer.on), separator)
    }

    /// Returns the requests that respond to answers of a long poll.
    pub(super) fn respond(
        &mut self,
        key: &str,
        specs: &[RespondSpec],
        separator: Option<u8>,
    ) -> Vec<Respond> {
        let key = format!("{key}.respond");
        let ons = self.ons(&key, specs.iter().map(|spec| &spec.on), separator);
        let mut responses = Vec::new();
        for (n, (spec, on)) in specs.iter().zip(ons).enumerate() {
            let request = self.request(&format!("{key}[{n}].request"), &spec.request);
            responses.extend(request.map(|request| Respond { on, request: Box::new(request) }));
        }
        responses
    }

    /// Returns messages, or parts of them, as they are compared: without the separator behind them.
    fn ons<'o>(
        &mut self,
        key: &str,
        given: impl Iterator<Item = &'o String>,
        separator: Option<u8>,
    ) -> Vec<Message> {
        let mut ons = Vec::new();
        for (i, given) in given.enumerate() {
            let on = match separator {
                Some(b'\n') => given.trim_end_matches(['\r', '\n']),
                Some(separator) => given.trim_end_matches(char::from(separator)),
                None => given,
            };
            if on.is_empty() || separator.is_some_and(|separator| on.contains(char::from(separator))) {
                self.errors.push(
                    ScenarioError::at(format!("{key}[{i}].on"), "no message, and no part of one, is this")
                        .found(format!("{given:?}"))
                        .accepted("a text that is not empty and does not contain the separator"),
                );
            }
            ons.push(on.to_owned());
        }
        self.messages(ons.iter(), |i| format!("{key}[{i}].on"))
    }

    /// Compiles messages that are sent periodically.
    pub(super) fn every(&mut self, key: &str, specs: &[EverySpec]) -> Vec<Every> {
        if let Some(n) = specs.iter().position(|spec| spec.after.0 == 0) {
            self.errors.push(
                ScenarioError::at(format!("{key}.every[{n}].after"), "a heartbeat needs a period")
                    .found("0s")
                    .accepted("a duration above zero"),
            );
        }
        let sends = self.messages(specs.iter().map(|spec| &spec.send), |n| format!("{key}.every[{n}].send"));
        specs.iter().zip(sends).map(|(spec, send)| Every { after_ns: spec.after.0, send }).collect()
    }

    /// Returns the byte that divides messages into parts.
    pub(super) fn separator(&mut self, key: &str, given: Option<&str>) -> Option<u8> {
        let text = given?;
        match text.as_bytes() {
            [byte] if byte.is_ascii() => Some(*byte),
            _ => {
                self.errors.push(
                    ScenarioError::at(format!("{key}.separator"), "a separator is one ASCII character")
                        .found(format!("{text:?}"))
                        .accepted("\"\\n\", \"\\u001e\", or another single character"),
                );
                None
            }
        }
    }
}
