//! Numbers of things.

use serde::{Deserialize, Serialize};

use super::sums::sums;

sums! {
    /// Numbers of things. Fates that can be taken back (a delivery after all) are signed.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Counts {
        /// Connections subscribed for the first time.
        opened: u64,
        /// Connections lost unasked after subscribing.
        lost: u64,
        /// Subscribed again after a loss.
        reconnected: u64,
        /// TCP connections begun.
        connects: u64,
        /// TLS handshakes in full, of clients and publishers.
        tls_full: u64,
        /// TLS handshakes that took up a session.
        tls_resumed: u64,
        /// Publications × planned subscribers, measure.
        intended: u64,
        /// Within the deadline, measure.
        delivered: u64,
        /// After it, measure.
        late: u64,
        /// Subscriber absent when due, not received since; measure.
        unserved: i64,
        /// Subscriber in doubt when due, not received since; measure.
        excused: i64,
        /// Overtaken by a newer one, not received since; measure.
        superseded: i64,
        /// Seen again.
        duplicate: u64,
        /// Below the highest seen.
        out_of_order: u64,
        /// Too far below to tell.
        beyond_window: u64,
        /// Another run's.
        foreign: u64,
        /// Messages without a stamp.
        unstamped: u64,
        /// Live subscribers of publications that nobody in this shard received, measure.
        silent: u64,
        /// Publications too many at once to watch one by one.
        unwatched: u64,
        /// Deliveries of all phases.
        received: u64,
        /// Messages of all phases (stamped or not).
        messages: u64,
        /// Their payload bytes.
        payload_bytes: u64,
        /// Messages received during measure.
        measure_messages: u64,
        /// Their payload bytes.
        measure_payload_bytes: u64,
        /// Bytes read from subscriber connections.
        bytes_in: u64,
        /// Bytes written to them.
        bytes_out: u64,
        /// Of them during measure.
        measure_bytes_in: u64,
        /// Of them during measure.
        measure_bytes_out: u64,
        /// Segments received (TCP_INFO at close).
        segments_in: u64,
        /// Segments sent.
        segments_out: u64,
        /// Connections whose segments were counted.
        segments_of: u64,
        /// Requests of pollers and long pollers, all phases.
        requests: u64,
        /// Of them during measure.
        measure_requests: u64,
        /// Poll answers without news, measure.
        redundant: u64,
        /// Of them 304.
        not_modified: u64,
        /// Polls due while the last was unanswered.
        overruns: u64,
        /// Long-poll answers with news, measure.
        answers: u64,
        /// Without.
        timeouts: u64,
        /// Long-poll answers with news, all phases.
        answers_all: u64,
        /// Without, all phases.
        timeouts_all: u64,
        /// Messages in long-poll answers with news, measure.
        answered_messages: u64,
        /// Missing between two consecutive long-poll answers, measure; taken back where an overtaken
        /// one comes after all.
        missed_deaf: i64,
        /// TCP connections after a long poller's first.
        new_connections: u64,
        /// Publications due in this shard, measure.
        publications_due: u64,
        /// Publications due in this shard, all phases.
        publications_due_all: u64,
        /// Written, measure.
        published: u64,
        /// Written, all phases.
        published_all: u64,
        /// Refused or unanswered, measure.
        publish_failed: u64,
        /// Written within the measure phase, whenever they were due.
        sent_in_measure: u64,
        /// Due, never written, measure.
        unpublished: u64,
        /// Of them those for which the target could not be connected to, or had lost the peer whose turn
        /// it was.
        unreachable: u64,
        /// Found no idle publisher connection and the pool full.
        pool_exhausted: u64,
        /// Kernel stamps that were not their read's last message.
        stamps_unused: u64,
        /// Kernel wake-ups of the loop.
        wakeups: u64,
        /// Turns of the loop that hit its bound and left work for the next.
        turns_bounded: u64,
        /// Σ of (end² − start²) ÷ 2 of ages held, µs²: the integral of age over time.
        age_area_us2: i128,
        /// Σ of time in which something was held, µs.
        age_time_us: i128,
        /// Messages whose content is not what was published, all phases.
        corrupt: u64,
        /// Of Bayeux clients.
        bayeux: Bayeux,
        /// Of polls beside a push connection.
        safety: Safety,
    }
}

impl Counts {
    /// Publications of measure that are never written: because there is no way to the target, or of
    /// our own.
    pub fn never_written(&mut self, publications: u64, no_target: bool) {
        self.unpublished += publications;
        self.unreachable += if no_target { publications } else { 0 };
    }
}

sums! {
    /// Polls of clients that hold a push connection besides, measure.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Safety {
        /// Polls sent.
        polls: u64,
        /// States that a poll showed first.
        found: u64,
        /// Of them those that the push brought later.
        overtaken: u64,
        /// Polls without an answer.
        failed: u64,
    }
}

sums! {
    /// What happened in Bayeux sessions, all phases where nothing else is said.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Bayeux {
        /// Handshakes asked for; a client's later ones among them.
        handshakes: u64,
        /// Subscriptions that came to stand in a session with the acknowledge extension.
        acknowledged: u64,
        /// Connects asked for, measure.
        connects: u64,
        /// Connects over HTTP that were answered without a message, measure.
        connects_empty: u64,
        /// Messages that were refused because the server did not know the client (402).
        unknown_client: u64,
        /// Advice to go on (`reconnect: retry`).
        advised_retry: u64,
        /// Advice to begin anew (`reconnect: handshake`).
        advised_handshake: u64,
        /// Advice to stay away (`reconnect: none`).
        advised_none: u64,
        /// Advice that another session shares the client's cookies (`multiple-clients`).
        multiple_clients: u64,
        /// Pauses that were made because advice asked for them (`interval`).
        intervals_obeyed: u64,
        /// Messages sent beside handshakes and connects: subscriptions, publications, farewells.
        commands: u64,
        /// Second connections made.
        second_connections: u64,
        /// Answers of HTTP that held news, measure.
        replies: u64,
        /// Messages in them.
        replied_messages: u64,
    }
}
