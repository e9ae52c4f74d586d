//! Figures special to the transports whose clients ask.

use serde::{Deserialize, Serialize};

use super::Latency;

/// Figures special to polling.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Poll {
    /// Polls sent during measure.
    pub requests: u64,
    /// Mean time between two polls of a client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval_mean_us: Option<f64>,
    /// Answers that showed nothing new (304 among them).
    pub redundant: u64,
    /// Of them answered 304.
    pub not_modified: u64,
    /// States of a channel that were never shown.
    pub skipped_states: u64,
    /// Polls whose predecessor was still unanswered when they were due.
    pub overruns: u64,
    /// Age of the state at each answer (`delivery.trip`).
    pub age_at_receipt: Latency,
}

/// Figures special to long polling.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LongPoll {
    /// Answers with news during measure.
    pub answers: u64,
    /// Answers without.
    pub timeouts: u64,
    /// Answers of both kinds a second.
    pub answers_per_s: f64,
    /// clients ÷ hold: what a closed loop can reach without news. A Bayeux server says itself how
    /// long it holds.
    pub ceiling_per_s: f64,
    /// Time-out answer − due time-out.
    pub hold_overshoot: Latency,
    /// How long a client was certainly deaf between answer and next request.
    pub deaf: Latency,
    /// How long an answer or request was in flight, at most.
    pub in_flight: Latency,
    /// Missing between two consecutive answers.
    pub missed_deaf: u64,
    /// Messages in an answer with news, mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_per_answer: Option<f64>,
    /// Receivers of a publication, mean (requests per emit cycle).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receivers_per_publication: Option<f64>,
    /// TCP connections made after the first of each client.
    pub new_connections: u64,
}

/// Figures special to Bayeux, over the whole arm where nothing else is said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bayeux {
    /// The server agreed to acknowledge in every session, so that it owes each message once and in
    /// order. Without it nothing is promised about order over two connections.
    pub order_promised: bool,
    /// Handshakes asked for: one a client, and one each time it had to begin anew.
    pub handshakes: u64,
    /// Messages refused because the server did not know the client (402).
    pub unknown_client: u64,
    /// Connects asked for during measure.
    pub connects: u64,
    /// Those answered without a message; absent over WebSocket, where messages come by themselves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connects_empty: Option<u64>,
    /// What the server advised.
    pub advice: BayeuxAdvice,
    /// Longest time that the server said it holds a connect.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold_advised_us: Option<u64>,
    /// Messages sent beside handshakes and connects: subscriptions, publications, farewells.
    pub commands: u64,
    /// Second connections made, for commands while a connect was held.
    pub second_connections: u64,
    /// Most of them open at once: the highest of one second, shards added.
    pub second_open_max: u64,
    /// Messages in an answer with news during measure, mean; absent over WebSocket.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_per_reply: Option<f64>,
}

/// The advice of a Bayeux server (Bayeux 1.0, section 3.6), by what it told to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BayeuxAdvice {
    /// Go on with connects.
    pub retry: u64,
    /// Begin anew with a handshake.
    pub handshake: u64,
    /// Do not come back.
    pub none: u64,
    /// Another session was taken to share the client's cookies: the server then holds nothing.
    pub multiple_clients: u64,
    /// Pauses made because an interval was advised.
    pub interval_obeyed: u64,
}
