//! `[target]`: a server by name, or any system by templates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::before::BeforeSpec;
use super::plain::{self, Plain};
use super::publisher::Over;
use super::stamp::StampTemplate;
use super::steps::{StepSpec, WaitSpec};
use super::text_or_table::{FromText, TextOr, read_list, read_option};
use super::tls::TlsSpec;
use crate::transport::Transport;
use crate::units::Nanos;

/// The target: either `server`, or templates under `subscribe`.
///
/// Templates may name `{channel}` (the one channel of a connection), `{channels}` (all of them,
/// joined by commas), `{client}` (the client's number), `{client.NAME}` (a column of `clients`),
/// `{cursor}`, `{hold_ms}`, `{port}` (of a server that pushmark starts), `{message}`, `{uuid}` (another each
/// time), `{seq}` (1, 2, 3 in each thread of the generator), `{capture.NAME}` (from an answer or a message) and `{secret.NAME}`
/// (from the environment, `PUSHMARK_SECRET_NAME`, or the file of `secrets`; never written to results).
/// A place that has no value in a text is an error. `{{channel}}` is the literal text `{channel}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Target {
    /// A server of `pushmark servers list`, started again for every arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Additional arguments for the server's command, such as known-answer faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Flags of the server that replace the defaults of its row, such as `heap = "2400m"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain::read")]
    #[schemars(with = "BTreeMap<String, Plain>")]
    pub flags: BTreeMap<String, String>,
    /// Port of a server that pushmark starts. Default: a free one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Whether the server logs its requests. Default: unchanged, which is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
    /// Forces a garbage collection in the middle of drain and reports the heap that is still in use. Only a JVM
    /// that pushmark starts, with a log of its collections in `{log}`. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub live_heap: bool,
    /// A CSV file of client identities, its path relative to the scenario; client i uses row i modulo rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
    /// A file with a line NAME=VALUE for each `{secret.NAME}`, its path relative to the scenario; the environment (`PUSHMARK_SECRET_NAME`) wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<String>,
    /// Header lines of every request: a template per name. Secrets in them are not written to results.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Cookies are kept per client and sent back. Default: false.
    pub cookies: bool,
    /// Bayeux clients ask for the acknowledge extension, which guarantees order and redelivery. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acknowledge: bool,
    /// TLS settings for `https` and `wss` URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// Requests that each client makes, in order, before it subscribes: to log in, or to negotiate. They are made again before each new subscription.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<BeforeSpec>,
    /// How clients of each transport subscribe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<SubscribeSet>,
    /// How a message is published. Without it the target is only observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<PublishTemplate>,
    /// Lets pushmark start, watch and stop the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessTemplate>,
    /// Timestamps in messages: where an observed target puts its timestamps, or how it encodes pushmark's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<StampTemplate>,
}

/// How clients subscribe, by transport: a URL template, or a table with one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubscribeSet {
    /// Polling: the client requests the latest state at fixed instants (http or https).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub poll: Option<SubscribeTemplate>,
    /// Long polling: the server holds a request until there is a message; the client then requests again at once (http or https).
    #[serde(rename = "long-poll", skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub long_poll: Option<SubscribeTemplate>,
    /// Bayeux over long polling (http or https).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub bayeux: Option<SubscribeTemplate>,
    /// HTTP streaming: one HTTP response that does not end (http or https).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub stream: Option<SubscribeTemplate>,
    /// Server-Sent Events (http or https).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub sse: Option<SubscribeTemplate>,
    /// WebSocket (ws or wss).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub websocket: Option<SubscribeTemplate>,
    /// Bayeux over WebSocket (ws or wss).
    #[serde(
        rename = "bayeux-websocket",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_option"
    )]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub bayeux_websocket: Option<SubscribeTemplate>,
}

impl SubscribeSet {
    /// Returns the template of a transport.
    pub fn of(&self, transport: Transport) -> Option<&SubscribeTemplate> {
        match transport {
            Transport::Poll => self.poll.as_ref(),
            Transport::LongPoll => self.long_poll.as_ref(),
            Transport::Bayeux => self.bayeux.as_ref(),
            Transport::Stream => self.stream.as_ref(),
            Transport::Sse => self.sse.as_ref(),
            Transport::WebSocket => self.websocket.as_ref(),
            Transport::BayeuxWebSocket => self.bayeux_websocket.as_ref(),
        }
    }

    /// Returns the slot of a transport's template.
    pub fn of_mut(&mut self, transport: Transport) -> &mut Option<SubscribeTemplate> {
        match transport {
            Transport::Poll => &mut self.poll,
            Transport::LongPoll => &mut self.long_poll,
            Transport::Bayeux => &mut self.bayeux,
            Transport::Stream => &mut self.stream,
            Transport::Sse => &mut self.sse,
            Transport::WebSocket => &mut self.websocket,
            Transport::BayeuxWebSocket => &mut self.bayeux_websocket,
        }
    }

    /// Returns the transports that have a template, in display order.
    pub fn transports(&self) -> Vec<Transport> {
        Transport::ALL.into_iter().filter(|t| self.of(*t).is_some()).collect()
    }
}

/// How clients of one transport subscribe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscribeTemplate {
    /// URL template: `http://HOST:PORT/PATH?channel={channel}`, `ws://…` for WebSocket; `https` and `wss` over TLS.
    pub url: String,
    /// Request method. Default: GET, or POST with a `body`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Body of the request (a template). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// An answer that ends in order is a planned end, not a lost connection (stream and sse). Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    /// WebSocket subprotocol to offer. Default: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subprotocol: String,
    /// Offer to inflate compressed WebSocket messages (permessage-deflate): "on", or `{ context_takeover = false, window_bits = 12 }`. Default: not offered.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<DeflateSpec>>")]
    pub deflate: Option<DeflateSpec>,
    /// WebSocket messages sent after open, in order (templates; binary: `hex: …` or `base64: …`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_open: Vec<String>,
    /// The conversation that subscribes, in order: `["40", { wait = "40{" }]`. A text is sent over the WebSocket; a stream or sse makes a `request` in its place. The subscription is confirmed by the last step, or by `ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "read_list")]
    #[schemars(with = "Vec<TextOr<StepSpec>>")]
    pub steps: Vec<StepSpec>,
    /// Text whose arrival confirms the subscription. Default: the response head, the 101, or the last of `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// WebSocket messages to send periodically: `{ after = "25s", send = "ping" }`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub every: Vec<EverySpec>,
    /// WebSocket messages to send when exactly `on` arrives, as a text or a binary message: `{ on = "2", send = "3" }`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<AnswerSpec>,
    /// Character that divides a WebSocket message, or an answer of a long poll, into parts, such as "\n" or "\u001e": `answer` and `respond` then compare each part. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// Requests to make after certain answers, such as heartbeats (long-poll): `[{ on = "2", request = { url = "…", body = "3" } }]`. The next poll waits for their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub respond: Vec<RespondSpec>,
    /// Messages that are no publications, such as presences: a text that they contain, or a table such as `{ prefix = "<presence" }`. They are not told as messages without a stamp (websocket, stream and sse). The beginning of a message is compared. Default: none is known.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<WaitSpec>>")]
    pub ignore: Option<WaitSpec>,
    /// Source of the next `{cursor}` in an answer: `header:NAME` or `json:/pointer` (poll and long-poll).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// An answer contains all messages since the cursor, not only the latest (poll). Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumes: bool,
    /// Header lines of this transport's requests, in addition to those of the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// WebSocket text with which a client publishes; must name `{message}` (publisher mode `peer`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<String>,
    /// Bayeux channel for a channel (template). Default: `/{channel}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Bayeux: whether to ask for the acknowledge extension. Default: `acknowledge` of `[target]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledge: Option<bool>,
}

impl FromText for SubscribeTemplate {
    const ACCEPTED: &'static str = "a URL template, or a table with `url`";
    fn from_text(text: &str) -> Option<SubscribeTemplate> {
        Some(SubscribeTemplate { url: text.to_owned(), ..SubscribeTemplate::default() })
    }
}

/// An offer to inflate compressed WebSocket messages (permessage-deflate, RFC 7692). Clients send theirs as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeflateSpec {
    /// A message may refer to earlier ones. It compresses better, and each client keeps a window. Default: true.
    pub context_takeover: bool,
    /// The server's window has 2^N bytes at most, 9 to 15. Default: as the server likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_bits: Option<u8>,
}

impl Default for DeflateSpec {
    fn default() -> DeflateSpec {
        DeflateSpec { context_takeover: true, window_bits: None }
    }
}

impl FromText for DeflateSpec {
    const ACCEPTED: &'static str =
        "\"on\", or a table such as { context_takeover = false, window_bits = 12 }";
    fn from_text(text: &str) -> Option<DeflateSpec> {
        (text == "on").then(DeflateSpec::default)
    }
}

/// A periodic WebSocket message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EverySpec {
    /// Its period.
    pub after: Nanos,
    /// Its text (a template).
    pub send: String,
}

/// A fixed answer to a fixed WebSocket message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// The whole message to answer, or, with `separator`, a part of one.
    pub on: String,
    /// The answer (a template).
    pub send: String,
}

/// A request to make after a certain answer of a long poll.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RespondSpec {
    /// The whole answer, or, with `separator`, a part of one.
    pub on: String,
    /// The request, with the keys of `[[target.before]]`.
    pub request: BeforeSpec,
}

/// How a message is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishTemplate {
    /// Request method. Default: POST.
    #[serde(default = "post")]
    pub method: String,
    /// URL template (http or https). Optional if `websocket` or `command` is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Header lines, a template per name, in addition to those of the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body template; must name `{message}`. Default: `{message}`.
    #[serde(default = "message")]
    pub body: String,
    /// How to publish over a WebSocket that stays open (publisher.over = "websocket").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<FeedTemplate>,
    /// How to publish with a command that takes a line for each message (publisher.over = "command").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandTemplate>,
}

/// A command that publishes: a process that stays, and takes a line for each message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandTemplate {
    /// Program and arguments; may name `{port}`. It is started `publisher.connections` times; each channel uses one of these processes.
    pub start: Vec<String>,
    /// Line of a publication, without its end; must name `{message}`. Default: `{message}`.
    #[serde(default = "message")]
    pub line: String,
    /// Text of its output after which it takes lines. Default: it takes them at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Additional environment variables (templates).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Working folder. Default: the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

impl PublishTemplate {
    /// Returns how messages are published if the scenario does not say: by post, unless the target has another way
    /// alone.
    pub(crate) fn way(&self) -> Over {
        match (&self.websocket, &self.command) {
            _ if !self.url.is_empty() => Over::Post,
            (Some(_), _) => Over::WebSocket,
            (None, Some(_)) => Over::Command,
            (None, None) => Over::Post,
        }
    }
}

/// How messages are published over a WebSocket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedTemplate {
    /// URL template (ws or wss). It is opened `publisher.connections` times; each channel uses one of these connections. `{feed}` is the number of a connection, from 0.
    pub url: String,
    /// Text of a publication; must name `{message}`. Default: `{message}`.
    #[serde(default = "message")]
    pub text: String,
    /// WebSocket subprotocol to offer. Default: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subprotocol: String,
    /// Messages to send after open, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_open: Vec<String>,
    /// Messages to send periodically while the feed stands: `[{ after = "5s", send = "…" }]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub every: Vec<EverySpec>,
    /// Messages to answer when exactly `on` arrives: `{ on = "PING", send = "PONG\r\n" }`; used as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<AnswerSpec>,
    /// Character that divides a message into parts, each of which may be one to answer. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// Text whose arrival allows the feed to begin. Default: the 101.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Messages by which the target refuses a publication: a text that they contain, or a table such as `{ prefix = "ERROR" }`. Each is counted, and the first is told. Default: none is known.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<WaitSpec>>")]
    pub refused: Option<WaitSpec>,
}

fn post() -> String {
    "POST".to_owned()
}

fn message() -> String {
    "{message}".to_owned()
}

/// A target that pushmark starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessTemplate {
    /// Command and arguments; may name `{port}` and `{log}`, a folder whose files are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<String>,
    /// In place of `start`: a command of the monitor beside the server, by its name in the file that the monitor was
    /// started with (`pushmark monitor --commands FILE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// URL (http or https) that answers 2xx once the target is ready. Default: ready if the port accepts connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Command that stops it. Default: SIGTERM to its process group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// Working folder, relative to the scenario. Default: the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Additional environment variables (templates); may name `{port}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl ProcessTemplate {
    /// A command of a monitor, by its name there.
    pub(super) fn of_monitor(name: &str) -> ProcessTemplate {
        ProcessTemplate { monitor: Some(name.to_owned()), ..ProcessTemplate::default() }
    }
}

impl Target {
    /// Returns whether any URL of the target uses TLS. Reference servers do not.
    pub(super) fn uses_tls(&self) -> bool {
        let subscribe = self.subscribe.iter();
        let subscribed = subscribe.flat_map(|set| set.transports().into_iter().filter_map(|t| set.of(t)));
        let published = self.publish.iter();
        let sets = self.subscribe.iter();
        let steps = sets.flat_map(|set| set.transports().into_iter().filter_map(|t| set.of(t)));
        let beside = steps.flat_map(|template| &template.steps).filter_map(|step| step.request.as_ref());
        let before = self.before.iter().chain(beside).map(|request| &request.url);
        let subscribed = before.chain(subscribed.map(|template| &template.url));
        let mut urls = subscribed.chain(published.clone().map(|p| &p.url));
        let ready = self.process.iter().filter_map(|process| process.ready.as_ref());
        let mut others = published.filter_map(|p| p.websocket.as_ref()).map(|feed| &feed.url).chain(ready);
        let secure = |url: &String| {
            let scheme = url.split("://").next().unwrap_or_default();
            scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("wss")
        };
        urls.any(secure) || others.any(secure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_target_is_ready_can_be_asked_over_tls_alone() {
        let refused = |scheme: &str| {
            let text = format!(
                "[subscribe]\nsse = \"http://h/sse\"\n[tls]\ninsecure = true\n\
                 [process]\nstart = [\"x\"]\nready = \"{scheme}://h/health\"\n"
            );
            !toml::from_str::<Target>(&text).unwrap().uses_tls()
        };
        assert!(!refused("https") && refused("http"));
    }
}
