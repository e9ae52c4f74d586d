//! Compiles the steps of a subscription, and checks them.

use std::collections::BTreeMap;

use super::compiler::{Compiler, header_name_ok};
use super::error::ScenarioError;
use super::steps::{StepSpec, WaitSpec};
use super::target::SubscribeTemplate;
use crate::message::Message;
use crate::plan::{Before, Capture, From, Pattern, Step, Until, Wait};
use crate::template::Place;
use crate::units::Nanos;

/// How long a message is awaited.
const TIMEOUT: Nanos = Nanos(5_000_000_000);

impl Compiler<'_> {
    /// Compiles the steps of a subscription. Adds mistakes to `errors`.
    pub(super) fn steps(&mut self, key: &str, template: &SubscribeTemplate) -> Vec<Step> {
        if !template.steps.is_empty() && !template.after_open.is_empty() {
            self.errors.push(
                ScenarioError::at(format!("{key}.after_open"), "`steps` say what is sent after open")
                    .found("`after_open` beside `steps`")
                    .accepted("one of them: a step may be a plain text, which is sent"),
            );
        }
        let mut known = self.known_before();
        let mut steps = Vec::new();
        for (n, spec) in template.steps.iter().enumerate() {
            let key = format!("{key}.steps[{n}]");
            let step = Step {
                send: spec.send.as_ref().and_then(|text| self.message(&format!("{key}.send"), text)),
                request: self.beside(&key, spec, &known),
                wait: self.wait(&key, spec),
            };
            self.captured(&format!("{key}.send"), step.send.iter().flat_map(Message::places), &known);
            let awaited = step.wait.iter().flat_map(Wait::messages).flat_map(Message::places);
            self.captured(&format!("{key}.wait"), awaited, &known);
            let answered = spec.request.iter().flat_map(|request| request.capture.keys());
            known.extend(spec.capture.keys().chain(answered).map(String::as_str));
            if *spec == StepSpec::default() {
                self.errors.push(
                    ScenarioError::at(&key, "this step does nothing")
                        .found("an empty table")
                        .accepted("`send`, `request`, `wait`, `capture`"),
                );
            }
            steps.push(step);
        }
        steps
    }

    /// Compiles the request of a step, which may name what earlier steps captured.
    fn beside(&mut self, key: &str, spec: &StepSpec, known: &[&str]) -> Option<Box<Before>> {
        let asked = spec.request.as_ref()?;
        if spec.send.is_some() {
            self.errors.push(
                ScenarioError::at(format!("{key}.send"), "a step sends a message or makes a request")
                    .found("`send` beside `request`")
                    .accepted("one of them: the other is a step of its own"),
            );
        }
        let key = format!("{key}.request");
        let request = self.request(&key, asked)?;
        for (at, place) in request.places() {
            self.captured(&format!("{key}.{at}"), std::iter::once(place), known);
        }
        Some(Box::new(request))
    }

    /// Checks that the captures that a text names are taken by an earlier step.
    pub(super) fn captured<'p>(
        &mut self,
        key: &str,
        places: impl Iterator<Item = &'p Place>,
        known: &[&str],
    ) {
        for place in places {
            let Place::Capture(name) = place else { continue };
            if known.contains(&name.as_str()) {
                continue;
            }
            let error = ScenarioError::at(key, format!("no earlier step captures `{name}`"))
                .found(format!("{{{place}}}"))
                .nearest(
                    crate::spelling::nearest(name, known.iter().copied()).map(|n| format!("{{capture.{n}}}")),
                )
                .accepted(match known {
                    [] => format!("a step before it with capture = {{ {name} = \"/pointer\" }}"),
                    _ => known.iter().map(|n| format!("{{capture.{n}}}")).collect::<Vec<_>>().join(", "),
                });
            self.errors.push(error);
        }
    }

    fn wait(&mut self, key: &str, spec: &StepSpec) -> Option<Wait> {
        let captures = self.captures(key, &spec.capture, false);
        let key = format!("{key}.wait");
        let Some(wait) = &spec.wait else {
            return (!captures.is_empty()).then_some(Wait {
                until: Until::Captured,
                within_ns: TIMEOUT.0,
                captures,
            });
        };
        if wait.timeout == Some(Nanos(0)) {
            self.errors.push(
                ScenarioError::at(format!("{key}.timeout"), "nothing arrives in no time")
                    .found("0s")
                    .accepted("a duration above zero"),
            );
        }
        let until = self.until(&key, wait)?;
        Some(Wait { until, within_ns: wait.timeout.unwrap_or(TIMEOUT).0, captures })
    }

    /// Compiles what messages are like that are not awaited, and may come at any time.
    pub(super) fn like(&mut self, key: &str, spec: Option<&WaitSpec>) -> Option<Box<Wait>> {
        let spec = spec?;
        if spec.timeout.is_some() {
            self.errors.push(
                ScenarioError::at(format!("{key}.timeout"), "such a message is not waited for")
                    .found("`timeout`")
                    .accepted("one of `contains`, `prefix`, `equals`, `regex`, `json`"),
            );
        }
        Some(Box::new(Wait { until: self.until(key, spec)?, within_ns: 0, captures: Vec::new() }))
    }

    /// Compiles what a message is like.
    fn until(&mut self, key: &str, wait: &WaitSpec) -> Option<Until> {
        let kinds = [&wait.contains, &wait.prefix, &wait.equals, &wait.regex, &wait.json];
        let given = kinds.iter().filter(|kind| kind.is_some()).count();
        if given != 1 {
            self.errors.push(
                ScenarioError::at(key, "a message is told from others by one key")
                    .found(format!("{given} of them"))
                    .accepted("one of `contains`, `prefix`, `equals`, `regex`, `json`"),
            );
            return None;
        }
        if wait.is.is_some() && wait.json.is_none() {
            self.errors.push(
                ScenarioError::at(format!("{key}.is"), "`is` is the text of a member of JSON")
                    .found("no `json`")
                    .accepted("json = \"/pointer\" beside it"),
            );
        }
        Some(match wait {
            WaitSpec { contains: Some(text), .. } => {
                Until::Contains(self.message(&format!("{key}.contains"), text)?)
            }
            WaitSpec { prefix: Some(text), .. } => {
                Until::Prefix(self.message(&format!("{key}.prefix"), text)?)
            }
            WaitSpec { equals: Some(text), .. } => {
                Until::Equals(self.message(&format!("{key}.equals"), text)?)
            }
            WaitSpec { regex: Some(text), .. } => Until::Regex(self.pattern(&format!("{key}.regex"), text)?),
            WaitSpec { json, is, .. } => {
                let pointer = json.clone().unwrap_or_default();
                self.pointer(&format!("{key}.json"), &pointer)?;
                let is = is.as_ref().and_then(|text| self.message(&format!("{key}.is"), text));
                Until::Json { pointer, is }
            }
        })
    }

    /// Compiles where values come from. Only an answer to a request has header lines.
    pub(super) fn captures(
        &mut self,
        key: &str,
        spec: &BTreeMap<String, String>,
        of_answer: bool,
    ) -> Vec<Capture> {
        let mut captures = Vec::new();
        for (name, from) in spec {
            let key = format!("{key}.capture.{}", super::source::join(&[name]));
            let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            if !is_name || name.is_empty() {
                self.errors.push(
                    ScenarioError::at(&key, "this cannot be the name of a value")
                        .found(format!("{name:?}"))
                        .accepted("letters, digits, `_` and `-`"),
                );
                continue;
            }
            let named = |prefix: &str| from.strip_prefix(prefix).filter(|name| header_name_ok(name));
            let from = match (named("header:"), named("cookie:")) {
                (Some(name), _) if of_answer => From::Header(name.to_owned()),
                (_, Some(name)) if of_answer => From::Cookie(name.to_owned()),
                _ if from.starts_with('/') => From::Json(from.clone()),
                _ => match self.pattern(&key, from) {
                    Some(pattern) if pattern.has_group() => From::Regex(pattern),
                    Some(_) => {
                        self.errors.push(
                            ScenarioError::at(&key, "this expression has no group to take")
                                .found(format!("{from:?}"))
                                .accepted("a JSON pointer such as \"/sid\", or an expression with a group: \"id=([0-9]+)\""),
                        );
                        continue;
                    }
                    None => continue,
                },
            };
            captures.push(Capture { name: name.clone(), from });
        }
        captures
    }

    fn pattern(&mut self, key: &str, text: &str) -> Option<Pattern> {
        match Pattern::new(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.errors.push(
                    ScenarioError::at(key, format!("this is not a regular expression: {error}"))
                        .found(format!("{text:?}"))
                        .accepted("a regular expression"),
                );
                None
            }
        }
    }

    fn pointer(&mut self, key: &str, text: &str) -> Option<()> {
        if text.starts_with('/') {
            return Some(());
        }
        self.errors.push(
            ScenarioError::at(key, "this is not a JSON pointer")
                .found(format!("{text:?}"))
                .accepted("a pointer such as \"/type\" (RFC 6901)"),
        );
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Endpoints, Scenario};
    use super::*;

    const TARGET: &str = "[target.subscribe.websocket]\nurl = \"ws://h:1/\"\n";

    fn told(keys: &str) -> Vec<String> {
        let errors = Scenario::parse(&format!("{TARGET}{keys}\n"), &[]).err().unwrap_or_default();
        errors.into_iter().map(|e| format!("{}: {}", e.key, e.message)).collect()
    }

    #[test]
    fn a_conversation_in_its_short_forms() {
        let text = format!(
            "{TARGET}steps = [\"40\", {{ wait = \"40{{\", capture = {{ sid = \"/sid\" }} }}, \
             {{ send = \"{{capture.sid}} {{channel}}\", wait = {{ equals = \"ok {{channel}}\", timeout = \"1s\" }} }}]\n"
        );
        let (scenario, _) = Scenario::parse(&text, &[]).unwrap();
        let endpoints = Endpoints::of_target(&scenario.target).unwrap();
        let template = endpoints.subscribe.websocket.as_ref().unwrap();
        let mut compiler = Compiler { scenario: &scenario, errors: Vec::new() };
        let steps = compiler.steps("k", template);
        assert_eq!(compiler.errors, []);
        let waits: Vec<Option<String>> = steps.iter().map(|s| s.wait.as_ref().map(Wait::in_words)).collect();
        assert_eq!(waits[0], None);
        assert_eq!(waits[1].as_deref(), Some("a message that contains \"40{\" from which sid can be taken"));
        assert_eq!(waits[2].as_deref(), Some("the message \"ok {channel}\""));
        let within: Vec<u64> = steps.iter().filter_map(|s| Some(s.wait.as_ref()?.within_ns)).collect();
        assert_eq!(within, [5_000_000_000, 1_000_000_000]);
    }

    #[test]
    fn each_mistake_is_told_at_its_key() {
        for (keys, expected) in [
            ("steps = [{}]", "target.subscribe.websocket.steps[0]: this step does nothing"),
            (
                "steps = [{ wait = {} }]",
                "target.subscribe.websocket.steps[0].wait: a message is told from others",
            ),
            (
                "steps = [{ wait = { prefix = \"a\", json = \"/b\" } }]",
                "target.subscribe.websocket.steps[0].wait: a message is told from others by one key",
            ),
            (
                "steps = [{ wait = { prefix = \"a\", is = \"b\" } }]",
                "target.subscribe.websocket.steps[0].wait.is: `is` is",
            ),
            (
                "steps = [{ wait = { regex = \"(\" } }]",
                "target.subscribe.websocket.steps[0].wait.regex: this is not a regular",
            ),
            (
                "steps = [{ wait = { json = \"type\" } }]",
                "target.subscribe.websocket.steps[0].wait.json: this is not a JSON",
            ),
            (
                "steps = [{ wait = { prefix = \"a\", timeout = \"0s\" } }]",
                "target.subscribe.websocket.steps[0].wait.timeout: nothing",
            ),
            (
                "steps = [{ capture = { a = \"b\" } }]",
                "target.subscribe.websocket.steps[0].capture.a: this expression has no group",
            ),
            (
                "steps = [{ capture = { \"a b\" = \"/b\" } }]",
                "target.subscribe.websocket.steps[0].capture.\"a b\": this cannot",
            ),
            (
                "steps = [\"{capture.x}\"]",
                "target.subscribe.websocket.steps[0].send: no earlier step captures `x`",
            ),
            (
                "steps = [{ send = \"{capture.x}\", capture = { x = \"/x\" } }]",
                "target.subscribe.websocket.steps[0].send: no earlier step captures `x`",
            ),
            (
                "answer = [{ on = \"a\", send = \"{capture.x}\" }]",
                "target.subscribe.websocket.answer[0].send: no earlier step",
            ),
            (
                "steps = [{ send = \"a\", request = { url = \"http://h:1/\" } }]",
                "target.subscribe.websocket.steps[0].send: a step sends a message or",
            ),
            (
                "steps = [{ request = { url = \"ws://h:1/\" } }]",
                "target.subscribe.websocket.steps[0].request.url: ",
            ),
            (
                "steps = [{ request = { url = \"http://h:1/{capture.x}\" } }]",
                "target.subscribe.websocket.steps[0].request.url: no earlier step captures `x`",
            ),
            (
                "steps = [{ request = { url = \"http://h:1/\", method = \"a b\" } }]",
                "target.subscribe.websocket.steps[0].request.method: this is not a request method",
            ),
            (
                "after_open = [\"a\"]\nsteps = [\"b\"]",
                "target.subscribe.websocket.after_open: `steps` say what is sent",
            ),
        ] {
            let all = told(keys);
            assert!(all.len() == 1 && all[0].starts_with(expected), "{keys}: {all:?}");
        }
        assert_eq!(
            told(
                "steps = [{ request = { url = \"http://h:1/\", capture = { x = \"header:x\" } } }, \"{capture.x}\"]"
            ),
            [""; 0]
        );
        assert_eq!(
            told("steps = [{ capture = { x = \"/x\" } }]\nanswer = [{ on = \"a\", send = \"{capture.x}\" }]"),
            [""; 0]
        );
    }
}
