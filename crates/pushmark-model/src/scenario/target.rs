//! `[target]`: a server by name, or any system by templates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feed::FeedTemplate;
use super::plain::{self, Plain};
use super::text_or_table::{FromText, TextOr, read_option};
use super::tls::TlsSpec;
use crate::transport::Transport;
use crate::units::Nanos;

/// What is measured: either `server`, or templates under `subscribe`.
///
/// Templates may name `{channel}` (the one channel of a connection), `{channels}` (all of them,
/// comma-joined), `{client}` (the client's number), `{client.NAME}` (a column of `clients`),
/// `{cursor}`, `{hold_ms}`, `{port}` (of a server pushmark starts) and `{message}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Target {
    /// A server of `pushmark servers list`, started fresh for every arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// More arguments for that server's command: options of its own, such as known-answer faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Flags of that server beside the defaults of its row, such as `heap = "2400m"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain::read")]
    #[schemars(with = "BTreeMap<String, Plain>")]
    pub flags: BTreeMap<String, String>,
    /// Port that a server pushmark starts listens on. Default: a free one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Whether that server logs its requests meanwhile. Default: as it starts, which is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
    /// A CSV file of client identities, its path relative to the scenario; client i uses row i modulo rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
    /// Header lines of every request, name to template. Secrets among them are not written to results.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Cookies are kept per client and sent back. Default: false.
    pub cookies: bool,
    /// Clients of Bayeux ask for the acknowledge extension, which promises order and redelivery. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acknowledge: bool,
    /// How `https` and `wss` URLs are met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// How clients of each transport subscribe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<SubscribeSet>,
    /// How a message is published. Without it the target is only observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<PublishTemplate>,
    /// Lets pushmark start, watch and stop the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessTemplate>,
    /// The target's own timestamps in its messages: latency without knowing what was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<StampTemplate>,
}

/// How clients subscribe, by transport: a URL template, or a table with one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubscribeSet {
    /// Asked for the latest state on a fixed grid of instants (http or https).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub poll: Option<SubscribeTemplate>,
    /// Asked, held until there is news, asked again at once (http or https).
    #[serde(rename = "long-poll", skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub long_poll: Option<SubscribeTemplate>,
    /// Bayeux over long polling (http or https).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<SubscribeTemplate>>")]
    pub bayeux: Option<SubscribeTemplate>,
    /// One HTTP response without end (http or https).
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
    /// The template of a transport.
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

    /// The place of a transport's template.
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

    /// The transports that have a template, in display order.
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
    /// WebSocket subprotocol to offer. Default: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subprotocol: String,
    /// WebSocket messages sent after open, in order (templates).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_open: Vec<String>,
    /// Text whose arrival says that the subscription stands. Default: the response head, or the 101.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// WebSocket messages sent periodically: `{ after = "25s", send = "ping" }`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub every: Vec<EverySpec>,
    /// WebSocket messages answered when exactly `on` arrives: `{ on = "2", send = "3" }`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer: Vec<AnswerSpec>,
    /// Where the next `{cursor}` comes from: `header:NAME` or `json:/pointer` (poll and long-poll).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// An answer carries everything since the cursor, not only the latest (poll). Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumes: bool,
    /// Header lines of this transport's requests, beside those of the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// WebSocket text by which a client publishes, with `{message}` (publisher mode `peer`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<String>,
    /// The Bayeux channel of a channel (template). Default: `/{channel}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Bayeux: whether to ask for the acknowledge extension. Default: as `[target] acknowledge` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledge: Option<bool>,
}

impl FromText for SubscribeTemplate {
    const ACCEPTED: &'static str = "a URL template, or a table with `url`";
    fn from_text(text: &str) -> Option<SubscribeTemplate> {
        Some(SubscribeTemplate { url: text.to_owned(), ..SubscribeTemplate::default() })
    }
}

/// A periodic WebSocket message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EverySpec {
    /// Its period.
    pub after: Nanos,
    /// Its text.
    pub send: String,
}

/// A fixed answer to a fixed WebSocket message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// The whole text to answer.
    pub on: String,
    /// The answer.
    pub send: String,
}

/// How a message is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishTemplate {
    /// Request method. Default: POST.
    #[serde(default = "post")]
    pub method: String,
    /// URL template (http or https). May be left out beside `websocket`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Header lines, name to template, beside those of the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body template; must name `{message}`. Default: `{message}`.
    #[serde(default = "message")]
    pub body: String,
    /// How messages are published over a WebSocket that stays open (publisher.over = "websocket").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<FeedTemplate>,
}

fn post() -> String {
    "POST".to_owned()
}

fn message() -> String {
    "{message}".to_owned()
}

/// A target that pushmark starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessTemplate {
    /// Command and arguments; may name `{port}`.
    pub start: Vec<String>,
    /// URL (http or https) that answers 2xx once the target is up. Default: its port accepts connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Command that stops it. Default: SIGTERM to its process group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
    /// Folder it starts in, relative to the scenario. Default: the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables added.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// The target's own timestamps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StampTemplate {
    /// JSON pointer (RFC 6901) to the timestamp in a message.
    pub json: String,
    /// Its unit, since the Unix epoch.
    pub unit: TimeUnit,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl TimeUnit {
    /// Its length.
    pub fn ns(self) -> u64 {
        match self {
            TimeUnit::S => 1_000_000_000,
            TimeUnit::Ms => 1_000_000,
            TimeUnit::Us => 1_000,
            TimeUnit::Ns => 1,
        }
    }
}
