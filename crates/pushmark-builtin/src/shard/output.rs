//! Writes answers, messages and waiting output.

use pushmark_net::{Clock, Interest, Nanos};

use super::{Ending, Shard};
use crate::answer_cache::AnswerCache;
use crate::connection::{CloseReason, Conversation};
use crate::outbox::Piece;
use crate::reply::Reply;
use crate::stats::Counter;

/// The most bytes written to one connection in a turn. The rest waits for its socket.
pub(super) const FLUSH_MAX: usize = 256 * 1024;

/// Bytes of the buffer that is reused for the next answer.
const KEPT_MAX: usize = 512 * 1024;

/// `--slow-write`: the interval between pieces.
const PACE_NS: Nanos = 1_000_000;

impl Shard {
    /// Writes a part of the conversation.
    pub(super) fn say(&mut self, token: u64, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(token).filter(|c| !c.doomed) else {
            return;
        };
        let outcome = connection.say(bytes, &self.rules, &mut self.ledger);
        self.wrote(token, outcome);
    }

    /// Answers a ping.
    pub(super) fn pong(&mut self, token: u64, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(token).filter(|c| !c.doomed) else {
            return;
        };
        let outcome = connection.pong(bytes, &self.rules, &mut self.ledger);
        self.wrote(token, outcome);
    }

    /// Writes an answer, and closes the connection after it unless it is kept alive.
    pub(super) fn answer(&mut self, token: u64, reply: &Reply<'_>) {
        let mut out = std::mem::take(&mut self.output);
        out.clear();
        reply.write(&mut out);
        self.answer_bytes(token, &out, reply.keep_alive);
        out.shrink_to(KEPT_MAX);
        self.output = out;
    }

    /// Writes a complete answer.
    pub(super) fn answer_bytes(&mut self, token: u64, bytes: &[u8], keep_alive: bool) {
        self.ledger.count(Counter::Requests);
        if let Some(connection) = self.live(token) {
            connection.talk = Conversation::Request;
            connection.closing |= !keep_alive;
        }
        self.say(token, bytes);
    }

    /// Writes an answer with messages, paced if writes are slow.
    pub(super) fn answer_slowly(&mut self, token: u64, bytes: &[u8], keep_alive: bool) {
        if self.rules.pace.is_none() {
            return self.answer_bytes(token, bytes, keep_alive);
        }
        self.ledger.count(Counter::Requests);
        let Some(connection) = self.live(token) else { return };
        connection.talk = Conversation::Request;
        connection.closing |= !keep_alive;
        self.send(token, &[Piece { bytes: bytes.into(), delivery: None }]);
    }

    /// Writes an answer with messages that other connections share.
    pub(super) fn answer_many(&mut self, token: u64, answer: &mut AnswerCache) {
        let keep_alive = answer.keep_alive();
        if self.rules.pace.is_some() {
            return self.answer_slowly(token, answer.bytes(), keep_alive);
        }
        self.ledger.count(Counter::Requests);
        let Some(connection) = self.connections.get_mut(token).filter(|c| !c.doomed) else {
            return;
        };
        connection.talk = Conversation::Request;
        connection.closing |= !keep_alive;
        let outcome = connection.say_shared(answer, &self.rules, &mut self.ledger);
        self.wrote(token, outcome);
    }

    /// Writes messages, or collects them.
    pub(super) fn send(&mut self, token: u64, pieces: &[Piece]) {
        if self.collects() {
            return self.collect(token, pieces);
        }
        self.send_now(token, pieces);
    }

    /// Writes messages.
    pub(super) fn send_now(&mut self, token: u64, pieces: &[Piece]) {
        let Some(connection) = self.connections.get_mut(token).filter(|c| !c.doomed) else {
            return;
        };
        let outcome = connection.send(pieces, &self.rules, &mut self.ledger);
        self.wrote(token, outcome);
    }

    pub(super) fn socket_writable(&mut self, token: u64) {
        if self.live(token).is_some_and(|connection| connection.outbox.is_some()) {
            self.flush(token, FLUSH_MAX);
        }
    }

    /// Writes the next piece of a slow write, and schedules the next call.
    pub(super) fn paced_write(&mut self, token: u64) {
        let Some(bytes) = self.rules.pace else { return };
        let Some(connection) = self.live(token) else { return };
        connection.pace_ns = 0;
        if connection.outbox.is_none() {
            return;
        }
        let again_ns = Clock::now() + PACE_NS;
        connection.pace_ns = again_ns;
        self.schedule(token, again_ns);
        self.flush(token, bytes.get());
    }

    pub(super) fn flush(&mut self, token: u64, bytes_max: usize) {
        let Some(connection) = self.connections.get_mut(token).filter(|c| !c.doomed) else {
            return;
        };
        let outcome = connection.flush(bytes_max, &mut self.ledger);
        self.wrote(token, outcome.map_err(CloseReason::from));
    }

    /// After any write: updates the poller's interest and ends the connection if needed.
    pub(super) fn wrote(&mut self, token: u64, outcome: Result<(), CloseReason>) {
        match outcome {
            Ok(()) => {}
            Err(CloseReason::Lost) => return self.doom(token, Ending::Close),
            Err(CloseReason::Overflow) => {
                self.ledger.count(Counter::Disconnected);
                return self.doom(token, Ending::Reset);
            }
        }
        self.watch(token);
    }

    /// Updates the poller's interest in a connection, and resumes input that waited for room.
    pub(super) fn watch(&mut self, token: u64) {
        let paced = self.rules.pace.is_some();
        let Some(connection) = self.connections.get_mut(token) else { return };
        let waits = connection.outbox.is_some();
        if connection.closing && !waits {
            return self.doom(token, Ending::Close);
        }
        // Output that waits for its time needs no room in the socket.
        let collected = !paced && connection.pace_ns != 0;
        let interest = match (waits && !paced && !collected, connection.is_full()) {
            (false, false) => Interest::Read,
            (true, false) => Interest::Both,
            (true, true) => Interest::Write,
            (false, true) => Interest::None,
        };
        if connection.watched != interest {
            connection.watched = interest;
            // This fails only for a descriptor that is not watched; this one is watched.
            let _ = self.poller.modify(connection.link.fd(), token, interest);
        }
        if connection.stalled && !connection.takes_no_answers() {
            connection.stalled = false;
            self.revisit.push_back(token);
        }
        if connection.closing && connection.begun_ns == 0 {
            self.patience_begins(token);
        }
        let Some(connection) = self.connections.get_mut(token) else { return };
        if waits && paced && connection.pace_ns == 0 {
            self.paced_write(token);
        }
    }
}
