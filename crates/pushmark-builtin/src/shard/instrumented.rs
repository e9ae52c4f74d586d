//! Instrumented requests (CONTRACT 7): registered with their channels. Each event reports what the server did
//! for the request.

use std::sync::atomic::Ordering::Relaxed;

use pushmark_net::{Clock, Nanos};
use pushmark_proto::http1::write;

use super::Shard;
use crate::answer_cache::Item;
use crate::connection::{Conversation, Registered};
use crate::framing::{Framed, Framing};
use crate::instrumented::{self, Event, Kind, RegisterSpec};
use crate::outbox::Piece;
use crate::reply::{self, Reply};
use crate::stats::Counter;

impl Shard {
    pub(super) fn register_asked(&mut self, token: u64, keep_alive: bool, body: &[u8]) {
        let since_ns = Clock::now();
        let spec = match RegisterSpec::parse(body) {
            Ok(spec) => spec,
            Err(refusal) => return self.refuse(token, &refusal, keep_alive),
        };
        let comet = spec.kind == Kind::Comet;
        if !self.is_served(token, if comet { "stream" } else { "long-poll" }) {
            return;
        }
        let Some(ids) = self.ids(token, &spec.events) else { return };
        let acknowledgement = self.acknowledgement(&ids);
        let until_ns = if comet { Nanos::MAX } else { since_ns + spec.duration_ms * 1_000_000 };
        let start = self.shared.registered.fetch_add(1, Relaxed) + 1;
        for &id in &ids {
            self.channels.at(id).requests().fetch_add(1, Relaxed);
        }
        let asked = instrumented::on_one_line(body);
        let registered = Registered { comet, keep_alive, since_ns, until_ns, start, asked };
        let gauge = gauge(&registered);
        self.begin(token, &ids, Conversation::Registered(Box::new(registered)), gauge);
        if comet {
            let mut out = Vec::new();
            reply::endless(&mut out, "application/json", &acknowledgement);
            return self.say(token, &out);
        }
        self.schedule(token, until_ns);
        self.repay_registered(token);
    }

    /// A duplicate that a fault kept for the next answer is an event and answers at once.
    fn repay_registered(&mut self, token: u64) {
        let (mut framed, mut items) = (Vec::new(), Vec::new());
        self.repay_duplicates(token, &mut framed, &mut items);
        if !items.is_empty() {
            self.pass.began_ns = Clock::now();
            self.tell_registered(token, &mut framed, &items);
        }
    }

    /// Sends a request its events, each in its own document.
    pub(super) fn tell_registered(&mut self, token: u64, framed: &mut [Framed], items: &[Item]) {
        let began_ns = self.pass.began_ns;
        let finish = self.shared.registered.load(Relaxed);
        let mut documents = Vec::with_capacity(items.len());
        for item in items {
            let framed = &mut framed[item.index];
            let message = framed.frame(Framing::Text, item.cut, &mut self.pass.frame);
            let Some(connection) = self.connections.get(token) else { return };
            let Conversation::Registered(request) = &connection.talk else { return };
            let publication = &framed.publication;
            let place = publication.next_place();
            let total = framed.requests.max(place);
            let event = Event { channel: &publication.name, began_ns, total, place, message: &message };
            let mut document = Vec::new();
            instrumented::response(&mut document, request, Some(event), Clock::now(), finish);
            documents.push((publication.cursor, document));
        }
        let comet = self.connections.get(token).is_some_and(|connection| connection.lasts());
        match comet {
            true => self.send_documents(token, documents),
            false => self.answer_registered(token, &documents, true),
        }
    }

    /// Comet requests: each document with its line end is a chunk.
    fn send_documents(&mut self, token: u64, documents: Vec<(u64, Vec<u8>)>) {
        let piece = |(cursor, mut document): (u64, Vec<u8>)| {
            document.push(b'\n');
            let mut chunk = Vec::with_capacity(document.len() + 12);
            write::chunk(&mut chunk, &document);
            Piece { bytes: chunk.into(), delivery: Some(cursor) }
        };
        let pieces: Vec<Piece> = documents.into_iter().map(piece).collect();
        self.send(token, &pieces);
    }

    /// Long polls: events that are due together are one answer, with one document per line.
    fn answer_registered(&mut self, token: u64, documents: &[(u64, Vec<u8>)], keep_alive: bool) {
        let Some(connection) = self.live(token) else { return };
        let ids = connection.channels();
        let Some(registered) = self.deregister(token) else { return };
        self.unlist(token);
        let cursors: Vec<u64> = documents.iter().map(|(cursor, _)| *cursor).filter(|&c| c != 0).collect();
        let counter = if cursors.is_empty() { Counter::LongPollTimeouts } else { Counter::LongPollAnswers };
        self.ledger.count(counter);
        let lines: Vec<&[u8]> = documents.iter().map(|(_, document)| &document[..]).collect();
        let body = lines.join(&b'\n');
        let extra = self.acknowledgement(&ids);
        let keep_alive = keep_alive && registered.keep_alive;
        let mut out = Vec::new();
        Reply { extra: &extra, ..Reply::json(200, &body, keep_alive) }.write(&mut out);
        let begun = self.write_begins(token);
        self.answer_slowly(token, &out, keep_alive);
        self.note_written(begun, &cursors);
        self.goes_away(token, false);
    }

    /// CONTRACT 7.2: answers with a document that reports the timeout.
    pub(super) fn registered_timeout(&mut self, token: u64, keep_alive: bool) {
        let finish = self.shared.registered.load(Relaxed);
        let Some(connection) = self.live(token) else { return };
        let Conversation::Registered(request) = &connection.talk else { return };
        let mut document = Vec::new();
        instrumented::response(&mut document, request, None, Clock::now(), finish);
        self.answer_registered(token, &[(0, document)], keep_alive);
    }

    /// Ends a registration, so that the connection may send another request. It stays in its channels' lists.
    pub(super) fn deregister(&mut self, token: u64) -> Option<Registered> {
        let connection = self.connections.get_mut(token)?;
        if !matches!(connection.talk, Conversation::Registered(_)) {
            return None;
        }
        let talk = std::mem::replace(&mut connection.talk, Conversation::Request);
        let Conversation::Registered(registered) = talk else { unreachable!("it was one above") };
        if !connection.inbound.is_empty() {
            self.revisit.push_back(token);
        }
        for id in connection.channels() {
            self.channels.at(id).requests().fetch_sub(1, Relaxed);
        }
        self.ledger.counters.fall(gauge(&registered));
        self.shared.registered.fetch_sub(1, Relaxed);
        Some(*registered)
    }
}

/// Returns the gauge in `/stats` that counts this subscriber.
fn gauge(registered: &Registered) -> Counter {
    if registered.comet { Counter::Stream } else { Counter::LongPoll }
}
