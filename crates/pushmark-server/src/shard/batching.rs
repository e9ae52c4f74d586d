//! Batching: what comes for a subscriber is collected for a while and leaves in one write.
//!
//! A batch begins with its first message and ends `batch` later, so that no message waits longer
//! than that for it: with one message a batch each waits the whole time, with many they wait
//! between nothing and all of it. Nothing is reordered: whatever is written to a connection stands
//! behind what was collected. Requests over which Bayeux or an instrumented answer is given are not
//! collected for: such an answer holds all there is anyway.

use pushmark_net::{Clock, Nanos};

use super::Shard;
use super::deliver::Item;
use super::output::FLUSH_MAX;
use super::polling::join;
use crate::connection::Talk;
use crate::framing::Framed;
use crate::outbox::Piece;
use crate::reply::Reply;
use crate::stats::Counter;

impl Shard {
    /// Whether messages are collected. A slow write has a pace of its own.
    pub(super) fn collects(&self) -> bool {
        self.rules.batch_ns > 0 && self.rules.pace.is_none() && self.leave_at_ns.is_none()
    }

    /// Collects messages for a connection; they begin a batch, or join it.
    pub(super) fn collect(&mut self, token: u64, pieces: &[Piece]) {
        let Some(connection) = self.live(token) else { return };
        // A socket that was full is written to as it empties.
        let blocked = connection.outbox.is_some() && connection.pace_ns == 0;
        let has_room = connection.waiting() + pieces.len() <= self.rules.queue_max;
        if blocked {
            return self.send_now(token, pieces);
        }
        if !has_room {
            // Batching alone may not fill a queue: this batch ends here.
            self.wait_is_over(token);
            return self.send_now(token, pieces);
        }
        let Some(connection) = self.connections.get_mut(token) else { return };
        let outcome = connection.collect(pieces, &self.rules, &mut self.ledger);
        if connection.pace_ns == 0 {
            self.begin_batch(token);
        }
        self.wrote(token, outcome);
    }

    /// Collects messages for a held poll, which answers them all at once.
    pub(super) fn collect_for_poll(&mut self, token: u64, framed: &[Framed], items: &[Item], cursor: u64) {
        let queue_max = self.rules.queue_max;
        let Some(connection) = self.live(token) else { return };
        if !connection.has_collected() {
            // CONTRACT 3.2: as of the request, so before anything of the batch is known as published.
            let ids = connection.channels();
            let acknowledgement = self.acknowledgement(&ids);
            let Some(connection) = self.live(token) else { return };
            connection.debts.get_or_insert_default().acknowledgement = acknowledgement;
        }
        let Some(connection) = self.live(token) else { return };
        let collected = &mut connection.debts.get_or_insert_default().collected;
        let message = |item: &Item| (framed[item.index].publication.clone(), item.cut);
        collected.extend(items.iter().map(message));
        if collected.len() >= queue_max {
            return self.answer_collected(token, cursor);
        }
        if connection.pace_ns == 0 {
            self.begin_batch(token);
        }
    }

    fn begin_batch(&mut self, token: u64) {
        let ends_ns = Clock::now() + self.rules.batch_ns;
        if let Some(connection) = self.connections.get_mut(token) {
            connection.pace_ns = ends_ns;
        }
        self.schedule(token, ends_ns);
    }

    /// What waited for its time may leave.
    pub(super) fn wait_is_over(&mut self, token: u64) {
        if self.rules.pace.is_some() {
            return self.paced_write(token);
        }
        let Some(connection) = self.live(token) else { return };
        connection.pace_ns = 0;
        if connection.outbox.is_some() {
            self.flush(token, FLUSH_MAX);
        }
    }

    /// The timer of a held poll that has collected something: its batch ends, or its hold.
    pub(super) fn batch_timer_rang(&mut self, token: u64, now_ns: Nanos) {
        let Some(connection) = self.live(token) else { return };
        let Talk::Held(hold) = connection.talk else { return };
        let ends_ns = connection.pace_ns.min(hold.until_ns);
        if ends_ns > now_ns {
            return self.schedule(token, ends_ns);
        }
        self.answer_collected(token, self.cursor);
    }

    /// Answers a held poll with what was collected for it; `cursor` is the newest of it.
    pub(super) fn answer_collected(&mut self, token: u64, cursor: u64) {
        let Some(connection) = self.live(token) else { return };
        connection.pace_ns = 0;
        let Some(debts) = &mut connection.debts else { return };
        let collected = std::mem::take(&mut debts.collected);
        let acknowledgement = std::mem::take(&mut debts.acknowledgement);
        let Some((_, hold)) = self.release(token) else { return };
        self.ledger.count(Counter::LongPollAnswers);
        let mut items = Vec::with_capacity(collected.len());
        let mut framed = Vec::with_capacity(collected.len());
        let mut cursors = Vec::with_capacity(collected.len());
        for (index, (publication, cut)) in collected.into_iter().enumerate() {
            items.push(Item { index, cut });
            cursors.push(publication.cursor);
            framed.push(Framed::new(publication));
        }
        let body = join(&framed, &items);
        let extra = format!("pushmark-cursor: {cursor}\r\n{acknowledgement}");
        let keep_alive = hold.keep_alive;
        let reply = Reply { status: 200, content_type: "text/plain", extra: &extra, body: &body, keep_alive };
        let mut out = Vec::new();
        reply.write(&mut out);
        self.note_written(token, &cursors);
        self.answer_slowly(token, &out, keep_alive);
        self.goes_away(token, hold.with_cursor);
    }
}
