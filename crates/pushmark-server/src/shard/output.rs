//! Bytes leave: answers, messages, and what had to wait.

use pushmark_net::{Clock, Interest, Nanos};

use super::{Ending, Shard};
use crate::connection::{Parting, Talk};
use crate::outbox::Piece;
use crate::reply::Reply;
use crate::stats::Counter;

/// Most bytes written to one connection in a turn; the rest waits for its socket again.
pub(super) const FLUSH_MAX: usize = 1 << 20;

/// `--slow-write`: a piece leaves this often.
const PACE_NS: Nanos = 1_000_000;

impl Shard {
    /// Writes a part of the conversation.
    pub(super) fn say(&mut self, token: u64, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(token).filter(|c| !c.doomed) else {
            return;
        };
        let outcome = connection.say(bytes, &mut self.ledger);
        self.wrote(token, outcome);
    }

    /// Writes an answer, and closes the connection after it unless it is kept.
    pub(super) fn answer(&mut self, token: u64, reply: &Reply<'_>) {
        let mut out = std::mem::take(&mut self.output);
        out.clear();
        reply.write(&mut out);
        self.answer_bytes(token, &out, reply.keep_alive);
        self.output = out;
    }

    /// Writes an answer that is ready.
    pub(super) fn answer_bytes(&mut self, token: u64, bytes: &[u8], keep_alive: bool) {
        self.ledger.count(Counter::Requests);
        if let Some(connection) = self.live(token) {
            connection.talk = Talk::Request;
            connection.closing |= !keep_alive;
        }
        self.say(token, bytes);
    }

    /// Writes an answer that carries messages: paced where writes are slow.
    pub(super) fn answer_slowly(&mut self, token: u64, bytes: &[u8], keep_alive: bool) {
        if self.rules.pace.is_none() {
            return self.answer_bytes(token, bytes, keep_alive);
        }
        self.ledger.count(Counter::Requests);
        let Some(connection) = self.live(token) else { return };
        connection.talk = Talk::Request;
        connection.closing |= !keep_alive;
        self.send(token, &[Piece { bytes: bytes.into(), delivery: None }]);
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

    /// Lets the next piece of a slow write leave, and asks to be called again.
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
        self.wrote(token, outcome.map_err(Parting::from));
    }

    /// After any write: what the connection is watched for, and whether it ends.
    pub(super) fn wrote(&mut self, token: u64, outcome: Result<(), Parting>) {
        match outcome {
            Ok(()) => {}
            Err(Parting::Lost) => return self.doom(token, Ending::Close),
            Err(Parting::Overflow) => {
                self.ledger.count(Counter::Disconnected);
                return self.doom(token, Ending::Reset);
            }
        }
        let paced = self.rules.pace.is_some();
        let Some(connection) = self.connections.get_mut(token) else { return };
        let waits = connection.outbox.is_some();
        if connection.closing && !waits {
            return self.doom(token, Ending::Close);
        }
        // What waits for its time, not for the socket, needs no room there.
        let collected = !paced && connection.pace_ns != 0;
        let interest = if waits && !paced && !collected { Interest::Both } else { Interest::Read };
        if connection.watched != interest {
            connection.watched = interest;
            // It fails only for a descriptor that is not watched, and this one is.
            let _ = self.poller.modify(connection.link.fd(), token, interest);
        }
        if waits && paced && connection.pace_ns == 0 {
            self.paced_write(token);
        }
    }
}
