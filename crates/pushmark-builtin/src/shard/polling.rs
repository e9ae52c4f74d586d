//! Polls and long polls: answered from stored messages, or held until a message arrives.

use std::sync::Arc;

use pushmark_net::{Clock, Nanos};

use super::Shard;
use crate::answer_cache::Item;
use crate::connection::{Away, Conversation, Hold, Subscription};
use crate::documents;
use crate::framing::Framed;
use crate::publication::Publication;
use crate::reply::Reply;
use crate::request::Since;
use crate::stats::Counter;

impl Shard {
    /// CONTRACT 6.1: answers with the present state, or everything since a cursor. Never held.
    pub(super) fn poll_asked(
        &mut self,
        token: u64,
        names: &[String],
        since: Since,
        known: Option<&str>,
        keep_alive: bool,
    ) {
        let Some(ids) = self.ids(token, names) else { return };
        self.ledger.count(Counter::Polls);
        let since = match since {
            Since::Unsaid => return self.answer_state(token, &ids, known, keep_alive),
            Since::Now => self.cursor,
            Since::Cursor(cursor) => cursor,
        };
        ids.iter().for_each(|&id| self.channels.remember(id));
        let mut framed = self.newer(&ids, since);
        let mut items = Vec::new();
        self.decide(token, 0..framed.len(), &mut framed, &mut items);
        self.pass.answer.clear();
        self.answer_items(token, &ids, &framed, &items, self.cursor, keep_alive);
    }

    /// Answers with the latest message of each channel. This is a state, not deliveries, so delivery faults
    /// do not apply.
    fn answer_state(&mut self, token: u64, ids: &[u32], known: Option<&str>, keep_alive: bool) {
        let latest = ids.iter().filter_map(|&id| self.channels.at(id).latest.clone());
        let states: Vec<Framed> = latest.map(Framed::new).collect();
        let newest = states.iter().map(|state| state.publication.cursor).max().unwrap_or(0);
        let etag = format!("\"{newest}\"");
        let unchanged = known.is_some_and(|known| names_tag(known, &etag));
        let extra = format!("ETag: {etag}\r\n{}", self.poll_headers(ids, self.cursor));
        let status = if unchanged { 304 } else { 200 };
        let reply = Reply { status, content_type: "text/plain", extra: &extra, body: &[], keep_alive };
        let items: Vec<Item> = match unchanged {
            true => Vec::new(),
            false => (0..states.len()).map(|index| Item { index, cut: false }).collect(),
        };
        let mut answer = std::mem::take(&mut self.pass.answer);
        answer.fill(ids, &items, &reply, joined_len(&states, &items), |out| join(&states, &items, out));
        let shown: Vec<u64> = items.iter().map(|item| states[item.index].publication.cursor).collect();
        let begun = self.write_begins(token);
        self.answer_many(token, &mut answer);
        self.note_written(begun, &shown);
        answer.clear();
        self.pass.answer = answer;
    }

    /// CONTRACT 6.2: answered at once if there are messages, otherwise held.
    pub(super) fn long_poll_asked(
        &mut self,
        token: u64,
        names: &[String],
        since: Since,
        hold_ms: u64,
        keep_alive: bool,
    ) {
        let Some(ids) = self.ids(token, names) else { return };
        let mut framed = match since {
            Since::Unsaid => Vec::new(),
            Since::Now | Since::Cursor(_) => {
                ids.iter().for_each(|&id| self.channels.remember(id));
                match since {
                    Since::Cursor(cursor) => self.newer(&ids, cursor),
                    _ => Vec::new(),
                }
            }
        };
        let mut items = Vec::new();
        let fresh = framed.len();
        // First, because a duplicate made later in this call would be in the same answer as its original.
        self.repay_duplicates(token, &mut framed, &mut items);
        self.decide(token, 0..fresh, &mut framed, &mut items);
        if since == Since::Now || !items.is_empty() {
            self.remember_channels(token, &ids);
            self.pass.answer.clear();
            if !items.is_empty() {
                self.ledger.count(Counter::LongPollAnswers);
            }
            self.answer_items(token, &ids, &framed, &items, self.cursor, keep_alive);
            return self.goes_away(token, since != Since::Unsaid);
        }
        let now_ns = Clock::now();
        let until_ns = now_ns + hold_ms * 1_000_000;
        self.list(token, &ids);
        let with_cursor = since != Since::Unsaid;
        if let Some(connection) = self.live(token) {
            connection.talk =
                Conversation::Held(Hold { since_ns: now_ns, until_ns, keep_alive, with_cursor });
        }
        self.ledger.count(Counter::LongPoll);
        self.schedule(token, until_ns);
    }

    /// Answers a held poll with new publications.
    pub(super) fn answer_held(&mut self, token: u64, framed: &[Framed], items: &[Item], cursor: u64) {
        if self.collects() {
            return self.collect_for_poll(token, framed, items, cursor);
        }
        let Some((ids, hold)) = self.release(token) else { return };
        self.ledger.count(Counter::LongPollAnswers);
        self.answer_items(token, &ids, framed, items, cursor, hold.keep_alive);
        self.goes_away(token, hold.with_cursor);
    }

    /// CONTRACT 6.3: answers with a document that reports the timeout, never with a bare close.
    pub(super) fn answer_timeout(&mut self, token: u64, now_ns: Nanos, keep_alive: bool) {
        let Some((ids, hold)) = self.release(token) else { return };
        self.ledger.count(Counter::LongPollTimeouts);
        let hold_ms = (hold.until_ns - hold.since_ns) / 1_000_000;
        let held_us = now_ns.saturating_sub(hold.since_ns) / 1000;
        let body = documents::timed_out(hold_ms, held_us).to_string();
        let extra = self.poll_headers(&ids, self.cursor);
        let keep_alive = keep_alive && hold.keep_alive;
        let reply = Reply { extra: &extra, ..Reply::json(200, body.as_bytes(), keep_alive) };
        self.answer(token, &reply);
        self.goes_away(token, hold.with_cursor);
    }

    /// Ends a hold: the connection leaves the lists and may send the next request.
    pub(super) fn release(&mut self, token: u64) -> Option<(Vec<u32>, Hold)> {
        let connection = self.live(token)?;
        let Conversation::Held(hold) = connection.talk else { return None };
        connection.talk = Conversation::Request;
        let ids = connection.channels();
        let asked_ahead = !connection.inbound.is_empty();
        if asked_ahead {
            self.revisit.push_back(token);
        }
        self.ledger.counters.fall(Counter::LongPoll);
        self.unlist(token);
        Some((ids, hold))
    }

    fn answer_items(
        &mut self,
        token: u64,
        ids: &[u32],
        framed: &[Framed],
        items: &[Item],
        cursor: u64,
        keep_alive: bool,
    ) {
        let mut cache = std::mem::take(&mut self.pass.answer);
        if !cache.is_for(ids, items, keep_alive) {
            let extra = self.poll_headers(ids, cursor);
            let reply =
                Reply { status: 200, content_type: "text/plain", extra: &extra, body: &[], keep_alive };
            cache.fill(ids, items, &reply, joined_len(framed, items), |out| join(framed, items, out));
        }
        let cursors: Vec<u64> = items.iter().map(|item| framed[item.index].publication.cursor).collect();
        let begun = self.write_begins(token);
        self.answer_many(token, &mut cache);
        self.note_written(begun, &cursors);
        self.pass.answer = cache;
    }

    fn poll_headers(&mut self, ids: &[u32], cursor: u64) -> String {
        format!("pushmark-cursor: {cursor}\r\n{}", self.acknowledgement(ids))
    }

    /// Returns the connection and the instant of a write that follows.
    pub(super) fn write_begins(&self, token: u64) -> (u32, Nanos) {
        let ordinal = self.connections.get(token).map_or(0, |connection| connection.ordinal);
        (ordinal, self.ledger.write_begins())
    }

    /// Deliveries in an answer count as written when the answer is handed over.
    pub(super) fn note_written(&mut self, (ordinal, at_ns): (u32, Nanos), cursors: &[u64]) {
        for &cursor in cursors {
            self.ledger.written(cursor, ordinal, at_ns);
        }
    }

    /// Returns stored messages newer than a cursor.
    pub(super) fn newer(&mut self, ids: &[u32], cursor: u64) -> Vec<Framed> {
        let mut found: Vec<Arc<Publication>> = Vec::new();
        if self.channels.newer(ids, cursor, &mut found) {
            self.ledger.count(Counter::HistoryGaps);
        }
        found.into_iter().map(Framed::new).collect()
    }

    /// Keeps the channels of a poll that was answered at once, until its next request.
    fn remember_channels(&mut self, token: u64, ids: &[u32]) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let unlisted = |&channel: &u32| Subscription { channel, position: 0 };
        connection.subscriptions = ids.iter().map(unlisted).collect();
    }

    /// Marks an answered poll as in flight or deaf until its next request.
    pub(super) fn goes_away(&mut self, token: u64, with_cursor: bool) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let away = if with_cursor { Away::InFlight } else { Away::Deaf };
        connection.away = away;
        for id in connection.channels() {
            let channel = self.channels.at(id);
            match away {
                Away::InFlight => channel.in_flight += 1,
                Away::Deaf => channel.deaf += 1,
                Away::No => {}
            }
        }
    }

    /// Ends that state, because a request arrived or the connection ends.
    pub(super) fn poll_came_back(&mut self, token: u64) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let away = std::mem::replace(&mut connection.away, Away::No);
        if away == Away::No {
            return;
        }
        for id in connection.channels() {
            let channel = self.channels.at(id);
            match away {
                Away::InFlight => channel.in_flight -= 1,
                Away::Deaf => channel.deaf -= 1,
                Away::No => {}
            }
        }
    }

    /// Ends the long poll of a connection that is being closed.
    pub(super) fn forget_poll(&mut self, token: u64) {
        self.poll_came_back(token);
        if let Some(connection) = self.connections.get_mut(token)
            && matches!(connection.talk, Conversation::Held(_))
        {
            connection.talk = Conversation::Request;
            self.ledger.counters.fall(Counter::LongPoll);
        }
    }
}

/// Returns whether an If-None-Match contains a tag (RFC 9110 13.1.2): a list, compared weakly.
fn names_tag(list: &str, etag: &str) -> bool {
    let mut tags = list.split(',').map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// Appends the body of an answer: messages separated by line ends.
pub(super) fn join(framed: &[Framed], items: &[Item], body: &mut Vec<u8>) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            body.push(b'\n');
        }
        body.extend_from_slice(framed[item.index].payload(item.cut));
    }
}

/// Returns the length of that body, bytes.
pub(super) fn joined_len(framed: &[Framed], items: &[Item]) -> usize {
    let payloads: usize = items.iter().map(|item| framed[item.index].payload(item.cut).len()).sum();
    payloads + items.len().saturating_sub(1)
}
