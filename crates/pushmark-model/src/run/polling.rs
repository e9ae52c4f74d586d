//! Figures of the transports whose clients send requests.

use serde::{Deserialize, Serialize};

use super::Latency;

/// Figures of polling.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Poll {
    /// Polls sent during measure.
    pub requests: u64,
    /// Mean time between two polls of a client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval_mean_us: Option<f64>,
    /// Answers with nothing new (304 included).
    pub redundant: u64,
    /// Of them, 304 answers.
    pub not_modified: u64,
    /// States of a channel that no answer showed.
    pub skipped_states: u64,
    /// Polls that were due while the previous one was unanswered.
    pub overruns: u64,
    /// Age of the state at each answer (`delivery.trip`).
    pub age_at_receipt: Latency,
}

/// Figures of long polling.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LongPoll {
    /// Answers with new messages during measure.
    pub answers: u64,
    /// Answers without a message, at the end of the hold.
    pub timeouts: u64,
    /// Answers without a message, in less than half of the hold: the target does not hold requests.
    #[serde(default)]
    pub early: u64,
    /// Answers without a new message: only repeated messages or messages without a stamp.
    #[serde(default)]
    pub other: u64,
    /// Answers of all kinds per second.
    pub answers_per_s: f64,
    /// clients ÷ hold: the highest rate of a closed model without new messages. A Bayeux server reports
    /// itself how long it holds.
    pub ceiling_per_s: f64,
    /// Timeout answer − due timeout.
    pub hold_overshoot: Latency,
    /// Request gap: time between an answer and the client's next request.
    pub deaf: Latency,
    /// Upper bound of the time that an answer or request was in flight.
    pub in_flight: Latency,
    /// Publications missing between two consecutive answers.
    pub missed_deaf: u64,
    /// Mean number of messages in an answer with new messages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_per_answer: Option<f64>,
    /// Mean number of receivers of a publication (requests per emit cycle).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receivers_per_publication: Option<f64>,
    /// TCP connections made after the first of each client.
    pub new_connections: u64,
}

/// Figures of Bayeux, over the whole arm unless stated otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bayeux {
    /// The server agreed to the acknowledge extension in every session, so it owes each message once and in
    /// order. Without the extension, order over two connections is not promised.
    pub order_promised: bool,
    /// Handshakes requested: one per client, and one each time a client had to start over.
    pub handshakes: u64,
    /// Messages refused because the server did not know the client (402).
    pub unknown_client: u64,
    /// Connects requested during measure.
    pub connects: u64,
    /// Connects answered without a message; absent over WebSocket, where messages need no request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connects_empty: Option<u64>,
    /// What the server advised.
    pub advice: BayeuxAdvice,
    /// Longest time that the server said it holds a connect.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold_advised_us: Option<u64>,
    /// Messages sent beside handshakes and connects: subscriptions, publications, disconnects.
    pub commands: u64,
    /// Second connections made, for commands while a connect was held.
    pub second_connections: u64,
    /// Most of them open at once: the highest second, summed over shards.
    pub second_open_max: u64,
    /// Mean number of messages in an answer with new messages during measure; absent over WebSocket.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_per_reply: Option<f64>,
}

/// The advice of a Bayeux server (Bayeux 1.0, section 3.6), by the advised action.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BayeuxAdvice {
    /// Continue with connects.
    pub retry: u64,
    /// Start over with a handshake.
    pub handshake: u64,
    /// Do not reconnect.
    pub none: u64,
    /// The server assumed that another session shares the client's cookies; it then does not hold requests.
    pub multiple_clients: u64,
    /// Pauses made because an interval was advised.
    pub interval_obeyed: u64,
}
