//! Compiles how clients subscribe and how messages are published.
//!
//! The same code serves servers of the registry and targets described in the scenario, so that both get the
//! same checks.

use super::compiler::{Compiler, header_name_ok};
use super::error::ScenarioError;
use super::places::as_it_is;
use super::target::{PublishTemplate, SubscribeTemplate};
use super::url::TargetUrl;
use crate::message::Message;
use crate::plan::{Answer, Cursor, Deflate, Over, Publish, Subscribe};
use crate::template::{Place, Template};
use crate::transport::Transport;

impl Compiler<'_> {
    /// Compiles the subscription of a transport. Adds mistakes to `errors`.
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
        let method = self.method(key, template);
        let body = template.body.as_ref().and_then(|text| self.message(&format!("{key}.body"), text));
        let after_open = self.messages(template.after_open.iter(), |i| format!("{key}.after_open[{i}]"));
        let steps = self.steps(key, template);
        let separator = self.separator(key, template.separator.as_deref());
        let deflate = self.deflate(key, template);
        let every = self.every(key, &template.every);
        let answers =
            self.messages(template.answer.iter().map(|a| &a.send), |i| format!("{key}.answer[{i}].send"));
        let peer = template.publish.as_ref().and_then(|t| self.message(&format!("{key}.publish"), t));
        let heartbeats = self.heartbeats(key, &template.answer, separator);
        let respond = self.respond(key, &template.respond, separator);
        let known = self.known_before();
        let path = url.iter().flat_map(|url| url.path.places());
        self.captured(&url_key, path, &known);
        for (name, value) in &headers {
            let key = format!("{key}.headers.{}", super::source::join(&[name]));
            self.captured(&key, value.places(), &known);
        }
        self.captured(&format!("{key}.body"), body.iter().flat_map(Message::places), &known);
        let answered =
            template.steps.iter().flat_map(|step| &step.request).flat_map(|asked| asked.capture.keys());
        let taken = template.steps.iter().flat_map(|step| step.capture.keys()).chain(answered);
        let captured: Vec<&str> = known.into_iter().chain(taken.map(String::as_str)).collect();
        for (n, sent) in every.iter().enumerate() {
            self.captured(&format!("{key}.every[{n}].send"), sent.send.places(), &captured);
        }
        for (n, sent) in answers.iter().enumerate() {
            self.captured(&format!("{key}.answer[{n}].send"), sent.places(), &captured);
        }
        self.captured(&format!("{key}.publish"), peer.iter().flat_map(Message::places), &captured);
        self.misplaced(key, transport, template);
        for (n, respond) in respond.iter().enumerate() {
            for (at, place) in respond.request.places() {
                let key = format!("{key}.respond[{n}].request.{at}");
                self.captured(&key, std::iter::once(place), &captured);
            }
        }
        let ignore = self.like(&format!("{key}.ignore"), template.ignore.as_ref());
        let cursor = self.cursor(key, transport, template);
        let bayeux = transport.is_bayeux().then(|| self.bayeux(key, template));
        self.raw_line(key, transport, template);
        let url = url?;
        let bayeux = match bayeux {
            Some(read) => Some(read?),
            None => None,
        };

        let requested = url.path.places().chain(headers.iter().flat_map(|(_, value)| value.places()));
        let requested = requested.chain(body.iter().flat_map(Message::places));
        let mut places: Vec<&Place> = requested.collect();
        if places.contains(&&Place::Cursor) {
            self.cursor_comes(&url_key, transport, template.cursor.is_some());
        }
        let sent = steps.iter().filter_map(|step| step.send.as_ref());
        let beside = steps.iter().filter_map(|step| step.request.as_ref());
        places.extend(beside.flat_map(|request| request.places().map(|(_, place)| place)));
        places.extend(
            sent.chain(&after_open)
                .chain(every.iter().map(|one| &one.send))
                .chain(&answers)
                .flat_map(Message::places),
        );
        // A Bayeux client names its channels in its subscription; a URL may name them too.
        let names_them = bayeux.as_ref().is_some_and(|b| b.channel.names(&Place::Channel));
        self.subscribe_places(&url_key, names_them, &places);
        if let Some(peer) = &peer
            && !peer.names(&Place::Message)
        {
            self.errors.push(
                ScenarioError::at(format!("{key}.publish"), "a client's publication must contain {message}")
                    .found(format!("{:?}", peer.source()))
                    .accepted("a text with {message}, such as \"publish {channel}\\n{message}\""),
            );
        }
        if let Some(peer) = &peer {
            self.room(&format!("{key}.publish"), peer);
        }
        let subscribe = Subscribe {
            host: url.host,
            port: url.port,
            tls: url.tls,
            method,
            path: url.path,
            headers,
            body,
            ends: template.ends,
            subprotocol: as_it_is(&template.subprotocol),
            deflate,
            after_open,
            steps,
            separator,
            ready: template.ready.as_deref().map(as_it_is),
            every,
            answer: heartbeats.into_iter().zip(answers).map(|(on, send)| Answer { on, send }).collect(),
            respond,
            ignore,
            cursor,
            // A Bayeux session may depend on a cookie from the server.
            cookies: self.scenario.target.cookies || transport.is_bayeux(),
            resumes: template.resumes,
            peer,
            bayeux,
        };
        (self.errors.len() == before).then_some(subscribe)
    }

    /// Compiles the endpoint of publications.
    pub(super) fn publish(&mut self, key: &str, template: &PublishTemplate) -> Option<Publish> {
        let before = self.errors.len();
        if template.url.is_empty() {
            self.errors.push(no_url(key, template));
            return None;
        }
        let url = self.url(&format!("{key}.url"), &template.url, false);
        let headers = self.headers(key, &template.headers);
        let body = self.message(&format!("{key}.body"), &template.body);
        self.checked_method(key, &template.method);
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

    /// Returns the offer to inflate compressed messages.
    fn deflate(&mut self, key: &str, template: &SubscribeTemplate) -> Option<Deflate> {
        let spec = template.deflate?;
        if spec.window_bits.is_some_and(|bits| !(9..=15).contains(&bits)) {
            self.errors.push(
                ScenarioError::at(format!("{key}.deflate.window_bits"), "no window has this size")
                    .found(spec.window_bits.unwrap_or_default())
                    .accepted("9 to 15: 512 B to 32 KiB"),
            );
        }
        Some(Deflate { no_context_takeover: !spec.context_takeover, window_bits: spec.window_bits })
    }

    /// Checks that the groups of a binary publication have room for the payloads.
    fn room(&mut self, key: &str, message: &Message) {
        let longest = self.scenario.publisher.as_ref().map_or(0, |p| p.size.high.0);
        if longest > message.payload_max() {
            self.errors.push(
                ScenarioError::at(key, "the length of a group is too small a number for the payload in it")
                    .found(format!("payloads of up to {longest} bytes"))
                    .accepted(format!(
                        "at most {} bytes (publisher.size), or a wider length",
                        message.payload_max()
                    )),
            );
        }
    }

    /// Returns the method of a subscription's request.
    fn method(&mut self, key: &str, template: &SubscribeTemplate) -> String {
        let default = if template.body.is_some() { "POST" } else { "GET" };
        let method = template.method.clone().unwrap_or_else(|| default.to_owned());
        self.checked_method(key, &method);
        method
    }

    pub(super) fn checked_method(&mut self, key: &str, method: &str) {
        if !header_name_ok(method) {
            self.errors.push(
                ScenarioError::at(format!("{key}.method"), "this is not a request method")
                    .found(format!("{method:?}"))
                    .accepted("a method such as POST or PUT"),
            );
        }
    }

    /// Checks that a publication names its message and, if there are several channels, its channel. `given`
    /// are the keys and texts of its URL and body.
    pub(super) fn publication_places(
        &mut self,
        key: &str,
        given: [(&str, &str); 2],
        url: &TargetUrl,
        headers: &[(String, Template)],
        body: &Message,
    ) {
        let [(url_key, url_text), (body_key, body_text)] = given;
        let mut places: Vec<&Place> = url.path.places().chain(body.places()).collect();
        places.extend(headers.iter().flat_map(|(_, value)| value.places()));
        if !body.names(&Place::Message) && !url.path.names(&Place::Message) {
            self.errors.push(
                ScenarioError::at(format!("{key}.{body_key}"), "a publication must contain {message}")
                    .found(format!("{body_text:?}"))
                    .accepted("a template with {message}")
                    .help("the stamp that measures a delivery is part of {message}"),
            );
        }
        self.room(&format!("{key}.{body_key}"), body);
        if self.channels() > 1 && !places.contains(&&Place::Channel) {
            self.errors.push(
                ScenarioError::at(
                    format!("{key}.{url_key}"),
                    format!("the template does not say which of {} channels to publish on", self.channels()),
                )
                .found(format!("{url_text:?}"))
                .accepted("{channel} in the URL, a header or the body"),
            );
        }
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
                    ScenarioError::at(key, "this is not a valid source of a cursor")
                        .found(format!("{text:?}"))
                        .accepted("\"header:NAME\", or \"json:/pointer\" into the answer"),
                );
                Cursor::None
            }
        }
    }

    /// Reports a `ready` that is a raw line of an event stream: values are compared.
    fn raw_line(&mut self, key: &str, transport: Transport, template: &SubscribeTemplate) {
        let Some(ready) = template.ready.as_ref().filter(|_| transport == Transport::Sse) else { return };
        let Some(value) = ["data:", "event:"].iter().find_map(|field| ready.strip_prefix(field)) else {
            return;
        };
        self.errors.push(
            ScenarioError::at(
                format!("{key}.ready"),
                "this is compared with an event's name, its data and comments, not with whole lines",
            )
            .found(format!("{ready:?}"))
            .accepted(format!("{:?}", value.trim_start())),
        );
    }

    /// Reports keys that have no effect on this transport.
    fn misplaced(&mut self, key: &str, transport: Transport, template: &SubscribeTemplate) {
        let divides = transport == Transport::LongPoll && !template.respond.is_empty();
        let messages = [
            ("after_open", !template.after_open.is_empty()),
            ("separator", template.separator.is_some() && !divides),
            ("deflate", template.deflate.is_some()),
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
        let request = [("method", template.method.is_some()), ("body", template.body.is_some())];
        if transport.is_bayeux() || transport.is_websocket() {
            let why = format!("`{transport}` defines its own requests");
            self.refuse_keys(key, &request, &why, "these keys under poll, long-poll, stream or sse");
        }
        if transport != Transport::LongPoll {
            let why = format!("`{transport}` has no answer after which a client asks again");
            let given = [("respond", !template.respond.is_empty())];
            self.refuse_keys(key, &given, &why, "`respond` under long-poll, or `answer` under websocket");
        }
        if !matches!(transport, Transport::Stream | Transport::Sse) {
            let why = match transport.is_push() {
                true => format!("a connection of `{transport}` that ends is lost"),
                false => format!("every answer of `{transport}` ends"),
            };
            self.refuse_keys(key, &[("ends", template.ends)], &why, "`ends` under stream or sse");
        }
        if transport.is_bayeux() {
            let why = "Bayeux defines what a client sends and receives";
            let accepted = "`url`, `channel`, `acknowledge`, `headers`";
            self.refuse_keys(key, &messages, why, accepted);
            self.refuse_keys(key, &resuming, why, accepted);
        } else {
            let why = format!("`{transport}` has no Bayeux channels");
            self.refuse_keys(key, &bayeux, &why, "these keys under bayeux or bayeux-websocket");
        }
        let talks = transport.is_push() && !transport.is_bayeux();
        if !talks {
            let why = format!("pushmark reads the answers of `{transport}` itself");
            let accepted = "`ignore` under stream, sse or websocket";
            self.refuse_keys(key, &[("ignore", template.ignore.is_some())], &why, accepted);
            let why = format!("no connection of `{transport}` stays open for a conversation");
            let why =
                if transport.is_bayeux() { "Bayeux defines what a client sends and receives" } else { &why };
            let accepted = "`steps` under stream, sse or websocket; or [[target.before]]";
            self.refuse_keys(key, &[("steps", !template.steps.is_empty())], why, accepted);
        }
        if !transport.is_websocket() {
            let why = format!("`{transport}` sends no WebSocket messages");
            for (n, _) in template.steps.iter().enumerate().filter(|(_, step)| talks && step.send.is_some()) {
                let key = format!("{key}.steps[{n}]");
                self.refuse_keys(&key, &[("send", true)], &why, "`request`, `wait`, `capture`");
            }
            let accepted = match talks {
                true => "`url`, `method`, `body`, `steps`, `ready`, `ends`, `ignore`, `headers`",
                false => "`url`, `method`, `body`, `cursor`, `resumes`, `respond`, `headers`",
            };
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

    fn subscribe_places(&mut self, key: &str, named: bool, places: &[&Place]) {
        let k = self.scenario.subscriptions.per_connection;
        let (one, all) = (places.contains(&&Place::Channel), places.contains(&&Place::Channels));
        if k > 1 && one {
            self.errors.push(
                ScenarioError::at(
                    key,
                    format!("{{channel}} names one channel, but a connection subscribes to {k} (subscriptions.per_connection)"),
                )
                .found("{channel}")
                .accepted("{channels}, all of them joined by commas"),
            );
        } else if self.channels() > 1 && !one && !all && !named {
            self.errors.push(
                ScenarioError::at(key, format!("the template names none of {} channels", self.channels()))
                    .accepted("{channel} or {channels} in the URL, a header line, the body, or one of `steps` or `after_open`"),
            );
        }
    }

    /// Checks that a request that names a cursor has one.
    fn cursor_comes(&mut self, key: &str, transport: Transport, has_cursor: bool) {
        let error = |message: String| ScenarioError::at(key, message).found("{cursor}");
        if transport.is_bayeux() || matches!(transport, Transport::Stream | Transport::WebSocket) {
            self.errors.push(
                error(format!("{{cursor}} has no meaning here: `{transport}` has none"))
                    .accepted("{cursor} under poll, long-poll or sse"),
            );
        } else if !transport.is_push() && !has_cursor {
            self.errors.push(
                error("{cursor} is used, but its source is not set".to_owned())
                    .accepted("cursor = \"header:NAME\" or cursor = \"json:/pointer\" beside the url"),
            );
        }
    }
}

/// Reports that `[target.publish]` has no URL.
fn no_url(key: &str, template: &PublishTemplate) -> ScenarioError {
    let error = ScenarioError::at(key, "[target.publish] has no `url` to post messages to")
        .accepted("url = \"http://HOST:PORT/PATH?channel={channel}\"");
    match (&template.websocket, &template.command) {
        (Some(_), _) => error.help("or publish over its WebSocket: publisher.over = \"websocket\""),
        (None, Some(_)) => error.help("or publish with its command: publisher.over = \"command\""),
        (None, None) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Endpoints, Scenario};
    use super::*;

    /// Compiles the subscription of a transport.
    fn compiled(transport: Transport, keys: &str) -> Result<Subscribe, Vec<String>> {
        let scheme = if transport.is_websocket() { "ws" } else { "http" };
        let text = format!("[target.subscribe.{transport}]\nurl = \"{scheme}://h:1/\"\n{keys}\n");
        let told = |errors: Vec<ScenarioError>| -> Vec<String> {
            errors.into_iter().map(|e| format!("{}: {}", e.key, e.message)).collect()
        };
        let (scenario, _) = Scenario::parse(&text, &[]).map_err(told)?;
        let endpoints = Endpoints::of_target(&scenario.target).unwrap();
        let mut compiler = Compiler { scenario: &scenario, errors: Vec::new() };
        let subscribe = compiler.subscribe("k", transport, endpoints.subscribe.of(transport).unwrap());
        subscribe.ok_or_else(|| told(compiler.errors))
    }

    #[test]
    fn a_body_is_posted_unless_a_method_says_otherwise() {
        let method = |keys: &str| compiled(Transport::Stream, keys).unwrap().method;
        assert_eq!(method(""), "GET");
        assert_eq!(method("body = \"{channel}\""), "POST");
        assert_eq!(method("method = \"PUT\"\nbody = \"x\""), "PUT");
        let body = compiled(Transport::LongPoll, "body = '{\"channels\":[\"{channels}\"],\"ms\":{hold_ms}}'")
            .unwrap()
            .body;
        assert_eq!(body.unwrap().places().count(), 2);
    }

    #[test]
    fn keys_of_a_request_are_for_requests_and_ends_are_for_streams() {
        for (transport, keys, key) in [
            (Transport::WebSocket, "method = \"POST\"", "method"),
            (Transport::WebSocket, "body = \"x\"", "body"),
            (Transport::Bayeux, "method = \"POST\"", "method"),
            (Transport::WebSocket, "ends = true", "ends"),
            (Transport::LongPoll, "ends = true", "ends"),
            (Transport::Sse, "separator = \",\"", "separator"),
            (Transport::Sse, "steps = [\"x\"]", "steps[0].send"),
            (Transport::LongPoll, "steps = [{ wait = \"x\" }]", "steps"),
            (Transport::Bayeux, "steps = [\"x\"]", "steps"),
            (Transport::Sse, "method = \"a b\"", "method"),
            (Transport::LongPoll, "separator = \",\"", "separator"),
            (Transport::LongPoll, "ignore = \"x\"", "ignore"),
            (Transport::Sse, "ignore = { prefix = \"x\", timeout = \"1s\" }", "ignore.timeout"),
            (Transport::Sse, "ignore = {}", "ignore"),
            (Transport::Sse, "ready = \"data: hello\"", "ready"),
            (Transport::Sse, "respond = [{ on = \"2\", request = { url = \"http://h:1/\" } }]", "respond"),
            (
                Transport::LongPoll,
                "respond = [{ on = \"2\", request = { url = \"http://h:1/{capture.x}\" } }]",
                "respond[0].request.url",
            ),
            (
                Transport::LongPoll,
                "separator = \",\"\nrespond = [{ on = \"a,b\", request = { url = \"http://h:1/\" } }]",
                "respond[0].on",
            ),
            (Transport::WebSocket, "separator = \"ab\"", "separator"),
            (Transport::WebSocket, "answer = [{ on = \"\", send = \"x\" }]", "answer[0].on"),
            (
                Transport::WebSocket,
                "separator = \"\\n\"\nanswer = [{ on = \"a\\nb\", send = \"x\" }]",
                "answer[0].on",
            ),
        ] {
            let errors = compiled(transport, keys).unwrap_err();
            let at = format!("target.subscribe.{transport}.{key}: ");
            assert!(errors.len() == 1 && errors[0].starts_with(&at), "{transport} {keys}: {errors:?}");
        }
        assert!(compiled(Transport::Sse, "ends = true").unwrap().ends);
        assert_eq!(compiled(Transport::Sse, "ready = \"hello\"").unwrap().ready.as_deref(), Some("hello"));
        let keys = "separator = \",\"\nrespond = [{ on = \"2,\", request = { url = \"http://h:1/\", body = \"3\" } }]";
        let respond = compiled(Transport::LongPoll, keys).unwrap().respond;
        assert_eq!((respond[0].on.source(), &*respond[0].request.method), ("2", "POST"));
    }

    #[test]
    fn what_is_answered_is_compared_without_its_separator() {
        let on = |keys: &str| {
            let answer = compiled(Transport::WebSocket, keys).unwrap().answer;
            answer[0].on.rendered(&Default::default())
        };
        assert_eq!(on("answer = [{ on = \"PING\\r\\n\", send = \"x\" }]"), b"PING\r\n");
        assert_eq!(on("separator = \"\\n\"\nanswer = [{ on = \"PING\\r\\n\", send = \"x\" }]"), b"PING");
        assert_eq!(on("separator = \"\\u001e\"\nanswer = [{ on = \"{}\\u001e\", send = \"x\" }]"), b"{}");
        assert_eq!(on("answer = [{ on = \"hex: c0 00\", send = \"x\" }]"), [0xc0, 0]);
    }
}
