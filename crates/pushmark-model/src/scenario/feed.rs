//! Publications over something that stays open: WebSockets (`publisher.over = "websocket"`) or a process that
//! takes lines (`"command"`). Their keys, and the checks of these.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::compiler::Compiler;
use super::error::ScenarioError;
use super::places::as_it_is;
use super::publisher::{Over, Publisher, PublisherMode};
use super::target::{CommandTemplate, FeedTemplate, PublishTemplate};
use super::url::TargetUrl;
use crate::plan::{self, Answer, CommandPlan, Publish};
use crate::template::Template;

/// Reports mistakes in the keys of the publisher.
pub(super) fn check(p: &Publisher, errors: &mut Vec<ScenarioError>) {
    let inside = p.mode != PublisherMode::External;
    let given = [
        ("over", p.over.is_some_and(|over| over != Over::Post), "how publications come from outside"),
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
        if let Some(command) = &template.command {
            self.command(command);
        }
        let other = template.websocket.is_some() || template.command.is_some();
        if !other || !template.url.is_empty() {
            self.publish("target.publish", template);
        }
    }

    /// Returns the endpoint of this scenario's publications.
    pub(super) fn publish_over(&mut self, template: &PublishTemplate) -> Option<Publish> {
        let PublishTemplate { websocket, command, .. } = template;
        let asked = self.scenario.publisher.as_ref().and_then(|publisher| publisher.over);
        match (asked.unwrap_or(template.way()), websocket, command) {
            (Over::Post, ..) => self.publish("target.publish", template),
            (Over::WebSocket, Some(feed), _) => self.feed(feed),
            (Over::Command, _, Some(command)) => self.command(command),
            (Over::WebSocket, None, _) => self.no_way(
                "websocket",
                "\"post\", or websocket = { url = \"ws://…\", text = \"…{message}…\" } in [target.publish]",
            ),
            (Over::Command, _, None) => self.no_way(
                "command",
                "\"post\", or command = { start = [\"redis-cli\"], line = \"PUBLISH {channel} {message}\" } in [target.publish]",
            ),
        }
    }

    fn no_way(&mut self, over: &str, accepted: &str) -> Option<Publish> {
        self.errors.push(
            ScenarioError::at("publisher.over", format!("[target.publish] has no `{over}` to publish over"))
                .found(format!("{over:?}"))
                .accepted(accepted),
        );
        None
    }

    fn command(&mut self, template: &CommandTemplate) -> Option<Publish> {
        let before = self.errors.len();
        let key = "target.publish.command";
        if template.start.first().is_none_or(String::is_empty) {
            self.errors.push(
                ScenarioError::at(format!("{key}.start"), "the command is empty")
                    .found("no program")
                    .accepted("a program and its arguments: [\"redis-cli\", \"-p\", \"{port}\"]"),
            );
        }
        let line = self.message(&format!("{key}.line"), &template.line);
        if template.line.contains(['\r', '\n']) || line.as_ref().is_some_and(|line| !line.is_text()) {
            self.errors.push(
                ScenarioError::at(format!("{key}.line"), "a publication is one line of text")
                    .found(format!("{:?}", template.line))
                    .accepted("a text without line ends: pushmark adds the last"),
            );
        }
        let start: Vec<_> = template.start.iter().enumerate().collect();
        let start =
            start.into_iter().filter_map(|(n, word)| self.template(&format!("{key}.start[{n}]"), word));
        let start = start.collect();
        let mut env = Vec::new();
        for (name, value) in &template.env {
            let key = format!("{key}.env.{}", super::source::join(&[name]));
            env.extend(self.template(&key, value).map(|value| (name.clone(), value)));
        }
        let nowhere =
            TargetUrl { tls: false, host: String::new(), port: None, path: Template::parse("/").ok()? };
        let line = line?;
        let given = [("line", template.line.as_str()), ("line", template.line.as_str())];
        self.publication_places(key, given, &nowhere, &[], &line);
        let publish = Publish {
            method: String::new(),
            host: nowhere.host,
            port: nowhere.port,
            tls: nowhere.tls,
            path: nowhere.path,
            headers: Vec::new(),
            body: line,
            over: plan::Over::Command(CommandPlan {
                start,
                env,
                folder: template.cwd.as_ref().map(PathBuf::from),
                ready: template.ready.as_deref().map(as_it_is),
            }),
        };
        (self.errors.len() == before).then_some(publish)
    }

    fn feed(&mut self, template: &FeedTemplate) -> Option<Publish> {
        let before = self.errors.len();
        let key = "target.publish.websocket";
        let url = self.url(&format!("{key}.url"), &template.url, true);
        let headers = self.headers(key, &BTreeMap::new());
        let text = self.message(&format!("{key}.text"), &template.text);
        let after_open = self.messages(template.after_open.iter(), |i| format!("{key}.after_open[{i}]"));
        let every = self.every(key, &template.every);
        let refused = self.like(&format!("{key}.refused"), template.refused.as_ref());
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
                every,
                answer,
                separator,
                ready: template.ready.as_deref().map(as_it_is),
                refused,
            },
        };
        (self.errors.len() == before).then_some(publish)
    }
}
