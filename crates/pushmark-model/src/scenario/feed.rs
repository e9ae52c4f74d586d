//! A feed: publications over WebSockets that stay open (`publisher.over = "websocket"`), its keys, and
//! their checks.

use std::collections::BTreeMap;

use super::compiler::Compiler;
use super::error::ScenarioError;
use super::places::as_it_is;
use super::publisher::{Over, Publisher, PublisherMode};
use super::target::{FeedTemplate, PublishTemplate};
use crate::plan::{self, Answer, Publish};

/// Reports mistakes in the keys of the publisher.
pub(super) fn check(p: &Publisher, errors: &mut Vec<ScenarioError>) {
    let inside = p.mode != PublisherMode::External;
    let given = [
        ("over", p.over != Over::Post, "how publications come from outside"),
        ("alone", p.alone.is_some(), "how long the feed from outside goes on alone"),
    ];
    for (name, _, what) in given.into_iter().filter(|(_, given, _)| inside && *given) {
        errors.push(
            ScenarioError::at(format!("publisher.{name}"), format!("`{name}` says {what}"))
                .found(format!("`{name}` with another mode"))
                .accepted("mode = \"external\""),
        );
    }
    if p.alone.is_some_and(|alone| alone.0 < 1_000_000_000) {
        errors.push(
            ScenarioError::at("publisher.alone", "this is too short to measure a feed's cost")
                .found(p.alone.expect("just seen"))
                .accepted("\"1s\" or more"),
        );
    }
}

impl Compiler<'_> {
    /// Checks all publishing keys of a target, including those that this scenario does not use.
    pub(super) fn published(&mut self, template: &PublishTemplate) {
        if let Some(feed) = &template.websocket {
            self.feed(feed);
        }
        if template.websocket.is_none() || !template.url.is_empty() {
            self.publish("target.publish", template);
        }
    }

    /// Returns the endpoint of this scenario's publications.
    pub(super) fn publish_over(&mut self, template: &PublishTemplate) -> Option<Publish> {
        match (self.scenario.publisher.as_ref().map_or(Over::Post, |p| p.over), &template.websocket) {
            (Over::Post, _) => self.publish("target.publish", template),
            (Over::WebSocket, Some(feed)) => self.feed(feed),
            (Over::WebSocket, None) => {
                self.errors.push(
                    ScenarioError::at("publisher.over", "[target.publish] has no `websocket` to publish over")
                        .found("\"websocket\"")
                        .accepted(
                            "\"post\", or websocket = { url = \"ws://…\", text = \"…{message}…\" } in [target.publish]",
                        ),
                );
                None
            }
        }
    }

    fn feed(&mut self, template: &FeedTemplate) -> Option<Publish> {
        let before = self.errors.len();
        let key = "target.publish.websocket";
        let url = self.url(&format!("{key}.url"), &template.url, true);
        let headers = self.headers(key, &BTreeMap::new());
        let text = self.message(&format!("{key}.text"), &template.text);
        let after_open = self.messages(template.after_open.iter(), |i| format!("{key}.after_open[{i}]"));
        let separator = self.separator(key, template.separator.as_deref());
        let heartbeats = self.heartbeats(key, &template.answer, separator);
        let answers =
            self.messages(template.answer.iter().map(|a| &a.send), |i| format!("{key}.answer[{i}].send"));
        let answer = heartbeats.into_iter().zip(answers).map(|(on, send)| Answer { on, send }).collect();
        let (url, text) = (url?, text?);
        let given = [("text", template.text.as_str()), ("text", template.text.as_str())];
        self.publication_places(key, given, &url, &headers, &text);
        let publish = Publish {
            method: "GET".to_owned(),
            host: url.host,
            port: url.port,
            tls: url.tls,
            path: url.path,
            headers,
            body: text,
            over: plan::Over::WebSocket {
                subprotocol: as_it_is(&template.subprotocol),
                after_open,
                answer,
                separator,
                ready: template.ready.as_deref().map(as_it_is),
            },
        };
        (self.errors.len() == before).then_some(publish)
    }
}
