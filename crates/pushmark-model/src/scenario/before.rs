//! `[[target.before]]`: requests that each client makes before it subscribes, their keys and their checks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compiler::Compiler;
use super::error::ScenarioError;
use crate::message::Message;
use crate::plan::Before;

/// A request that each client makes before it subscribes, to log in or to negotiate; or beside its subscription, as a
/// step of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeforeSpec {
    /// URL template (http or https).
    pub url: String,
    /// Request method. Default: GET, or POST with a `body`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Header lines, a template per name, in addition to those of the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body of the request (a template). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The expected status. Default: any of 200 to 299.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Values to take from the answer, for `{capture.NAME}`: a JSON pointer (`/token`), `header:NAME`, `cookie:NAME`, or a regular expression whose first group is taken. Of an answer 256 KiB are read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, String>,
}

impl Compiler<'_> {
    /// Compiles the requests before the subscription. Adds mistakes to `errors`.
    pub(super) fn before(&mut self) -> Vec<Before> {
        let mut known: Vec<&str> = Vec::new();
        let mut all = Vec::new();
        for (n, spec) in self.scenario.target.before.iter().enumerate() {
            let key = format!("target.before[{n}]");
            if let Some(before) = self.request(&key, spec) {
                for (at, place) in before.places() {
                    self.captured(&format!("{key}.{at}"), [place].into_iter(), &known);
                }
                all.push(before);
            }
            known.extend(spec.capture.keys().map(String::as_str));
        }
        all
    }

    pub(super) fn request(&mut self, key: &str, spec: &BeforeSpec) -> Option<Before> {
        let url = self.url(&format!("{key}.url"), &spec.url, false);
        let headers = self.headers(key, &spec.headers);
        let body: Option<Message> =
            spec.body.as_ref().and_then(|text| self.message(&format!("{key}.body"), text));
        let default = if spec.body.is_some() { "POST" } else { "GET" };
        let method = spec.method.clone().unwrap_or_else(|| default.to_owned());
        self.checked_method(key, &method);
        if spec.status.is_some_and(|status| !(200..600).contains(&status)) {
            self.errors.push(
                ScenarioError::at(format!("{key}.status"), "no answer ends with this status")
                    .found(spec.status.unwrap_or_default())
                    .accepted("200 to 599"),
            );
        }
        let captures = self.captures(key, &spec.capture, true);
        let url = url?;
        Some(Before {
            host: url.host,
            port: url.port,
            tls: url.tls,
            method,
            path: url.path,
            headers,
            body,
            status: spec.status,
            captures,
        })
    }
}

impl<'s> Compiler<'s> {
    /// Returns the names of what the requests before the subscription take.
    pub(super) fn known_before(&self) -> Vec<&'s str> {
        self.scenario.target.before.iter().flat_map(|spec| spec.capture.keys().map(String::as_str)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;
    use crate::plan::From;

    const TARGET: &str = "target.subscribe.sse = \"http://h:1/?t={capture.token}\"\n";

    fn told(keys: &str) -> Vec<String> {
        let errors = Scenario::parse(&format!("{TARGET}{keys}\n"), &[]).err().unwrap_or_default();
        errors.into_iter().map(|e| format!("{}: {}", e.key, e.message)).collect()
    }

    #[test]
    fn a_login_gives_the_subscription_what_it_takes() {
        let login = "[[target.before]]\nurl = \"http://h:1/login\"\nbody = \"user={client}\"\n\
                     capture = { token = \"/token\", sid = \"cookie:sid\" }\n\
                     [[target.before]]\nurl = \"http://h:1/{capture.token}\"\nheaders = { cookie = \"sid={capture.sid}\" }";
        let (scenario, _) = Scenario::parse(&format!("{TARGET}{login}"), &[]).unwrap();
        let mut compiler = Compiler { scenario: &scenario, errors: Vec::new() };
        let before = compiler.before();
        assert_eq!(compiler.errors, []);
        assert_eq!((before[0].method.as_str(), before[1].method.as_str()), ("POST", "GET"));
        assert_eq!(before[0].captures[1].from, From::Json("/token".into()));
        assert_eq!(before[0].captures[0].from, From::Cookie("sid".into()));
        assert!(before[0].same_place(&before[1]));
        assert_eq!(compiler.known_before(), ["sid", "token"]);
    }

    #[test]
    fn each_mistake_is_told_at_its_key() {
        for (keys, expected) in [
            ("", "target.subscribe.sse.url: no earlier step captures `token`"),
            (
                "[[target.before]]\nurl = \"http://h:1/{capture.token}\"\ncapture = { token = \"/t\" }",
                "target.before[0].url: no earlier step captures `token`",
            ),
            (
                "[[target.before]]\nurl = \"http://h:1/\"\nstatus = 101\ncapture = { token = \"/t\" }",
                "target.before[0].status: no answer ends",
            ),
            (
                "[[target.before]]\nurl = \"ws://h:1/\"\ncapture = { token = \"/t\" }",
                "target.before[0].url: ",
            ),
            (
                "[[target.before]]\nurl = \"http://h:1/\"\ncapture = { token = \"t\" }",
                "target.before[0].capture.token: this expression has no group",
            ),
        ] {
            let all = told(keys);
            assert!(all.iter().any(|error| error.starts_with(expected)), "{keys}: {all:?}");
        }
    }
}
