//! The meaning of `{…}` in each text of a scenario, as one table. A place is filled in, or it is an error.
//! Text in braces that looks like a place is never sent unchanged.
//!
//! A text that is not in the table has no places, so the rule also covers new keys.

use serde_json::Value;

use super::error::ScenarioError;
use super::{Scenario, source};
use crate::spelling::nearest;
use crate::template::{Place, Template};

/// The use of a text, which decides the places that can be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A text for people, a file name or a name inside pushmark: it is not sent and not checked.
    NotSent,
    /// Compared with received text.
    Awaited,
    /// Sent or used unchanged.
    Plain,
    /// URL, header lines and body of a request before the subscription, or of one of its steps.
    Before,
    /// URL, header lines and body of a client's request.
    Request,
    /// A WebSocket message of a client.
    Sent,
    /// Compared with a message that a step awaits.
    StepAwaited,
    /// A publication of a client.
    Peer,
    /// The Bayeux channel of a channel.
    BayeuxChannel,
    /// URL, header lines and text of a publication from outside.
    Publication,
    /// URL of a feed. A feed is opened once for all channels.
    FeedRequest,
    /// Messages of a feed after open.
    FeedOpen,
    /// Command words and variables of a process that publishes. It is started once for all channels.
    PublisherCommand,
    /// Header lines of all requests, of clients and of publications.
    Shared,
    /// Command words, variables and URLs of a server that pushmark starts.
    Command,
}

/// The path of each key and its use. `*` is an index of a list or a name that the user gives.
const USES: [(&str, Use); 67] = [
    ("name", Use::NotSent),
    ("analysis", Use::NotSent),
    ("thresholds.*", Use::NotSent),
    ("target.server", Use::NotSent),
    ("target.clients", Use::NotSent),
    ("target.secrets", Use::NotSent),
    ("target.tls.*", Use::NotSent),
    ("target.process.cwd", Use::NotSent),
    ("target.process.monitor", Use::NotSent),
    ("target.args.*", Use::Command),
    ("target.flags.*", Use::Command),
    ("target.process.start.*", Use::Command),
    ("target.process.stop.*", Use::Command),
    ("target.process.env.*", Use::Command),
    ("target.process.ready", Use::Command),
    ("target.headers.*", Use::Shared),
    ("target.before.*.url", Use::Before),
    ("target.before.*.headers.*", Use::Before),
    ("target.before.*.body", Use::Before),
    ("target.subscribe.*.url", Use::Request),
    ("target.subscribe.*.headers.*", Use::Request),
    ("target.subscribe.*.body", Use::Request),
    ("target.subscribe.*.after_open.*", Use::Sent),
    ("target.subscribe.*.steps.*", Use::Sent),
    ("target.subscribe.*.steps.*.send", Use::Sent),
    ("target.subscribe.*.steps.*.request.url", Use::Before),
    ("target.subscribe.*.steps.*.request.headers.*", Use::Before),
    ("target.subscribe.*.steps.*.request.body", Use::Before),
    ("target.subscribe.*.steps.*.wait", Use::StepAwaited),
    ("target.subscribe.*.steps.*.wait.contains", Use::StepAwaited),
    ("target.subscribe.*.steps.*.wait.prefix", Use::StepAwaited),
    ("target.subscribe.*.steps.*.wait.equals", Use::StepAwaited),
    ("target.subscribe.*.steps.*.wait.is", Use::StepAwaited),
    ("target.subscribe.*.every.*.send", Use::Sent),
    ("target.subscribe.*.answer.*.send", Use::Sent),
    ("target.subscribe.*.answer.*.on", Use::Awaited),
    ("target.subscribe.*.ready", Use::Awaited),
    ("target.subscribe.*.respond.*.on", Use::Awaited),
    ("target.subscribe.*.respond.*.request.url", Use::Before),
    ("target.subscribe.*.respond.*.request.headers.*", Use::Before),
    ("target.subscribe.*.respond.*.request.body", Use::Before),
    ("target.subscribe.*.ignore", Use::Awaited),
    ("target.subscribe.*.ignore.contains", Use::Awaited),
    ("target.subscribe.*.ignore.prefix", Use::Awaited),
    ("target.subscribe.*.ignore.equals", Use::Awaited),
    ("target.subscribe.*.ignore.is", Use::Awaited),
    ("target.subscribe.*.publish", Use::Peer),
    ("target.subscribe.*.channel", Use::BayeuxChannel),
    ("target.publish.url", Use::Publication),
    ("target.publish.headers.*", Use::Publication),
    ("target.publish.body", Use::Publication),
    ("target.publish.websocket.url", Use::FeedRequest),
    ("target.publish.websocket.text", Use::Publication),
    ("target.publish.websocket.after_open.*", Use::FeedOpen),
    ("target.publish.websocket.every.*.send", Use::FeedOpen),
    ("target.publish.websocket.answer.*.on", Use::Awaited),
    ("target.publish.websocket.refused", Use::Awaited),
    ("target.publish.websocket.refused.contains", Use::Awaited),
    ("target.publish.websocket.refused.prefix", Use::Awaited),
    ("target.publish.websocket.refused.equals", Use::Awaited),
    ("target.publish.websocket.refused.is", Use::Awaited),
    ("target.publish.websocket.ready", Use::Awaited),
    ("target.publish.command.start.*", Use::PublisherCommand),
    ("target.publish.command.env.*", Use::PublisherCommand),
    ("target.publish.command.line", Use::Publication),
    ("target.publish.command.ready", Use::Awaited),
    ("target.publish.command.cwd", Use::NotSent),
];

impl Use {
    /// Returns the places that are filled in, as in [`NAMES`](crate::template::NAMES).
    pub(crate) fn places(self) -> &'static [&'static str] {
        match self {
            Use::NotSent | Use::Awaited | Use::Plain => &[],
            Use::Before => &[
                "channel",
                "channels",
                "client",
                "client.NAME",
                "port",
                "secret.NAME",
                "capture.NAME",
                "uuid",
                "seq",
            ],
            Use::Request => &[
                "channel",
                "channels",
                "client",
                "client.NAME",
                "cursor",
                "hold_ms",
                "port",
                "secret.NAME",
                "capture.NAME",
                "uuid",
                "seq",
            ],
            Use::Shared => {
                &["channel", "channels", "client", "client.NAME", "cursor", "hold_ms", "port", "secret.NAME"]
            }
            Use::Sent => &[
                "channel",
                "channels",
                "client",
                "client.NAME",
                "port",
                "secret.NAME",
                "capture.NAME",
                "uuid",
                "seq",
            ],
            Use::StepAwaited => {
                &["channel", "channels", "client", "client.NAME", "port", "secret.NAME", "capture.NAME"]
            }
            Use::Peer => &[
                "channel",
                "message",
                "message.length",
                "client",
                "client.NAME",
                "port",
                "secret.NAME",
                "capture.NAME",
                "uuid",
                "seq",
            ],
            Use::BayeuxChannel => &["channel", "client", "client.NAME", "port"],
            Use::Publication => {
                &["channel", "message", "message.length", "port", "secret.NAME", "uuid", "seq"]
            }
            Use::FeedRequest => &["feed", "port", "secret.NAME"],
            Use::FeedOpen => &["channels", "feed", "port", "secret.NAME", "uuid", "seq"],
            Use::PublisherCommand => &["port", "secret.NAME"],
            Use::Command => &["port", "log", "secret.NAME"],
        }
    }

    /// Returns why other places are not filled in.
    fn why(self) -> &'static str {
        match self {
            Use::NotSent | Use::Plain => "this text is used as it is",
            Use::Awaited => "this text is compared with what comes, as it is",
            Use::Before | Use::Request => "a subscription has none",
            Use::Shared | Use::Publication => "a publication from outside has none",
            Use::Sent | Use::StepAwaited => "a message of a client has none",
            Use::Peer => "a client's publication has none",
            Use::BayeuxChannel => "a Bayeux channel can name {channel} and {client} only",
            Use::FeedRequest | Use::FeedOpen | Use::PublisherCommand => {
                "a feed is opened once, for all channels and no client"
            }
            Use::Command => "a server is started once, for all channels and clients",
        }
    }

    fn accepted(self) -> String {
        match self.places() {
            [] => "a text without places".to_owned(),
            places => places.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Returns the use of the text at a path.
pub(crate) fn use_of(path: &[String]) -> Use {
    let is_at = |pattern: &str| {
        let mut segments = pattern.split('.');
        let all = path.iter().all(|segment| segments.next().is_some_and(|s| s == "*" || s == segment));
        all && segments.next().is_none()
    };
    USES.iter().find(|(pattern, _)| is_at(pattern)).map_or(Use::Plain, |(_, use_)| *use_)
}

/// Returns a text that is used unchanged, except that `{{name}}` becomes `{name}`.
pub(super) fn as_it_is(text: &str) -> String {
    Template::parse(text).map_or(text.to_owned(), |template| template.render_text(&Default::default()))
}

/// Makes the error of an unknown place.
pub(super) fn unknown(key: &str, found: &str, use_: Use) -> ScenarioError {
    let (root, field) = found.split_once('.').map_or((found, ""), |(root, field)| (root, field));
    let plain = root.trim().to_ascii_lowercase().replace('-', "_");
    let roots = use_.places().iter().map(|name| name.split('.').next().unwrap_or_default());
    let near = nearest(&plain, roots).map(|name| match field {
        "" => format!("{{{name}}}"),
        field => format!("{{{name}.{}}}", field.trim()),
    });
    ScenarioError::at(key, format!("a template has no place `{{{found}}}`"))
        .found(format!("{{{found}}}"))
        .accepted(use_.accepted())
        .nearest(near)
        .help(format!("{{{{{found}}}}} stands for the text {{{found}}}"))
}

/// Reports every place in every text that cannot be filled in.
pub(super) fn check(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let value = serde_json::to_value(scenario).expect("a scenario is plain data");
    texts(&value, &mut Vec::new(), &mut |path, text| check_text(scenario, path, text, errors));
}

fn check_text(scenario: &Scenario, path: &[String], text: &str, errors: &mut Vec<ScenarioError>) {
    let use_ = use_of(path);
    if use_ == Use::NotSent || !text.contains('{') {
        return;
    }
    let key = source::join(path);
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(error) => return errors.push(unknown(&key, &error.found, use_)),
    };
    let target = &scenario.target;
    let started = target.process.is_some() || target.server.is_some();
    let mut seen = Vec::new();
    for place in template.places() {
        if seen.contains(&place) {
            continue;
        }
        seen.push(place);
        let found = format!("{{{place}}}");
        let error = |message: String| ScenarioError::at(&key, message).found(&found);
        if !use_.places().contains(&place.kind()) {
            let refused = error(format!("{found} has no meaning here: {}", use_.why()));
            let escaped = format!("{{{found}}} stands for the text {found}");
            errors.push(refused.accepted(use_.accepted()).help(escaped));
        } else if use_ == Use::Shared && reaches_publications(scenario, path) && !in_publications(place) {
            errors.push(
                error(format!("{found} has no meaning in a publication, which has this header line too"))
                    .accepted(Use::Publication.accepted())
                    .help(
                        "give publications a line of their own under [target.publish.headers], or clients \
                         theirs under headers = { … } of their transport",
                    ),
            );
        } else if *place == Place::Port && !started {
            errors.push(
                error("{port} is only known for a server that pushmark starts".to_owned())
                    .accepted("a port number, or [target.process] with start = […]"),
            );
        } else if let (Place::ClientField(name), None) = (place, &target.clients) {
            errors.push(
                error(format!("{found} needs a table of clients"))
                    .accepted(format!("clients = \"users.csv\" in [target], a file with a column `{name}`")),
            );
        }
    }
}

/// Returns whether a header line of all requests also applies to publications.
fn reaches_publications(scenario: &Scenario, path: &[String]) -> bool {
    let own = |name: &String| path.last().is_some_and(|shared| shared.eq_ignore_ascii_case(name));
    scenario
        .target
        .publish
        .as_ref()
        .is_some_and(|publish| publish.websocket.is_some() || !publish.headers.keys().any(own))
}

fn in_publications(place: &Place) -> bool {
    // A feed's upgrade belongs to no channel, and a publication's header line may name one.
    Use::Publication.places().contains(&place.kind())
}

/// Returns the names of `{secret.NAME}` in a scenario, each with the first key that uses it.
pub(super) fn secrets(scenario: &Scenario) -> Vec<(String, String)> {
    let value = serde_json::to_value(scenario).expect("a scenario is plain data");
    let mut named: Vec<(String, String)> = Vec::new();
    texts(&value, &mut Vec::new(), &mut |path, text| {
        let Ok(template) = Template::parse(text) else { return };
        for place in template.places() {
            if let Place::Secret(name) = place
                && use_of(path) != Use::NotSent
                && !named.iter().any(|(known, _)| known == name)
            {
                named.push((name.clone(), source::join(path)));
            }
        }
    });
    named
}

/// Calls `seen` with every text of a value and its path.
pub(super) fn texts(value: &Value, path: &mut Vec<String>, seen: &mut impl FnMut(&[String], &str)) {
    let mut below = |name: String, value: &Value| {
        path.push(name);
        texts(value, path, seen);
        path.pop();
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| below(i.to_string(), item)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| below(name.clone(), field)),
        Value::String(text) => seen(path, text),
        _ => {}
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
