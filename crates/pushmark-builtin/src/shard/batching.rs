//! Batching: messages for a subscriber are collected for a while and leave in one write.
//!
//! A batch begins with its first message and ends `batch` later, so no message waits longer than that. With
//! one message per batch, each waits the whole time; with many, they wait between zero and the whole time.
//! Nothing is reordered: later output of a connection is written after the collected messages. Bayeux and
//! instrumented requests are not batched, because their answers contain all available messages anyway.

use pushmark_net::{Clock, Nanos};

use super::Shard;
use super::output::FLUSH_MAX;
use super::polling::{join, joined_len};
use crate::answer_cache::Item;
use crate::connection::{Conversation, Debts};
use crate::framing::Framed;
use crate::outbox::Piece;
use crate::reply::Reply;
use crate::stats::Counter;

/// The most bytes of messages in a held poll's batch. The message that exceeds it ends the batch.
const BATCH_BYTES_MAX: usize = 1 << 20;

impl Shard {
    /// Returns whether messages are collected. Slow writes have their own pace.
    pub(super) fn collects(&self) -> bool {
        self.rules.batch_ns > 0 && self.rules.pace.is_none() && self.leave_at_ns.is_none()
    }

    /// Collects messages for a connection. They begin or join a batch.
    pub(super) fn collect(&mut self, token: u64, pieces: &[Piece]) {
        let Some(connection) = self.live(token) else { return };
        // A full socket is written to as it empties.
        let blocked = connection.outbox.is_some() && connection.pace_ns == 0;
        let has_room = connection.waiting() + pieces.len() <= self.rules.queue_max;
        if blocked {
            return self.send_now(token, pieces);
        }
        if !has_room {
            // Batching alone must not fill a queue, so this batch ends here.
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

    /// Collects messages for a held poll, which answers with all of them at once.
    pub(super) fn collect_for_poll(&mut self, token: u64, framed: &[Framed], items: &[Item], cursor: u64) {
        let queue_max = self.rules.queue_max;
        let Some(connection) = self.live(token) else { return };
        if !connection.has_collected() {
            // CONTRACT 3.2: as of the request, so before any message of the batch counts as published.
            let ids = connection.channels();
            let acknowledgement = self.acknowledgement(&ids);
            let Some(connection) = self.live(token) else { return };
            connection.debts.get_or_insert_default().acknowledgement = acknowledgement;
        }
        let Some(connection) = self.live(token) else { return };
        let Debts { collected, collected_bytes, .. } = &mut **connection.debts.get_or_insert_default();
        let message = |item: &Item| (framed[item.index].publication.clone(), item.cut);
        collected.extend(items.iter().map(message));
        let bytes = items.iter().map(|item| framed[item.index].publication.payload.len()).sum::<usize>();
        *collected_bytes += bytes;
        if collected.len() >= queue_max || *collected_bytes >= BATCH_BYTES_MAX {
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

    /// Writes output whose time has come.
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

    /// Handles the timer of a held poll with collected messages: its batch or its hold ends.
    pub(super) fn batch_timer_rang(&mut self, token: u64, now_ns: Nanos) {
        let Some(connection) = self.live(token) else { return };
        let Conversation::Held(hold) = connection.talk else { return };
        let ends_ns = connection.pace_ns.min(hold.until_ns);
        if ends_ns > now_ns {
            return self.schedule(token, ends_ns);
        }
        self.answer_collected(token, self.cursor);
    }

    /// Answers a held poll with its collected messages. `cursor` is the newest of them.
    pub(super) fn answer_collected(&mut self, token: u64, cursor: u64) {
        let Some(connection) = self.live(token) else { return };
        connection.pace_ns = 0;
        let Some(debts) = &mut connection.debts else { return };
        let collected = std::mem::take(&mut debts.collected);
        debts.collected_bytes = 0;
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
        let mut body = Vec::with_capacity(joined_len(&framed, &items));
        join(&framed, &items, &mut body);
        let extra = format!("pushmark-cursor: {cursor}\r\n{acknowledgement}");
        let keep_alive = hold.keep_alive;
        let reply = Reply { status: 200, content_type: "text/plain", extra: &extra, body: &body, keep_alive };
        let mut out = Vec::new();
        reply.write(&mut out);
        let begun = self.write_begins(token);
        self.answer_slowly(token, &out, keep_alive);
        self.note_written(begun, &cursors);
        self.goes_away(token, hold.with_cursor);
    }
}
