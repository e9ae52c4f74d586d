//! Delivers publications to their subscribers: one pass, one write for each client.
//!
//! The list of subscribers is copied before the first write, so that effects of a write (a poll answered, a
//! connection lost) may change the lists. The copy is 16 bytes for each delivery, and its memory is reused.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pushmark_net::{Clock, Nanos, Slab};

use super::Shard;
use crate::answer_cache::{AnswerCache, Item};
use crate::bayeux::{Event, SESSION, Session};
use crate::channel::Subscriber;
use crate::connection::{Connection, Conversation, Debts};
use crate::faults::fate::Fate;
use crate::framing::{Framed, Framing};
use crate::outbox::Piece;
use crate::publication::Publication;
use crate::stats::Counter;

/// The most publications of one pass.
const PASS_MAX: usize = 64;

/// The most bytes of publications in one pass, exceeded by at most the last one. Each framing of them is kept
/// until the end of the pass.
const PASS_BYTES_MAX: usize = 8 << 20;

/// The most passes of one turn, because other threads may publish faster than this one delivers.
const PASSES_MAX: usize = 16;

/// How long passes continue before other work gets its turn. One pass is always made completely.
const PASSES_NS: Nanos = 20_000_000;

/// Deliveries whose memory is reused between passes. A larger copy is freed.
const KEPT_MAX: usize = 1 << 16;

/// Memory of one pass, reused for the next.
#[derive(Default)]
pub(super) struct Pass {
    batch: Vec<Arc<Publication>>,
    deliveries: Vec<Planned>,
    items: Vec<Item>,
    pieces: Vec<Piece>,
    pub(super) frame: Vec<u8>,
    pub(super) events: Vec<Event>,
    /// When its loop over the subscribers began.
    pub(super) began_ns: Nanos,
    pub(super) answer: AnswerCache,
}

/// A planned delivery.
#[derive(Clone, Copy, Debug)]
struct Planned {
    token: u64,
    /// Index of the publication in the pass.
    index: usize,
}

impl Shard {
    /// Delivers the publications that wait in the inbox.
    pub(super) fn deliver_waiting(&mut self) {
        let mut began_ns = None;
        for _ in 0..PASSES_MAX {
            let mut batch = std::mem::take(&mut self.pass.batch);
            self.more_waiting = self.shared.hub.take(self.index, PASS_MAX, PASS_BYTES_MAX, &mut batch);
            if !batch.is_empty() {
                self.deliver(&batch);
                batch.clear();
            }
            self.pass.batch = batch;
            if !self.more_waiting {
                return;
            }
            let now_ns = Clock::now();
            if now_ns - *began_ns.get_or_insert(now_ns) > PASSES_NS {
                return;
            }
        }
    }

    fn deliver(&mut self, batch: &[Arc<Publication>]) {
        let began_ns = Clock::now();
        let mut deliveries = std::mem::take(&mut self.pass.deliveries);
        self.plan(batch, &mut deliveries);
        if batch.len() > 1 {
            // Stable: each client gets its messages in the order of publication.
            deliveries.sort_by_key(|delivery| delivery.token as u32);
        }
        let mut framed: Vec<Framed> = batch.iter().cloned().map(Framed::new).collect();
        for framed in &mut framed {
            framed.requests = self.channels.at(framed.publication.channel).requests().load(Relaxed);
        }
        self.pass.began_ns = began_ns;
        let cursor = batch.last().map_or(self.cursor, |publication| publication.cursor);
        self.pass.answer.clear();
        for same_client in deliveries.chunk_by(|a, b| a.token == b.token) {
            self.deliver_to(same_client, &mut framed, cursor);
        }
        // Only now, so that answers given in this pass report the state at the time of their requests.
        for publication in batch {
            let forgotten = self.channels.apply(publication);
            self.ledger.counters.add(Counter::StatesForgotten, forgotten);
        }
        self.cursor = cursor;
        if !deliveries.is_empty() {
            self.ledger.counters.pass_took(Clock::now() - began_ns);
        }
        deliveries.clear();
        deliveries.shrink_to(KEPT_MAX);
        self.pass.deliveries = deliveries;
    }

    /// Copies the lists of subscribers, and opens the publications' lines in the truth log.
    fn plan(&mut self, batch: &[Arc<Publication>], deliveries: &mut Vec<Planned>) {
        for (index, publication) in batch.iter().enumerate() {
            let channel = self.channels.at(publication.channel);
            let plan = |s: &Subscriber| Planned { token: s.token, index };
            let first = deliveries.len();
            deliveries.extend(channel.subscribers.iter().map(plan));
            if !self.patterns.is_empty() {
                deliveries.extend(self.patterns.hearers(&publication.name).map(plan));
                // A client with several matching subscriptions receives the message once.
                let mut these = deliveries.split_off(first);
                these.sort_unstable_by_key(|delivery| delivery.token);
                these.dedup_by_key(|delivery| delivery.token);
                deliveries.append(&mut these);
            }
            if let Some(truth) = &mut self.ledger.truth {
                let held = |delivery: &&Planned| match delivery.token & SESSION {
                    0 => self.connections.get(delivery.token).is_some_and(Connection::is_held),
                    _ => self.sessions.get(delivery.token & !SESSION).is_some_and(|s| s.connect.is_some()),
                };
                let these = &deliveries[first..];
                truth.publication(publication, |line| {
                    line.subscribers = these.len() as u64;
                    line.listening = these.iter().filter(held).count() as u64;
                    line.in_flight = channel.in_flight;
                    line.deaf = channel.deaf;
                });
            }
        }
    }

    fn deliver_to(&mut self, planned: &[Planned], framed: &mut Vec<Framed>, cursor: u64) {
        let token = planned[0].token;
        let mut items = std::mem::take(&mut self.pass.items);
        if self.shared.options.faults.strike_deliveries() {
            for delivery in planned {
                self.decide(token, delivery.index..delivery.index + 1, framed, &mut items);
            }
        } else {
            items.extend(planned.iter().map(|p| Item { index: p.index, cut: false }));
        }
        if token & SESSION != 0 {
            self.deliver_to_session(token, framed, &mut items);
        } else if let Some(connection) = self.live(token).filter(|_| !items.is_empty()) {
            match (connection.framing(), &connection.talk) {
                (Some(framing), _) => self.send_items(token, framing, framed, &items),
                (None, Conversation::Registered(_)) => self.tell_registered(token, framed, &items),
                (None, _) => self.answer_held(token, framed, &items, cursor),
            }
        }
        items.clear();
        self.pass.items = items;
    }

    pub(super) fn send_items(&mut self, token: u64, framing: Framing, framed: &mut [Framed], items: &[Item]) {
        let mut pieces = std::mem::take(&mut self.pass.pieces);
        for item in items {
            let framed = &mut framed[item.index];
            let delivery = Some(framed.publication.cursor);
            let bytes = framed.frame(framing, item.cut, &mut self.pass.frame);
            pieces.push(Piece { bytes, delivery });
        }
        self.send(token, &pieces);
        pieces.clear();
        self.pass.pieces = pieces;
    }

    /// Sends the messages that a client missed, directly after its head.
    pub(super) fn send_history(&mut self, token: u64, mut framed: Vec<Framed>) {
        let mut items = Vec::new();
        self.decide(token, 0..framed.len(), &mut framed, &mut items);
        if let Some(framing) = self.live(token).and_then(|connection| connection.framing()) {
            self.send_items(token, framing, &mut framed, &items);
        }
    }

    /// Applies the faults to deliveries. Appends the items to be written to `items`. Messages held back
    /// earlier may be added to `framed`.
    pub(super) fn decide(
        &mut self,
        token: u64,
        range: Range<usize>,
        framed: &mut Vec<Framed>,
        items: &mut Vec<Item>,
    ) {
        let lasting = match token & SESSION {
            0 => self.connections.get(token).is_some_and(Connection::lasts),
            _ => self.session_is_pushed(token),
        };
        for index in range {
            let publication = framed[index].publication.clone();
            let cursor = publication.cursor;
            let Some(debts) = debts_of(&mut self.connections, &mut self.sessions, token) else { return };
            let half = debts.as_ref().and_then(|debts| {
                debts.held_back.iter().position(|held| held.channel == publication.channel)
            });
            let fate = self.shared.fates.of_delivery(half.is_none());
            match fate {
                Fate::Whole => items.push(Item { index, cut: false }),
                Fate::Dropped => {
                    self.ledger.note(cursor, |line| line.dropped += 1);
                    continue;
                }
                Fate::HeldBack => {
                    debts.get_or_insert_default().held_back.push(publication);
                    continue;
                }
                Fate::CutShort => {
                    items.push(Item { index, cut: true });
                    self.ledger.note(cursor, |line| line.truncated += 1);
                }
                Fate::Corrupted => {
                    items.push(Item { index: framed.len(), cut: false });
                    framed.push(Framed::new(Arc::new(publication.corrupted())));
                    self.ledger.note(cursor, |line| line.corrupted += 1);
                }
                Fate::Twice if lasting => {
                    items.extend([Item { index, cut: false }; 2]);
                    self.ledger.note(cursor, |line| line.duplicated += 1);
                }
                Fate::Twice => {
                    items.push(Item { index, cut: false });
                    debts.get_or_insert_default().again.push(publication);
                }
            }
            if let Some(half) = half {
                let debts = debts.as_mut().expect("it holds the half");
                let held = debts.held_back.swap_remove(half);
                self.ledger.note(held.cursor, |line| line.swapped += 1);
                items.push(Item { index: framed.len(), cut: false });
                framed.push(Framed::new(held));
            }
        }
    }

    /// Adds duplicates, which were kept for a poll's next answer, to this answer.
    pub(super) fn repay_duplicates(&mut self, token: u64, framed: &mut Vec<Framed>, items: &mut Vec<Item>) {
        let debts = debts_of(&mut self.connections, &mut self.sessions, token);
        let Some(Some(debts)) = debts else { return };
        for publication in std::mem::take(&mut debts.again) {
            self.ledger.note(publication.cursor, |line| line.duplicated += 1);
            items.push(Item { index: framed.len(), cut: false });
            framed.push(Framed::new(publication));
        }
    }
}

/// Returns the messages that faults hold back from a subscriber: a connection or a session.
fn debts_of<'a>(
    connections: &'a mut Slab<Connection>,
    sessions: &'a mut Slab<Session>,
    token: u64,
) -> Option<&'a mut Option<Box<Debts>>> {
    match token & SESSION {
        0 => connections.get_mut(token).map(|connection| &mut connection.debts),
        _ => sessions.get_mut(token & !SESSION).map(|session| &mut session.debts),
    }
}
