//! Where a target is reached: its templates, made into what a plan holds.
//!
//! The same for a server of the registry and for a target described in the scenario, so
//! that both are refused for the same reasons.

use std::collections::BTreeMap;

use super::check::{header_name_ok, places};
use super::error::ScenarioError;
use super::target::{PublishTemplate, SubscribeSet, SubscribeTemplate};
use super::url::{TargetUrl, UrlError};
use super::{Scenario, Target};
use crate::plan::{Answer, Cursor, Every, Over, Publish, Subscribe};
use crate::template::{Place, Template};
use crate::transport::Transport;

/// Where a target is reached, and what it can do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoints {
    /// The server's name, or the target's origin.
    pub name: String,
    /// How clients subscribe.
    pub subscribe: SubscribeSet,
    /// How a message is published; absent: it cannot be, from outside.
    pub publish: Option<PublishTemplate>,
    /// It can publish by itself, every interval.
    pub emitters: bool,
    /// pushmark starts it, so `{port}` is known.
    pub started: bool,
}

impl Endpoints {
    /// Those of a target described in the scenario; `None` where it names a server instead.
    pub fn of_target(target: &Target) -> Option<Endpoints> {
        let subscribe = target.subscribe.clone()?;
        let first = subscribe.transports().into_iter().find_map(|t| subscribe.of(t)).map(|s| s.url.as_str());
        Some(Endpoints {
            name: first.map(origin).unwrap_or_default(),
            subscribe,
            publish: target.publish.clone(),
            emitters: false,
            started: target.process.is_some(),
        })
    }
}

/// `http://host:port` of a URL.
fn origin(url: &str) -> String {
    let host_at = url.find("://").map_or(0, |at| at + 3);
    let end = url[host_at..].find(['/', '?', '#']).map_or(url.len(), |at| host_at + at);
    url[..end].to_owned()
}

/// Reads templates of one scenario; collects what is wrong with them.
pub(super) struct Compiler<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) started: bool,
    pub(super) errors: Vec<ScenarioError>,
}

impl Compiler<'_> {
    /// The subscription of a transport. What is refused stands in `errors`.
    pub(super) fn subscribe(
        &mut self,
        key: &str,
        transport: Transport,
        template: &SubscribeTemplate,
    ) -> Option<Subscribe> {
        let before = self.errors.len();
        let remembers = self.scenario.load.cursor || template.cursor.is_none();
        let template = &if remembers { template.clone() } else { super::forgetful::forgetful(template) };
        let url_key = format!("{key}.url");
        let url = self.url(&url_key, &template.url, transport.is_websocket());
        let headers = self.headers(key, &template.headers);
        let text = |i: usize| format!("{key}.after_open[{i}]");
        let after_open: Vec<_> =
            template.after_open.iter().enumerate().filter_map(|(i, t)| self.template(&text(i), t)).collect();
        let peer = template.publish.as_ref().and_then(|t| self.template(&format!("{key}.publish"), t));
        self.misplaced(key, transport, template);
        let cursor = self.cursor(key, transport, template);
        let bayeux = transport.is_bayeux().then(|| self.bayeux(key, template));
        if let Some(every) = template.every.iter().position(|e| e.after.0 == 0) {
            self.errors.push(
                ScenarioError::at(format!("{key}.every[{every}].after"), "a heartbeat needs a period")
                    .found("0s")
                    .accepted("a duration above zero"),
            );
        }
        let url = url?;
        let bayeux = match bayeux {
            Some(read) => Some(read?),
            None => None,
        };

        let mut places: Vec<&Place> = url.path.places().collect();
        places.extend(headers.iter().flat_map(|(_, value)| value.places()));
        places.extend(after_open.iter().flat_map(Template::places));
        // A Bayeux client names its channels in its subscription; a URL may name them too.
        let names_them = bayeux.as_ref().is_some_and(|b| b.channel.names(&Place::Channel));
        self.subscribe_places(&url_key, transport, template.cursor.is_some(), names_them, &places);
        if let Some(peer) = &peer
            && !peer.names(&Place::Message)
        {
            self.errors.push(
                ScenarioError::at(format!("{key}.publish"), "what a client publishes must hold {message}")
                    .found(format!("{:?}", peer.source()))
                    .accepted("a text with {message}, such as \"publish {channel}\\n{message}\""),
            );
        }
        let subscribe = Subscribe {
            host: url.host,
            port: url.port,
            tls: url.tls,
            path: url.path,
            headers,
            subprotocol: template.subprotocol.clone(),
            after_open,
            ready: template.ready.clone(),
            every: template
                .every
                .iter()
                .map(|e| Every { after_ns: e.after.0, send: e.send.clone() })
                .collect(),
            answer: template
                .answer
                .iter()
                .map(|a| Answer { on: a.on.clone(), send: a.send.clone() })
                .collect(),
            cursor,
            // A Bayeux session may hang on a cookie of the server's.
            cookies: self.scenario.target.cookies || transport.is_bayeux(),
            resumes: template.resumes,
            peer,
            bayeux,
        };
        (self.errors.len() == before).then_some(subscribe)
    }

    /// Where publications go.
    pub(super) fn publish(&mut self, key: &str, template: &PublishTemplate) -> Option<Publish> {
        let before = self.errors.len();
        if template.url.is_empty() {
            self.errors.push(super::feed::no_url(key, template.websocket.is_some()));
            return None;
        }
        let url = self.url(&format!("{key}.url"), &template.url, false);
        let headers = self.headers(key, &template.headers);
        let body = self.template(&format!("{key}.body"), &template.body);
        if !header_name_ok(&template.method) {
            self.errors.push(
                ScenarioError::at(format!("{key}.method"), "this is not a request method")
                    .found(format!("{:?}", template.method))
                    .accepted("a method such as POST or PUT"),
            );
        }
        let (url, body) = (url?, body?);
        let found = [("url", template.url.as_str()), ("body", template.body.as_str())];
        self.publication_places(key, found, &url, &headers, &body);
        let publish = Publish {
            method: template.method.clone(),
            host: url.host,
            port: url.port,
            tls: url.tls,
            path: url.path,
            headers,
            body,
            over: Over::Post,
        };
        (self.errors.len() == before).then_some(publish)
    }

    /// A publication names its message and, where there are several, its channel; `given` are the
    /// keys and texts of where it goes and what it says.
    pub(super) fn publication_places(
        &mut self,
        key: &str,
        given: [(&str, &str); 2],
        url: &TargetUrl,
        headers: &[(String, Template)],
        body: &Template,
    ) {
        let [(url_key, url_text), (body_key, body_text)] = given;
        let mut places: Vec<&Place> = url.path.places().chain(body.places()).collect();
        places.extend(headers.iter().flat_map(|(_, value)| value.places()));
        if !body.names(&Place::Message) && !url.path.names(&Place::Message) {
            self.errors.push(
                ScenarioError::at(format!("{key}.{body_key}"), "what is published must hold {message}")
                    .found(format!("{body_text:?}"))
                    .accepted("a template with {message}")
                    .help("the stamp that measures a delivery is part of {message}"),
            );
        }
        if self.channels() > 1 && !places.contains(&&Place::Channel) {
            self.errors.push(
                ScenarioError::at(
                    format!("{key}.{url_key}"),
                    format!("nothing says which of {} channels to publish on", self.channels()),
                )
                .found(format!("{url_text:?}"))
                .accepted("{channel} in the URL, a header or the body"),
            );
        }
        for place in [Place::Channels, Place::Cursor] {
            self.refuse(
                &format!("{key}.{url_key}"),
                &places,
                &place,
                "a publication has none",
                "{channel}, {message}",
            );
        }
    }

    /// A URL; errors go to its key.
    pub(super) fn url(&mut self, key: &str, text: &str, websocket: bool) -> Option<TargetUrl> {
        let url = match TargetUrl::parse(text, websocket) {
            Ok(url) => url,
            Err(UrlError { message, found, accepted, help }) => {
                let error = ScenarioError::at(key, message).found(found).accepted(accepted);
                self.errors.push(ScenarioError { help, ..error });
                return None;
            }
        };
        if !self.started && (url.port.is_none() || url.path.names(&Place::Port)) {
            self.errors.push(
                ScenarioError::at(key, "{port} is only known of a server that pushmark starts")
                    .found("{port}")
                    .accepted("a port number, or [target.process] with start = […]"),
            );
        }
        Some(url)
    }

    pub(super) fn template(&mut self, key: &str, text: &str) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => {
                self.client_fields(key, &template);
                Some(template)
            }
            Err(error) => {
                let names = crate::template::NAMES;
                self.errors.push(
                    ScenarioError::at(key, format!("a template has no place `{{{}}}`", error.found))
                        .found(format!("{{{}}}", error.found))
                        .accepted(places())
                        .nearest(super::nearest(&error.found, names).map(|name| format!("{{{name}}}"))),
                );
                None
            }
        }
    }

    fn client_fields(&mut self, key: &str, template: &Template) {
        let field = template.places().find_map(|place| match place {
            Place::ClientField(name) => Some(name),
            _ => None,
        });
        if let (Some(field), None) = (field, &self.scenario.target.clients) {
            self.errors.push(
                ScenarioError::at(key, format!("{{client.{field}}} has no table to come from"))
                    .found(format!("{{client.{field}}}"))
                    .accepted(format!("clients = \"users.csv\" in [target], a file with a column `{field}`")),
            );
        }
    }

    /// The target's header lines with those of `own`, which win.
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

    fn cursor(&mut self, key: &str, transport: Transport, template: &SubscribeTemplate) -> Cursor {
        let Some(text) = &template.cursor else { return Cursor::None };
        let key = format!("{key}.cursor");
        if transport.is_bayeux() {
            return Cursor::None;
        }
        if transport.is_push() {
            self.errors.push(
                ScenarioError::at(key, format!("`{transport}` keeps one request open, so it has no cursor"))
                    .found(format!("{text:?}"))
                    .accepted("`cursor` under poll or long-poll"),
            );
            return Cursor::None;
        }
        match text.split_once(':') {
            Some(("header", name)) if header_name_ok(name) => Cursor::Header(name.to_ascii_lowercase()),
            Some(("json", pointer)) if pointer.starts_with('/') => Cursor::Json(pointer.to_owned()),
            _ => {
                self.errors.push(
                    ScenarioError::at(key, "this is no place for a cursor to come from")
                        .found(format!("{text:?}"))
                        .accepted("\"header:NAME\", or \"json:/pointer\" into the answer"),
                );
                Cursor::None
            }
        }
    }

    /// Keys that mean nothing on this transport.
    fn misplaced(&mut self, key: &str, transport: Transport, template: &SubscribeTemplate) {
        let messages = [
            ("after_open", !template.after_open.is_empty()),
            ("every", !template.every.is_empty()),
            ("answer", !template.answer.is_empty()),
            ("publish", template.publish.is_some()),
        ];
        let subprotocol = [("subprotocol", !template.subprotocol.is_empty())];
        let resuming = [
            ("ready", template.ready.is_some()),
            ("cursor", template.cursor.is_some()),
            ("resumes", template.resumes),
        ];
        let bayeux =
            [("channel", template.channel.is_some()), ("acknowledge", template.acknowledge.is_some())];
        if transport.is_bayeux() {
            let why = "Bayeux itself says what a client sends and what it is answered";
            let accepted = "`url`, `channel`, `acknowledge`, `headers`";
            self.refuse_keys(key, &messages, why, accepted);
            self.refuse_keys(key, &resuming, why, accepted);
        } else {
            let why = format!("`{transport}` has no Bayeux channels");
            self.refuse_keys(key, &bayeux, &why, "these keys under bayeux or bayeux-websocket");
        }
        if !transport.is_websocket() {
            let why = format!("`{transport}` sends no WebSocket messages");
            let accepted = "`url`, `ready`, `cursor`, `resumes`, `headers`";
            self.refuse_keys(key, &subprotocol, &why, accepted);
            if !transport.is_bayeux() {
                self.refuse_keys(key, &messages, &why, accepted);
            }
        }
    }

    fn refuse_keys(&mut self, key: &str, given: &[(&str, bool)], why: &str, accepted: &str) {
        for (name, _) in given.iter().filter(|(_, given)| *given) {
            let error = ScenarioError::at(format!("{key}.{name}"), why);
            self.errors.push(error.found(format!("`{name}`")).accepted(accepted));
        }
    }

    fn subscribe_places(
        &mut self,
        key: &str,
        transport: Transport,
        has_cursor: bool,
        named: bool,
        places: &[&Place],
    ) {
        let k = self.scenario.subscriptions.per_connection;
        let (one, all) = (places.contains(&&Place::Channel), places.contains(&&Place::Channels));
        if k > 1 && one {
            self.errors.push(
                ScenarioError::at(
                    key,
                    format!("{{channel}} names one channel, but a connection hears {k} (subscriptions.per_connection)"),
                )
                .found("{channel}")
                .accepted("{channels}, all of them joined by commas"),
            );
        } else if self.channels() > 1 && !one && !all && !named {
            self.errors.push(
                ScenarioError::at(
                    key,
                    format!("nothing says which of {} channels a client hears", self.channels()),
                )
                .accepted("{channel} or {channels} in the URL, a header or a message after open"),
            );
        }
        self.refuse(key, places, &Place::Message, "a subscription has no message", "{channel}, {channels}");
        if !transport.is_push() && !has_cursor && places.contains(&&Place::Cursor) {
            self.errors.push(
                ScenarioError::at(key, "{cursor} is used, but nothing says where it comes from")
                    .found("{cursor}")
                    .accepted("cursor = \"header:NAME\" or cursor = \"json:/pointer\" beside the url"),
            );
        }
    }

    fn refuse(&mut self, key: &str, places: &[&Place], place: &Place, why: &str, accepted: &str) {
        if places.contains(&place) {
            let name = format!("{{{}}}", format!("{place:?}").to_lowercase());
            let error = ScenarioError::at(key, format!("{name} has no meaning here: {why}"));
            self.errors.push(error.found(name).accepted(accepted));
        }
    }

    pub(super) fn channels(&self) -> u64 {
        self.scenario.subscriptions.channels_of(self.scenario.load.connections)
    }
}
