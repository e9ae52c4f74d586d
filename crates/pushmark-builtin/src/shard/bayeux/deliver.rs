//! Delivers publications to sessions: over a WebSocket, with the reply to a held connect, or kept for the
//! next answer.

use super::Shard;
use crate::answer_cache::Item;
use crate::bayeux::{Event, SESSION};
use crate::framing::{Framed, Framing};
use crate::stats::Counter;

impl Shard {
    /// Returns whether each message is written on arrival, so that two copies stay separate.
    pub(in crate::shard) fn session_is_pushed(&self, token: u64) -> bool {
        let session = self.sessions.get(token & !SESSION);
        session.is_some_and(|session| session.socket.is_some() && !session.has_acks())
    }

    pub(in crate::shard) fn deliver_to_session(
        &mut self,
        token: u64,
        framed: &mut [Framed],
        items: &mut Vec<Item>,
    ) {
        let session = token & !SESSION;
        // CONTRACT 6.7: JSON cannot contain invalid UTF-8.
        items.retain(|item| framed[item.index].is_text());
        let Some(state) = self.sessions.get(session).filter(|_| !items.is_empty()) else { return };
        let socket = state.socket.filter(|_| !state.has_acks());
        let held = state.connect.as_ref().map(|connect| connect.token);
        if let Some(socket) = socket.filter(|&socket| self.live(socket).is_some()) {
            return self.send_items(socket, Framing::EventFrame, framed, items);
        }
        let mut events = std::mem::take(&mut self.pass.events);
        for item in &*items {
            let framed = &mut framed[item.index];
            let bytes = framed.frame(Framing::Event, item.cut, &mut self.pass.frame);
            let publication = &framed.publication;
            let (cursor, channel) = (publication.cursor, publication.channel);
            events.push(Event { bytes, cursor, channel, sent: false, place: None });
        }
        match held.is_some_and(|connection| self.live(connection).is_some()) {
            true => self.answer_connect(session, &events, true),
            false => self.keep_for_later(session, &events),
        }
        events.clear();
        self.pass.events = events;
    }

    fn keep_for_later(&mut self, session: u64, events: &[Event]) {
        let (max, policy) = (self.rules.queue_max, self.rules.queue_policy);
        for event in events {
            let Some(state) = self.sessions.get_mut(session) else { return };
            if state.wait(event.clone(), max, policy, &mut self.ledger).is_err() {
                self.ledger.count(Counter::Disconnected);
                return self.end_session(session);
            }
        }
    }

    /// Adds duplicates, which a fault kept for the next answer, to the waiting events.
    pub(super) fn repay_session(&mut self, session: u64) {
        let (mut framed, mut items) = (Vec::new(), Vec::new());
        self.repay_duplicates(session | SESSION, &mut framed, &mut items);
        if items.is_empty() {
            return;
        }
        let mut events = Vec::with_capacity(items.len());
        for framed in &mut framed {
            let bytes = framed.frame(Framing::Event, false, &mut self.pass.frame);
            let publication = &framed.publication;
            let (cursor, channel) = (publication.cursor, publication.channel);
            events.push(Event { bytes, cursor, channel, sent: false, place: None });
        }
        self.keep_for_later(session, &events);
    }
}
