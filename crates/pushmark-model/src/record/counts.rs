//! Counts of a record.

use serde::{Deserialize, Serialize};

use super::sums::sums;

sums! {
    /// Counts of a record. Fates that can be taken back (a delivery that arrives after all) are signed.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Counts {
        /// Connections subscribed for the first time; taken back if the subscription was only assumed and no
        /// response head had arrived when the timeout ended.
        opened: i64,
        /// Connections lost unexpectedly after subscribing.
        lost: u64,
        /// Connections whose answer ended in order, as the scenario says that answers do.
        ended: u64,
        /// Connections subscribed again after a loss or an end; taken back likewise.
        reconnected: i64,
        /// Connections that were assumed to be subscribed when the arm ended, and never received a response
        /// head.
        assumed_silent: u64,
        /// Times that reading of a connection stopped because its target did not read what it was sent.
        held_back: u64,
        /// TCP connections started.
        connects: u64,
        /// Full TLS handshakes, of clients and publishers.
        tls_full: u64,
        /// TLS handshakes that resumed a session.
        tls_resumed: u64,
        /// Publications × planned subscribers, measure.
        intended: u64,
        /// Received within the deadline, measure.
        delivered: u64,
        /// Received after the deadline, measure.
        late: u64,
        /// Client not connected when due, not received since; measure.
        unserved: i64,
        /// Unknown whether the client was subscribed when due, not received since; measure.
        excused: i64,
        /// Replaced by a newer one, not received since; measure.
        superseded: i64,
        /// Received again, measure.
        duplicate: u64,
        /// Below the highest sequence received, measure.
        out_of_order: u64,
        /// Older than the kept history, measure.
        beyond_window: u64,
        /// From another run, received in measure.
        foreign: u64,
        /// Messages without a stamp that were long enough to hold one, received in measure.
        unstamped: u64,
        /// The same, all phases.
        unstamped_all: u64,
        /// Gaps and absences discarded because a subscription had too many.
        forgotten: u64,
        /// Publications not watched one by one, because there were too many at once.
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
        /// Poll answers with nothing new, measure.
        redundant: u64,
        /// Of them, 304 answers.
        not_modified: u64,
        /// Polls that were due while the previous one was unanswered.
        overruns: u64,
        /// Long-poll answers with new messages, measure.
        answers: u64,
        /// Long-poll answers without a message, at the end of the hold.
        timeouts: u64,
        /// Long-poll answers without a message, in less than half of the hold, measure.
        answers_early: u64,
        /// Long-poll answers without a new message: only repeated messages or messages without a stamp;
        /// measure.
        answers_other: u64,
        /// Long-poll answers with new messages, all phases.
        answers_all: u64,
        /// Long-poll answers without a message, all phases.
        timeouts_all: u64,
        /// Messages in long-poll answers with new messages, measure.
        answered_messages: u64,
        /// Missing between two consecutive long-poll answers, measure; taken back if an overtaken one arrives
        /// after all.
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
        /// Accepted by an answer, all phases.
        accepted_all: u64,
        /// Refused or unanswered, measure.
        publish_failed: u64,
        /// Written within the measure phase, whenever they were due.
        sent_in_measure: u64,
        /// Due, never written, measure.
        unpublished: u64,
        /// Of them, those not written because the target could not be reached, or because it had disconnected
        /// the peer whose turn it was.
        unreachable: u64,
        /// Due in measure and not sent in it, because the target had not answered what the peer sent before.
        backpressured: u64,
        /// Publications that found no idle publisher connection while the pool was full.
        pool_exhausted: u64,
        /// Established feed connections that their target closed and that were reconnected; measure.
        feed_reconnected: u64,
        /// Messages by which the target of a feed refused a publication; measure.
        feed_refused: u64,
        /// Deliveries whose kernel stamp was not used, because they were not the last message of their read.
        stamps_unused: u64,
        /// Kernel wake-ups of the loop.
        wakeups: u64,
        /// Turns of the loop that reached its bound and left work for the next turn.
        turns_bounded: u64,
        /// Σ of (end² − start²) ÷ 2 of ages held, µs²: the integral of age over time.
        age_area_us2: i128,
        /// Σ of the time in which a client had a message, µs.
        age_time_us: i128,
        /// Messages whose content differs from the published content, measure.
        corrupt: u64,
        /// WebSockets whose server agreed to compress its messages.
        inflating: u64,
        /// Payload of compressed messages, inflated, all phases.
        inflated_bytes: u64,
        /// Time in which it was inflated.
        inflate_ns: u64,
        /// Documents of instrumented requests that were read, measure.
        documents: u64,
        /// Of them, those of a time-out.
        documents_timed_out: u64,
        /// Lines that were no such document, measure.
        documents_unreadable: u64,
        /// Requests that received the events whose last request was read, measure.
        document_receivers: u64,
        /// Counts of Bayeux clients.
        bayeux: Bayeux,
        /// Counts of polls beside a push connection.
        safety: Safety,
    }
}

sums! {
    /// Polls of clients that also hold a push connection, measure.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Safety {
        /// Polls sent.
        polls: u64,
        /// States that a poll showed first.
        found: u64,
        /// Of them, those that the push delivered later.
        overtaken: u64,
        /// Polls without an answer.
        failed: u64,
    }
}

sums! {
    /// Events in Bayeux sessions, all phases unless stated otherwise.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Bayeux {
        /// Handshakes requested, repeated ones of a client included.
        handshakes: u64,
        /// Subscriptions established in a session with the acknowledge extension.
        acknowledged: u64,
        /// Connects requested, measure.
        connects: u64,
        /// Connects over HTTP that were answered without a message, measure.
        connects_empty: u64,
        /// Messages refused because the server did not know the client (402).
        unknown_client: u64,
        /// Advice to continue (`reconnect: retry`).
        advised_retry: u64,
        /// Advice to start over (`reconnect: handshake`).
        advised_handshake: u64,
        /// Advice not to reconnect (`reconnect: none`).
        advised_none: u64,
        /// Advice that another session shares the client's cookies (`multiple-clients`).
        multiple_clients: u64,
        /// Pauses made because the advice requested them (`interval`).
        intervals_obeyed: u64,
        /// Messages sent beside handshakes and connects: subscriptions, publications, disconnects.
        commands: u64,
        /// Second connections made.
        second_connections: u64,
        /// HTTP answers with new messages, measure.
        replies: u64,
        /// Messages in them.
        replied_messages: u64,
    }
}
